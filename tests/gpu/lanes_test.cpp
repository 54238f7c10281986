// Printed kernels, run lane by lane on the host against the textbook in double, and faults planted in layouts and programs.
#include "codegen/gpu/lanes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "codegen/gpu/lower.hpp"
#include "files.hpp"
#include "lang/lang.hpp"

namespace fathom {
namespace {

using gpu::LaneTensor;
using gpu::LaneTensors;

Symbol sym(const char* text) { return Symbol(std::string_view(text)); }

kernel::Module text_of(const std::string& name) {
  const auto module = lang::parse_kernel(test::read_file(test::in_project("tests/kernel/texts/" + name + ".kernel")));
  if (module) return *module;
  ADD_FAILURE() << name;
  return {};
}

/// Numbers in -1..1 without a pattern that a wrong index would keep, rounded to the type.
LaneTensor noise(DType dtype, std::vector<std::int64_t> shape, unsigned seed, double scale = 1, double shift = 0) {
  LaneTensor t{dtype, std::move(shape), {}};
  std::int64_t size = 1;
  for (const std::int64_t extent : t.shape) size *= extent;
  std::uint64_t state = seed * 2654435761ULL + 12345;
  for (std::int64_t i = 0; i < size; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    t.data.push_back(round_to(dtype, (static_cast<double>(state >> 40U) / 8388608.0 - 1.0) * scale + shift));
  }
  return t;
}

struct Case {
  LaneTensors in;
  DimValues dims;
  Symbol result;
  std::vector<double> expected;
};

Case softmax(std::int64_t rows, std::int64_t columns) {
  Case c;
  c.in[sym("x")] = noise(DType::bf16, {rows, columns}, 1, 4);
  c.dims = {{sym("M"), rows}, {sym("N"), columns}};
  c.result = sym("y");
  const std::vector<double>& x = c.in[sym("x")].data;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto at = [&](std::int64_t j) { return x[static_cast<std::size_t>(i * columns + j)]; };
    double top = -HUGE_VAL, total = 0;
    for (std::int64_t j = 0; j < columns; ++j) top = std::max(top, at(j));
    for (std::int64_t j = 0; j < columns; ++j) total += std::exp(at(j) - top);
    for (std::int64_t j = 0; j < columns; ++j) c.expected.push_back(std::exp(at(j) - top) / total);
  }
  return c;
}

Case layernorm(std::int64_t rows, std::int64_t columns) {
  Case c;
  c.in[sym("x")] = noise(DType::bf16, {rows, columns}, 1, 2, 5);
  c.in[sym("gain")] = noise(DType::bf16, {columns}, 2);
  c.in[sym("bias")] = noise(DType::bf16, {columns}, 3);
  c.in[sym("eps")] = {DType::f32, {}, {1e-5}};
  c.dims = {{sym("M"), rows}, {sym("N"), columns}};
  c.result = sym("y");
  const std::vector<double>& x = c.in[sym("x")].data;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto at = [&](std::int64_t j) { return x[static_cast<std::size_t>(i * columns + j)]; };
    double mean = 0, variance = 0;
    for (std::int64_t j = 0; j < columns; ++j) mean += at(j) / static_cast<double>(columns);
    for (std::int64_t j = 0; j < columns; ++j) variance += (at(j) - mean) * (at(j) - mean) / static_cast<double>(columns);
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto k = static_cast<std::size_t>(j);
      c.expected.push_back((at(j) - mean) / std::sqrt(variance + 1e-5) * c.in[sym("gain")].data[k] + c.in[sym("bias")].data[k]);
    }
  }
  return c;
}

