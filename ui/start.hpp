// What the explorer is started with, and opening files: the same for every platform.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "app.hpp"
#include "session/samples.hpp"

namespace fathom::ui {

struct Start {
  std::string file;    ///< program, session file or name of a sample; empty: the first sample
  std::string lesson;  ///< its name; empty: none
  std::string target = "x86-64";
  int width = 1280, height = 800;
  Settings settings;        ///< counts where `has_look`
  bool has_look = false;    ///< theme or scale were given: those kept from the last time are neither read nor written
  std::string mirror_file;  ///< for tests: what the screen holds, as JSON
  std::string frames_file;  ///< for benchmarks: a line a frame (platform/glfw.cpp)
};
/// The error is for the terminal.
[[nodiscard]] tl::expected<Start, std::string> parse_start(const std::vector<std::string>& arguments);
void open_start(App&, const Start&);
/// A program or a session file; what is wrong is said in the window.
void open_file(App&, const std::string& path);

/// What a crash left: it belongs to no file until it is saved.
void open_recovered(App&, const std::string& path);
/// What a recovered file is called until it was opened, and after that: then it is offered no more.
constexpr std::string_view recovered_prefix = "recovered-", opened_prefix = "opened-";
/// Opens the newest of App::left_behind.
void open_left_behind(App&);
/// Deletes the newest of App::left_behind.
void throw_away_left_behind(App&);

void open_sample(App&, const session::Sample&);
/// Its first comment line, without its own name.
[[nodiscard]] std::string what_it_is(const session::Sample&);

}  // namespace fathom::ui
