#include "ir/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace fathom {
namespace {

/// Three significant digits.
std::string digits(double value) {
  const double size = std::abs(value);
  if (value == std::floor(value) && size < 1000) return fmt::format("{:.0f}", value);
  return size >= 100 ? fmt::format("{:.0f}", value) : size >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string scaled(double value, double step, const std::array<const char*, 6>& units) {
  std::size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return digits(value) + units[unit];
}

}  // namespace

std::string bytes_text(double value) { return scaled(value, 1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB"}); }
std::string count_text(double value) { return scaled(value, 1000, {"", " k", " M", " G", " T", " P"}); }
std::string milliseconds_text(double value) {
  if (value >= 1000) return digits(value / 1000) + " s";
  if (value >= 1) return digits(value) + " ms";
  return value >= 1e-3 ? digits(value * 1e3) + " µs" : digits(value * 1e6) + " ns";
}

}  // namespace fathom
