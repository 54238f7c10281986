// The text of the Tile and Kernel levels: what docs/kernel.md calls the grammar, on the complete example texts of this project.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "ir/kernel_lines.hpp"
#include "kernel_test.hpp"

namespace fathom {
namespace {

using test::parsed;
using test::text_of;

class KernelText : public ::testing::TestWithParam<const char*> {};

TEST_P(KernelText, printing_what_was_parsed_is_a_fixed_point) {
  const auto first = lang::parse_kernel(text_of(GetParam()));
  ASSERT_TRUE(first) << render(first.error(), GetParam(), text_of(GetParam()));
  const std::string printed = kernel::print(*first);
  const auto second = lang::parse_kernel(printed);
  ASSERT_TRUE(second) << render(second.error(), GetParam(), printed) << printed;
  EXPECT_EQ(kernel::print(*second), printed);
}

TEST_P(KernelText, every_statement_stands_on_the_line_that_is_said) {
  const kernel::Module module = parsed(text_of(GetParam()));
  std::vector<std::string> lines;
  std::istringstream printed(kernel::print(module));
  for (std::string line; std::getline(printed, line);) lines.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
  const kernel::StatementLines found = kernel::lines_of(module);
  EXPECT_FALSE(found.empty());
  for (const auto& [statement, line] : found) {
    ASSERT_LE(line, static_cast<int>(lines.size()));
    const std::string text = kernel::print(*statement, 0);
    EXPECT_EQ(lines[static_cast<std::size_t>(line) - 1], text.substr(0, text.find('\n')));
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, KernelText,
                         ::testing::Values("attention_sm90a", "attention_sm80", "attention_cpu", "softmax_rows", "decode_last_arriver",
                                           "decode_two_kernels", "layernorm", "attention_tile"),
                         [](const auto& p) { return std::string(p.param); });

TEST(KernelTexts, every_word_of_the_hopper_text_survives) {
  const std::string printed = kernel::print(parsed(text_of("attention_sm90a")));
  for (const char* piece : {"require BH % HG == 0 else attention_ungrouped",
                            "workspace next: i32[1] zero",
                            "work t in 0:BH * QB dynamic next",
                            "axis j = n:16, y:4, e:2",
                            "axis d = d:128",
                            "dim BH = runtime 1",
                            "channel Q each consumer: bf16[64,128] depth 1 from producer to consumer",
                            "buffer stage each consumer: bf16[64,128] in shared",
                            "turn ping over consumer",
                            "role consumer groups 2 warps 4 registers 232 partition r {",
                            "for t in work carry(st = done) {",
                            "for i in [first 0:1, mixed 1:nd, open nd:nk] carry(o.t[r,d] = 0, m[r] = -inf, off[r] = 0, l[r,y] = 0) {",
                            "qf[r,d] = qs[r,d] as qk.a",
                            "a = mma qk: s[r,j] = qf[r,d] * ks[j,d] @0.3",
                            "s[r,j] = await a @0.7",
                            "if bad[w] carry(p[r,j], ls[r,y], m[r], off[r], l[r,y], f[r]) {",
                            "b = mma pv: o.t[r,d] += pb[r,j] * vs[j,d] @1.5",
                            "o.t[r,d] = await b @1.10",
                            "await st.read",
                            "publish K after a @0.3",
                            "take ping @0.2",
                            "when not open @0.8 {",
                            "ls[r,y] = sum[n,e](p[r,(n,y,e)]) @0.8"}) {
    EXPECT_NE(printed.find(piece), std::string::npos) << piece << "\n" << printed;
  }
}

TEST(KernelTexts, dimensions_of_run_time_keep_their_default) {
  const std::string text = "dim S = runtime 4096\ndim D = 64\nmodule m(x: f32[S,D]) -> (y: f32[S,D]) {\n}\n";
  const kernel::Module m = parsed(text);
  ASSERT_EQ(m.dims.size(), 2U);
  EXPECT_TRUE(m.dims[0].runtime);
  EXPECT_EQ(m.dims[0].value, 4096);
  EXPECT_FALSE(m.dims[1].runtime);
  EXPECT_EQ(kernel::print(m), text);
}

TEST(KernelTexts, flags_of_an_atomic_stand_on_its_line) {
  const std::string head =
      "module m(x: f32[4]) -> (y: f32[4]) {\n  workspace c: i32[1]\n  kernel k {\n    work t in 0:1 grid\n"
      "    channel K: f32[4] depth 1 from all to all\n    role all warps 1 {\n      for t in work {\n";
  const std::string tail = "      }\n    }\n  }\n}\n";
  const kernel::Module flags = parsed(head + "        n = atomic inc_wrap c[0], 3 release acquire\n" + tail);
  const kernel::Module next_line = parsed(head + "        n = atomic inc_wrap c[0], 3\n        release K\n" + tail);
  const auto body = [](const kernel::Module& m) { return std::get<kernel::For>(m.kernels[0].roles[0].body[0].op).body; };
  EXPECT_EQ(body(flags).size(), 1U);
  EXPECT_TRUE(std::get<kernel::Atomic>(body(flags)[0].op).acquire);
  ASSERT_EQ(body(next_line).size(), 2U);
  EXPECT_FALSE(std::get<kernel::Atomic>(body(next_line)[0].op).release);
}

TEST(KernelTexts, bad_texts_are_diagnosed_and_never_crash) {
  for (const char* text :
       {"", "module", "module m", "module m(x: f32[4]) -> (y: f32[4]) {", "module m() -> () { kernel k { } }",
        "module m() -> () { nonsense }", "module m(x: f33[4]) -> () { }", "module m() -> () { kernel k { work t in 0:1 grid role r { } } }",
        "module m() -> () { kernel k { work t in 0:1 grid role r warps 1 { x[i = 3 } } }",
        "module m() -> () { kernel k { work t in 0:1 grid role r warps 1 { x[i] = unknown } } }",
        "module m() -> () { kernel k { work t in 0:1 grid role r warps 1 { x[i] = 1 @x } } }",
        "module m() -> () { kernel k { work t in 0:1 grid role r warps 1 { a, b = 1, 2, 3 } } }", "module m() -> () { } trailing",
        "module m() -> () { reducer r(x) { state a = 0 lift (x) } }"}) {
    const auto result = lang::parse_kernel(text);
    ASSERT_FALSE(result) << text;
    EXPECT_FALSE(result.error().empty()) << text;
    EXPECT_FALSE(result.error()[0].message.empty()) << text;
  }
}

TEST(KernelTexts, deep_nesting_and_cut_texts_end_with_an_error) {
  std::string deep = "module m() -> () { kernel k { work t in 0:1 grid role r warps 1 ";
  for (int i = 0; i < 5000; ++i) deep += "{ when true ";
  EXPECT_FALSE(lang::parse_kernel(deep));
  const std::string whole = text_of("attention_sm90a");
  for (std::size_t cut = 0; cut + 1 < whole.rfind('}'); cut += 37) EXPECT_FALSE(lang::parse_kernel(whole.substr(0, cut)));
}

}  // namespace
}  // namespace fathom
