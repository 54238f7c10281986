#include "words.hpp"

#include <fmt/format.h>

namespace fathom::ui {

std::string title_of(Level level) {
  std::string word(name(level));
  word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return word;
}

const char* sign_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::passed:
      return "✓";
    case CheckStatus::failed:
      return "✕";
    case CheckStatus::inconclusive:
      return "≈";
    case CheckStatus::pending:
      return "◌";
    case CheckStatus::skipped:
      return "–";
  }
  return "–";
}

Role role_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::passed:
      return Role::ok;
    case CheckStatus::failed:
      return Role::bad;
    case CheckStatus::inconclusive:
      return Role::warn;
    default:
      return Role::muted;
  }
}

Role role_of(Severity severity) {
  return severity == Severity::error ? Role::bad : severity == Severity::warning ? Role::warn : Role::muted;
}

std::string sentence_of(const Check& check) {
  const std::string sign = sign_of(check.status);
  switch (check.status) {
    case CheckStatus::passed:
      return fmt::format("{} {}, error {:.1e} of {:.1e} allowed", sign,
                         check.cases.size() == 1 ? "1 case" : fmt::format("{} cases", check.cases.size()), check.max_error.value_or(0),
                         check.bound.value_or(0));
    case CheckStatus::pending:
      return sign + " being checked";
    default:
      return fmt::format("{} {}{}{}", sign, name(check.status), check.reason.empty() ? "" : ": ", check.reason);
  }
}

std::string change_of(const std::string& before, const std::string& after) { return before == after ? after : before + " → " + after; }

}  // namespace fathom::ui
