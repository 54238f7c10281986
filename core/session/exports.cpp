#include "session/exports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/units.hpp"
#include "session/cuda_folder.hpp"

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

/// The README, or why there is no such folder.
std::string cuda_folder_text(const Compilation& compilation) {
  const auto files = cuda_folder(compilation);
  if (!files) return files.error().reason + (files.error().hint.empty() ? "" : " " + files.error().hint) + "\n";
  std::string text;
  for (const ExportFile& file : *files)
    if (file.name == "README.md") text = file.text;
  return text;
}

constexpr std::array kinds = std::to_array<ExportKind>(
    {{"trace", "Trace", "Every decision as text, to replay with --trace.", ".trace", false,
      [](const Compilation& compilation) { return print(compilation.record.trace); }},
     {"html", "Page", "One self-contained page that shows the whole lowering.", ".html", true, report_html, summary_of_page},
     {"cuda", "CUDA", "A folder with the kernel in CUDA C++, its contract, and scripts that test and time it.", "-cuda", true,
      cuda_folder_text, nullptr, cuda_folder}});

}  // namespace

std::span<const ExportKind> export_kinds() { return kinds; }

const ExportKind* export_kind_named(std::string_view id) {
  const auto at = std::find_if(kinds.begin(), kinds.end(), [&](const ExportKind& each) { return each.id == id; });
  return at == kinds.end() ? nullptr : &*at;
}

std::string export_kind_words() {
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == kinds.size() ? " or " : ", ", kinds[i].id);
  return text;
}

}  // namespace fathom::session
