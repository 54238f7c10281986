// What can be taken away of a compilation: one table for the command line and the explorer.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.hpp"

namespace fathom::session {

struct ExportFile {
  std::string name;
  std::string text;
};

struct ExportKind {
  std::string_view id;                      ///< as `fathom export --as` takes it
  std::string_view title;                   ///< on a button
  std::string_view says;                    ///< one sentence: what it is good for
  std::string_view ending;                  ///< of its file, with the dot; of its folder's name
  bool shows_checks;                        ///< its text has the checks of the steps in it
  std::string (*text)(const Compilation&);  ///< of a folder: what it holds, to look at
  /// In words, for who does not read such a text as it is; null: people do.
  std::string (*summary)(const Compilation&, const std::string& text) = nullptr;
  /// A folder with these files instead of one file; null: one file.
  Result<std::vector<ExportFile>> (*files)(const Compilation&) = nullptr;
};
[[nodiscard]] std::span<const ExportKind> export_kinds();
[[nodiscard]] const ExportKind* export_kind_named(std::string_view id);
/// "html, trace or cuda"
[[nodiscard]] std::string export_kind_words();

}  // namespace fathom::session