/// Causal, D = 128. `falling`: scores that fall along the keys, so that references move.
Case attention(std::int64_t heads, std::int64_t length, bool falling) {
  constexpr std::int64_t depth = 128;
  constexpr double scale = 0.12751743 * 0.6931471805599453;  // the text has base 2
  Case c;
  for (const char* name : {"q", "k", "v"}) {
    LaneTensor& t = c.in[sym(name)] = noise(DType::bf16, {heads, length, depth}, static_cast<unsigned>(name[0]));
    for (std::size_t i = 0; falling && name[0] != 'v' && i < t.data.size(); i += depth)
      t.data[i] =
          name[0] == 'q' ? 16 : round_to(DType::bf16, static_cast<double>(length - static_cast<std::int64_t>(i / depth) % length) / 2);
  }
  c.in[sym("HG")] = {DType::i32, {}, {1}};
  c.dims = {{sym("BH"), heads}, {sym("S"), length}};
  c.result = sym("o");
  const auto at = [&](const char* name, std::int64_t head, std::int64_t row, std::int64_t d) {
    return c.in[sym(name)].data[static_cast<std::size_t>((head * length + row) * depth + d)];
  };
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t i = 0; i < length; ++i) {
      std::vector<double> p;
      double top = -HUGE_VAL, total = 0;
      for (std::int64_t j = 0; j <= i; ++j) {
        double score = 0;
        for (std::int64_t d = 0; d < depth; ++d) score += at("q", head, i, d) * at("k", head, j, d);
        p.push_back(score * scale);
        top = std::max(top, p.back());
      }
      for (double& x : p) total += x = std::exp(x - top);
      for (std::int64_t d = 0; d < depth; ++d) {
        double sum = 0;
        for (std::int64_t j = 0; j <= i; ++j) sum += p[static_cast<std::size_t>(j)] * at("v", head, j, d);
        c.expected.push_back(sum / total);
      }
    }
  }
  return c;
}

/// "" or what is wrong.
std::string fault_of(const gpu::ThreadModule& made, const kernel::Module& module, const Case& c, unsigned seed = 0) {
  gpu::LaneOptions options;
  options.seed = seed;
  options.dims = c.dims;
  options.most_steps = 20'000'000'000;
  const auto out = gpu::run_lanes(made, module, c.in, options);
  if (!out) return out.error().reason;
  const std::vector<double>& actual = out->at(c.result).data;
  if (actual.size() != c.expected.size()) return "another size";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!(std::fabs(actual[i] - c.expected[i]) <= 1e-2 * (1 + std::fabs(c.expected[i]))))
      return "element " + std::to_string(i) + " is " + std::to_string(actual[i]) + " instead of " + std::to_string(c.expected[i]);
  }
  return "";
}

std::string fault_of(const std::string& text, const Target& target, const Case& c) {
  const kernel::Module module = text_of(text);
  const auto made = gpu::lower(module, target);
  return made ? fault_of(*made, module, c) : made.error().reason;
}

/// Two groups, a producer, turns and a counter: whoever goes on first, and whenever a copy lands.
TEST(LaneMode, roles_give_the_same_whatever_the_order) {
  const Target target = *target_named("sm_90a");
  const kernel::Module module = text_of("attention_sm90a");
  const auto made = gpu::lower(module, target);
  ASSERT_TRUE(made) << made.error().reason;
  EXPECT_EQ(fault_of(*made, module, attention(1, 300, false)), "");
  EXPECT_EQ(fault_of(*made, module, attention(2, 129, true), 7), "") << "scores that send warps through the redo";
  for (const unsigned seed : {1U, 2U}) EXPECT_EQ(fault_of(*made, module, attention(3, 150, false), seed), "") << "seed " << seed;
}

TEST(LaneMode, rows_are_what_the_textbook_says) {
  const Target target = *target_named("sm_80");
  EXPECT_EQ(fault_of("softmax_rows", target, softmax(3, 4096)), "");
  EXPECT_EQ(fault_of("softmax_rows", target, softmax(2, 1000)), "");
  EXPECT_EQ(fault_of("softmax_rows", target, softmax(1, 8)), "");
  EXPECT_EQ(fault_of("layernorm", target, layernorm(2, 4096)), "");
  EXPECT_EQ(fault_of("layernorm", target, layernorm(2, 1000)), "");
}

TEST(LaneMode, attention_on_ampere_is_what_the_textbook_says) {
  const Target target = *target_named("sm_80");
  EXPECT_EQ(fault_of("attention_sm80", target, attention(1, 200, false)), "");
  EXPECT_EQ(fault_of("attention_sm80", target, attention(2, 129, true)), "");
  EXPECT_EQ(fault_of("attention_sm80", target, attention(1, 1, false)), "");
}

/// The target with one digit of an atom's fragment changed.
Target with_fault(Fragment MatrixAtom::* fragment, std::size_t digit, const std::function<void(FragmentDigit&)>& change) {
  Target target = *target_named("sm_80");
  for (MatrixAtom& atom : target.atoms)
    if (atom.a == DType::bf16) change((atom.*fragment)[digit]);  // the text's
  return target;
}

