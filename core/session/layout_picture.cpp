#include "session/layout_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "ir/overloaded.hpp"
#include "layout/assign.hpp"

namespace fathom::session {
namespace {

using kernel::Access;
using kernel::Block;
using layout::Part;

void each_statement(const Block& body, const std::function<void(const kernel::Statement&)>& f) {
  for (const kernel::Statement& s : body) {
    f(s);
    if (const auto* loop = std::get_if<kernel::For>(&s.op)) each_statement(loop->body, f);
    if (const auto* when = std::get_if<kernel::When>(&s.op)) each_statement(when->body, f);
    if (const auto* condition = std::get_if<kernel::If>(&s.op)) each_statement(condition->body, f);
  }
}

/// Values that the statement gives, and the accumulator that a product writes.
std::vector<Access> given_by(const kernel::Statement& s) {
  std::vector<Access> given;
  if (const auto* value = std::get_if<kernel::Value>(&s.op)) given = value->targets;
  if (const auto* product = std::get_if<kernel::Mma>(&s.op)) given = {product->acc};
  if (const auto* loop = std::get_if<kernel::For>(&s.op))
    for (const kernel::Carry& each : loop->carry) given.push_back(each.value);
  return given;
}

/// With the subscripts of its first statement.
std::vector<Access> values_of_role(const kernel::Role& role, const layout::Assignment& all) {
  std::vector<Access> found;
  std::set<Symbol> seen;
  each_statement(role.body, [&](const kernel::Statement& s) {
    for (Access& each : given_by(s)) {
      const auto its = all.of.find(each.name);
      if (its == all.of.end() || each.subscripts.empty() || !seen.insert(each.name).second) continue;
      found.push_back(std::move(each));
    }
  });
  return found;
}

/// Coordinates of parts, slowest first, as one number.
class Axis {
 public:
  void add(const std::string& name, const std::vector<Part>& parts) {
    name_ += (name_.empty() ? "" : ", ") + name;
    parts_.insert(parts_.end(), parts.begin(), parts.end());
  }
  [[nodiscard]] std::int64_t extent() const {
    std::int64_t product = 1;
    for (const Part& part : parts_) product *= part.extent;
    return product;
  }
  [[nodiscard]] std::int64_t at(const layout::Layout& layout, const LayoutPlace& place) const {
    std::int64_t number = 0;
    for (const Part& part : parts_) number = number * part.extent + layout.coordinate(part.name, place.reg, place.lane, place.warp);
    return number;
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::vector<Part> parts_;
};

void fill_cells(LayoutPicture& picture, const layout::Layout& layout, const Axis& rows, const Axis& columns) {
  picture.cells.assign(static_cast<std::size_t>(picture.shown_height * picture.shown_width), LayoutPlace{-1, -1, -1});
  picture.holders.assign(picture.cells.size(), 0);
  for (std::int64_t warp = 0; warp < picture.warps; ++warp) {
    for (std::int64_t lane = 0; lane < picture.lanes; ++lane) {
      for (std::int64_t reg = 0; reg < picture.registers; ++reg) {
        const LayoutPlace place{reg, lane, warp};
        const std::int64_t row = rows.at(layout, place), column = columns.at(layout, place);
        if (row >= picture.shown_height || column >= picture.shown_width) continue;
        const std::size_t cell = picture.cell(row, column);
        if (picture.holders[cell]++ == 0) picture.cells[cell] = place;
      }
    }
  }
}

/// As code generation sees it: the operands of a value that lie elsewhere than the value has to be.
std::vector<LayoutMove> moves_of(const kernel::Role& role, const layout::Assignment& all, Symbol name) {
  std::vector<LayoutMove> moves;
  each_statement(role.body, [&](const kernel::Statement& s) {
    const auto* value = std::get_if<kernel::Value>(&s.op);
    if (value == nullptr || value->values.size() != value->targets.size()) return;
    for (std::size_t i = 0; i < value->targets.size(); ++i) {
      const Access& target = value->targets[i];
      const auto wanted = all.of.find(target.name);
      if (wanted == all.of.end() || target.subscripts.empty()) continue;
      std::vector<Symbol> parts;
      for (const Expr subscript : target.subscripts)
        for (const Part& part : all.parts_of(subscript)) parts.push_back(part.name);
      visit(value->values[i], [&](Expr e) {
        const auto held = e.is(Op::read) && !e.args().empty() ? all.of.find(e.name()) : all.of.end();
        if (held == all.of.end() || held->second.agrees_with(wanted->second) || (e.name() != name && target.name != name)) return;
        moves.push_back({e.name().text(), target.name.text(), layout::conversion(held->second.over(parts), wanted->second, all.places)});
      });
    }
  });
  return moves;
}

std::optional<std::int64_t> fixed(Expr e) { return constant_integer(simplify_integer(e)); }

constexpr std::int64_t chunk_bytes = 16, line_bytes = 128, chunks_of_a_line = line_bytes / chunk_bytes;

int passes_of(const layout::Swizzle& swizzle, std::int64_t bytes_of_a_row) {
  std::vector<std::int64_t> addresses;
  for (std::int64_t lane = 0; lane < 32; ++lane) {
    const std::int64_t row = lane % 8, column = lane / 8 % swizzle.chunks;
    addresses.push_back(row * bytes_of_a_row + swizzle.chunk(row, column) * chunk_bytes);
  }
  return layout::bank_passes(addresses, chunk_bytes);
}

/// Nothing where its rows are no whole chunks, or of no fixed number.
std::optional<SlotPicture> slot_in_banks(const std::string& name, DType dtype, const std::vector<Expr>& box, bool has_panels) {
  if (box.size() < 2) return std::nullopt;
  const auto rows = fixed(box[box.size() - 2]), columns = fixed(box.back());
  if (!rows || !columns) return std::nullopt;
  SlotPicture slot;
  slot.name = name;
  slot.rows = *rows;
  slot.bytes_of_an_element = size_in_bytes(dtype);
  slot.bytes_of_a_row = *columns * slot.bytes_of_an_element;
  if (slot.bytes_of_a_row % chunk_bytes != 0) return std::nullopt;
  slot.panels = has_panels && *rows % 8 == 0 && slot.bytes_of_a_row % line_bytes == 0;
  const std::int64_t row_bytes = slot.panels ? line_bytes : slot.bytes_of_a_row;
  slot.swizzle = layout::swizzle_of(row_bytes);
  layout::Swizzle none = slot.swizzle;
  none.period = 1;
  slot.passes = passes_of(slot.swizzle, row_bytes);
  slot.passes_as_they_come = passes_of(none, row_bytes);
  const std::int64_t rows_shown = std::min(*rows, slot.swizzle.period * slot.swizzle.repeat);
  const std::int64_t chunks = (rows_shown * row_bytes + line_bytes - 1) / line_bytes * chunks_of_a_line;
  for (std::int64_t at = 0; at < chunks; ++at) {
    const std::int64_t row = at * chunk_bytes / row_bytes, place = at * chunk_bytes % row_bytes / chunk_bytes;
    slot.cells.push_back({row, slot.swizzle.chunk(row, place)});  // the exchange undoes itself
  }
  return slot;
}

}  // namespace

bool has_lanes(const Target& target) {
  return std::any_of(target.atoms.begin(), target.atoms.end(), [](const MatrixAtom& atom) { return atom.issuing_lanes > 1; });
}

std::vector<TileValue> values_with_layout(const kernel::Module& module, const Target& target) {
  std::vector<TileValue> found;
  for (std::size_t k = 0; k < module.kernels.size(); ++k) {
    for (std::size_t r = 0; r < module.kernels[k].roles.size(); ++r) {
      const kernel::Role& role = module.kernels[k].roles[r];
      const auto all = layout::assign(module.kernels[k], role, target);
      if (!all) continue;
      for (const Access& each : values_of_role(role, *all)) found.push_back({k, r, each.name.text()});
    }
  }
  return found;
}

Result<LayoutPicture> layout_picture(const kernel::Module& module, const Target& target, const TileValue& value) {
  const kernel::Kernel& k = module.kernels.at(value.kernel);
  const kernel::Role& role = k.roles.at(value.role);
  const auto all = layout::assign(k, role, target);
  if (!all) return tl::unexpected(all.error());
  const std::vector<Access> values = values_of_role(role, *all);
  const auto found = std::find_if(values.begin(), values.end(), [&](const Access& each) { return each.name.text() == value.name; });
  if (found == values.end()) return refuse("`" + value.name + "` lies in no registers", {value.name});
  Axis rows, columns;
  for (std::size_t d = 0; d < found->subscripts.size(); ++d) {
    const bool is_column = d > 0 && d + 1 == found->subscripts.size();
    (is_column ? columns : rows).add(fathom::print(found->subscripts[d]), all->parts_of(found->subscripts[d]));
  }
  const layout::Layout& layout = all->of.at(found->name);
  LayoutPicture picture;
  picture.kernel = k.name.text();
  picture.role = role.name.text();
  picture.rows = rows.name();
  picture.columns = columns.name();
  picture.height = rows.extent();
  picture.width = columns.extent();
  picture.shown_height = std::min(picture.height, most_shown);
  picture.shown_width = std::min(picture.width, most_shown);
  picture.registers = layout.registers();
  picture.lanes = all->places.lanes;
  picture.warps = all->places.warps;
  picture.line = layout::print(layout, picture.lanes);
  picture.moves = moves_of(role, *all, found->name);
  fill_cells(picture, layout, rows, columns);
  return picture;
}

std::string words_of(const LayoutPicture& picture, std::int64_t row, std::int64_t column) {
  const std::size_t cell = picture.cell(row, column);
  const LayoutPlace& place = picture.cells[cell];
  std::string text = fmt::format("row {}", row);
  if (!picture.columns.empty()) text += fmt::format(", column {}", column);
  if (place.reg < 0) return text + ": held by no lane";
  text += fmt::format(": register {} of lane {}", place.reg, place.lane);
  if (picture.warps > 1) text += fmt::format(" of warp {}", place.warp);
  const std::int64_t others = picture.holders[cell] - 1;
  if (others > 0) text += fmt::format(", and {} other lane{} hold{} the same", others, others == 1 ? "" : "s", others == 1 ? "s" : "");
  return text;
}

std::string words_of(layout::Conversion how) {
  switch (how) {
    case layout::Conversion::none:
      return "the same registers: free";
    case layout::Conversion::rename:
      return "other registers of the same lane, alike in every lane: free";
    case layout::Conversion::permute:
      return "other registers of the same lane, which differ from lane to lane: selects";
    case layout::Conversion::shuffle:
      return "another lane of the same warp: shuffles";
    case layout::Conversion::exchange:
      return "another warp: through shared memory";
    case layout::Conversion::impossible:
      break;
  }
  return "not every element is there: impossible";
}

std::vector<SlotPicture> slots_in_banks(const kernel::Module& module, const Target& target) {
  std::vector<SlotPicture> found;
  for (std::size_t k = 0; k < module.kernels.size(); ++k) {
    const auto add = [&](Symbol name, DType dtype, const std::vector<Expr>& box, bool has_panels) {
      auto slot = slot_in_banks(name.text(), dtype, box, has_panels);
      if (!slot) return;
      slot->kernel = k;
      found.push_back(*std::move(slot));
    };
    for (const kernel::Channel& each : module.kernels[k].channels)
      add(each.name, each.dtype, each.box, target.copy_engine && each.from != each.to);
    for (const kernel::Buffer& each : module.kernels[k].buffers)
      if (each.space == Symbol("shared")) add(each.name, each.dtype, each.box, target.copy_engine);
  }
  return found;
}

std::string words_of(const SlotPicture& slot, std::size_t cell) {
  const SlotPicture::Chunk& chunk = slot.cells[cell];
  const std::int64_t elements = chunk_bytes / slot.bytes_of_an_element, first = chunk.number * elements;
  const std::int64_t bank = static_cast<std::int64_t>(cell) % chunks_of_a_line * 4;
  return fmt::format("row {}, columns {} to {}: banks {} to {}", chunk.row, first, first + elements - 1, bank, bank + 3);
}

}  // namespace fathom::session
