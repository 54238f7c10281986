// Interned names. Two symbols with the same text are the same symbol; the order is that of the text, never of addresses,
// so that every ordered container is the same on every platform.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

namespace fathom {

/// The name of an index, dimension, tensor, carrier or rule. Cheap to copy and compare; never dangles. Thread-safe.
class Symbol {
 public:
  Symbol();  ///< the empty name
  explicit Symbol(std::string_view text);

  [[nodiscard]] const std::string& text() const { return *text_; }
  [[nodiscard]] bool empty() const { return text_->empty(); }
  [[nodiscard]] std::size_t hash() const;  ///< of the text: equal on every platform

  friend bool operator==(Symbol a, Symbol b) { return a.text_ == b.text_; }
  friend std::strong_ordering operator<=>(Symbol a, Symbol b) {
    if (a.text_ == b.text_) return std::strong_ordering::equal;
    return a.text_->compare(*b.text_) < 0 ? std::strong_ordering::less : std::strong_ordering::greater;
  }

 private:
  const std::string* text_;
};

inline Symbol operator""_sym(const char* text, std::size_t size) { return Symbol(std::string_view(text, size)); }

/// FNV-1a, 64 bits: the one hash of the project, equal on every platform.
[[nodiscard]] std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 14695981039346656037ULL);
[[nodiscard]] constexpr std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6U) + (a >> 2U));
  x ^= x >> 32U;
  x *= 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32U);
}

}  // namespace fathom

template <>
struct std::hash<fathom::Symbol> {
  std::size_t operator()(fathom::Symbol symbol) const noexcept { return symbol.hash(); }
};