TEST(LaneMode, wrong_fragments_in_the_table_of_atoms_are_found) {
  const Case c = attention(1, 130, true);
  const auto A = &MatrixAtom::a_fragment;
  const auto C = &MatrixAtom::accumulator_fragment;
  const auto swap_strides = [](Target target, Fragment MatrixAtom::* fragment, std::size_t one, std::size_t other) {
    for (MatrixAtom& atom : target.atoms)
      if (atom.a == DType::bf16) std::swap((atom.*fragment)[one].stride, (atom.*fragment)[other].stride);
    return target;
  };
  const Target right = *target_named("sm_80");
  const std::vector<std::pair<const char*, Target>> faults = {
      {"rows of the accumulator one apart", with_fault(C, 0, [](FragmentDigit& d) { d.stride = 1; })},
      {"columns of the accumulator two apart", with_fault(C, 1, [](FragmentDigit& d) { d.stride = 2; })},
      {"lanes of the accumulator count columns", with_fault(C, 2, [](FragmentDigit& d) { d.step = 1; })},
      {"pairs of columns by the wrong lanes", with_fault(C, 3, [](FragmentDigit& d) { d.step = 8; })},
      {"rows of the accumulator by registers in the wrong order",
       [&] {
         Target t = right;
         for (MatrixAtom& atom : t.atoms) std::swap(atom.accumulator_fragment[0], atom.accumulator_fragment[1]);
         return t;
       }()},
      {"halves of the steps of A exchanged with its rows",
       [&] {
         Target t = right;
         for (MatrixAtom& atom : t.atoms) std::swap(atom.a_fragment[0], atom.a_fragment[1]);
         return t;
       }()},
      {"steps of A one apart", with_fault(A, 0, [](FragmentDigit& d) { d.stride = 2; })},
      {"rows of A by the wrong lanes", with_fault(A, 3, [](FragmentDigit& d) { d.step = 1; })},
      {"steps of A by the wrong lanes", with_fault(A, 4, [](FragmentDigit& d) { d.step = 8; })},
      {"rows and columns of the accumulator with each other's strides", swap_strides(right, C, 0, 2)},
      {"rows of A with the strides of its lanes", swap_strides(right, A, 1, 3)},
      {"an atom of half the columns",
       [&] {
         Target t = right;
         for (MatrixAtom& atom : t.atoms) atom.n = 4;
         return t;
       }()},
  };
  for (const auto& [what, target] : faults) EXPECT_NE(fault_of("attention_sm80", target, c), "") << what;
  EXPECT_EQ(fault_of("attention_sm80", right, c), "");
}

/// Every statement of a thread program, inner blocks included, with the block that holds it.
void each_statement(gpu::ThreadBlock& block, const std::function<bool(gpu::ThreadBlock&, std::size_t)>& visit) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (visit(block, i)) return;
    if (auto* loop = std::get_if<gpu::Loop>(&block[i].op)) each_statement(loop->body, visit);
    if (auto* loop = std::get_if<gpu::While>(&block[i].op)) each_statement(loop->body, visit);
    if (auto* branch = std::get_if<gpu::Branch>(&block[i].op)) {
      each_statement(branch->then, visit);
      each_statement(branch->otherwise, visit);
    }
  }
}

bool calls(const gpu::ThreadStatement& s, const char* function) {
  const auto* d = std::get_if<gpu::Do>(&s.op);
  return d != nullptr && d->call.name().text() == function;
}

/// Without the n-th call of a function; nothing where there are fewer.
std::optional<gpu::ThreadModule> without(gpu::ThreadModule made, const char* function, int which) {
  int seen = 0;
  bool done = false;
  for (gpu::ThreadRole& role : made.kernels[0].roles) {
    each_statement(role.body, [&](gpu::ThreadBlock& block, std::size_t i) {
      if (done || !calls(block[i], function) || seen++ != which) return done;
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
      return done = true;
    });
  }
  return done ? std::optional(made) : std::nullopt;
}
gpu::ThreadModule without_call(const gpu::ThreadModule& made, const char* function, int which) {
  const auto found = without(made, function, which);
  EXPECT_TRUE(found) << function << " " << which;
  return found.value_or(made);
}

