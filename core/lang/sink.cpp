// The collection of diagnostics, and suggestions of names that are spelt nearly alike.
#include <algorithm>

#include "lang/parser.hpp"

namespace fathom::lang {

void Sink::error(SourceSpan span, std::string message, std::string cure, Diagnostics notes) {
  if (diagnostics_.size() >= max_diagnostics) return;
  for (const Diagnostic& known : diagnostics_) {
    if (known.span == span && span != outside_of_text) return;  // the first one at a place is the cause, others follow from it
  }
  diagnostics_.push_back({Severity::error, span, std::move(message), std::move(cure), std::move(notes)});
}

Diagnostics Sink::take() {
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(), [](const Diagnostic& a, const Diagnostic& b) { return a.span < b.span; });
  return std::move(diagnostics_);
}

namespace {

/// Edit distance with swaps of neighbours, given up beyond `limit`.
std::size_t distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

bool differ_in_case_only(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string suggest(std::string_view unknown, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest = 64;  // longer names are not typed by hand
  if (unknown.size() > longest) return {};
  const std::size_t limit = unknown.size() <= 2 ? 1 : unknown.size() <= 5 ? 2 : 3;
  std::size_t best = limit + 1;
  const std::string* nearest = nullptr;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest || candidate == unknown) continue;
    const bool is_alike = differ_in_case_only(unknown, candidate);
    const std::size_t d = is_alike ? 0 : distance(unknown, candidate, limit);
    if (d < best && d < std::max(unknown.size(), candidate.size())) {
      best = d;
      nearest = &candidate;
    }
  }
  return nearest == nullptr ? std::string{} : "Did you mean `" + *nearest + "`?";
}

}  // namespace fathom::lang
