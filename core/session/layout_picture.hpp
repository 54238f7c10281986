// Where the elements of a tile value are, as a table that is only drawn: which register of which lane of which warp holds each coordinate.
// And how the rows of a slot lie in the banks of shared memory. Both are what code generation uses (core/layout).
//
// Worked example, the scores of attention on sm_90a (64 rows a group, 128 columns): row 3, column 17 is register 9 of lane 12 of warp 0;
// the value goes into the second product as it is, so there is no move.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.hpp"
#include "layout/layout.hpp"
#include "target/target.hpp"

namespace fathom::session {

/// Lanes of it hold elements: only such targets have layouts.
[[nodiscard]] bool has_lanes(const Target&);

/// A value of a role whose elements lie in registers.
struct TileValue {
  std::size_t kernel = 0, role = 0;  ///< places in the module and in the kernel
  std::string name;
  friend bool operator==(const TileValue&, const TileValue&) = default;
};
/// In the order of the text, each once a role; those that vary with some axis. Roles whose layouts are refused have none.
[[nodiscard]] std::vector<TileValue> values_with_layout(const kernel::Module&, const Target&);

struct LayoutPlace {
  std::int64_t reg = 0, lane = 0, warp = 0;
  friend bool operator==(const LayoutPlace&, const LayoutPlace&) = default;
};
/// A value that is computed where its operand is not.
struct LayoutMove {
  std::string from, into;
  layout::Conversion how = layout::Conversion::none;
};
struct LayoutPicture {
  std::string kernel, role;
  std::string rows, columns;                       ///< names of the axes; `columns` is empty where there is one axis
  std::int64_t height = 1, width = 1;              ///< of the whole tile of one group
  std::int64_t shown_height = 1, shown_width = 1;  ///< of its beginning that the cells have
  std::vector<LayoutPlace> cells;                  ///< row major: the first place that holds the element
  std::vector<std::int64_t> holders;               ///< how many lanes hold it
  std::int64_t registers = 1, lanes = 1, warps = 1;
  std::string line;  ///< of layout::print
  std::vector<LayoutMove> moves;
  [[nodiscard]] std::size_t cell(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * shown_width + column);
  }
};
constexpr std::int64_t most_shown = 256;  ///< rows and columns of a picture
/// Refused where the role's layouts are, or the value has none.
[[nodiscard]] Result<LayoutPicture> layout_picture(const kernel::Module&, const Target&, const TileValue&);
/// "row 3, column 17: register 9 of lane 12 of warp 0"; with how many other lanes hold the same.
[[nodiscard]] std::string words_of(const LayoutPicture&, std::int64_t row, std::int64_t column);
/// What a move costs, in words.
[[nodiscard]] std::string words_of(layout::Conversion);

// ---- shared memory ----
/// A slot of a channel, or a buffer in shared memory, as lines of all banks: 8 chunks of 16 bytes.
struct SlotPicture {
  std::size_t kernel = 0;
  std::string name;
  std::int64_t rows = 1, bytes_of_a_row = 1, bytes_of_an_element = 1;
  bool panels = false;  ///< rows are cut into panels of 128 bytes that follow each other: the cells are of the first one
  layout::Swizzle swizzle;
  struct Chunk {
    std::int64_t row = 0, number = 0;  ///< of the tile, and within its row
  };
  std::vector<Chunk> cells;                 ///< line after line
  int passes = 1, passes_as_they_come = 1;  ///< of the banks, when a warp reads eight rows of each of four columns of chunks
  [[nodiscard]] std::int64_t lines() const { return static_cast<std::int64_t>(cells.size()) / 8; }
};
/// Of rows that are whole chunks, in the order of the text.
[[nodiscard]] std::vector<SlotPicture> slots_in_banks(const kernel::Module&, const Target&);
/// "row 3, columns 40 to 47: banks 24 to 27"
[[nodiscard]] std::string words_of(const SlotPicture&, std::size_t cell);

}  // namespace fathom::session
