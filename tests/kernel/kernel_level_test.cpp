// Kernel-level modules: panels in self-channels, matrix atoms, bool tiles, several kernels, reductions of states.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_test.hpp"

namespace fathom {
namespace {

using interp::Array;
using interp::Arrays;
using test::attention;
using test::expect_near;
using test::noise;
using test::parsed;
using test::refusal;
using test::run;
using test::text_of;
using test::with;

/// The text of the CPU with its tensors' names apart, f32 results and small numbers.
std::string cpu_attention() {
  std::string text = text_of("attention_cpu");
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"o[r,d] = 0", "acc[r,d] = 0"},
                                                        {"o[r,d]  = o[r,d] * f[r]", "acc[r,d]  = acc[r,d] * f[r]"},
                                                        {"z = mma pv: o[r,d] +=", "z = mma pv: acc[r,d] +="},
                                                        {"o[r,d] = await z", "acc[r,d] = await z"},
                                                        {"bf16(o[r,d] / sum[y](l[r,y]))", "acc[r,d] / sum[y](l[r,y])"},
                                                        {"(o: bf16", "(o: f32"},
                                                        {"axis j = n:4, y:16", "axis j = n:4, y:16\n    axis d = d:8"}}) {
    text = with(text, from, to);
  }
  for (std::size_t at = 0; (at = text.find("128]", at)) != std::string::npos;) text.replace(at, 4, "8]");
  text = with(text, "channel K: f32[128,64]", "channel K: f32[8,64]");
  text = with(text, "0.12751743 ", "0.5 ");
  return "dim BH = 2\ndim S = runtime 100\n" + text;
}

TEST(RunKernel, the_cpu_text_computes_causal_attention_from_bf16) {
  const kernel::Module m = parsed(cpu_attention());
  ASSERT_EQ(refusal(m, Level::kernel), "");
  Arrays in;
  for (const char* name : {"q", "k", "v"}) {
    Array& a = in[Symbol(name)] = noise({2, 100, 8}, static_cast<unsigned>(name[0]));
    a.dtype = DType::bf16;
    for (double& x : a.data) x = round_to(DType::bf16, x);
  }
  const Arrays out = run(m, Level::kernel, in);
  std::vector<double> expected;
  for (std::int64_t h = 0; h < 2; ++h) {
    const auto head = [&](const char* name) {
      Array part = in[Symbol(name)];
      part.data = {part.data.begin() + h * 800, part.data.begin() + (h + 1) * 800};
      return part;
    };
    const double natural = 0.5 * std::log(2.0);  // the text has base 2
    const auto one = attention(head("q"), head("k"), head("v"), 100, 100, 8, natural, [](auto i, auto j) { return j <= i; });
    expected.insert(expected.end(), one.begin(), one.end());
  }
  expect_near(out.at(Symbol("o")), expected, 2e-6);
}

TEST(RunKernel, faults_planted_in_the_cpu_text_are_refused) {
  const std::string good = cpu_attention();
  struct Fault {
    const char* from;
    const char* to;
    const char* reason;
  };
  for (const Fault& f : std::vector<Fault>{
           {"          s[r,j] = await x\n          release K\n", "          release K\n          s[r,j] = await x\n",
            "before its last reader"},
           {"          publish K\n", "", "before it is published"},
           {"          release V\n", "", "is not released"},
           {"          publish V\n          vr = receive V\n", "          vr = receive V\n          publish V\n", "before it is published"},
           {"          kp[d,j] = f32(k[head, j0 + j, d]) else 0", "", "nothing filled"},
           {"          s[r,j] = await x\n", "", "before its last reader"},
           {"          acc[r,d] = await z\n", "", "before its last reader"},
           {"kr[d,j]", "kp[d,j]", "outside of receive and release"},
           {"kr[d,j]", "kr[j,d]", ""},
           {"z = mma pv", "z = mma pw", "no atom"},
           {"mma qk: s[r,j] = qp[r,d]", "mma qk: s[r,j] = qp[r,y]", "neither contracted"},
           {"workspace next: i32[1] zero", "workspace next: i32[1]", "counter"},
           {"depth 1 from all to all\n    channel V", "depth 2 from all to all\n    channel V", "depth other than 1"},
           {"f[r]    = where", "f[j]    = where", "varies with `r`"},
           {"l[r,y]  = l[r,y] * f[r] + sum[n](s[r,(n,y)])", "l[r,y]  = l[r,y] * f[r] + sum[n](s[r,(y,n)])", "parts of an axis"},
           {"carry(acc[r,d] = 0, m[r] = -inf,", "carry(acc[r,d] = 0, m[r] = -inf, u[r] = 0,", "never updated"},
           {"carry(acc[r,d] = 0, m[r] = -inf,", "carry(acc[r,d] = 0,", "not defined on every path"},
           {"release K\n", "release K   @0.3\n", "stage and order"},
           {"o[head, qb*48 + r, d] = ", "o[0, r, d] = ", "at the same place"},
       }) {
    const kernel::Module m = parsed(with(good, f.from, f.to));
    const std::string reason = refusal(m, Level::kernel);
    if (std::string(f.reason).empty()) {
      // right in its types: the wrong place is outside of the panel, or the result is wrong
      Arrays in;
      for (const char* name : {"q", "k", "v"}) {
        in[Symbol(name)] = noise({2, 100, 8}, static_cast<unsigned>(name[0]));
        in[Symbol(name)].dtype = DType::bf16;
      }
      EXPECT_FALSE(interp::run_module(m, Level::kernel, in, {}));
      continue;
    }
    EXPECT_NE(reason.find(f.reason), std::string::npos) << f.from << " -> " << f.to << ": " << reason;
  }
}