/// Everything by which roles wait for each other and for the machine's engines, each left out by itself.
TEST(LaneMode, what_roles_wait_for_is_missed) {
  const kernel::Module module = text_of("attention_sm90a");
  const auto made = gpu::lower(module, *target_named("sm_90a"));
  ASSERT_TRUE(made);
  const Case c = attention(3, 300, false);
  // These say nothing that is not said already: the producer has drawn the next item before it fills the last slot that is waited for, and
  // the sums of the second product are as the fence before the first one has found them.
  const std::set<std::string> said_twice = {"wait_for_barrier 12", "fence_before_products 2"};
  int found = 0;
  for (const char* function :
       {"wait_for_barrier", "arrive", "expect_bytes", "fence_before_products", "commit_products", "wait_for_products", "fence_for_copies",
        "wait_for_group", "arrive_at_group", "wait_for_stores_to_read", "wait_for_stores", "commit_stores", "load_box_3", "store_box_3"}) {
    for (int which = 0;; ++which) {
      const auto mutant = without(*made, function, which);
      if (!mutant) break;
      const std::string name = std::string(function) + " " + std::to_string(which);
      std::string fault;
      for (unsigned seed = 0; seed < 3 && fault.empty(); ++seed) fault = fault_of(*mutant, module, c, seed);
      EXPECT_EQ(fault.empty(), said_twice.count(name) > 0) << name << ": " << fault;
      found += fault.empty() ? 0 : 1;
    }
  }
  EXPECT_GE(found, 60);
}

TEST(LaneMode, missing_waits_are_found) {
  const kernel::Module module = text_of("attention_sm80");
  const auto made = gpu::lower(module, *target_named("sm_80"));
  ASSERT_TRUE(made);
  const Case c = attention(1, 300, false);
  ASSERT_EQ(fault_of(*made, module, c), "");
  for (const int which : {0, 1, 2, 3}) {
    EXPECT_NE(fault_of(without_call(*made, "wait_for_workgroup", which), module, c), "") << "wait " << which << " of all threads";
    EXPECT_NE(fault_of(without_call(*made, "wait_for_copies", which), module, c), "") << "wait " << which << " for copies";
  }
  EXPECT_NE(fault_of(without_call(*made, "commit_copies", 1), module, c), "") << "K of the first trip is in the group of V";
  gpu::ThreadModule late = *made;  // one group more may be on its way
  each_statement(late.kernels[0].roles[0].body, [&](gpu::ThreadBlock& block, std::size_t i) {
    if (auto* d = std::get_if<gpu::Do>(&block[i].op); d != nullptr && calls(block[i], "wait_for_copies"))
      d->call = call(d->call.name(), {}, {d->call.arg(0) + number(1)});
    return false;
  });
  EXPECT_NE(fault_of(late, module, c), "");
}

/// The sums of eight tiles, taken twice: loops over one ring, one inside of another and one behind it.
Case sums_of_tiles() {
  Case c;
  c.in[sym("x")] = noise(DType::f32, {64, 32}, 7);
  c.result = sym("y");
  for (std::int64_t at = 0; at < 8 * 32; ++at) {
    double sum = 0;
    for (std::int64_t tile = 0; tile < 8; ++tile) sum += c.in[sym("x")].data[static_cast<std::size_t>(tile * 8 * 32 + at)];
    c.expected.push_back(sum * 4);
  }
  return c;
}

std::string with_one_ring(int depth, bool staged) {
  const std::string load = staged ? " @0.4" : "", receive = staged ? " @" + std::to_string(depth - 1) + ".3" : "",
                    rest = staged ? " @" + std::to_string(depth - 1) + ".5" : "";
  const auto loop = [&](const std::string& variable, const std::string& sum) {
    return "for " + variable + " in [all 0:8] carry(" + sum + "[r,j] = 0) {\n" +                  //
           "fill = acquire R" + load + "\n" +                                                     //
           "token = copy fill[r,j] <- x[" + variable + " * 8 + r,j]" + load + "\n" +              //
           "publish R after token" + load + "\n" +                                                //
           "slot = receive R" + receive + "\n" +                                                  //
           sum + "[r,j] = " + sum + "[r,j] + slot[r,j]" + rest + "\nrelease R" + rest + "\n}\n";  //
  };
  return "module sums(x: f32[64,32]) -> (y: f32[8,32]) {\n  require x % 16 == 0 else unsupported\n  kernel sums {\n"
         "work t in 0:1 grid\naxis r = w:4, u:2\naxis j = j:32\n"
         "channel R: f32[8,32] depth " +
         std::to_string(depth) + " from all to all\nrole all warps 4 {\nfor t in work {\nfor o in [all 0:3] carry(s[r,j] = 0) {\n" +
         loop("i", "a") + "s[r,j] = s[r,j] + a[r,j]\n}\n" + loop("k", "b") + "y[r,j] = s[r,j] + b[r,j]\n} } } }";
}

