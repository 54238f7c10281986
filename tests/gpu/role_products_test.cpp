// Products of a warpgroup in lane mode, against plain matrix products of whole numbers; alone and behind a ring of boxes.
#include "target/target.hpp"
#include "thread_builder.hpp"

namespace fathom::by_hand {
namespace {

Expr in_row_of_panel(Expr row, Expr column) { return row * n(64) + call("swizzled_column", {row, column, n(8), n(1), n(8)}); }

MatrixAtom atom_of(int columns, bool a_in_registers, bool b_rows_are_k) {
  const Target target = *target_named("sm_90a");
  for (const MatrixAtom& atom : target.atoms) {
    if (atom.asynchronous && atom.n == columns && atom.a == DType::bf16 && (atom.a_home == Home::registers) == a_in_registers &&
        atom.b_rows_are_k == b_rows_are_k)
      return atom;
  }
  ADD_FAILURE() << "no such atom";
  return {};
}

/// x z, where z[k,n] lies at k * step + n * column.
std::vector<double> plain_product(const Program& p, std::int64_t rows, std::int64_t columns, std::int64_t steps, std::int64_t step,
                                  std::int64_t column) {
  const double* x = p.in.at(sym("x")).data.data();
  const double* z = p.in.at(sym("z")).data.data();
  std::vector<double> sums(static_cast<std::size_t>(rows * columns), 0);
  double* sum = sums.data();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c, ++sum)
      for (std::int64_t k = 0; k < steps; ++k) *sum += x[r * steps + k] * z[k * step + c * column];
  }
  return sums;
}

/// Row and column of sum i of a lane, rows counted in the group.
Expr sum_row(Expr i) { return rest(warp(), 4) * n(16) + over(lane(), 4) + rest(over(i, 2), 2) * n(8); }
Expr sum_column(Expr i) { return over(i, 4) * n(8) + rest(lane(), 4) * n(2) + rest(i, 2); }

/// y = a b of 64 x 64 and 64 x 128 numbers by one warpgroup; what a[i,k] and b[k,n] are, x and z say row by row.
Program one_product(bool a_in_registers, bool b_rows_are_k, const std::string& planted) {
  const auto is = [&](const char* fault) { return planted == fault; };
  constexpr std::int64_t rows = 64, columns = 128, steps = 64, panel = 64 * 64;
  Program p;
  const MatrixAtom atom = atom_of(columns, a_in_registers, is("another order of B") ? !b_rows_are_k : b_rows_are_k);
  const MatrixAtom narrow = atom_of(columns / 2, a_in_registers, b_rows_are_k);
  p.made.products = {atom, narrow};
  p.tensor("x", DType::bf16, {rows, steps}, whole_numbers(rows * steps, 3, 9));
  p.tensor("z", DType::bf16, {steps, columns}, whole_numbers(steps * columns, 4, 9));
  p.tensor("y", DType::f32, {rows, columns});
  p.panel("a", Type::bf16, rows * steps);
  p.panel("b", Type::bf16, steps * columns);
  p.launch(128, 1);
  const Expr i = var("i"), k = var("k"), element = i * n(128) + thread();
  // B: rows of 64 steps, or two panels of rows of 64 columns
  const Expr b_row = over(element, 128), b_column = rest(element, 128);
  const Expr b_place =
      b_rows_are_k ? over(b_column, 64) * n(panel) + in_row_of_panel(b_row, rest(b_column, 64)) : in_row_of_panel(b_column, b_row);
  ThreadBlock body = {
      loop("i", rows * steps / 128, {set(at("a", in_row_of_panel(over(element, 64), rest(element, 64))), at("x", element))}),
      loop("i", steps * columns / 128, {set(at("b", b_place), at("z", element))})};
  if (!is("no fence for copies")) body.push_back(act("fence_for_copies"));
  body.push_back(act("wait_for_workgroup"));
  const ThreadStatement fence = act("fence_before_products");
  body.push_back(registers("c", Type::f32, 64));
  body.push_back(registers("p", Type::pair_bf16, 16));
  if (is("fence before registers are written")) body.push_back(fence);
  const auto from_x = [&](std::int64_t more) {
    const Expr row = rest(warp(), 4) * n(16) + over(lane(), 4) + rest(i, 2) * n(8);
    const Expr step = over(i, 4) * n(16) + rest(over(i, 2), 2) * n(8) + rest(lane(), 4) * n(2) + n(more);
    return call("to_float", {at("x", row * n(steps) + step)});
  };
  const ThreadStatement pack = loop("i", 16, {set(at("p", i), call("pair_bf16", {from_x(0), from_x(1)}))});
  body.push_back(pack);
  body.push_back(loop("i", 64, {set(at("c", i), cast(DType::f32, n(1000)))}));  // what the first step does not add to
  if (!is("no fence") && !is("fence before registers are written")) body.push_back(fence);
  const std::int64_t stride = is("another stride") ? 2048 : is("no stride") ? 0 : 1024;
  const auto descriptor = [&](const char* name, Expr where, std::int64_t leading) {
    return call("matrix_descriptor", {ref(at(name, where)), n(leading), n(stride)});
  };
  const Expr a = a_in_registers ? ref(at("p", k * n(4))) : descriptor("a", k * n(16) + n(is("unaligned panel") ? 64 : 0), 16);
  const Expr b = descriptor("b",
                            (b_rows_are_k ? k * n(16 * 64) : k * n(16)) + n(is("unaligned panel")   ? 64
                                                                            : is("unaligned chunk") ? 4
                                                                                                    : 0),
                            is("another leading distance") ? 4096
                            : b_rows_are_k                 ? panel * 2
                                                           : 16);
  const ThreadBlock products = {
      loop("k", steps / 16, {act(atom.name.text(), {ref(at("c", 0)), a, b, less(n(is("adds to the first") ? -1 : 0), k)})})};
  if (is("a part of a warpgroup")) {
    body.push_back(when(less(warp(), n(2)), products));
  } else {
    body.insert(body.end(), products.begin(), products.end());
  }
  if (is("two shapes at once")) body.push_back(loop("k", 1, {act(narrow.name.text(), {ref(at("c", 0)), a, b, n(1)})}));
  if (!is("no commit")) body.push_back(act("commit_products"));
  if (is("B is written")) body.push_back(set(at("b", thread()), at("z", thread())));
  if (is("A is written")) body.push_back(pack);
  if (is("sums are written")) body.push_back(set(at("c", 5), cast(DType::f32, n(1))));
  const bool left = is("no wait and no reader") || is("the sums end first");
  if (!is("no wait") && !left) body.push_back(act("wait_for_products", {n(is("waits for all but one") ? 1 : 0)}));
  body.push_back(act("landed", {ref(at("c", 0)), n(64)}));
  if (!left) body.push_back(loop("i", 64, {set(at("y", sum_row(i) * n(columns) + sum_column(i)), at("c", i))}));
  p.role("all", 0, 1, 4, is("the sums end first") ? ThreadBlock{when(boolean(true), body)} : body);
  p.expected = plain_product(p, rows, columns, steps, columns, 1);
  return p;
}

