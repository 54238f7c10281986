// Lane mode on kernels with roles, written by hand: rings, boxes, turns, counters; and faults planted in them.
#include "thread_builder.hpp"

namespace fathom::by_hand {
namespace {

/// Where an element of a panel of rows of 64 numbers lies.
Expr in_panel(Expr row, Expr column) { return row * n(64) + call("swizzled_column", {row, column, n(8), n(1), n(8)}); }

/// Two groups of a warp sum up tiles of 8 rows that a thread loads: y = the sum of all tiles. A group has four of the rows.
Program ring(const std::string& planted) {
  const auto is = [&](const char* fault) { return planted == fault; };
  constexpr std::int64_t tiles = 5, depth = 2, rows = 8, columns = 64, bytes = rows * columns * 2;
  Program p;
  p.tensor("x", DType::bf16, {(tiles + 1) * rows, columns}, whole_numbers((tiles + 1) * rows * columns, 1, 60));
  p.tensor("y", DType::f32, {rows, columns});
  p.map("x_map", "x", DType::bf16, {(tiles + 1) * rows, columns}, {rows, columns});
  p.shared("full", Type::barrier, depth);
  p.shared("empty", Type::barrier, depth);
  p.panel("slots", Type::bf16, (depth + 1) * rows * columns);
  p.launch(96, 1);
  const Expr t = var("t"), slot = rest(t, depth), round = over(t, depth);
  const std::int64_t arrivals = is("too few arrivals counted") ? 1 : 2;
  p.kernel().setup = {when(same(thread(), n(0)), {loop("i", depth,
                                                       {act("set_up_barrier", {ref(at("full", var("i"))), n(1)}),
                                                        when(less(var("i"), n(is("one is not set up") ? 1 : depth)),
                                                             {act("set_up_barrier", {ref(at("empty", var("i"))), n(arrivals)})})}),
                                                  is("not published") ? no_statement() : act("publish_barriers")}),
                      is("no wait behind the set-up") ? no_statement() : act("wait_for_workgroup")};
  const Expr begin = slot * n(rows * columns) + n(is("unaligned") ? 32 : 0);
  const ThreadBlock load = {
      is("no wait for an empty slot") ? no_statement() : act("wait_for_barrier", {ref(at("empty", slot)), rest(round + n(1), 2)}),
      act("expect_bytes", {ref(at("full", slot)), n(is("too few bytes")    ? bytes / 2
                                                    : is("too many bytes") ? bytes * 2
                                                                           : bytes)}),
      act("load_box_2", {ref(at("slots", begin)), var("x_map"), ref(at("full", slot)), n(is("another column") ? 8 : 0),
                         t * n(rows) + n(is("another row") ? 1 : 0)}),
      act("arrive", {ref(at("full", slot))}), is("arrives twice") ? act("arrive", {ref(at("full", slot))}) : no_statement()};
  const ThreadStatement loads = loop("t", is("one load more") ? tiles + 1 : tiles, load);
  const ThreadStatement more = is("bytes for nothing") ? act("expect_bytes", {ref(at("full", 0)), n(64)}) : no_statement();
  const Expr row = (warp() * n(4)) + var("r"), column = lane() + var("h") * n(32), sum = at("sum", var("r") * n(2) + var("h"));
  const auto each = [&](ThreadStatement s) { return loop("r", 4, {loop("h", 2, {std::move(s)})}); };
  const ThreadBlock release = {act("wait_for_warp"), when(same(lane(), n(0)), {act("arrive", {ref(at("empty", slot))})})};
  ThreadBlock trip;
  if (is("waits in the first round only"))
    trip.push_back(when(less(t, n(depth)), {act("wait_for_barrier", {ref(at("full", slot)), n(0)})}));
  else if (!is("no wait for a full slot"))
    trip.push_back(act("wait_for_barrier", {ref(at("full", slot)), rest(is("wrong parity") ? round + n(1) : round, 2)}));
  if (is("early release")) trip.insert(trip.end(), release.begin(), release.end());
  trip.push_back(each(set(sum, sum + call("to_float", {at("slots", slot * n(rows * columns) + in_panel(row, column))}))));
  if (!is("early release") && !is("no release")) trip.insert(trip.end(), release.begin(), release.end());
  p.role("consumer", 0, 2, 1,
         {registers("sum", Type::f32, 8), each(set(sum, cast(DType::f32, n(0)))), loop("t", tiles, trip),
          each(set(at("y", row * n(columns) + column), sum))});
  p.role("producer", 2, 1, 1, {is("loads of a whole warp") ? loads : when(same(lane(), n(0)), {loads, more})});
  const std::vector<double>& x = p.in[sym("x")].data;
  p.expected.assign(rows * columns, 0);
  for (std::size_t i = 0; i < tiles * rows * columns; ++i) p.expected[i % (rows * columns)] += x[i];
  return p;
}

TEST(Roles, a_ring_of_boxes) {
  find_all(ring,
           {{"no wait for a full slot",
             {"is read by a warp that has not waited for the copy", "is written by a copy while another reads it", "cyclic wait"}},
            {"wrong parity",
             {"is read by a warp that has not waited for the copy", "is written by a copy while another reads it", "cyclic wait"}},
            {"waits in the first round only",
             {"is read by a warp that has not waited for the copy", "is written by a copy while another reads it", "cyclic wait"}},
            {"no release", {"a cyclic wait: `consumer 0` waits"}},
            {"early release", {"is written by a copy while another reads it", "is read by a warp that has not waited"}},
            {"no wait for an empty slot", {"is written by a copy that has not waited", "is written by a copy while another reads it"}},
            {"too few arrivals counted",
             {"is written by a copy while another reads it", "is read by a warp that has not waited for the copy", "cyclic wait"}},
            {"too few bytes", {"more bytes are copied to `slots` than `full[0]` expects: 1024 of 512"}},
            {"too many bytes", {"1024 bytes missing"}},
            {"loads of a whole warp", {"`load_box_2` is done by several lanes"}},
            {"another column", {"element"}},
            {"another row", {"element"}},
            {"not published", {"is used before it is published"}},
            {"no wait behind the set-up", {"is used by a warp that has not waited since it was published"}},
            {"one is not set up", {"`empty[1]` is used before it is set up"}},
            {"unaligned", {"a panel of `slots` that is not aligned to 1024 bytes"}},
            {"one load more", {"nothing waits for a copy"}}});
}

TEST(Roles, every_phase_is_waited_for_by_itself) {
  const auto with = [](int waits) {
    Program p;
    p.tensor("x", DType::bf16, {16, 64}, whole_numbers(16 * 64, 8, 60));
    p.tensor("y", DType::bf16, {64});
    p.map("x_map", "x", DType::bf16, {16, 64}, {8, 64});
    p.shared("full", Type::barrier, 1);
    p.panel("slots", Type::bf16, 2 * 512);
    p.launch(64, 1);
    p.kernel().setup = {when(same(thread(), n(0)), {act("set_up_barrier", {ref(at("full", 0)), n(1)}), act("publish_barriers")}),
                        act("wait_for_workgroup")};
    const auto wait = [](int phase) { return act("wait_for_barrier", {ref(at("full", 0)), n(phase)}); };
    const Expr i = var("i");
    p.role("producer", 0, 1, 1,
           {when(same(lane(), n(0)),
                 {loop("i", 2,
                       {act("expect_bytes", {ref(at("full", 0)), n(1024)}), act("arrive", {ref(at("full", 0))}),
                        act("load_box_2", {ref(at("slots", i * n(512))), var("x_map"), ref(at("full", 0)), n(0), i * n(8)}),
                        act("wait_for_barrier", {ref(at("full", 0)), i})})})});
    ThreadBlock body;
    for (int phase = 0; phase < waits; ++phase) body.push_back(wait(phase));
    body.push_back(loop("i", 20, {act("fence_for_copies")}));  // time for the second copy to land
    body.push_back(loop("i", 2, {set(at("y", i * n(32) + lane()), at("slots", n(512) + i * n(32) + lane()))}));  // row 0 is not exchanged
    p.role("consumer", 1, 1, 1, body);
    p.expected.assign(p.in[sym("x")].data.begin() + 512, p.in[sym("x")].data.begin() + 576);
    return p;
  };
  int read_late = 0;
  for (std::uint64_t seed = 1; seed <= 4 * seeds; ++seed) {
    const std::string right = fault_of(with(2), seed), found = fault_of(with(1), seed);
    EXPECT_TRUE(right.empty() || right.find("cyclic wait") != std::string::npos) << right;  // it may have missed phase 0
    const bool late = found.find("`slots` is read by a warp that has not waited for the copy") != std::string::npos;
    EXPECT_TRUE(late || found.find("is written by a copy while another reads it") != std::string::npos ||
                found.find("cyclic wait") != std::string::npos)
        << seed << ": " << found;
    read_late += late ? 1 : 0;
  }
  EXPECT_GT(read_late, seeds) << "or the copy never lands before it is read";
}

TEST(Roles, a_cyclic_wait_says_who_waits_for_what) {
  const std::string found = fault_of(ring("no release"), 0);
  EXPECT_NE(found.find("`consumer 0` waits for the end of phase 1 of `full[0]` (0 of 1 arrivals, 0 bytes missing)"), std::string::npos)
      << found;
  EXPECT_NE(found.find("`producer` waits for the end of phase 0 of `empty[0]` (0 of 2 arrivals"), std::string::npos) << found;
}

/// Workgroups of two warps write tiles of 8 rows to a buffer that one thread stores, two tiles each; the last is clipped.
Program stores(const std::string& planted) {
  const auto is = [&](const char* fault) { return planted == fault; };
  constexpr std::int64_t rows = 8, columns = 64, tiles = 4, all_rows = 29;
  Program p;
  p.tensor("x", DType::bf16, {tiles * rows, columns}, whole_numbers(tiles * rows * columns, 2, 100));
  p.tensor("y", DType::bf16, {all_rows, columns});
  p.map("y_map", "y", DType::bf16, {all_rows, columns}, {rows, columns});
  p.panel("buffer", Type::bf16, rows * columns);
  p.panel("scratch", Type::f32, rows * columns / 2, "buffer");
  p.launch(64, tiles / 2);
  const Expr first = same(thread(), n(0)), tile = call("workgroup_number") * n(2) + var("t");
  const Expr element = var("i") * n(64) + thread();
  const ThreadStatement fence = is("no fence")                ? no_statement()
                                : is("a fence of one thread") ? when(first, {act("fence_for_copies")})
                                                              : act("fence_for_copies");
  const ThreadStatement wait = act("wait_for_workgroup");
  const ThreadBlock trip = {
      is("no wait until it is read") ? no_statement() : when(first, {act("wait_for_stores_to_read", {n(0)})}),
      wait,
      is("fence before the writes") ? act("fence_for_copies") : no_statement(),
      loop("i", rows,
           {set(at("buffer", in_panel(over(element, columns), rest(element, columns))), at("x", tile * n(rows * columns) + element))}),
      is("fence before the writes") ? no_statement()
      : is("fence behind the wait") ? wait
                                    : fence,
      is("no wait behind the fence") ? no_statement()
      : is("fence behind the wait")  ? act("fence_for_copies")
                                     : wait,
      when(first, {act("store_box_2", {var("y_map"), ref(at("buffer", n(is("unaligned") ? 64 : 0))), n(0),
                                       (is("stored twice") ? var("t") : tile) * n(rows)}),
                   is("not committed") ? no_statement() : act("commit_stores")}),
      is("what lies there is written") ? set(at("scratch", thread()), cast(DType::f32, n(1))) : no_statement()};
  p.role("all", 0, 1, 2, {loop("t", 2, trip), is("no wait at the end") ? no_statement() : when(first, {act("wait_for_stores", {n(0)})})});
  p.expected = p.in[sym("x")].data;
  p.expected.resize(all_rows * columns);
  return p;
}

TEST(Roles, stores_of_boxes) {
  find_all(stores, {{"no fence", {"its `fence_for_copies` is missing"}},
                    {"a fence of one thread", {"its `fence_for_copies` is missing"}},
                    {"fence before the writes", {"its `fence_for_copies` is missing"}},
                    {"fence behind the wait", {"its `fence_for_copies` is missing"}},
                    {"no wait behind the fence", {"`buffer` is read by a store of a box while another has written it"}},
                    {"no wait until it is read", {"`buffer` is written by a warp while a store of a box may still read it"}},
                    {"what lies there is written", {"is written by a warp while a store of a box may still read it"}},
                    {"no wait at the end", {"nothing waits for a store of a box"}},
                    {"not committed", {"while a store of a box may still read it"}},
                    {"unaligned", {"not aligned to 1024 bytes"}},
                    {"stored twice", {"is stored by two lanes"}}});
}

/// Two groups of a warp take turns to count up a place in shared memory.
Program turns(const std::string& planted) {
  const auto is = [&](const char* fault) { return planted == fault; };
  constexpr std::int64_t trips = 3;
  Program p;
  p.tensor("y", DType::f32, {trips, 2});
  p.shared("count", Type::f32, 1);
  p.launch(64, 1);
  p.kernel().setup = {when(same(thread(), n(0)), {set(at("count", 0), cast(DType::f32, n(0)))}), act("wait_for_workgroup")};
  const Expr other = n(1) - warp(), threads = n(64);
  const ThreadStatement pass = act("arrive_at_group", {other + n(1), threads});
  const Expr of_another = binary(Op::add, threads, warp() * n(-32));
  p.role("group", 0, 2, 1,
         {is("nobody begins") ? no_statement() : when(same(warp(), n(1)), {act("arrive_at_group", {n(1), threads})}),
          loop("t", trips,
               {is("nobody takes") ? no_statement() : act("wait_for_group", {warp() + n(1), is("counts differ") ? of_another : threads}),
                when(same(lane(), n(0)), {set(at("y", var("t") * n(2) + warp()), at("count", 0)),
                                          set(at("count", 0), at("count", 0) + cast(DType::f32, n(1)))}),
                is("nobody passes")        ? no_statement()
                : is("a lane passes")      ? when(same(lane(), n(0)), {pass})
                : is("passed to no group") ? act("arrive_at_group", {n(16), threads})
                : is("a part of a warp")   ? act("arrive_at_group", {other + n(1), n(48)})
                                           : pass})});
  for (int i = 0; i < 2 * trips; ++i) p.expected.push_back(i);
  return p;
}

TEST(Roles, turns) {
  find_all(turns, {{"nobody takes", {"no wait stands between them", "comes to group 2 a second time", "comes to group 1 a second time"}},
                   {"nobody passes", {"a cyclic wait"}},
                   {"nobody begins", {"a cyclic wait: `group 0` waits for group 1 (32 of 64 threads are there)"}},
                   {"counts differ", {"counts of group 2 do not fit", "comes to group 1 a second time", "no wait stands between them"}},
                   {"a lane passes", {"`arrive_at_group` is done by a part of a warp"}},
                   {"passed to no group", {"there is no group 16"}},
                   {"a part of a warp", {"a group of 48 threads"}}});
}

TEST(Roles, counts_of_a_group_have_to_fit) {
  Program p;
  p.tensor("y", DType::f32, {1});
  p.launch(96, 1);
  p.role("one", 0, 1, 1, {act("wait_for_group", {n(1), n(64)})});
  p.role("other", 1, 1, 2, {act("wait_for_group", {n(1), n(96)})});
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    EXPECT_NE(fault_of(p, seed).find("counts of group 1 do not fit"), std::string::npos) << fault_of(p, seed);
}

TEST(Roles, a_wait_of_all_threads_is_one_of_all_roles) {
  const auto with = [](bool both) {
    Program p;
    p.tensor("y", DType::f32, {1});
    p.shared("place", Type::f32, 1);
    p.launch(64, 1);
    const ThreadStatement wait = act("wait_for_workgroup");
    p.role("one", 0, 1, 1, {when(same(lane(), n(0)), {set(at("place", 0), cast(DType::f32, n(3)))}), wait});
    p.role("other", 1, 1, 1, {both ? wait : no_statement(), when(same(lane(), n(0)), {set(at("y", 0), at("place", 0))})});
    p.expected = {3};
    return p;
  };
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    EXPECT_EQ(fault_of(with(true), seed), "");
    const std::string found = fault_of(with(false), seed);
    EXPECT_TRUE(found == "a cyclic wait: `one` waits for all threads (32 of 64 threads are there)" ||
                found.find("no wait stands between them") != std::string::npos)
        << found;
  }
}

/// Workgroups draw rows from a counter until there are no more.
Program draws(const std::string& planted) {
  const auto is = [&](const char* fault) { return planted == fault; };
  constexpr std::int64_t rows = 7, columns = 32;
  Program p;
  p.tensor("y", DType::f32, {rows, columns});
  p.counter("next");
  p.shared("drawn", Type::i32, 1);
  p.launch(columns, rows);
  p.kernel().resident_only = true;
  const Expr item = call("workgroup_count") + call("increment_wrapping", {ref(at("next", 0)), n(is("wraps too late") ? rows : rows - 1)});
  const ThreadStatement draw = set(at("drawn", 0), item);
  p.role("all", 0, 1, 1,
         {declare("row", Type::i32, call("workgroup_number")),
          repeat(less(var("row"), n(rows)), {set(at("y", var("row") * n(columns) + lane()), cast(DType::f32, var("row") * n(100) + lane())),
                                             is("drawn by all lanes") ? draw : when(same(lane(), n(0)), {draw}), act("wait_for_workgroup"),
                                             set(var("row"), at("drawn", 0)), act("wait_for_workgroup")})});
  for (int i = 0; i < rows * columns; ++i) p.expected.push_back(i / static_cast<int>(columns) * 100 + i % static_cast<int>(columns));
  return p;
}

TEST(Roles, items_from_a_counter) {
  for (const std::int64_t resident : {1, 2, 3, 7, 20}) EXPECT_EQ(fault_of(draws(""), 0, resident), "") << resident;
  EXPECT_EQ(fault_of(draws("wraps too late"), 0), "the workspace `next` is not 0 again behind the launch");
  EXPECT_NE(fault_of(draws("drawn by all lanes"), 0).find("`increment_wrapping` is done by several lanes"), std::string::npos);
}

TEST(Roles, lanes_leave_a_loop_one_by_one) {
  Program p;
  p.tensor("y", DType::f32, {32});
  p.launch(32, 1);
  p.role("all", 0, 1, 1,
         {declare("i", Type::i32, n(0)),
          repeat(less(var("i") * n(2), lane()), {declare("next", Type::i32, var("i") + n(1)), set(var("i"), var("next"))}),
          set(at("y", lane()), cast(DType::f32, var("i")))});
  for (int i = 0; i < 32; ++i) p.expected.push_back((i + 1) / 2);
  EXPECT_EQ(fault_of(p, 0), "");
}

TEST(Roles, warps_are_in_one_role_each) {
  const auto with = [](std::int64_t first, std::int64_t warps) {
    Program p;
    p.tensor("y", DType::f32, {96});
    p.launch(96, 1);
    p.role("one", 0, 1, 1, {set(at("y", thread()), cast(DType::f32, n(1)))});
    p.role("other", first, 1, warps, {set(at("y", thread()), cast(DType::f32, warp()))});
    for (int i = 0; i < 96; ++i) p.expected.push_back(i < 32 ? 1 : i / 32);
    return fault_of(p, 0);
  };
  EXPECT_EQ(with(1, 2), "");
  EXPECT_EQ(with(1, 1), "warp 2 is in no role");
  EXPECT_EQ(with(0, 3), "warp 0 is in two roles");
  EXPECT_EQ(with(1, 3), "the role `other` has warps that the workgroup lacks");
}

}  // namespace
}  // namespace fathom::by_hand
