// Short texts, each with one fault that a verifier of kernels has to say, and right ones beside them: they are accepted, and compute the
// same under all seeds.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_test.hpp"

namespace fathom {
namespace {

using interp::Array;
using interp::Arrays;
using test::noise;
using test::parsed;

struct Text {
  const char* what;
  const char* declarations;  ///< of the kernel
  const char* roles;
  const char* reason;  ///< a part of what is said; "" where the text is right
  const char* work = "0:1 grid";
  const char* module = "";  ///< workspaces, requirements
};

std::string whole(const Text& t) {
  return std::string("module m(x: f32[4,8], len: i32[4], n: i32, c: f32) -> (y: f32[4,8]) {\n") + t.module +
         "\n  kernel k {\n    work t in " + t.work + "\n    axis r = r:8\n    " + t.declarations + "\n    " + t.roles + "\n  }\n}\n";
}

void expect_said(const std::vector<Text>& texts) {
  const Arrays in = {{Symbol("x"), noise({4, 8}, 3)},
                     {Symbol("len"), Array{DType::i32, {4}, {1, 2, 0, 3}}},
                     {Symbol("n"), Array{DType::i32, {}, {2}}},
                     {Symbol("c"), Array{DType::f32, {}, {0.25}}}};
  for (const Text& t : texts) {
    const std::string text = whole(t);
    const auto m = lang::parse_kernel(text);
    ASSERT_TRUE(m) << t.what << "\n" << render(m.error(), "text", text);
    const auto sound = kernel::verify(*m);
    const std::string said = sound ? "" : sound.error().reason;
    if (*t.reason != '\0') {
      EXPECT_NE(said.find(t.reason), std::string::npos) << t.what << ": " << (said.empty() ? "nothing was said" : said);
      continue;
    }
    EXPECT_EQ(said, "") << t.what;
    if (!sound) continue;
    Arrays first;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      interp::RunOptions options;
      options.seed = seed;
      options.work_limit = 1'000'000;
      const Arrays out = test::run(*m, Level::kernel, in, options);
      ASSERT_EQ(out.count(Symbol("y")), 1U) << t.what << ", seed " << seed;
      for (const double value : out.at(Symbol("y")).data) EXPECT_FALSE(std::isnan(value)) << t.what << ", seed " << seed;
      if (seed == 0) first = out;
      EXPECT_EQ(out.at(Symbol("y")).data, first.at(Symbol("y")).data) << t.what << ", seed " << seed;
    }
    const kernel::Module plan = kernel::canonical(*m);
    const auto again = kernel::verify(plan);
    EXPECT_TRUE(again) << t.what << ", canonical: " << again.error().reason << "\n" << kernel::print(plan);
    EXPECT_EQ(kernel::print(kernel::canonical(parsed(kernel::print(plan)))), kernel::print(plan)) << t.what;
  }
}

#define ROLE "role c warps 1 { for t in work { "
#define END " } }"

TEST(Law, of_stages_holds_for_copies_lets_and_conditions) {
  const char* ring = "channel K: f32[8] depth 2 from c to c";
  const char* b = "buffer b: f32[8] in shared";
  expect_said({
      {"stages under tags only", "",
       ROLE
       "for i in [a 0:1, b 1:4] { when a { v[r] = x[i,r] @0.1 y[i,r] = v[r] @0.3 } when b { v[r] = x[i,r] @0.1 y[i,r] = v[r] @1.3 } }" END,
       ""},
      {"the last stage under a tag", "",
       ROLE "for i in [a 0:1, b 1:4] { v[r] = x[i,r] @0.1 when a { y[i,r] = v[r] @0.3 } when b { y[i,r] = v[r] @1.3 } }" END, ""},
      {"read before it has landed", b, ROLE "for i in 0:4 { a = copy b[r] <- x[i,r] @0.1 await a @0.5 y[i,r] = b[r] @0.2 }" END,
       "needs `await a"},
      {"read after it has landed", b, ROLE "for i in 0:4 { a = copy b[r] <- x[i,r] @0.1 await a @0.2 y[i,r] = b[r] @0.5 }" END, ""},
      {"the source overwritten in front of the await", b,
       ROLE "for i in 0:4 { b[r] = x[i,r] @0.1 a = copy y[i,r] <- b[r] @0.2 await a @1.5 }" END, "in the next iteration needs `await a"},
      {"the source overwritten behind the await", b,
       ROLE "for i in 0:4 { b[r] = x[i,r] @0.3 a = copy y[i,r] <- b[r] @0.4 await a @1.1 }" END, ""},
      {"released before its last reader", ring,
       ROLE "for i in 0:4 { ks = acquire K @0.1 a = copy ks[r] <- x[i,r] @0.2 publish K after a @0.3 kr = receive K @0.4 "
            "b = copy y[i,r] <- kr[r] @0.5 await b @2.9 release K @0.6 }" END,
       "needs `await b"},
      {"released after its token", ring,
       ROLE "for i in 0:4 { ks = acquire K @0.1 a = copy ks[r] <- x[i,r] @0.2 publish K after a @0.3 kr = receive K @0.4 "
            "b = copy y[i,r] <- kr[r] @0.5 release K after b @0.6 await b @1.0 }" END,
       ""},
      {"memory read by a let", "", ROLE "for i in 0:4 { w[i] = x[i,0] @0.5 let v = w[i] y[i,r] = v @0.2 }" END, "needs `w[i] = x[i,0]",
       "0:1 grid", "workspace w: f32[4]"},
      {"a slot read by a let", ring,
       ROLE "for i in 0:4 { ks = acquire K @0.1 ks[r] = x[i,r] @0.1 publish K @0.1 kr = receive K @0.1 let v = kr[0] y[i,r] = v @0.5 "
            "release K @0.3 }" END,
       "a reader of the slot `kr`"},
      {"a let between stages", "", ROLE "for i in 0:4 { s = sum[r](x[i,r]) @0.1 let h = s * 2 y[i,r] = h @1.2 }" END, ""},
      {"a let keeps the value that it stands behind", "",
       ROLE "for i in 0:4 { s = sum[r](x[i,r]) @0.1 let h = s * 2 s = s + 1 @0.1 y[i,r] = h + s @1.2 }" END, ""},
      {"memory in a condition", b,
       ROLE "b[r] = 1 for i in 0:4 { a[r] = x[i,r] @0.1 when b[0] > 0 @1.1 { y[i,r] = a[r] } b[r] = 0 @0.3 }" END, "needs `when b[0] > 0"},
      {"an older value after a newer one was made", "",
       ROLE "for i in 0:4 carry(m[r] = 0) { m1[r] = max(m[r], x[i,r]) @0.1 y[i,r] = m[r] - m1[r] @1.5 m[r] = m1[r] @0.2 }" END, ""},
      {"a stage beyond all trips", "", ROLE "for i in 0:4 { v[r] = x[i,r] @0.1 y[i,r] = v[r] @1000000.2 }" END, "above 64"},
      {"a turn that is passed a trip later", "turn p over c",
       "role c groups 2 warps 1 { for t in work { for i in 0:2 { take p @0.1 v[r] = x[i,r] @0.2 pass p @1.2 y[i + 2*g,r] = v[r] @1.3 } } }",
       "the turn `p` in the same trip"},
  });
}

TEST(Law, nothing_in_flight_is_read_or_overwritten_on_any_path) {
  const char* b = "buffer b: f32[8] in shared";
  const char* to_d = "buffer b: f32[8] in shared channel K: f32[8] depth 2 from c to d";
#define D " role d warps 1 { for t in work { kr = receive K y[t,r] = kr[r] release K } }"
  expect_said({
      {"a buffer", b, ROLE "a = copy b[r] <- x[t,r] y[t,r] = b[r] await a" END, "is read while the copy `a`", "0:4 grid"},
      {"its sources are read, but it has not landed", b, ROLE "a = copy b[r] <- x[t,r] await a.read y[t,r] = b[r] await a" END,
       "is read while the copy `a`", "0:4 grid"},
      {"a workspace", "", ROLE "a = copy w[t,r] <- x[t,r] y[t,r] = w[t,r] await a" END, "is read while the copy `a`", "0:4 grid",
       "workspace w: f32[4,8]"},
      {"a carried token of a buffer", b,
       ROLE "for i in 0:4 carry(st = done) { y[i,r] = b[r] await st.read st = copy b[r] <- x[i,r] } await st" END,
       "is read while the copy `st`"},
      {"a source behind a publish", to_d, ROLE "b[r] = x[t,r] ks = acquire K a = copy ks[r] <- b[r] publish K after a b[r] = 100" END D,
       "is written while `a`", "0:4 grid"},
      {"a source behind a publish, in the next trip", to_d,
       ROLE "for i in 0:1 { b[r] = x[t,r] ks = acquire K a = copy ks[r] <- b[r] publish K after a }" END D, "may still read `b`",
       "0:4 grid"},
      {"a source behind a publish and its await", to_d,
       ROLE "b[r] = x[t,r] ks = acquire K a = copy ks[r] <- b[r] publish K after a await a.read b[r] = 100" END D, "", "0:4 grid"},
      {"a slot that a published copy reads", "channel K: f32[8] depth 1 from c to d channel L: f32[8] depth 1 from d to e",
       ROLE "ks = acquire K ks[r] = x[t,r] publish K" END
            " role d warps 1 { for t in work { ks = receive K ls = acquire L b = copy ls[r] <- ks[r] publish L after b release K } }"
            " role e warps 1 { for t in work { ls = receive L y[t,r] = ls[r] release L } }",
       "released before its last reader", "0:4 grid"},
      {"published after the sources only", "channel K: f32[8] depth 1 from c to d",
       ROLE "ks = acquire K a = copy ks[r] <- x[t,r] publish K after a.read" END D, "not after what it stores", "0:4 grid"},
      {"released after nothing", "channel K: f32[8] depth 1 from c to d",
       ROLE "ks = acquire K ks[r] = x[t,r] publish K" END
            " role d warps 1 { for t in work { kr = receive K y[t,r] = kr[r] release K after nosuch } }",
       "no copy in flight that reads its slot", "0:4 grid"},
      {"awaited under a condition", b, ROLE "a = copy b[r] <- x[t,r] when n > 0 { await a } y[t,r] = b[r]" END, "the same on every path",
       "0:4 grid"},
      {"awaited in a loop", b, ROLE "a = copy b[r] <- x[t,r] for i in 0:n { await a } y[t,r] = b[r]" END, "the same on every path",
       "0:4 grid"},
      {"a carried token awaited under a condition", b,
       ROLE "for i in 0:4 carry(st = done) { when i > 1 { await st.read } b[r] = x[i,r] st = copy y[i,r] <- b[r] } await st" END,
       "the same on every path"},
      {"a block between an issue and its await", b,
       ROLE "a = copy b[r] <- x[t,r] when n > 0 { f[r] = x[t,r] z[r] = f[r] } await a y[t,r] = b[r]" END, "", "0:4 grid"},
      {"a token awaited twice", b, ROLE "a = copy b[r] <- x[t,r] await a await a y[t,r] = b[r]" END, "nothing of this name is in flight",
       "0:4 grid"},
      {"filled under a condition", "channel K: f32[8] depth 1 from c to d",
       ROLE "ks = acquire K when n > 2 { ks[r] = x[t,r] } publish K" END D, "on every path", "0:4 grid"},
      {"a loop peeled by hand", "channel K: f32[8] depth 2 from c to c",
       ROLE "k0 = acquire K a0 = copy k0[r] <- x[0,r] publish K after a0 for i in 0:3 { ks = acquire K a = copy ks[r] <- x[i + 1,r] "
            "publish K after a kr = receive K y[i,r] = kr[r] release K } kr = receive K z[r] = kr[r] release K when t == 0 { y[3,r] = z[r] "
            "}" END,
       ""},
  });
#undef D
}

TEST(Law, what_groups_do_together) {
#define TWO "role c groups 2 warps 1 { for t in work { "
  expect_said({
      {"a place that varies with the group", "", TWO "v[r] = x[g,r] y[2*t + g,r] = sum[g](v[r])" END, "", "0:2 grid"},
      {"a store and a value of one statement", "", TWO "y[t,r], m[r] = x[t,r], 2 * x[t,r] z[r] = m[r] w[2*t + g,r] = z[r]" END, "",
       "0:4 grid", "workspace w: f32[8,8]"},
      {"an atomic of one group", "", TWO "y[2*t + g,r] = x[t,r] when g == 0 { i = atomic inc_wrap w[0], 0 }" END, "wait for each other",
       "0:2 grid", "workspace w: i32[1] zero"},
      {"a reduction under data", "",
       TWO "v[r] = x[g,r] s = sum[r](v[r]) when s > 0 { q[r] = sum[g](v[r]) y[2*t + g,r] = q[r] } when not s > 0 { y[2*t + g,r] = 0 }" END,
       "it cannot be shown", "0:2 grid"},
      {"a turn of one group", "turn p over c", TWO "when g == 0 { take p y[t,r] = 1 pass p }" END, "is taken 1 times by group 0",
       "0:4 grid"},
  });
#undef TWO
}

TEST(Law, counts_are_equal_for_all_sizes_or_the_text_says_why_not) {
  const char* ring = "channel K: f32[8] depth 2 from c to d";
#define GIVE "ks = acquire K ks[r] = x[t,r] publish K"
#define TAKE "kr = receive K y[t,r] = kr[r] release K"
#define OTHER " role d warps 1 { for t in work { "
  expect_said({
      {"one of four items", ring, ROLE "when t != 1 { " GIVE " }" END OTHER TAKE END, "work item 1", "0:4 grid"},
      {"a number that no first guess is", ring, ROLE "when n != 7 { " GIVE " }" END OTHER TAKE END, "wait for each other", "0:4 grid"},
      {"a condition on a real number", ring, ROLE "when c > 0.5 { " GIVE " }" END OTHER "when c > 0.5 { " TAKE " }" END,
       "it cannot be shown", "0:4 grid"},
      {"a count that is a value here and an element there", ring,
       ROLE "q = len[t] for i in 0:q { " GIVE " }" END OTHER
            "m[r] = 0 for i in 0:len[t] carry(m[r] = 0) { kr = receive K m[r] = m[r] + kr[r] release K } y[t,r] = 1" END,
       "", "0:4 grid"},
      {"a contract that no first guess meets", ring, ROLE "for i in 0:2 { " GIVE " }" END OTHER TAKE END, "is given 2 items", "0:4 grid",
       "require n % 16 == 0 and n >= 48 else unsupported"},
  });
}

TEST(Law, more_trips_than_anybody_tries_end) {
  for (const char* range : {"0:100000", "0 - 9223372036854775807:9223372036854775807"}) {
    const std::string loops = std::string("for a in ") + range + " { for b in " + range + " { when a * 100000 + b == 77 { ";
    const std::string roles = ROLE + loops + "ks = acquire K ks[r] = x[t,r] publish K } } }" END OTHER TAKE END;
    const Text text{"", "channel K: f32[8] depth 2 from c to d", roles.c_str(), ""};
    EXPECT_TRUE(kernel::verify(parsed(whole(text))));
  }
}

TEST(Law, what_roles_groups_and_items_share_has_an_order_or_an_owner) {
  const char* b = "buffer b: f32[8] in shared";
  const char* of_groups = "buffer b: f32[2,8] in shared";
  const char* own = "buffer b each c: f32[8] in shared";
  const char* w = "workspace w: f32[4,8]";
  const char* n = "workspace seen: i32[1] zero";
  const char* wn = "workspace w: f32[4,8] workspace seen: i32[1] zero";
#define TWO "role c groups 2 warps 1 { for t in work { "
  expect_said({
      {"one role stores, another reads", b, ROLE "b[r] = x[t,r]" END " role d warps 1 { for t in work { y[t,r] = b[r] } }",
       "nothing orders them", "0:4 grid"},
      {"the same behind a channel of depth 1", "buffer b: f32[8] in shared channel K: f32[1] depth 1 from c to d",
       ROLE "ks = acquire K b[r] = x[t,r] ks[0] = 1 publish K" END
            " role d warps 1 { for t in work { kr = receive K y[t,r] = b[r] release K } }",
       "", "0:4 persistent 2"},
      {"the same behind a channel of depth 2", "buffer b: f32[8] in shared channel K: f32[1] depth 2 from c to d",
       ROLE "ks = acquire K b[r] = x[t,r] ks[0] = 1 publish K" END
            " role d warps 1 { for t in work { kr = receive K y[t,r] = b[r] release K } }",
       "nothing orders them", "0:4 persistent 2"},
      {"one group stores for all", b, TWO "b[r] = x[t,r] v[r] = b[r] when g == 0 { y[t,r] = v[r] }" END, "nothing orders them", "0:4 grid"},
      {"one group for itself", b, TWO "when g == 0 { b[r] = x[t,r] v[r] = b[r] y[t,r] = v[r] }" END, "", "0:4 grid"},
      {"all groups meet in between", b, TWO "b[r] = x[t,r] s = sum[g](1) v[r] = b[r] + s when g == 0 { y[t,r] = v[r] }" END, "",
       "0:4 grid"},
      {"and not in front of the next store", b, TWO "b[r] = x[t,r] s = sum[g](1) v[r] = b[r] + s when g == 0 { y[t,r] = v[r] }" END,
       "nothing orders them", "0:4 persistent 2"},
      {"the part of another group", of_groups, TWO "b[g,r] = x[g,r] y[2*t + g,r] = b[1 - g,r]" END, "nothing orders them", "0:2 grid"},
      {"a part for each group", of_groups, TWO "b[g,r] = x[g,r] y[2*t + g,r] = b[g,r]" END, "", "0:2 grid"},
      {"a buffer of each group and the part of another", own, TWO "b[g,r] = x[g,r] y[2*t + g,r] = b[1 - g,r]" END, "its own part",
       "0:2 grid"},
      {"a buffer of each group of another role", own, ROLE "b[g,r] = x[t,r]" END " role d warps 1 { for t in work { y[t,r] = b[0,r] } }",
       "belongs to the groups of role `c`", "0:4 grid"},
      {"values of two groups at one place", "", TWO "y[t,r] = x[t,r] + g" END, "different values to one place", "0:4 grid"},
      {"a copy that each group makes", "", TWO "a = copy y[t,r] <- x[t,r] await a" END, "every group of role `c`", "0:4 grid"},
      {"a workspace of another item", "", ROLE "w[t,r] = x[t,r] y[t,r] = w[(t + 1) % 4,r]" END, "work items that nothing orders",
       "0:4 grid", w},
      {"a workspace of the item's own", "", ROLE "w[t,r] = x[t,r] y[t,r] = w[t,r]" END, "", "0:4 grid", w},
      {"a meeting that stages move away from between", b,
       TWO "for i in 0:2 { b[r] = x[i,r] @0.5 s = sum[g](1) @0.1 v[r] = b[r] + s @0.6 q = sum[g](1) @0.7 when g == 0 @0.8 { y[i + 2*t,r] = "
           "v[r] + q } }" END,
       "needs `b[r]", "0:2 grid"},
      {"a meeting that stays between", b,
       TWO "for i in 0:2 { b[r] = x[i,r] @0.5 s = sum[g](1) @0.6 v[r] = b[r] + s @0.6 q = sum[g](1) @0.7 when g == 0 @0.8 { y[i + 2*t,r] = "
           "v[r] + q } }" END,
       "", "0:2 grid"},
      {"a copy that reads on behind the release", "buffer b: f32[8] in shared channel K: f32[1] depth 1 from c to d",
       ROLE "ks = acquire K b[r] = x[t,r] ks[0] = 1 publish K" END
            " role d warps 1 { for t in work { kr = receive K a = copy y[t,r] <- b[r] release K await a } }",
       "nothing orders them", "0:4 persistent 2"},
      {"scratch of the item's own", "axis h = h:2", ROLE "w[t * 2 + h,0] = x[t,h] s = sum[h](w[t * 2 + h,0]) y[t,r] = s" END, "",
       "0:4 grid", "workspace w: f32[8,8]"},
      {"scratch that reaches into the next item's", "axis h = h:2", ROLE "w[t * 2 + h,0] = x[t,h] s = w[t * 2 + 2,0] y[t,r] = s" END,
       "work items that nothing orders", "0:4 grid", "workspace w: f32[9,8]"},
      {"a buffer stored in front of the work loop", b, "role c warps 1 { b[r] = 1 for t in work { y[t,r] = b[r] } }",
       "outside of the work loop", "0:4 grid"},
      {"the last that comes reads all", "",
       ROLE "w[t,r] = x[t,r] i = atomic inc_wrap seen[0], 3 release acquire when i == 3 { v[r] = sum[z in 0:4](w[z,r]) "
            "for u in 0:4 { y[u + t*0,r] = v[r] } }" END,
       "", "0:4 grid", wn},
      {"without flags", "",
       ROLE "w[t,r] = x[t,r] i = atomic inc_wrap seen[0], 3 when i == 3 { v[r] = sum[z in 0:4](w[z,r]) y[t,r] = v[r] }" END,
       "nothing orders", "0:4 grid", wn},
      {"stored behind the atomic", "",
       ROLE "i = atomic inc_wrap seen[0], 3 release acquire w[t,r] = x[t,r] when i == 3 { v[r] = sum[z in 0:4](w[z,r]) y[t,r] = v[r] }" END,
       "nothing orders", "0:4 grid", wn},
      {"one cell for all items", "", ROLE "w[0,r] = x[t,r] y[t,r] = x[t,r]" END, "by every work item at the same place", "0:4 grid", w},
      {"another item's result", "", ROLE "y[t,r] = x[t,r] v[r] = y[(t + 1) % 4,r]" END, "nothing orders", "0:4 grid"},
      {"the number of its arrival", "", ROLE "i = atomic inc_wrap seen[0], 3 y[t,r] = x[t,r] + i" END, "who came first", "0:4 grid", n},
      {"a sum in the order of arrival", "", ROLE "i = atomic add w[0,0], c y[t,r] = x[t,r]" END, "depends on who comes first", "0:4 grid",
       w},
      {"an atomic at a place of the group", "", TWO "i = atomic add seen[g], 1 y[2*t + g,r] = x[g,r]" END, "varies with the group",
       "0:2 grid", "workspace seen: i32[2]"},
      {"an atomic in front of the work loop", "", "role c warps 1 { i = atomic add seen[0], 1 for t in work { y[t,r] = x[t,r] } }",
       "outside of the work loop", "0:4 grid", "workspace seen: i32[1]"},
      {"the counter of the items", "", ROLE "seen[0] = 0 y[t,r] = x[t,r]" END, "counts work items", "0:4 dynamic seen", n},
      {"the ring of another group", "channel Q each c: f32[8] depth 1 from p to c",
       "role p warps 1 { for t in work { q0 = acquire Q[0] q0[r] = x[0,r] publish Q[0] q1 = acquire Q[1] q1[r] = x[1,r] publish Q[1] } "
       "} " TWO "ks = receive Q[1 - g] y[2*t + g,r] = ks[r] release Q[1 - g]" END,
       "its own ring", "0:2 grid"},
      {"a ring without its number", "channel Q each c: f32[8] depth 1 from c to c",
       TWO "q = acquire Q q[r] = x[t,r] publish Q k = receive Q[g] y[2*t + g,r] = k[r] release Q[g]" END, "", "0:2 grid"},
      {"a buffer that nothing fills", b, ROLE "y[t,r] = b[r] + x[t,r]" END, "not stored to on every path", "0:4 grid"},
      {"a buffer of the item before", b, ROLE "when t > 0 { v[r] = b[r] y[t,r] = v[r] } b[r] = x[t,r]" END, "not stored to on every path",
       "0:4 persistent 1"},
      {"the item outside of its loop", "", "role c warps 1 { v[r] = x[t,r] for t in work { y[t,r] = v[r] } }", "outside of the work loop",
       "0:4 grid"},
      {"workgroups as many as an item says", "", ROLE "y[t,r] = x[t,r]" END, "not defined", "0:4 persistent t + 1"},
      {"an axis called g", "axis g = g:2", ROLE "y[t,r] = x[t,r]" END, "the own group", "0:4 grid"},
      {"halves", "axis h = h:4", ROLE "y[t,h] = x[t,h] y[t,h + 4] = x[t,h + 4]" END, "", "0:4 grid"},
      {"one place twice", "", ROLE "y[t,r] = x[t,r] y[t,r] = 0" END, "stored twice", "0:4 grid"},
  });
#undef TWO
}

TEST(Law, conditions_on_parts_hold_no_wider_operation) {
  const char* parts = "axis s = w:2, u:4 turn p over c";
  const std::string head = "v[s] = x[t,s] b[w] = any[u](v[(w,u)] > 0) ";
  const std::pair<const char*, const char*> bodies[] = {
      {"if b[w] carry(v[s]) { m[w] = max[u](v[(w,u)]) v[s] = v[s] * 2 }", ""},
      {"if b[w] carry(v[s]) { a = sum[s](v[s]) v[s] = v[s] * a }", "is wider than the parts"},
      {"if b[w] carry(v[s]) { v[s] = v[0] }", "is wider than the parts"},
      {"a = 0 if b[w] carry(a) { a = 1 }", "does not vary with the parts"},
      {"if b[w] carry(v[s]) { v[s] = 1 q[t] = 1 }", "does not vary with the parts"},
      {"if b[w] carry(v[s]) { when n > 0 { take p v[s] = 1 pass p } }", "by the whole group"},
  };
  for (const auto& [body, reason] : bodies) {
    const std::string role = ROLE + head + body + " y[t,s] = v[s]" END;
    expect_said({{body, parts, role.c_str(), reason, "0:4 grid", "workspace q: f32[4]"}});
  }
}

TEST(Law, operands_are_quiet_wherever_the_text_stands) {
  kernel::KnownMachine machine{32, {{Symbol("quiet"), true, true, 32}}};
  const auto said = [&](const std::string& body) {
    const std::string text =
        "module m(x: f32[8,8]) -> (y: f32[8,8]) { kernel k { work t in 0:1 grid axis r = r:8 axis j = j:8 axis d = d:8 "
        "atom a = quiet buffer b: f32[8,8] in shared role c warps 1 { for t in work { b[j,d] = x[j,d] p[r,d] = x[r,d] " +
        body + " y[r + t,j] = s[r,j] } } } }";
    const auto sound = kernel::verify(parsed(text), machine);
    return sound ? "" : sound.error().reason;
  };
  EXPECT_EQ(said("z = mma a: s[r,j] = p[r,d] * b[j,d] f[r] = 1 s[r,j] = await z"), "");
  EXPECT_NE(
      said("z = mma a: s[r,j] = p[r,d] * b[j,d] q[r,d] = x[r,d] s[r,j] = await z v = mma a: o[r,j] = q[r,d] * b[j,d] o[r,j] = await v")
          .find("an operand in registers"),
      std::string::npos);
}

TEST(Law, canonical_keeps_words_tags_and_the_order_of_nothing_else) {
  const std::string one =
      "module m(x: f32[8,8]) -> (y: f32[8,8]) { kernel k { work t in 0:1 grid axis r = r:8 axis u = u:8 axis v = v:8 "
      "atom a = first atom b = second turn p over c turn q over c "
      "role c groups 2 warps 1 { for t in work { for i in [a1 0:1, b1 1:4] { z = mma a: s[r,u] = x[r,v] * x[v,u] "
      "s[r,u] = await z take p pass p take q pass q when a1 { y[2*i + g,r] = s[0,r] + g } "
      "when b1 { y[2*i + g,r] = s[1,r] } } } } } }";
  std::string other = one;
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"atom a = first atom b = second", "atom b = second atom a = first"},
                                 {"turn p over c turn q over c", "turn q over c turn p over c"},
                                 {"a1", "early"},
                                 {"when a1", "when early"},
                                 {"b1", "late"},
                                 {"when b1", "when late"}})
    other = test::with(other, from, to);
  const std::string plan = kernel::print(kernel::canonical(parsed(one)));
  EXPECT_EQ(kernel::print(kernel::canonical(parsed(other))), plan);
  EXPECT_EQ(kernel::print(kernel::canonical(parsed(plan))), plan);
  EXPECT_NE(plan.find("+ g"), std::string::npos) << plan;
  EXPECT_TRUE(kernel::verify(parsed(plan))) << kernel::verify(parsed(plan)).error().reason;
}

