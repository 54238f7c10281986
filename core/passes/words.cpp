#include "passes/words.hpp"

#include <fmt/format.h>

#include <array>

namespace fathom::passes {
namespace {

constexpr std::array words = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"};

}  // namespace

std::string number_word(std::int64_t n) {
  if (n >= 0 && n < static_cast<std::int64_t>(words.size())) return words[static_cast<std::size_t>(n)];
  return std::to_string(n);
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string plural(std::int64_t n, std::string_view noun) { return fmt::format("{} {}{}", number_word(n), noun, n == 1 ? "" : "s"); }

std::string plural(Expr n, std::string_view noun) {
  const std::optional<std::int64_t> number = constant_integer(n);
  return number ? plural(*number, noun) : fmt::format("{} {}s", print(n), noun);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace fathom::passes
