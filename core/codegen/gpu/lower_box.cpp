// Copies of the machine's copy engine: one thread asks for a box of a tensor, and the box reports to the barrier of the slot; a box of
// shared memory is stored, and the thread that asked for it waits.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {

/// The box of `tensor` that goes to or comes from these panels. Refused where it is none: every subscript of the tensor is the same for all
/// threads, or an axis of the panels besides.
KernelLowering::Box KernelLowering::box_of(const Memory& tensor, const std::vector<Expr>& subscripts, const kernel::Access& panels,
                                           const std::string& what) {
  const Memory& shared = *memory(panels.name);
  const auto no_box = [&](const std::string& why) { refused("the copy `" + what + "` is no box of a tensor: " + why, {what}); };
  if (!shared.panels || panels.subscripts.size() < 2) no_box("its memory is no panels of rows of 128 bytes");
  if (tensor.dtype != shared.dtype) no_box("the types differ");
  constexpr std::int64_t alignment = 16;
  const std::int64_t size = size_in_bytes(tensor.dtype);
  if (!aligned(tensor.tensor, alignment) || multiple_of(tensor.extents.back()) * size % alignment != 0)
    refused("the copy `" + what + "` has no form for the copy engine: the launch contract leaves open whether `" + tensor.tensor.text() +
                "` and its rows are multiples of 16 bytes",
            {what}, "require that they are");
  const Expr row_axis = panels.subscripts[panels.subscripts.size() - 2], column_axis = panels.subscripts.back();
  const auto extent_of = [&](Expr axis) {
    std::int64_t extent = 1;
    for (const layout::Part& part : layouts_.parts_of(axis)) extent *= part.extent;
    return extent;
  };
  Box box;
  box.row_elements = panel_bytes / size;
  box.rows = extent_of(row_axis);
  box.panels = extent_of(column_axis) / box.row_elements;
  const auto whole = [&](Expr axis, Expr extent) { return number(extent_of(axis)) == simplify_integer(extent); };
  if (!whole(row_axis, shared.extents[shared.extents.size() - 2]) || !whole(column_axis, shared.extents.back()))
    no_box("it takes a part of its panels");
  constexpr std::int64_t most_rows = 256;
  constexpr std::size_t most_coordinates = 4;
  if (box.rows > most_rows) no_box("it has more than 256 rows");
  if (subscripts.size() > most_coordinates) no_box("the tensor has more than four axes");
  TensorMap map;
  map.tensor = tensor.tensor;
  map.type = type_of(tensor.dtype);
  for (const Expr extent : tensor.extents) map.extents.push_back(element(extent, {}).expr);
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const bool rows = contains(subscripts[d], row_axis), columns = contains(subscripts[d], column_axis);
    if (columns != (d + 1 == subscripts.size()) || (rows && columns)) no_box("its columns are not those of the tensor");
    Element at;  // where the box begins
    if (rows) at.axes[row_axis] = number(0);
    if (columns) at.axes[column_axis] = number(0);
    const Expr axis = rows ? row_axis : column_axis;
    if ((rows || columns) && !moves_one_by_one(subscripts[d], axis))
      no_box("`" + fathom::print(subscripts[d]) + "` is no axis and a number");
    if (!rows && !columns && !free_indices(subscripts[d]).empty()) no_box("`" + fathom::print(subscripts[d]) + "` differs between threads");
    box.begin.push_back(simplify_integer(converted(index_expression(subscripts[d], at), Type::i32).expr));
    map.box.push_back(rows ? box.rows : columns ? box.row_elements : 1);
  }
  if (std::count(map.box.begin(), map.box.end(), box.rows) == 0) no_box("its rows are not those of the tensor");
  box.bytes = box.rows * box.panels * panel_bytes;
  const auto same = [&](const TensorMap& known) { return known.tensor == map.tensor && known.box == map.box; };
  const auto known = std::find_if(result_.maps.begin(), result_.maps.end(), same);
  box.map = known != result_.maps.end() ? known->name : map.name = names_.fresh(tensor.tensor.text() + "_map");
  if (known == result_.maps.end()) result_.maps.push_back(map);
  return box;
}

/// axis + e or e + axis, e without the axis.
bool KernelLowering::moves_one_by_one(Expr subscript, Expr axis) {
  if (subscript == axis) return true;
  if (!subscript.is(Op::add)) return false;
  const bool left = contains(subscript.arg(0), axis), right = contains(subscript.arg(1), axis);
  return left != right && moves_one_by_one(subscript.arg(left ? 0 : 1), axis);
}

