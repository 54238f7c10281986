// Where the elements of a tile are: in which register of which lane of which warp. Inside of an atom these maps are linear over bits; atoms
// are repeated by integer factors, so tiles of 80 or 176 columns are as good as those of 64. A place without a digit holds what its
// neighbour holds: a broadcast. Layouts follow from the atoms that make and take values; nobody writes one by hand.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/kernel.hpp"
#include "target/target.hpp"

namespace fathom::layout {

/// Places of one group: `warps` of `lanes`.
struct Places {
  std::int64_t lanes = 32;
  std::int64_t warps = 1;
};

/// The number of a place at `level` has the digit (number / step) % extent; each of its values moves the coordinate of `part` by `stride`.
/// For registers the steps follow from the order: slowest first.
struct Digit {
  HierarchyLevel level = HierarchyLevel::registers;
  std::int64_t step = 1;
  std::int64_t extent = 1;
  Symbol part;  ///< of a split axis, or the axis itself
  std::int64_t stride = 1;
  friend bool operator==(const Digit&, const Digit&) = default;
};

class Layout {
 public:
  Layout() = default;
  /// In one form: digits of extent 1 are left out, neighbours that go on with each other are one.
  explicit Layout(std::vector<Digit> digits);

  [[nodiscard]] const std::vector<Digit>& digits() const { return digits_; }
  /// Digits at one level, slowest first.
  [[nodiscard]] std::vector<Digit> at(HierarchyLevel) const;
  /// Elements that each lane holds.
  [[nodiscard]] std::int64_t registers() const;
  /// The coordinate of a part at a place.
  [[nodiscard]] std::int64_t coordinate(Symbol part, std::int64_t reg, std::int64_t lane, std::int64_t warp) const;
  /// Only these parts: what a value that does not vary with the others has. Lanes and warps that differed in them hold the same.
  [[nodiscard]] Layout over(const std::vector<Symbol>& parts) const;
  /// Lanes and warps agree on the parts that both have, so an operation on both needs nothing moved between lanes.
  [[nodiscard]] bool agrees_with(const Layout& other) const;
  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  std::vector<Digit> digits_;
};

/// What it takes to bring a value from one layout to another of the same parts. Computed from the two maps.
enum class Conversion : std::uint8_t {
  none,       ///< the same registers
  rename,     ///< other registers of the same lane, alike in every lane: free
  permute,    ///< other registers of the same lane, which differ from lane to lane: selects
  shuffle,    ///< another lane of the same warp
  exchange,   ///< another warp: through shared memory
  impossible  ///< `from` does not hold every element
};
[[nodiscard]] std::string_view name(Conversion);
[[nodiscard]] Conversion conversion(const Layout& from, const Layout& to, const Places&);

// ---- axes and atoms ----
/// A part and how many values it has.
struct Part {
  Symbol name;
  std::int64_t extent = 1;
};
/// The parts of an axis, slowest first. Refused where an extent is no number.
[[nodiscard]] Result<std::vector<Part>> parts_of(const kernel::TileAxis&);

/// Which axis each dimension of a product is.
struct Product {
  std::vector<Part> m, n, k;
};
/// The fragment of an atom, repeated over the axes of its operand: warps take the slowest tiles of rows, then of columns, the rest are
/// registers. Refused where the atom does not fit an axis.
[[nodiscard]] Result<Layout> repeated(const Fragment&, const MatrixAtom&, const Product&, const Places&);
/// A tile that no atom makes or takes. Neighbouring parts whose extents are those of the group's warps and of the warp are its warps and
/// lanes, all others registers; where there are none, lanes and then warps take what they can of the parts, from the fastest on.
[[nodiscard]] Layout spread(const std::vector<std::vector<Part>>& axes, const Places&);

// ---- text ----
/// "w = warp, u = lane/4 + 8*reg/2, …": the coordinate of each part.
[[nodiscard]] std::string print(const Layout&, std::int64_t lanes = 32);
/// The coordinates of two parts or axes as rows and columns; each cell says who holds it: "lane:register", warps in front where there are
/// several.
[[nodiscard]] std::string picture(const Layout&, const std::vector<Part>& rows, const std::vector<Part>& columns, const Places&);

// ---- shared memory ----
/// Rows of a tile in shared memory, 16 bytes wide chunks of which are exchanged: chunk ^ (row / repeat) % period. So eight rows of a column
/// of chunks lie in different banks.
struct Swizzle {
  std::int64_t chunks = 1;  ///< of a row
  std::int64_t period = 1;  ///< 1: as they come
  std::int64_t repeat = 1;  ///< rows that share 128 bytes
  [[nodiscard]] std::int64_t chunk(std::int64_t row, std::int64_t column) const { return column ^ (row / repeat % period); }
};
[[nodiscard]] Swizzle swizzle_of(std::int64_t bytes_of_a_row);
/// How many times the banks (32 of 4 bytes) are used one after the other when lanes access `bytes` each at these addresses: 1 is best.
/// Accesses of 8 and 16 bytes are made by halves and quarters of a warp.
[[nodiscard]] int bank_passes(const std::vector<std::int64_t>& addresses, std::int64_t bytes);

}  // namespace fathom::layout