TEST(RunKernel, atoms_are_rows_of_the_table_and_synchronous) {
  const kernel::Module m = parsed(cpu_attention());
  const auto machine = [](bool asynchronous) { return kernel::KnownMachine{1, {{Symbol("fma_6x32_f32"), asynchronous}}}; };
  EXPECT_TRUE(kernel::verify_sequential(m, machine(false)));
  EXPECT_FALSE(kernel::verify_sequential(m, machine(true)));
  EXPECT_FALSE(kernel::verify_sequential(m, kernel::KnownMachine{}));
}

TEST(RunKernel, what_back_ends_do_not_have_is_refused_by_name) {
  const std::pair<const char*, const char*> texts[] = {
      {"attention_sm90a", "roles"}, {"attention_sm80", "atom"}, {"decode_two_kernels", "groups"}};
  for (const auto& [name, word] : texts) {
    const auto result = kernel::verify_sequential(parsed(text_of(name)), kernel::KnownMachine{});
    ASSERT_FALSE(result) << name;
    EXPECT_FALSE(result.error().nodes.empty());
  }
}

const char* split_sum = R"(
dim T = runtime 50
module split(x: f32[3,T], v: f32[T,4]) -> (o: f32[3,4]) {
  workspace pm: f32[3,4]
  workspace pl: f32[3,4]
  workspace po: f32[3,4,4]
  reducer flash(s, x) { state m = -inf, l = 0, a = 0
    lift (s, 1, x)
    combine (max(m, m'),
             where(m == -inf, 0, l * exp(m - max(m, m'))) + where(m' == -inf, 0, l' * exp(m' - max(m, m'))),
             where(m == -inf, 0, a * exp(m - max(m, m'))) + where(m' == -inf, 0, a' * exp(m' - max(m, m')))) }
  kernel parts {
    work t in 0:4 grid
    axis i = i:3
    axis j = j:16
    axis d = d:4
    role all warps 1 {
      for t in work {
        s[i,j] = x[i,t * 16 + j] else -inf
        w[j,d] = v[t * 16 + j,d] else 0
        m[i], l[i], a[i,d] = flash.states[j](s[i,j], where(s[i,j] == -inf, 0, 1), w[j,d])
        pm[i,t] = m[i]
        pl[i,t] = l[i]
        po[i,t,d] = a[i,d]
      } } }
  kernel combine after parts {
    work t in 0:1 grid
    axis i = i:3
    axis d = d:4
    role all warps 1 {
      for t in work {
        m[i], l[i], a[i,d] = flash.states[z in 0:4](pm[i,z], pl[i,z], po[i,z,d])
        o[i,d] = a[i,d] / l[i]
      } } } })";

TEST(RunKernel, a_split_reduction_and_its_merge_of_states_give_the_softmax_weighted_sum) {
  const kernel::Module m = parsed(split_sum);
  ASSERT_EQ(refusal(m, Level::tile), "");
  const Arrays in = {{Symbol("x"), noise({3, 50}, 5)}, {Symbol("v"), noise({50, 4}, 6)}};
  std::vector<double> expected;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t d = 0; d < 4; ++d) {
      double weight = 0, sum = 0;
      for (std::size_t j = 0; j < 50; ++j) {
        const double e = std::exp(in.at(Symbol("x")).data[i * 50 + j]);
        weight += e;
        sum += e * in.at(Symbol("v")).data[j * 4 + d];
      }
      expected.push_back(sum / weight);
    }
  }
  expect_near(run(m, Level::tile, in).at(Symbol("o")), expected, 1e-6);
  EXPECT_NE(refusal(parsed(with(split_sum, "kernel combine after parts", "kernel combine after nothing")), Level::tile), "");
  EXPECT_NE(refusal(parsed(with(split_sum, "        po[i,t,d] = a[i,d]\n", "")), Level::tile).find("before a kernel stores"),
            std::string::npos);
  // A part that is never written is NaN in the result, not a plausible number.
  const Arrays hole = run(parsed(with(split_sum, "work t in 0:4 grid", "work t in 0:3 grid")), Level::tile, in);
  EXPECT_TRUE(std::isnan(hole.at(Symbol("o")).data[0]));
}

TEST(RunKernel, a_result_is_read_by_a_later_kernel_and_by_none_before) {
  const std::string text = R"(
module scale(x: f32[6]) -> (s: f32[1], y: f32[6]) {
  kernel total {
    work t in 0:1 grid
    axis i = i:6
    role all warps 1 {
      for t in work {
        s[0] = sum[i](x[i])
      } } }
  kernel shares after total {
    work t in 0:2 grid
    axis i = i:3
    role all warps 1 {
      for t in work {
        y[t * 3 + i] = x[t * 3 + i] / s[0]
      } } } })";
  const Arrays in = {{Symbol("x"), noise({6}, 9)}};
  std::vector<double> expected;
  double sum = 0;
  for (const double x : in.at(Symbol("x")).data) sum += x;
  for (const double x : in.at(Symbol("x")).data) expected.push_back(x / sum);
  expect_near(run(parsed(text), Level::tile, in).at(Symbol("y")), expected, 1e-5);
  const std::string early = with(text, "s[0] = sum[i](x[i])", "s[0] = sum[i](x[i]) * y[0]");
  EXPECT_NE(refusal(parsed(early), Level::tile).find("result `y` is read before a kernel stores to it"), std::string::npos);
}

TEST(RunKernel, the_example_of_the_documentation_runs) {
  std::string text = test::read_file(test::in_project("docs/kernel.md"));
  text = text.substr(text.find("## Example"));
  text = text.substr(text.find("```") + 3);
  text = text.substr(0, text.find("```"));
  const kernel::Module m = parsed(text);
  ASSERT_EQ(refusal(m, Level::tile), "");
  for (const std::int64_t n : {1, 63, 64, 200}) {
    Arrays in = {{Symbol("x"), noise({64, n}, 7)}};
    for (std::int64_t j = 0; j < n; ++j) in[Symbol("x")].data[static_cast<std::size_t>(j)] = -HUGE_VAL;  // a row masked out
    interp::RunOptions options;
    options.dims = {{Symbol("N"), n}};
    const Arrays out = run(m, Level::tile, in, options);
    std::vector<double> expected;
    for (std::size_t i = 0; i < 64; ++i) {
      double total = 0;
      for (std::int64_t j = 0; j < n; ++j)
        total += std::exp(in[Symbol("x")].data[i * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)]);
      for (std::int64_t j = 0; j < n; ++j) {
        const double e = std::exp(in[Symbol("x")].data[i * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)]);
        expected.push_back(total == 0 ? 0 : e / total);
      }
    }
    expect_near(out.at(Symbol("y")), expected, 1e-6);
  }
}

const char* redo = R"(
module redo(x: f32[8,4]) -> (y: f32[8,4]) {
  kernel k {
    work t in 0:1 grid
    axis r = w:2, u:4
    axis j = j:4
    role all warps 1 {
      for t in work {
        s[r,j] = x[r,j]
        big[w] = any[u](max[j](s[(w,u),j]) > 10)
        if big[w] carry(s[r,j]) {
          s[r,j] = s[r,j] * 0.5
        }
        y[r,j] = s[r,j]
      } } } })";

TEST(RunKernel, a_condition_on_a_bool_tile_acts_on_the_parts_where_it_holds) {
  const kernel::Module m = parsed(redo);
  ASSERT_EQ(refusal(m, Level::kernel), "");
  EXPECT_NE(refusal(m, Level::tile), "");
  Array x = noise({8, 4}, 8);
  x.data[5 * 4 + 2] = 20;  // row 5 belongs to the second part
  std::vector<double> expected = x.data;
  for (std::size_t i = 16; i < 32; ++i) expected[i] *= 0.5;
  expect_near(run(m, Level::kernel, {{Symbol("x"), x}}).at(Symbol("y")), expected, 0);
  EXPECT_NE(refusal(parsed(with(redo, " carry(s[r,j])", "")), Level::kernel).find("does not carry"), std::string::npos);
}

}  // namespace
}  // namespace fathom