/// Coordinates as the engine takes them, fastest first.
static std::vector<Expr> coordinates(const std::vector<Expr>& begin, std::int64_t column) {
  std::vector<Expr> fastest_first(begin.rbegin(), begin.rend());
  fastest_first[0] = simplify_integer(fastest_first[0] + number(column));
  return fastest_first;
}

void KernelLowering::lower_load_box(const kernel::Copy& c) {
  const std::string& what = c.token.text();
  Ring& r = rings_.at(slots_of_.at(c.to.name));
  Expr from = c.from, condition, fill = c.otherwise;
  if (from.is(Op::where)) {
    condition = from.arg(0);
    fill = from.arg(2);
    from = from.arg(1);
    if (!free_indices(condition).empty())
      refused("the copy `" + what + "` is no box of a tensor: its condition differs between elements", {what});
  }
  const Memory* source = from.is(Op::read) ? memory(from.name()) : nullptr;
  if (source == nullptr || !source->global) refused("a copy reads one tensor: `" + what + "`", {what});
  if (fill && fill != number(0))
    refused("the copy engine brings 0 from outside of a tensor, and `" + what + "` wants another number", {what});
  if (condition) refused("a copy between roles under a condition has no form on this target yet: `" + what + "`", {what});
  const Box box = box_of(*source, {from.args().begin(), from.args().end()}, c.to, what);
  if (r.slots.empty()) refused("the copy `" + what + "` fills a slot that is not held", {what});
  const Expr full = barrier(r.of.full, r.slots.back());
  r.copies = true;
  const Memory& to = *memory(c.to.name);
  once_a_group([&] {
    emit({Do{call_of("expect_bytes", {full, number(box.bytes)})}});
    for (std::int64_t panel = 0; panel < box.panels; ++panel) {
      std::vector<Expr> args = {place_of_panel(to, c.to, box, panel), symbol(box.map), full};
      const std::vector<Expr> at = coordinates(box.begin, panel * box.row_elements);
      args.insert(args.end(), at.begin(), at.end());
      emit({Do{call_of(("load_box_" + std::to_string(at.size())).c_str(), args)}});
    }
  });
}

/// The first element of a panel.
Expr KernelLowering::place_of_panel(const Memory& m, const kernel::Access& access, const Box& box, std::int64_t panel) {
  Expr outer;
  for (std::size_t d = 0; d + 2 < access.subscripts.size(); ++d) {
    const Expr at = index_expression(access.subscripts[d], {}).expr;
    outer = outer ? outer * m.extents[d] + at : at;
  }
  const Expr first = number(panel * box.rows * box.row_elements);
  const Expr place = outer ? simplify_integer(outer * number(box.rows * box.panels * box.row_elements) + first) : first;
  return call_of("&", {fathom::read(m.name, {place})});
}

/// All threads of the group have written what one of them stores.
void KernelLowering::lower_store_box(const kernel::Copy& c) {
  const std::string& what = c.token.text();
  const Memory* to = memory(c.to.name);
  const Memory* from = c.from.is(Op::read) ? memory(c.from.name()) : nullptr;
  if (to == nullptr || from == nullptr || !to->global || from->global)
    refused("a copy goes from a tensor to a slot, or from shared memory to a tensor: `" + what + "`", {what});
  if (!target_.copy_engine) refused("a copy from shared memory to a tensor needs a copy engine: `" + what + "`", {what});
  const kernel::Access source{c.from.name(), {c.from.args().begin(), c.from.args().end()}};
  const Box box = box_of(*to, c.to.subscripts, source, what);
  emit({Do{call_of("fence_for_copies", {})}});
  wait_for_group();
  once_a_group([&] {
    for (std::int64_t panel = 0; panel < box.panels; ++panel) {
      std::vector<Expr> args = {symbol(box.map), place_of_panel(*from, source, box, panel)};
      const std::vector<Expr> at = coordinates(box.begin, panel * box.row_elements);
      args.insert(args.end(), at.begin(), at.end());
      emit({Do{call_of(("store_box_" + std::to_string(at.size())).c_str(), args)}});
    }
    emit({Do{call_of("commit_stores", {})}});
  });
}

/// A store is awaited by the thread that asked for it; what it read may be overwritten by all of them then.
void KernelLowering::lower_await(const kernel::Await& a) {
  if (loads_.count(a.token) > 0)
    refused("a copy into a slot is awaited by who receives the slot, not by `" + a.token.text() + "` itself", {a.token.text()});
  if (stores_.count(a.token) == 0) return await_product(a);
  once_a_group([&] { emit({Do{call_of(a.source_only ? "wait_for_stores_to_read" : "wait_for_stores", {number(0)})}}); });
  if (a.source_only) wait_for_group();
}

}  // namespace fathom::gpu
