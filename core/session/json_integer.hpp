// Integers out of JSON that may be anybody's: a number like 1e300 converts to none, and the library's own conversion does not ask.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace fathom::session {

/// The value, where it is written as an integer that T holds.
template <class T, class Json>
std::optional<T> integer_in(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.template get<std::uint64_t>();
    return std::in_range<T>(number) ? std::optional<T>(static_cast<T>(number)) : std::nullopt;
  }
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.template get<std::int64_t>();
  return std::in_range<T>(number) ? std::optional<T>(static_cast<T>(number)) : std::nullopt;
}

}  // namespace fathom::session
