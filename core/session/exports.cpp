#include "session/exports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/units.hpp"

namespace fathom::session {
namespace {

std::string summary_of_page(const Compilation& compilation, const std::string& text) {
  const Record& record = compilation.record;
  std::string levels;
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    const std::string_view level = name(record.steps[i].level);
    const bool is_new = i == 0 || record.steps[i - 1].level != record.steps[i].level;
    if (is_new) levels += fmt::format("{}{}", levels.empty() ? "" : ", ", level);
  }
  return fmt::format(
      "“{} on {}: the whole lowering”. {} steps ({}), each with its program, its check and its cost, and {} decisions. {} in one "
      "file, which needs nothing else.",
      compilation.program.name.text(), compilation.target.name.text(), record.steps.size(), levels, record.decisions.size(),
      bytes_text(static_cast<double>(text.size())));
}

constexpr std::array kinds = std::to_array<ExportKind>(
    {{"trace", "Trace", "Every decision as text, to replay with --trace.", ".trace", false,
      [](const Compilation& compilation) { return print(compilation.record.trace); }},
     {"html", "Page", "One self-contained page that shows the whole lowering.", ".html", true, report_html, summary_of_page}});

}  // namespace

std::span<const ExportKind> export_kinds() { return kinds; }

const ExportKind* export_kind_named(std::string_view id) {
  const auto at = std::find_if(kinds.begin(), kinds.end(), [&](const ExportKind& each) { return each.id == id; });
  return at == kinds.end() ? nullptr : &*at;
}

}  // namespace fathom::session
