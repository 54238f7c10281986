// The whole model: the measured kernels as texts, with roles, rings, turns, tokens and stages, run under seeds and against the textbook;
// and faults planted in them, each found by the verifier or by running.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_test.hpp"
#include "target/target.hpp"

namespace fathom {
namespace {

using interp::Array;
using interp::Arrays;
using test::attention;
using test::noise;
using test::parsed;
using test::text_of;
using test::with;

Array rounded(DType dtype, Array a) {
  a.dtype = dtype;
  for (double& x : a.data) x = round_to(dtype, x);
  return a;
}

std::string verified(const kernel::Module& m) {
  const auto sound = kernel::verify(m);
  return sound ? "" : sound.error().reason;
}

/// What is wrong with a text: said by the verifier, or while it runs under some seed, or "another result".
struct Attention {
  Arrays in;
  std::vector<double> expected;
  interp::RunOptions options;
};

/// Causal attention of one or more heads, D = 128, bf16. `falling`: scores that fall along the keys, which the
/// texts go through from right to left, so that references move.
Attention causal(std::int64_t heads, std::int64_t length, double scale, bool falling) {
  Attention a;
  for (const char* name : {"q", "k", "v"}) {
    Array& tensor = a.in[Symbol(name)] = noise({heads, length, 128}, static_cast<unsigned>(name[0]));
    if (falling && name[0] != 'v') {
      for (std::size_t i = 0; i < tensor.data.size(); i += 128) {
        const auto row = static_cast<double>(i / 128 % static_cast<std::size_t>(length));
        tensor.data[i] = name[0] == 'k' ? static_cast<double>(length) / 2 - row / 2 : 16;
      }
    }
    tensor = rounded(DType::bf16, tensor);
  }
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto part = [&](const char* name) {
      Array one = a.in[Symbol(name)];
      const std::int64_t size = length * 128;
      one.data = {one.data.begin() + head * size, one.data.begin() + (head + 1) * size};
      return one;
    };
    const auto one = attention(part("q"), part("k"), part("v"), length, length, 128, scale, [](auto i, auto j) { return j <= i; });
    a.expected.insert(a.expected.end(), one.begin(), one.end());
  }
  a.in[Symbol("HG")] = Array{DType::i32, {}, {1}};
  return a;
}

/// The largest distance relative to 1 + |expected|; infinite for NaN.
double distance(const Array& actual, const std::vector<double>& expected) {
  if (actual.data.size() != expected.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::fabs(actual.data[i] - expected[i]) / (1 + std::fabs(expected[i]));
    worst = error <= worst ? worst : error == error ? error : HUGE_VAL;
  }
  return worst;
}

/// "" for the right result under all seeds, else what is wrong.
std::string fault_of(const kernel::Module& m, Attention a, std::initializer_list<std::uint64_t> seeds, double tolerance = 1e-2) {
  if (const std::string reason = verified(m); !reason.empty()) return reason;
  for (const std::uint64_t seed : seeds) {
    a.options.seed = seed;
    a.options.work_limit = 4'000'000'000;
    const auto out = interp::run_module(m, Level::kernel, a.in, a.options);
    if (!out) return out.error().reason;
    const double error = distance(out->at(Symbol("o")), a.expected);
    if (!(error <= tolerance)) return "another result under seed " + std::to_string(seed) + ": " + std::to_string(error);
  }
  return "";
}

constexpr double base_2 = 0.12751743 * 0.6931471805599453;  // the texts' constant, as the factor of natural exponents

kernel::KnownMachine hopper() {
  kernel::KnownMachine machine;
  machine.lanes = 32;
  const Target target = *target_named("sm_90a");
  for (const MatrixAtom& atom : target.atoms)
    machine.atoms.push_back({atom.name, atom.asynchronous, atom.quiet_operands, atom.issuing_lanes});
  return machine;
}

TEST(WholeModel, the_texts_are_sound) {
  for (const char* name :
       {"attention_sm90a", "attention_sm80", "attention_cpu", "softmax_rows", "decode_last_arriver", "decode_two_kernels", "layernorm"}) {
    EXPECT_EQ(verified(parsed(text_of(name))), "") << name;
  }
  for (const char* name : {"attention_sm90a", "attention_sm80", "decode_last_arriver"}) {
    const auto sound = kernel::verify(parsed(text_of(name)), hopper());
    EXPECT_TRUE(sound) << name << ": " << sound.error().reason;
  }
}

TEST(WholeModel, the_hopper_text_computes_causal_attention_under_any_seed) {
  const kernel::Module m = parsed(text_of("attention_sm90a"));
  EXPECT_EQ(fault_of(m, causal(1, 300, base_2, false), {0, 1, 2}), "");
  EXPECT_EQ(fault_of(m, causal(2, 130, base_2, false), {3, 4}), "") << "several items a workgroup: tokens and turns go on";
  EXPECT_EQ(fault_of(m, causal(1, 200, base_2, true), {5}), "") << "references move: the redo of a tile from the held slot";
}

TEST(WholeModel, the_ampere_text_computes_causal_attention) {
  const kernel::Module m = parsed(text_of("attention_sm80"));
  EXPECT_EQ(fault_of(m, causal(1, 300, base_2, false), {0, 1}), "");
  EXPECT_EQ(fault_of(m, causal(1, 200, base_2, true), {2}), "");
}

/// Split-k decode: B = 2 sequences of `lengths`, two heads of keys, three of queries each.
Attention decode(std::int64_t parts, const std::vector<std::int64_t>& lengths) {
  constexpr std::int64_t heads = 2, queries = 3, keys = 300, depth = 128;
  const auto sequences = static_cast<std::int64_t>(lengths.size());
  Attention a;
  a.in[Symbol("q")] = rounded(DType::bf16, noise({sequences, heads, queries, depth}, 7));
  a.in[Symbol("k")] = rounded(DType::bf16, noise({sequences, heads, keys, depth}, 8));
  a.in[Symbol("v")] = rounded(DType::bf16, noise({sequences, heads, keys, depth}, 9));
  Array len{DType::i32, {sequences}, {}};
  for (const std::int64_t length : lengths) len.data.push_back(static_cast<double>(length));
  a.in[Symbol("len")] = len;
  a.in[Symbol("SP")] = Array{DType::i32, {}, {static_cast<double>(parts)}};
  a.in[Symbol("c")] = Array{DType::f32, {}, {0.125}};
  const auto slice = [&](const char* name, std::int64_t at, std::int64_t size) {
    Array one = a.in[Symbol(name)];
    one.data = {one.data.begin() + at * size, one.data.begin() + (at + 1) * size};
    return one;
  };
  for (std::int64_t head = 0; head < sequences * heads; ++head) {
    const std::int64_t length = lengths[static_cast<std::size_t>(head / heads)];
    const auto one = attention(slice("q", head, queries * depth), slice("k", head, keys * depth), slice("v", head, keys * depth), queries,
                               length, depth, 0.125 * std::log(2.0), [](auto, auto) { return true; });
    a.expected.insert(a.expected.end(), one.begin(), one.end());
  }
  return a;
}

TEST(WholeModel, the_decode_texts_merge_their_groups_and_parts) {
  for (const char* name : {"decode_last_arriver", "decode_two_kernels"}) {
    const kernel::Module m = parsed(text_of(name));
    for (const std::int64_t parts : {1, 2, 3}) {
      EXPECT_EQ(fault_of(m, decode(parts, {300, 17}), {0, 1, 2}), "") << name << ", parts " << parts;
      EXPECT_EQ(fault_of(m, decode(parts, {0, 1}), {3}), "") << name << ", parts " << parts << ", no key and one key";
    }
  }
}

TEST(WholeModel, a_launch_leaves_its_counters_at_zero) {
  // Two launches in a row are two kernels that use the same counter: the second finds 0 if the first has left it.
  std::string text = text_of("decode_last_arriver");
  const std::size_t at = text.find("  kernel forward {"), end = text.rfind('}');
  std::string again = text.substr(at, end - at);
  again = with(with(again, "kernel forward {", "kernel again {"), "when SP == 1 { o[", "when SP == 1 { o2[");
  again = with(again, "o[b,hk,h,d] = bf16(where(l3", "o2[b,hk,h,d] = bf16(where(l3");
  text = with(text.substr(0, end) + again + "}", "(o: bf16[B,Hk,G,128])", "(o: bf16[B,Hk,G,128], o2: bf16[B,Hk,G,128])");
  const kernel::Module m = parsed(text);
  ASSERT_EQ(verified(m), "");
  Attention a = decode(3, {300, 17});
  a.options.seed = 5;
  const auto out = interp::run_module(m, Level::kernel, a.in, a.options);
  ASSERT_TRUE(out) << out.error().reason;
  EXPECT_LE(distance(out->at(Symbol("o")), a.expected), 1e-2);
  EXPECT_EQ(out->at(Symbol("o2")).data, out->at(Symbol("o")).data);
}

struct Fault {
  const char* what;
  const char* from;
  const char* to;
  const char* reason;  ///< a part of what is said
};

void expect_found(const std::string& text, const std::vector<Fault>& faults, const Attention& data) {
  for (const Fault& f : faults) {
    const auto m = lang::parse_kernel(with(text, f.from, f.to));
    ASSERT_TRUE(m) << f.what << ": " << render(m.error(), "text", text);
    const auto sound = kernel::verify(*m, hopper());
    const std::string found = sound ? fault_of(*m, data, {0, 1, 2, 3, 4, 5}) : sound.error().reason;
    EXPECT_NE(found.find(f.reason), std::string::npos) << f.what << ": " << (found.empty() ? "nothing was found" : found);
    EXPECT_FALSE(found.empty()) << f.what;
  }
}

TEST(WholeModel, faults_planted_in_the_hopper_text_are_found) {
  expect_found(
      text_of("attention_sm90a"),
      {
          {"packed while the product in front is in flight", "as pv.a                              @0.13", "as pv.a @0.9",
           "operand in registers"},
          {"rescaled before the product is there", "when not first @0.12 {", "when not first @0.9 {", "@1.10"},
          {"released before the redo reads it", "release K                                                  @0.9", "release K @0.7",
           "needs"},
          {"V released before its product is over", "release V                                                  @1.11", "release V @1.9",
           "the await of `b`"},
          {"the product before its slot", "vs = receive V                                             @1.4", "vs = receive V @1.6",
           "needs"},
          {"in stage 0 what comes a trip later", "o[r,d] = await b                                           @1.10",
           "o[r,d] = await b @0.10", "needs"},
          {"no stage", "pass ping                                                  @0.6", "pass ping", "no stage and order"},
          {"one K too few", "for i in [first 0:1, rest 1:nk] {", "for i in [first 0:1, rest 2:nk] {", "wait for each other"},
          {"one K too many", "for i in [first 0:1, rest 1:nk] {", "for i in [first 0:1, rest 1:nk + 1] {", ""},
          {"a turn that is not passed", "          pass ping                                                  @0.6\n", "", "is not passed"},
          {"skipping and turns", "let nk   = (min(S", "let nk   = g + (min(S", "not defined"},
          {"skipping and turns", "open nd:nk] carry", "open nd:nk - g] carry", "wait for each other"},
          {"published before it is there", "publish K after a ", "publish K ", "is in flight"},
          {"published after another copy", "publish V after b ", "publish V after a ", "no copy into its slot"},
          {"the staging buffer is overwritten", "        await st.read\n", "", "in flight"},
          {"stores that nobody waits for", "      await st\n", "", "is not awaited"},
          {"Q read after its release", "        qf[r,d] = qs[r,d] as qk.a\n        release Q[g]\n",
           "        release Q[g]\n        qf[r,d] = qs[r,d] as qk.a\n", "outside of receive and release"},
          {"a slot of the wrong group", "qs = receive Q[g]", "qs = receive Q[0]", ""},
          {"a second producer", "          ks = receive K                                             @0.1\n          take",
           "          ks = acquire K @0.1\n          take", "its producer is"},
          {"a warp cannot issue it", "z = mma qk_sync:", "z = mma qk:", "128 lanes"},
          {"the wrong row of Q", "copy q1[r,d] <- q[head, qb*128 + 64 + r, d]", "copy q1[r,d] <- q[head, qb*128 + r, d]", "another result"},
          {"no mask", "when not open @0.8 {", "when first and not first @0.8 {", "another result"},
          {"a carried sum that the redo does not rescale", "l[r,y]  = l[r,y] * f[r] } }", "l[r,y]  = l[r,y] } }", "another result"},
          {"an accumulator that the redo does not rescale", "{ o[r,d] = o[r,d] * f[r] }", "{ o[r,d] = o[r,d] + 0 }", "another result"},
          {"an order outside of a loop", "await st.read", "await st.read @0.1", "the work loop"},
      },
      causal(1, 260, base_2, true));
}

TEST(WholeModel, faults_planted_in_the_ampere_text_are_found) {
  expect_found(
      text_of("attention_sm80"),
      {
          {"released before it is read", "release K                                                  @1.3", "release K @1.2", "needs"},
          {"one slot for two", "channel K: bf16[64,128] depth 2", "channel K: bf16[64,128] depth 1", "needs"},
          {"a reader in front of the receive", "kr = receive K                                             @1.1", "kr = receive K @1.4",
           "needs"},
          {"received in the trip of its load", "vr = receive V                                             @1.7", "vr = receive V @0.4",
           "needs"},
          {"not published after its copy", "publish V after b ", "publish V ", "is in flight"},
          {"rescaled under the wrong vote", "> m[(w,u)] + 8 / c)", "> m[(w,u)] + 800 / c)", "another result"},
      },
      causal(1, 260, base_2, true));
}

TEST(WholeModel, faults_planted_in_the_decode_text_are_found) {
  expect_found(
      text_of("decode_last_arriver"),
      {
          {"loads in front of the compute: four slots of three",
           "s  = acquire KV                                                                    @0.9\n", "s  = acquire KV @0.0\n", "needs"},
          {"a ring of two", "depth 3 from all", "depth 2 from all", "needs"},
          {"a counter that holds anything", "workspace arrived: i32[B*Hk] zero", "workspace arrived: i32[B*Hk]", "holds 0"},
          {"the first to arrive combines", "when n == SP - 1 {", "when n == 0 {", ""},
          {"a wrap that is one too late", "atomic inc_wrap arrived[bh], SP - 1", "atomic inc_wrap arrived[bh], SP", "does not hold 0"},
          {"parts that a group never sees", "let j0 = (i*8 + g)*16", "let j0 = (i*8 + g*0)*16", "another result"},
          {"a merge inside of an expression", "m2[h], l2[h], a2[d,h] = flash.states[g](m[h], l[h], acc[d,h])", "l2[h] = 1 + sum[g](l[h])",
           "a part of an expression"},
          {"no mask of the length", "st[j,h] = where(j0 + j < len[b], st[j,h] * c, -inf)", "st[j,h] = st[j,h] * c", "another result"},
      },
      decode(3, {300, 17}));
}

}  // namespace
}  // namespace fathom
