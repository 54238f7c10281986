// What can be taken away of a compilation: one table for the command line and the explorer.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "session/session.hpp"

namespace fathom::session {

struct ExportKind {
  std::string_view id;      ///< as `fathom export --as` takes it
  std::string_view title;   ///< on a button
  std::string_view says;    ///< one sentence: what it is good for
  std::string_view ending;  ///< of its file, with the dot
  bool shows_checks;        ///< its text has the checks of the steps in it
  std::string (*text)(const Compilation&);
  /// In words, for who does not read such a text as it is; null: people do.
  std::string (*summary)(const Compilation&, const std::string& text) = nullptr;
};
[[nodiscard]] std::span<const ExportKind> export_kinds();
[[nodiscard]] const ExportKind* export_kind_named(std::string_view id);

}  // namespace fathom::session
