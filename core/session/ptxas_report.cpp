#include "session/ptxas_report.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "session/text_diff.hpp"

namespace fathom::session {
namespace {

/// What stands between the first `before` and the next `after`.
std::optional<std::string_view> between(std::string_view line, std::string_view before, std::string_view after) {
  const auto at = line.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + before.size());
  const auto end = line.find(after);
  return end == std::string_view::npos ? std::nullopt : std::optional(line.substr(0, end));
}

/// The number that stands directly before the words; 0 where they are not there.
std::int64_t number_before(std::string_view line, std::string_view words) {
  const auto end = line.find(words);
  if (end == std::string_view::npos) return 0;
  const auto begin = line.find_last_not_of("0123456789", end - 1) + 1;
  std::int64_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

/// C7510 to C7514: asynchronous products that were made to wait for each other.
std::optional<PtxasFault> fault_in(std::string_view line) {
  const auto code = between(line, "(C751", ")");
  if (!code || code->size() != 1 || code->front() < '0' || code->front() > '4') return std::nullopt;
  std::string_view sentence = line.substr(line.find("(C751") + std::string_view("(C7510)").size());
  sentence.remove_prefix(std::min(sentence.find_first_not_of(' '), sentence.size()));
  return PtxasFault{"C751" + std::string(*code), std::string(sentence)};
}

struct Entry {
  PtxasKernel kernel;
  bool is_complete = false;  ///< its registers were told
};

}  // namespace

Result<PtxasReport> read_ptxas_report(std::string_view text) {
  PtxasReport report;
  std::vector<Entry> entries;
  PtxasKernel before_any;  // functions that are not inlined may come first: their spills are some kernel's
  for (const std::string_view line : lines_of(text)) {
    if (auto fault = fault_in(line)) report.faults.push_back(*std::move(fault));
    if (const auto name = between(line, "Compiling entry function '", "'")) {
      entries.push_back({});
      entries.back().kernel.name = std::string(*name);
      entries.back().kernel.architecture = std::string(between(line, "' for '", "'").value_or(""));
    }
    PtxasKernel& kernel = entries.empty() ? before_any : entries.back().kernel;
    kernel.spill_store_bytes += number_before(line, " bytes spill stores");
    kernel.spill_load_bytes += number_before(line, " bytes spill loads");
    kernel.stack_bytes = std::max(kernel.stack_bytes, number_before(line, " bytes stack frame"));
    const std::int64_t registers = number_before(line, " registers");
    if (entries.empty() || entries.back().is_complete || line.find(": Used ") == std::string_view::npos || registers == 0) continue;
    kernel.registers = registers;
    kernel.static_shared_bytes = number_before(line, " bytes smem");
    entries.back().is_complete = true;
  }
  if (entries.empty()) return refuse("ptxas speaks of no kernel.");
  entries.front().kernel.spill_store_bytes += before_any.spill_store_bytes;
  entries.front().kernel.spill_load_bytes += before_any.spill_load_bytes;
  for (Entry& entry : entries) {
    if (!entry.is_complete) return refuse("ptxas does not say what " + entry.kernel.name + " takes.", {entry.kernel.name});
    report.kernels.push_back(std::move(entry.kernel));
  }
  // ptxas takes several kernels on in an order of its own.
  std::sort(report.kernels.begin(), report.kernels.end(), [](const PtxasKernel& a, const PtxasKernel& b) { return a.name < b.name; });
  return report;
}

}  // namespace fathom::session
