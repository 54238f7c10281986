#include "session/exports.hpp"

#include <algorithm>
#include <array>

namespace fathom::session {
namespace {

constexpr std::array kinds =
    std::to_array<ExportKind>({{"trace", "Trace", "Every decision as text, to replay with --trace.", ".trace", false,
                                [](const Compilation& compilation) { return print(compilation.record.trace); }},
                               {"html", "Page", "One self-contained page that shows the whole lowering.", ".html", true, report_html}});

}  // namespace

std::span<const ExportKind> export_kinds() { return kinds; }

const ExportKind* export_kind_named(std::string_view id) {
  const auto at = std::find_if(kinds.begin(), kinds.end(), [&](const ExportKind& each) { return each.id == id; });
  return at == kinds.end() ? nullptr : &*at;
}

}  // namespace fathom::session