TEST(Law, what_a_text_leaves_out_is_added_without_guessing) {
  const auto text = [](const std::string& body, const std::string& module = "") {
    return "module m(x: f32[4,8]) -> (o: f32[4,8], y: f32[4,8]) { " + module +
           " kernel k { work t in 0:4 grid role c warps 1 { for t in work { " + body + " } } } }";
  };
  const Arrays in = {{Symbol("x"), noise({4, 8}, 3)}};
  const Arrays out =
      test::run(parsed(text("o[r] = 2 * x[t,r] s = sum[r](o[r]) o.t[r] = x[t,r] y[t,r] = o[r] + s o[t,r] = o.t[r]")), Level::kernel, in);
  const Arrays apart =
      test::run(parsed(text("a[r] = 2 * x[t,r] s = sum[r](a[r]) b[r] = x[t,r] y[t,r] = a[r] + s o[t,r] = b[r]")), Level::kernel, in);
  EXPECT_EQ(out.at(Symbol("y")).data, apart.at(Symbol("y")).data);
  const std::string ranks = text("o[r] = x[t,r] o = 1 y[t,r] = o[r] + o o[t,r] = o[r]");
  EXPECT_TRUE(kernel::verify(parsed(ranks))) << kernel::verify(parsed(ranks)).error().reason;
  const auto two =
      lang::parse_kernel(text("w[t,r] = x[t,r] v[t,r] = x[t,r] o[t,r] = 0 y[t,r] = v[t,r]", "workspace w: f32[4,4] workspace v: f32[4,8]"));
  ASSERT_FALSE(two);
  EXPECT_NE(render(two.error(), "text", "").find("4 elements in one place and 8 in another"), std::string::npos);
  const std::string forgotten = text("w[r] = x[t,r] o[t,r] = 0 y[t,r] = w[t,r]", "workspace w: f32[4,8]");
  EXPECT_FALSE(kernel::verify(parsed(forgotten)));
  const std::string ranged = text("s = sum[z in 0:8](x[t,z]) o[t,r] = s y[t,z] = x[t,z] + s");
  const auto said = kernel::verify(parsed(ranged));
  ASSERT_FALSE(said);
  EXPECT_NE(said.error().reason.find("has its range already"), std::string::npos) << said.error().reason;
}

}  // namespace
}  // namespace fathom
