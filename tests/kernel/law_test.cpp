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
       "stored twice"},
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