TEST(RoleProducts, both_homes_of_A_and_both_orders_of_B) {
  for (const bool a_in_registers : {false, true}) {
    for (const bool b_rows_are_k : {false, true}) {
      const auto found = [&](const char* planted) { return fault_of(one_product(a_in_registers, b_rows_are_k, planted), 0); };
      const auto says = [&](const char* planted, const char* words) {
        const std::string fault = found(planted);
        EXPECT_NE(fault.find(words), std::string::npos) << planted << ": " << fault;
      };
      EXPECT_EQ(found(""), "") << a_in_registers << b_rows_are_k;
      says("no wait", "`c` is read while a product to it is on its way");
      says("waits for all but one", "`c` is read while a product to it is on its way");
      says("no commit", "`c` is read while a product to it is on its way");
      says("no wait and no reader", "nothing waits for a product of `all threads`");
      says("the sums end first", "ends while a product that uses it is on its way");
      says("sums are written", "`c` is written while a product to it is on its way");
      says("B is written", "`b` is written by a warp while a product may still read it");
      says("no fence", "no `fence_before_products` stands before it");
      says("fence before registers are written", "`fence_before_products` is missing between them");
      says("no fence for copies", "its `fence_for_copies` is missing");
      says("a part of a warpgroup", "is done by a part of a warpgroup");
      says("unaligned panel", "that is not aligned to 1024 bytes");
      says("unaligned chunk", "is not aligned to 16 bytes");
      says("another stride", "outside of its extents");
      says("no stride", "element");
      says("two shapes at once", "`c` is used by products of two kinds at once");
      says("adds to the first", "element");
      EXPECT_NE(found("another order of B"), "");
      if (b_rows_are_k) says("another leading distance", "element");
      if (a_in_registers) says("A is written", "`p` is written while a product still reads it");
    }
  }
}

