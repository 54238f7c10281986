// Interned names. Two symbols with the same text are the same symbol; the order is that of the text, never of addresses,
// so that every ordered container is the same on every platform.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fathom {

struct SymbolTable;

/// The name of an index, dimension, tensor, carrier or rule. Cheap to copy and compare; never dangles. Thread-safe.
class Symbol {
 public:
  Symbol();  ///< the empty name
  explicit Symbol(std::string_view text);

  [[nodiscard]] const std::string& text() const { return name_->text; }
  [[nodiscard]] bool empty() const { return name_->text.empty(); }
  [[nodiscard]] std::size_t hash() const;  ///< of the text: equal on every platform

  friend bool operator==(Symbol a, Symbol b) { return a.name_ == b.name_; }
  friend std::strong_ordering operator<=>(Symbol a, Symbol b) {
    if (a.name_ == b.name_) return std::strong_ordering::equal;
    if (a.name_->start != b.name_->start) return a.name_->start <=> b.name_->start;
    return a.name_->text.compare(b.name_->text) < 0 ? std::strong_ordering::less : std::strong_ordering::greater;
  }

 private:
  /// `start`: the first eight bytes as a big-endian number, so that most comparisons are of numbers.
  struct Name {
    std::string text;
    std::uint64_t start;
  };
  friend struct SymbolTable;

  const Name* name_;
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
