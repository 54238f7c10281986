// The notation of programs, part by part: what a list shows of it, and a program to begin with. The reference is docs/language.md.
#pragma once

#include <span>
#include <string_view>

namespace fathom::ui {

struct NotationPart {
  std::string_view id;
  std::string_view form;   ///< as it stands in a program
  std::string_view text;   ///< what it means
  std::string_view words;  ///< that it is looked for by, too
};
[[nodiscard]] std::span<const NotationPart> notation_parts();

/// Compiles as it is; its comments name its parts.
[[nodiscard]] std::string_view new_program();

}  // namespace fathom::ui
