// std::bit_cast, which the standard library of the web build lacks.
#pragma once

namespace fathom {

/// The value of type To with the bits of `from`; both are trivially copyable and of one size.
template <class To, class From>
[[nodiscard]] constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

}  // namespace fathom