/// Two warpgroups multiply rows of their own by columns that they share, tile by tile along the steps: a tile's slot is released when the
/// products of the tile behind it have been issued.
Program ring_of_products(const std::string& planted) {
  const auto is = [&](const char* fault) { return planted == fault; };
  constexpr std::int64_t rows = 128, columns = 64, tiles = 5, side = 64, steps = tiles * side, depth = 2, panel = side * side;
  Program p;
  const MatrixAtom atom = atom_of(columns, false, false);
  p.made.products = {atom};
  p.tensor("x", DType::bf16, {rows, steps}, whole_numbers(rows * steps, 5, 9));
  p.tensor("z", DType::bf16, {columns, steps}, whole_numbers(columns * steps, 6, 9));
  p.tensor("y", DType::f32, {rows, columns});
  p.map("x_map", "x", DType::bf16, {rows, steps}, {side, side});
  p.map("z_map", "z", DType::bf16, {columns, steps}, {side, side});
  p.shared("full", Type::barrier, depth);
  p.shared("empty", Type::barrier, depth);
  p.panel("a", Type::bf16, depth * 2 * panel);
  p.panel("b", Type::bf16, depth * panel);
  p.launch(384, 1);
  const Expr t = var("t"), i = var("i"), slot = rest(t, depth), group = over(warp(), 4);
  p.kernel().setup = {
      when(same(thread(), n(0)),
           {loop("i", depth, {act("set_up_barrier", {ref(at("full", i)), n(1)}), act("set_up_barrier", {ref(at("empty", i)), n(8)})}),
            act("publish_barriers")}),
      act("wait_for_workgroup")};
  const auto load = [&](const char* to, Expr place, const char* map, Expr row) {
    return act("load_box_2", {ref(at(to, place)), var(map), ref(at("full", slot)), t * n(side), row});
  };
  p.role("producer", 8, 1, 4,
         {act("set_registers_down", {n(40)}),
          when(same(thread(), n(256)),
               {loop("t", tiles,
                     {act("wait_for_barrier", {ref(at("empty", slot)), rest(over(t, depth) + n(1), 2)}),
                      act("expect_bytes", {ref(at("full", slot)), n(3 * panel * 2)}), act("arrive", {ref(at("full", slot))}),
                      load("a", slot * n(2 * panel), "x_map", n(0)), load("a", slot * n(2 * panel) + n(panel), "x_map", n(side)),
                      load("b", slot * n(panel), "z_map", n(0))})})});
  const auto release = [&](Expr of) { return when(same(lane(), n(0)), {act("arrive", {ref(at("empty", rest(of, depth)))})}); };
  const auto matrix = [&](const char* name, Expr begin) {
    return call("matrix_descriptor", {ref(at(name, begin + var("k") * n(16))), n(16), n(1024)});
  };
  const ThreadStatement wait = act("wait_for_barrier", {ref(at("full", slot)), rest(over(t, depth), 2)});
  p.role(
      "consumer", 0, 2, 4,
      {when(less(warp(), n(is("registers for a part") ? 2 : 8)), {act("set_registers_up", {n(232)})}), registers("c", Type::f32, 32),
       loop(
           "t", tiles,
           {is("no wait for a full slot")     ? no_statement()
            : is("a warp waits for the rest") ? when(same(rest(warp(), 4), n(0)), {wait})
                                              : wait,
            act("fence_before_products"),
            loop("k", 4,
                 {act(atom.name.text(), {ref(at("c", 0)), matrix("a", slot * n(2 * panel) + group * n(panel)), matrix("b", slot * n(panel)),
                                         binary(Op::logical_or, less(n(0), t), less(n(0), var("k")))})}),
            act("commit_products"), is("released before it is waited for") ? release(t) : no_statement(), act("wait_for_products", {n(1)}),
            is("released before it is waited for") ? no_statement() : when(less(n(0), t), {release(is("the wrong slot") ? t : t - n(1))})}),
       act("wait_for_products", {n(0)}),
       loop("i", 32, {set(at("y", (group * n(64) + sum_row(i)) * n(columns) + sum_column(i)), at("c", i))})});
  p.expected = plain_product(p, rows, columns, steps, 1, steps);
  return p;
}

TEST(RoleProducts, behind_a_ring) {
  find_all(ring_of_products,
           {{"no wait for a full slot",
             {"is read by a product that has not waited for the copy", "is written by a copy while a product may still read it"}},
            {"a warp waits for the rest", {"is read by a product that has not waited for the copy"}},
            {"released before it is waited for", {"is written by a copy while a product may still read it"}},
            {"the wrong slot", {"is written by a copy while a product may still read it", "cyclic wait"}},
            {"registers for a part", {"`set_registers_up` is done by a part of a warpgroup"}}});
}

}  // namespace
}  // namespace fathom::by_hand
