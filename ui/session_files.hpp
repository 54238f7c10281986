// Session files and what survives a crash: readable JSON, the session's own document with the view beside it.
#pragma once

#include <optional>
#include <string>

#include "app.hpp"

namespace fathom::ui {

/// The whole state: history, choices, text as typed, what the screen shows.
[[nodiscard]] std::string session_file(const App&);
/// The view that a session file keeps; what it does not name stays as it is.
void restore_view(App&, const std::string& json);

/// The runs that a session file keeps; says in the status line which could not be read.
void restore_trials(App&, const std::string& json);
/// A text that has never compiled, in a file that a crash left; nullopt: the file is none such.
struct Unfinished {
  std::string file_name, target, text;
};
[[nodiscard]] std::optional<Unfinished> unfinished_text(const std::string& json);

/// The text as it was typed; empty where the file does not keep it.
[[nodiscard]] std::string typed_text(const std::string& json);

/// Where the open session is saved: the file itself where it is a session, else NAME.session.json beside it.
[[nodiscard]] std::string session_path(const App&);
/// The program's path with another ending, for what is made of it.
[[nodiscard]] std::string path_beside(const App&, const std::string& ending);
/// Says in the status line what it did, or why it could not. True: the file is written.
bool save_session(App&, const std::string& path);
/// The text of the program alone.
bool save_program(App&, const std::string& path);
/// Says in the status line where a file is, or why it could not be written.
void say_saved(App&, const std::string& path, const std::optional<std::string>& error);

/// The text with plain line ends and without a mark, and the form that it had.
[[nodiscard]] std::string plain_text(std::string text, FileForm&);
[[nodiscard]] std::string in_form(const std::string& text, FileForm);
/// `~` stands for the home folder.
[[nodiscard]] std::string whole_path(const std::string& typed);
/// From the root on: tells people where a file is.
[[nodiscard]] std::string full_path(const std::string& typed);
/// The folder of the file, from the root on.
[[nodiscard]] std::string folder_of(const std::string& typed);

/// Whole file or nothing: readers never see half of one. The error is a sentence.
[[nodiscard]] std::optional<std::string> write_whole(const std::string& path, const std::string& text);
[[nodiscard]] std::optional<std::string> read_whole(const std::string& path);

}  // namespace fathom::ui