TEST(LaneMode, a_ring_serves_loop_after_loop) {
  const Case c = sums_of_tiles();
  for (const auto& [depth, staged] :
       {std::pair(1, false), std::pair(2, false), std::pair(3, false), std::pair(2, true), std::pair(3, true)}) {
    const auto module = lang::parse_kernel(with_one_ring(depth, staged));
    ASSERT_TRUE(module) << with_one_ring(depth, staged);
    const auto made = gpu::lower(*module, *target_named("sm_80"));
    ASSERT_TRUE(made) << made.error().reason;
    EXPECT_EQ(fault_of(*made, *module, c), "") << depth << " slots, " << staged;
    if (depth == 1) {
      EXPECT_NE(fault_of(without_call(*made, "wait_for_workgroup", 0), *module, c), "") << "the only slot may still be read";
    }
    if (!staged) continue;
    gpu::ThreadModule counts_on = *made;  // as if the loads behind the end were items
    int left_out = 0;
    each_statement(counts_on.kernels[0].roles[0].body, [&](gpu::ThreadBlock& block, std::size_t i) {
      const auto* a = std::get_if<gpu::Assign>(&block[i].op);
      if (a == nullptr || a->place != symbol(sym("R_filled")) || a->value != symbol(sym("R_taken"))) return false;
      block[i].op = gpu::Comment{"left out"};
      ++left_out;
      return false;
    });
    EXPECT_EQ(left_out, 2);
    EXPECT_NE(fault_of(counts_on, *module, c), "") << depth;
  }
}

TEST(LaneMode, what_leaves_its_extents_is_found) {
  std::string text = test::read_file(test::in_project("tests/kernel/texts/attention_sm80.kernel"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    const auto module = lang::parse_kernel(changed.replace(at, from.size(), to));
    if (!module) return std::string("does not parse");
    const auto made = gpu::lower(*module, *target_named("sm_80"));
    return made ? fault_of(*made, *module, attention(1, 130, true)) : made.error().reason;
  };
  const kernel::Module module = text_of("attention_sm80");
  gpu::ThreadModule always = *gpu::lower(module, *target_named("sm_80"));  // copies without a question
  each_statement(always.kernels[0].roles[0].body, [&](gpu::ThreadBlock& block, std::size_t at) {
    if (auto* d = std::get_if<gpu::Do>(&block[at].op); d != nullptr && calls(block[at], "copy_async"))
      d->call = call(d->call.name(), {}, {d->call.arg(0), d->call.arg(1), boolean(true)});
    return false;
  });
  EXPECT_NE(fault_of(always, module, attention(1, 130, true)).find("outside of its extents"), std::string::npos);
  EXPECT_NE(with("when mixed @1.6 { s[r,j] = where(j0 + j <= min(qb*128 + r, S - 1), s[r,j], -inf) }", ""), "");
  EXPECT_NE(with("a0 = copy qs[r,d] <- q[head, qb*128 + r, d]", "a0 = copy qs[r,d] <- q[head, qb*128 + r + 1, d]"), "");
}

TEST(Lowering, what_has_no_form_yet_is_refused_with_a_sentence) {
  const auto refusal = [](const std::string& name, const std::string& from, const std::string& to) {
    std::string text = test::read_file(test::in_project("tests/kernel/texts/" + name + ".kernel"));
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    const auto module = lang::parse_kernel(text.replace(at, from.size(), to));
    EXPECT_TRUE(module);
    const auto made = gpu::lower(*module, *target_named("sm_80"));
    return made ? std::string() : made.error().reason;
  };
  EXPECT_NE(refusal("attention_sm80", "bf16(p[r,j]) as pv.a                              @1.6", "bf16(p[r,j]) as pv.a @1.5")
                .find("orders other than"),
            std::string::npos);
  EXPECT_NE(refusal("attention_sm80", "release V                                                  @1.9", "release V @2.9")
                .find("more than two stages that compute"),
            std::string::npos);
  EXPECT_NE(refusal("attention_sm80", "require q % 16 == 0 and k % 16 == 0", "require q % 16 == 0 and k % 2 == 0").find("no wide form"),
            std::string::npos);
  EXPECT_NE(refusal("attention_sm90a", "warps 4 registers 232", "warps 8 registers 232"), "");
  EXPECT_NE(refusal("attention_cpu", "dynamic next", "dynamic next"), "") << "another machine's";
}

}  // namespace
}  // namespace fathom
