// What every command gets, and the commands themselves. Exit status: 0 done, 1 the program or the result is wrong, 2 wrong usage or a
// missing tool.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/session.hpp"

namespace fathom::cli {

enum ExitStatus : int { done = 0, wrong = 1, misuse = 2 };

/// The options of docs/command-line.md, as text.
struct Arguments {
  std::string command;
  std::vector<std::string> positional;  ///< FILE[:OPERATOR] first
  std::vector<std::string> dims, sets;
  std::string target, trace, against, precision, deterministic, agent, output, emit, format, step, lesson;
  bool json = false, unsound = false, quick = false, show_diff = false;
  int threads = 0;
  const char* trace_option = "--trace";  ///< that `trace` was given by
};

/// A row of the command table: main.cpp makes the help, the parser and the completion from it.
struct Command {
  const char* name;
  const char* arguments;  ///< as the help shows them
  const char* summary;    ///< one line
  const char* details;    ///< for `fathom help COMMAND`
  int (*run)(const Arguments&);
};

/// Reads FILE (a path, or the name of a sample) and compiles it; prints diagnostics and returns the exit status on failure.
struct Compiled {
  std::shared_ptr<const session::Compilation> compilation;
  int status = done;
};
/// `fallback_target`: used where --target is not given.
[[nodiscard]] Compiled compile_file(const Arguments&, const std::string& file, const std::string& fallback_target = "x86-64");
/// "SITE = CHOICE" of every refuted repair that the plan runs.
[[nodiscard]] std::vector<std::string> unsound_choices(const session::Compilation&);
[[nodiscard]] int fail(int status, const std::string& message);  ///< to standard error
/// Writes to -o or to standard output ("-o -" too); `misuse` and a message where that fails.
[[nodiscard]] int write_output(const Arguments&, const std::string& text);
/// To standard output.
[[nodiscard]] int print_output(const std::string& text);

int compile(const Arguments&);
int steps(const Arguments&);
int show(const Arguments&);
int explain(const Arguments&);
int decisions(const Arguments&);
int check(const Arguments&);
int run(const Arguments&);
int time(const Arguments&);
int export_to(const Arguments&);
int list_samples(const Arguments&);
int list_targets(const Arguments&);
int doctor(const Arguments&);
int demo(const Arguments&);
int open_explorer(const Arguments&);
int diff(const Arguments&);
int completion(const Arguments&);

}  // namespace fathom::cli
