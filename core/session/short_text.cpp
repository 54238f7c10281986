#include "session/short_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace fathom::session {

std::string number_text(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "∞" : "−∞";
  const std::string text = fmt::format("{:.3g}", x == 0 ? 0.0 : x);
  return text.front() == '-' ? "−" + text.substr(1) : text;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

}  // namespace fathom::session
