#include "runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ir/units.hpp"

namespace fathom::ui {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_said = 400;  ///< bytes of what a process writes that a sentence repeats

/// The first line that says something, without the name of the program.
std::string first_line(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  std::string line = text.substr(begin, text.find('\n', begin) - begin);
  constexpr std::string_view speaker = "fathom: ";
  if (line.compare(0, speaker.size(), speaker) == 0) line.erase(0, speaker.size());
  std::size_t end = std::min(line.size(), most_said);
  while (end > 0 && end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;  // whole characters
  if (end < line.size()) line = line.substr(0, end) + "…";
  return line;
}

/// A finite number; JSON has null where one is not.
std::optional<double> number(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_number()) return std::nullopt;
  const double value = at->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string string_in(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::optional<Measured> measured_in(const Json& json) {
  const auto ms = number(json, "warm_ms"), p20 = number(json, "p20"), p80 = number(json, "p80"), n = number(json, "n");
  constexpr double most_launches = 1e9;
  if (!ms || !p20 || !p80 || !n || *ms <= 0 || *p20 <= 0 || *p20 > *ms || *p80 < *ms || *n < 1 || *n > most_launches) return std::nullopt;
  return Measured{*ms, *p20, *p80, number(json, "cold_ms").value_or(0), static_cast<int>(*n)};
}

std::optional<session::SpeedRatio> ratio_in(const Json& json) {
  const auto at = json.find("ratio");
  if (at == json.end() || !at->is_object()) return std::nullopt;
  const auto median = number(*at, "median"), low = number(*at, "low"), high = number(*at, "high"), pairs = number(*at, "pairs");
  constexpr double most_pairs = 1e9;
  if (!median || !low || !high || !pairs || *low <= 0 || *low > *median || *median > *high || *pairs < 1 || *pairs > most_pairs)
    return std::nullopt;
  return session::SpeedRatio{*median, *low, *high, static_cast<int>(*pairs)};
}

RunKind kind_of(const std::string& status) {
  if (status == "ok") return RunKind::ok;
  if (status == "wrong_result") return RunKind::wrong_result;
  if (status == "inconclusive") return RunKind::inconclusive;
  if (status == "resource_limit") return RunKind::refused;
  return RunKind::unreadable;
}

Outcome unreadable(const RunAnswer& answer) {
  Outcome outcome;
  const std::string line = first_line(answer.out);
  outcome.says = line.empty() ? "The run said nothing that can be read." : fmt::format("The run's answer cannot be read: {}", line);
  return outcome;
}

std::string detail_of(const Json& json) {
  const std::string own = string_in(json, "detail");
  const auto against = json.find("against");
  return own.empty() && against != json.end() && against->is_object() ? string_in(*against, "detail") : own;
}

std::string sentence_for(RunKind kind, const std::string& detail) {
  switch (kind) {
    case RunKind::wrong_result:
      return detail.empty() ? "The result is wrong." : fmt::format("The result is wrong: {}", detail);
    case RunKind::inconclusive:
      return detail.empty() ? "The reference cannot say what is right." : fmt::format("Neither right nor wrong: {}", detail);
    default:
      return detail;
  }
}

Outcome read(const RunAnswer& answer) {
  const Json json = session::is_nested_deeply(answer.out) ? Json() : Json::parse(answer.out, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    if (answer.status == 0) return unreadable(answer);
    Outcome refused;
    refused.kind = RunKind::refused;
    refused.says = first_line(answer.err);
    if (refused.says.empty()) refused.says = fmt::format("It ended with status {} and said nothing.", answer.status);
    return refused;
  }
  Outcome outcome;
  outcome.kind = kind_of(string_in(json, "status"));
  if (outcome.kind == RunKind::unreadable) return unreadable(answer);
  outcome.max_error = number(json, "max_error");
  outcome.bound = number(json, "bound");
  outcome.says = sentence_for(outcome.kind, detail_of(json));
  outcome.measured = measured_in(json);
  outcome.ratio = ratio_in(json);
  if (outcome.kind == RunKind::ok && (!outcome.measured || !outcome.max_error)) return unreadable(answer);
  if (const auto conditions = json.find("conditions"); conditions != json.end() && conditions->is_object())
    for (const auto& [key, value] : conditions->items())
      outcome.conditions.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  return outcome;
}

}  // namespace

std::string shell_text(const std::vector<std::string>& words) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

Outcome outcome_of(const RunAnswer& answer, std::chrono::milliseconds at_most) {
  Outcome outcome;
  switch (answer.end) {
    case RunEnd::exited:
      return read(answer);
    case RunEnd::crashed:
      outcome.kind = RunKind::crashed;
      outcome.says = fmt::format("The kernel crashed: {}.", answer.why);
      return outcome;
    case RunEnd::timed_out:
      outcome.kind = RunKind::timed_out;
      outcome.says = fmt::format("It was stopped after {}: make a dimension smaller, or the kernel does not end.",
                                 milliseconds_text(static_cast<double>(at_most.count())));
      return outcome;
    case RunEnd::cancelled:
      outcome.kind = RunKind::cancelled;
      outcome.says = "You cancelled it.";
      return outcome;
    case RunEnd::not_started:
      outcome.kind = RunKind::refused;
      outcome.says = fmt::format("The run could not be started: {}", answer.why);
      return outcome;
  }
  return outcome;
}

}  // namespace fathom::ui
