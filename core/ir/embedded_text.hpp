// A file that the build put into the program (cmake/embed.cmake).
#pragma once

struct EmbeddedText {
  const char* name;  ///< without extension
  const char* text;
};
