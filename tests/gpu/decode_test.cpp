// Kernels whose groups partition the keys of one query: what their text looks like, that NVIDIA's compiler takes it, and, with one group,
// that lane mode computes what the textbook says.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "codegen/gpu/lanes.hpp"
#include "codegen/gpu/lower.hpp"
#include "codegen/gpu/print_cuda.hpp"
#include "files.hpp"
#include "ir/kernel_lines.hpp"
#include "lang/lang.hpp"

namespace fathom::decoding {
namespace {

using gpu::LaneTensor;

const std::array<const char*, 2> texts = {"decode_last_arriver", "decode_two_kernels"};

Symbol sym(const char* text) { return Symbol(std::string_view(text)); }

std::string source(const std::string& name) { return test::read_file(test::in_project("tests/kernel/texts/" + name + ".kernel")); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

/// The same with one group of one warp, which takes 16 keys a round.
std::string with_one_group(std::string text) {
  text = replaced(text, "groups 8 warps 1", "warps 1");
  text = replaced(text, "(len[b] + 127) // 128", "(len[b] + 15) // 16");
  return replaced(text, "(i*8 + g)*16", "i*16");
}

kernel::Module module_of(const std::string& text) {
  const auto module = lang::parse_kernel(text);
  if (module) return *module;
  ADD_FAILURE() << module.error()[0].message << "\n" << text;
  return {};
}

std::string cuda_of(const std::string& text, const char* target) {
  const kernel::Module module = module_of(text);
  const auto made = gpu::lower(module, *target_named(target));
  if (made) return gpu::print_cuda(*made, module).text;
  ADD_FAILURE() << made.error().reason << " " << made.error().hint;
  return {};
}

std::string refusal(const std::string& text, const char* target = "sm_80") {
  const auto made = gpu::lower(module_of(text), *target_named(target));
  return made ? std::string() : made.error().reason;
}

// ---- text ----

void expect_in_order(const std::string& text, const std::vector<std::string>& pieces) {
  std::size_t at = 0;
  for (const std::string& piece : pieces) {
    const std::size_t found = text.find(piece, at);
    EXPECT_NE(found, std::string::npos) << "not behind the piece before it: " << piece;
    if (found != std::string::npos) at = found + piece.size();
  }
}

TEST(Decode, a_group_has_a_ring_of_its_own_and_waits_for_its_warp) {
  for (const char* name : texts) {
    const std::string text = cuda_of(source(name), "sm_80");
    expect_in_order(text, {"const int g = same_in_warp(warp_number());", "&KV[(g * 3 + KV_filled % 3) * 4096]",
                           "copy_async_evict_first(&s[j * 128 + swizzled_column(j, d, 8, 1, 8)], &k[",
                           "j0_2 + j < len[b] && i_ahead < hi);", "copy_async_evict_first(&s[(16 + j) * 128", "commit_copies();",
                           "for (int i = lo; i < hi; ++i) {", "wait_for_copies<2>();", "wait_for_warp();", "load_matrices_4(",
                           "mma_m16n8k16_bf16(&st[0], &a[0], &qf[step * 2]);", "transposed_matrix(pb_made[", "load_matrices_4_transposed(",
                           "mma_m16n8k16_bf16(&acc[m_tile * 4], &a[0], &pb[0]);", "wait_for_warp();", "wait_for_copies<0>();"});
    const std::size_t loop = text.find("for (int i = lo; i < hi; ++i) {"), end = text.find("wait_for_copies<0>();");
    EXPECT_GT(text.find("wait_for_workgroup();", loop), end) << name << ": no wait of all groups in the loop";
  }
}

TEST(Decode, states_of_the_groups_lie_in_the_rings_between_two_waits_of_all_groups) {
  const std::string text = cuda_of(source("decode_last_arriver"), "sm_80");
  expect_in_order(
      text, {"KV = reinterpret_cast<bf16*>(shared_memory + 0);", "flash_of_groups = reinterpret_cast<float*>(shared_memory + 0);",
             "wait_for_copies<0>();", "wait_for_workgroup();", "m2_of_groups[(g * 2 + h) * 32 + lane] = m[h];", "wait_for_workgroup();",
             "for (int from = 1; from < 8; ++from) {", "merge_flash(m2_left, l2_left, a2_share[reg], ", "wait_for_workgroup();",
             "a2[reg] = a2_of_groups[", "wait_for_workgroup();", "if (SP == 1 && g == 0) {"});
}

TEST(Groups, what_does_not_vary_is_stored_by_one_of_them_unless_only_some_come_there) {
  const auto stored = [](const std::string& statement) {
    return cuda_of(
        "module once(x: f32[32]) -> (y: f32[2,32]) {\n  kernel put {\n    work u in 0:1 grid\n    axis i = i:32\n"
        "    role all groups 2 warps 1 {\n      for u in work {\n        a[i] = x[i]\n        " +
            statement + "\n      } } } }",
        "sm_80");
  };
  expect_in_order(stored("y[0,i] = a[i]"), {"if (g == 0) ", "y["});
  EXPECT_EQ(stored("y[g,i] = a[i]").find("if (g == 0)"), std::string::npos);
  expect_in_order(stored("when x[0] > 0 { y[0,i] = a[i] }"), {"if (x[0] > 0.0f && g == 0) ", "y["});
  const std::string some = stored("when g == 1 { y[0,i] = a[i] }");
  expect_in_order(some, {"if (g == 1) ", "y["});
  EXPECT_EQ(some.find("g == 0"), std::string::npos);
}

TEST(Groups, share_the_widest_states_out) {
  const auto summed = [](int groups) {
    return cuda_of(
        "module summed(x: f32[" + std::to_string(groups) +
            ",4,32]) -> (y: f32[4,32]) {\n  kernel sums {\n    work u in 0:1 grid\n"
            "    axis i = i:32\n    axis r = r:4\n    role all groups " +
            std::to_string(groups) +
            " warps 1 {\n      for u in work {\n        a[r,i] = x[g,r,i]\n        s[r,i] = sum[g](a[r,i])\n        y[r,i] = s[r,i]\n"
            "      } } } }",
        "sm_80");
  };
  expect_in_order(summed(4), {"s_share = s_of_groups[g * 32 + lane];", "s_share += s_of_groups[(from * 4 + g) * 32 + lane];",
                              "s_of_groups[g * 32 + lane] = s_share;", "s[r] = s_of_groups[r * 32 + lane];"});
  expect_in_order(summed(2), {"s_share[r] += s_of_groups[("});
  EXPECT_EQ(summed(3).find("s_share"), std::string::npos) << "four registers are no whole shares of three groups";
}

TEST(Groups, of_a_role_beside_another_meet_at_a_barrier_of_their_own) {
  const std::string text = cuda_of(R"(
module beside(x: f32[4,32]) -> (y: f32[32], z: f32[32]) {
  kernel both {
    work u in 0:1 grid
    axis i = i:32
    role sums groups 4 warps 1 {
      for u in work {
        a[i] = x[g,i]
        s[i] = sum[g](a[i])
        y[i] = s[i]
      } }
    role copies warps 2 {
      for u in work {
        b[i] = x[0,i]
        z[i] = b[i]
      } } } })",
                                   "sm_80");
  expect_in_order(text, {"wait_for_group(1, 128);", "_of_groups[", "wait_for_group(1, 128);", "for (int from = 1; from < 4; ++from) ",
                         "wait_for_group(1, 128);", "if (g == 0) ", "y["});
}

TEST(Decode, whoever_arrives_last_sees_what_the_others_stored) {
  const std::string text = cuda_of(source("decode_last_arriver"), "sm_80");
  expect_in_order(text,
                  {"float* pm, float* pl, float* po, int* __restrict__ arrived", "if (SP > 1) {", "if (g == 0) {", "po[", "fence_device();",
                   "wait_for_workgroup();", "if (g == 0 && lane == 0) n_of_workgroup = increment_wrapping(&arrived[bh], SP - 1);",
                   "wait_for_workgroup();", "const int n = n_of_workgroup;", "fence_device();", "if (n == SP - 1 && g == 0) {",
                   "for (int z = 0; z < SP; ++z) {", "load_fresh(&pm[", "load_fresh(&po[", "merge_flash(", "o["});
  const std::string relaxed = cuda_of(replaced(source("decode_last_arriver"), "SP - 1 release acquire", "SP - 1"), "sm_80");
  EXPECT_EQ(relaxed.find("fence_device();\n"), std::string::npos) << "fences are what release and acquire ask for";
}

TEST(Decode, a_kernel_that_starts_early_waits_before_it_reads) {
  const std::string early = cuda_of(source("decode_two_kernels"), "sm_90a");
  expect_in_order(early,
                  {"start_kernel_behind();", "if (SP > 1 && g == 0) {", "combine(", "wait_for_kernels_in_front();", "load_fresh(&pm[",
                   "if (SP > 1) {", "cudaLaunchAttributeProgrammaticStreamSerialization", "cudaLaunchKernelEx(&launch, combine, "});
  const std::string later = cuda_of(source("decode_two_kernels"), "sm_80");
  expect_in_order(later, {"forward needs 196608 bytes of shared memory, more than this machine has"});
  for (const char* piece : {"wait_for_kernels_in_front", "start_kernel_behind", "load_fresh", "cudaLaunchKernelEx"})
    EXPECT_EQ(later.find(piece), std::string::npos) << piece;
  EXPECT_NE(later.find("combine<<<"), std::string::npos);
}

TEST(Decode, every_line_of_a_statement_is_tied_to_it) {
  for (const char* name : texts) {
    const kernel::Module module = module_of(source(name));
    const auto made = gpu::lower(module, *target_named("sm_90a"));
    ASSERT_TRUE(made);
    const gpu::PrintedCode code = gpu::print_cuda(*made, module);
    std::ofstream(std::string(FATHOM_BINARY_DIR) + "/" + name + ".cu") << code.text;  // for tests/device/texts.py
    for (const auto& [statement, line] : kernel::lines_of(module)) {
      const bool has_own = std::holds_alternative<kernel::Copy>(statement->op) || std::holds_alternative<kernel::Mma>(statement->op) ||
                           std::holds_alternative<kernel::Value>(statement->op) || std::holds_alternative<kernel::Atomic>(statement->op);
      EXPECT_TRUE(!has_own || std::count(code.lines.begin(), code.lines.end(), line) > 0) << kernel::print(*statement);
    }
  }
}

TEST(Decode, the_compiler_takes_it_without_a_spilled_register) {
  if (std::system("nvcc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "nvcc is not installed";
  const auto words = [](const char* name, const char* target, const char* architecture) {
    const std::string file = std::string(FATHOM_BINARY_DIR) + "/taken_" + name + "_" + architecture + ".cu", log = file + ".log";
    std::ofstream(file) << cuda_of(source(name), target);
    const std::string command =
        std::string("nvcc -std=c++17 -arch=") + architecture + " -cubin -Xptxas -v -o " + file + ".cubin " + file + " > " + log + " 2>&1";
    const bool took = std::system(command.c_str()) == 0;
    const std::string said = test::read_file(log);
    std::size_t clean = 0, all = 0;
    for (std::size_t at = said.find(" bytes spill stores"); at != std::string::npos; at = said.find(" bytes spill stores", at + 1), ++all)
      clean += said.compare(at - 2, 2, " 0") == 0 ? 1 : 0;
    const bool quiet = said.find("warning") == std::string::npos;
    return took && quiet && all > 0 && clean == all ? std::string() : said;
  };
  EXPECT_EQ(words("decode_last_arriver", "sm_80", "sm_80"), "");
  EXPECT_EQ(words("decode_two_kernels", "sm_80", "sm_120"), "");
  EXPECT_EQ(words("decode_last_arriver", "sm_90a", "sm_90a"), "");
  EXPECT_EQ(words("decode_two_kernels", "sm_90a", "sm_90a"), "");
}

// ---- lane mode ----

struct Case {
  gpu::LaneTensors in;
  DimValues dims;
  const char* result;
  std::vector<double> expected;
};

LaneTensor noise(DType dtype, std::vector<std::int64_t> shape, unsigned seed, double scale = 1) {
  LaneTensor t{dtype, std::move(shape), {}};
  std::int64_t size = 1;
  for (const std::int64_t extent : t.shape) size *= extent;
  std::uint64_t state = seed * 2654435761ULL + 12345;
  for (std::int64_t i = 0; i < size; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    t.data.push_back(round_to(dtype, (static_cast<double>(state >> 40U) / 8388608.0 - 1.0) * scale));
  }
  return t;
}

std::string fault_of(const gpu::ThreadModule& made, const kernel::Module& module, const Case& c, unsigned seed = 0) {
  gpu::LaneOptions options;
  options.dims = c.dims;
  options.seed = seed;
  options.most_steps = 20'000'000'000;
  const auto out = gpu::run_lanes(made, module, c.in, options);
  if (!out) return out.error().reason;
  const std::vector<double>& actual = out->at(sym(c.result)).data;
  if (actual.size() != c.expected.size()) return "another size";
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (!(std::fabs(actual[i] - c.expected[i]) <= 1e-2 * (1 + std::fabs(c.expected[i]))))
      return "element " + std::to_string(i) + " is " + std::to_string(actual[i]) + " instead of " + std::to_string(c.expected[i]);
  return "";
}

std::string fault_of(const std::string& text, const Target& target, const Case& c) {
  const kernel::Module module = module_of(text);
  const auto made = gpu::lower(module, target);
  return made ? fault_of(*made, module, c) : made.error().reason;
}

/// One query a head. Keys behind a sequence's length are no numbers.
Case decode(std::int64_t batch, std::int64_t heads, std::int64_t group, std::int64_t length, const std::vector<double>& lengths,
            std::int64_t parts) {
  constexpr std::int64_t depth = 128;
  constexpr double scale = 0.08838834764831845;
  Case c;
  c.result = "o";
  c.dims = {{sym("B"), batch}, {sym("Hk"), heads}, {sym("G"), group}, {sym("T"), length}};
  c.in[sym("q")] = noise(DType::bf16, {batch, heads, group, depth}, 1, 3);
  for (const char* name : {"k", "v"}) {
    LaneTensor& t = c.in[sym(name)] = noise(DType::bf16, {batch, heads, length, depth}, static_cast<unsigned>(name[0]));
    for (std::int64_t i = 0; i < batch * heads * length * depth; ++i)
      if (static_cast<double>(i / depth % length) >= lengths[static_cast<std::size_t>(i / depth / length / heads)])
        t.data[static_cast<std::size_t>(i)] = std::nan("");
  }
  c.in[sym("len")] = {DType::i32, {batch}, lengths};
  c.in[sym("SP")] = {DType::i32, {}, {static_cast<double>(parts)}};
  c.in[sym("c")] = {DType::f32, {}, {scale * 1.4426950408889634}};
  const std::vector<double>&q = c.in[sym("q")].data, &k = c.in[sym("k")].data, &v = c.in[sym("v")].data;
  for (std::int64_t row = 0; row < batch * heads * group; ++row) {
    const std::int64_t first = row / group * length;  // of its keys
    const auto keys = static_cast<std::int64_t>(lengths[static_cast<std::size_t>(row / group / heads)]);
    std::vector<double> p;
    double top = -HUGE_VAL, total = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < depth; ++d)
        score += q[static_cast<std::size_t>(row * depth + d)] * k[static_cast<std::size_t>((first + j) * depth + d)];
      p.push_back(score * scale);
      top = std::max(top, p.back());
    }
    for (double& x : p) total += x = std::exp(x - top);
    for (std::int64_t d = 0; d < depth; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) sum += p[static_cast<std::size_t>(j)] * v[static_cast<std::size_t>((first + j) * depth + d)];
      c.expected.push_back(keys > 0 ? sum / total : 0);
    }
  }
  return c;
}

TEST(DecodeInLanes, one_group_computes_what_the_textbook_says) {
  for (const char* name : texts) {
    const std::string text = with_one_group(source(name));
    for (const std::int64_t parts : {1, 3}) {
      EXPECT_EQ(fault_of(text, *target_named("sm_80"), decode(1, 2, 8, 100, {100}, parts)), "") << name << " " << parts;
      EXPECT_EQ(fault_of(text, *target_named("sm_90a"), decode(3, 1, 5, 70, {17, 0, 70}, parts)), "") << name << " " << parts;
    }
    EXPECT_EQ(fault_of(text, *target_named("sm_80"), decode(1, 1, 1, 1, {1}, 4)), "") << name << ": more parts than keys";
  }
}

/// All eight groups, whoever goes on first.
TEST(DecodeInLanes, groups_compute_what_the_textbook_says) {
  for (const char* name : texts) {
    const kernel::Module module = module_of(source(name));
    const auto made = gpu::lower(module, *target_named("sm_90a"));
    ASSERT_TRUE(made) << made.error().reason;
    for (const unsigned seed : {0U, 1U}) {
      EXPECT_EQ(fault_of(*made, module, decode(1, 1, 8, 300, {300}, 1), seed), "") << name << " seed " << seed;
      EXPECT_EQ(fault_of(*made, module, decode(2, 1, 5, 200, {17, 0}, 3), seed), "") << name << " seed " << seed;
    }
  }
}

void each_block(gpu::ThreadBlock& block, const std::function<void(gpu::ThreadBlock&)>& visit) {
  visit(block);
  for (gpu::ThreadStatement& s : block) {
    if (auto* loop = std::get_if<gpu::Loop>(&s.op)) each_block(loop->body, visit);
    if (auto* branch = std::get_if<gpu::Branch>(&s.op)) {
      each_block(branch->then, visit);
      each_block(branch->otherwise, visit);
    }
  }
}

TEST(DecodeInLanes, planted_faults_are_found) {
  const kernel::Module module = module_of(with_one_group(source("decode_last_arriver")));
  const auto made = gpu::lower(module, *target_named("sm_80"));
  ASSERT_TRUE(made);
  const Case c = decode(1, 1, 8, 100, {100}, 3);
  ASSERT_EQ(fault_of(*made, module, c), "");
  const auto with = [&](const std::function<bool(gpu::ThreadStatement&)>& change) {
    gpu::ThreadModule changed = *made;
    int found = 0;
    each_block(changed.kernels[0].roles[0].body, [&](gpu::ThreadBlock& block) {
      for (gpu::ThreadStatement& s : block) found += change(s) ? 1 : 0;
    });
    EXPECT_GT(found, 0);
    return fault_of(changed, module, c);
  };
  const auto assigned = [](gpu::ThreadStatement& s, const char* function) -> gpu::Assign* {
    auto* a = std::get_if<gpu::Assign>(&s.op);
    return a != nullptr && a->value.is(Op::call) && a->value.name().text() == function ? a : nullptr;
  };
  EXPECT_NE(with([&](gpu::ThreadStatement& s) {
              gpu::Assign* a = assigned(s, "transposed_matrix");
              if (a != nullptr) a->value = a->value.arg(0);
              return a != nullptr;
            }),
            "")
      << "the operand is where the scores are";
  EXPECT_NE(with([&](gpu::ThreadStatement& s) {
              gpu::Assign* a = assigned(s, "increment_wrapping");
              if (a != nullptr) a->value = call(a->value.name(), {}, {a->value.arg(0), a->value.arg(1) - number(1)});
              return a != nullptr;
            }),
            "")
      << "nobody is the last to arrive";
  EXPECT_NE(with([&](gpu::ThreadStatement& s) {
              auto* d = std::get_if<gpu::Do>(&s.op);
              const bool is_it = d != nullptr && d->call.name().text() == "wait_for_copies";
              if (is_it) d->call = call(d->call.name(), {}, {d->call.arg(0) + number(1)});
              return is_it;
            }),
            "")
      << "a group of copies more may be on its way";
  EXPECT_NE(with([&](gpu::ThreadStatement& s) {
              auto* d = std::get_if<gpu::Do>(&s.op);
              const bool is_it = d != nullptr && d->call.name().text() == "load_matrices_4_transposed";
              if (is_it) d->call = call(sym("load_matrices_4"), {}, {d->call.arg(0), d->call.arg(1)});
              return is_it;
            }),
            "")
      << "rows of the left operand are its columns";
  Target wrong = *target_named("sm_80");
  for (MatrixAtom& atom : wrong.atoms)
    if (atom.a == DType::bf16) std::swap(atom.b_fragment.front().stride, atom.b_fragment.back().stride);
  EXPECT_NE(fault_of(with_one_group(source("decode_last_arriver")), wrong, c), "") << "another fragment of B";
}

/// y = w (2 x q^T), where the second product takes what the first has made: as its right or as its left operand.
std::string two_products(const std::string& type, const std::string& atom, bool as_left) {
  const std::string rounded = type == "f32" ? "st[j,h] * 2" : type + "(st[j,h] * 2)";
  return "module moved(x: " + type + "[32,32], q: " + type + "[16,32], w: " + type + "[64,32]) -> (y: f32[" +
         (as_left ? "16,64" : "64,16") +
         "]) {\n  require x % 16 == 0 else unsupported\n  kernel moved {\n    work u in 0:1 grid\n    axis j = j:32\n    axis e = e:32\n"
         "    axis h = h:16\n    axis d = d:64\n    atom qk = " +
         atom + "\n    atom pv = " + atom +
         "\n    role all warps 1 {\n      for u in work {\n        xf[j,e] = x[j,e] as qk.a\n        qf[h,e] = q[h,e] as qk.b\n"
         "        t = mma qk: st[j,h] = xf[j,e] * qf[h,e]\n        st[j,h] = await t\n" +
         (as_left ? "        p[j,h] = " + rounded +
                        " as pv.a\n        wf[d,j] = w[d,j] as pv.b\n        z = mma pv: acc[h,d] = p[j,h] * wf[d,j]\n" +
                        "        acc[h,d] = await z\n        y[h,d] = acc[h,d]\n"
                  : "        p[j,h] = " + rounded +
                        " as pv.b\n        wf[d,j] = w[d,j] as pv.a\n        z = mma pv: acc[d,h] = wf[d,j] * p[j,h]\n" +
                        "        acc[d,h] = await z\n        y[d,h] = acc[d,h]\n") +
         "      } } } }";
}

Case product_of_products(DType dtype, bool as_left) {
  Case c;
  c.result = "y";
  c.in[sym("x")] = noise(dtype, {32, 32}, 1);
  c.in[sym("q")] = noise(dtype, {16, 32}, 2);
  c.in[sym("w")] = noise(dtype, {64, 32}, 3);
  const auto at = [&](const char* name, std::int64_t row, std::int64_t column) {
    return c.in[sym(name)].data[static_cast<std::size_t>(row * 32 + column)];
  };
  c.expected.resize(64 * 16);
  for (std::int64_t d = 0; d < 64; ++d) {
    for (std::int64_t h = 0; h < 16; ++h) {
      double sum = 0;
      for (std::int64_t j = 0; j < 32; ++j) {
        double p = 0;
        for (std::int64_t e = 0; e < 32; ++e) p += at("x", j, e) * at("q", h, e);
        sum += at("w", d, j) * round_to(dtype, p * 2);
      }
      c.expected[static_cast<std::size_t>(as_left ? h * 64 + d : d * 16 + h)] = sum;
    }
  }
  return c;
}

TEST(Relayout, a_product_takes_what_another_has_made) {
  for (const bool as_left : {false, true}) {
    for (const auto& [type, dtype, atom] :
         {std::tuple("bf16", DType::bf16, "mma_m16n8k16_bf16"), std::tuple("f16", DType::f16, "mma_m16n8k16_f16"),
          std::tuple("f32", DType::f32, "mma_m16n8k8_f32")}) {
      const std::string text = two_products(type, atom, as_left);
      EXPECT_EQ(fault_of(text, *target_named("sm_80"), product_of_products(dtype, as_left)), "") << text;
      const std::string cuda = cuda_of(text, "sm_80");
      const bool whole_matrices = dtype != DType::f32;
      EXPECT_EQ(cuda.find("transposed_matrix(p_made") != std::string::npos, whole_matrices) << cuda;
      EXPECT_EQ(cuda.find("shuffle_from(p_made") != std::string::npos, !whole_matrices) << cuda;
    }
  }
}

TEST(Fold, a_range_of_its_own_is_reduced_in_the_order_of_its_indices) {
  const std::string text = R"(
module folded(x: f32[N,32], n: i32) -> (y: f32[32], z: f32[32]) {
  require x % 16 == 0 else unsupported
  kernel sums {
    work u in 0:1 grid
    axis i = i:32
    role all warps 1 {
      for u in work {
        y[i] = sum[t in 1:n](x[t,i] * x[t - 1,i])
        top[i] = max[t in 0:N](x[t,i])
        z[i] = top[i] - max[t in 3:3](x[t,i])
      } } } })";
  Case c;
  c.result = "y";
  c.in[sym("x")] = noise(DType::f32, {7, 32}, 1);
  c.in[sym("n")] = {DType::i32, {}, {6}};
  c.dims = {{sym("N"), 7}};
  for (std::size_t i = 0; i < 32; ++i) {
    double sum = 0;
    for (std::size_t t = 1; t < 6; ++t) sum += c.in[sym("x")].data[t * 32 + i] * c.in[sym("x")].data[(t - 1) * 32 + i];
    c.expected.push_back(sum);
  }
  EXPECT_EQ(fault_of(text, *target_named("sm_80"), c), "");
  c.result = "z";
  c.expected.assign(32, HUGE_VAL);  // nothing is reduced: the identity
  const kernel::Module module = module_of(text);
  gpu::LaneOptions options;
  options.dims = c.dims;
  const auto out = gpu::run_lanes(*gpu::lower(module, *target_named("sm_80")), module, c.in, options);
  ASSERT_TRUE(out) << out.error().reason;
  EXPECT_EQ(out->at(sym("z")).data, c.expected);
}

TEST(Atomics, count_once_a_workgroup) {
  for (const auto& [operation, value, expected] :
       {std::tuple("add", "i + 1", 10.0), std::tuple("max", "i", 3.0), std::tuple("min", "-i", -3.0)}) {
    const std::string text =
        "module counted(x: f32[32]) -> (y: i32[4]) {\n  workspace total: i32[1] zero\n  kernel count {\n"
        "    work i in 0:4 grid\n    role all warps 4 {\n      for i in work {\n        n = atomic " +
        std::string(operation) + " total[0], " + value +
        " release acquire\n      } } }\n  kernel show after count {\n    work i in 0:4 grid\n    role all warps 1 {\n"
        "      for i in work { y[i] = total[0] } } }\n  kernel clear after show {\n    work i in 0:1 grid\n    role all warps 1 {\n"
        "      for i in work { total[0] = 0 } } } }";
    Case c;
    c.result = "y";
    c.in[sym("x")] = noise(DType::f32, {32}, 1);
    c.expected.assign(4, expected);
    EXPECT_EQ(fault_of(text, *target_named("sm_80"), c), "") << text;
  }
}

TEST(Decode, what_has_no_form_is_refused_with_a_sentence) {
  const std::string text = source("decode_last_arriver");
  EXPECT_NE(refusal(replaced(text, "where(j0 + j < len[b], k", "where(j0 + j + d < len[b], k")).find("differs within a chunk"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(text, "via(cg,l2_evict_first)", "via(ca)")).find("a path that copies of threads do not have: `ca`"),
            std::string::npos);
  EXPECT_NE(
      refusal(replaced(text, "combine (max(m, m'),", "combine (max(m, m') + a,")).find("has fewer axes than `a`, which it is made of"),
      std::string::npos);
  EXPECT_NE(
      refusal(replaced(replaced(text, "groups 8 warps 1", "warps 2"), "j = y:16", "j = y:32")).find("held by other warps than need it"),
      std::string::npos);
}

}  // namespace
}  // namespace fathom::decoding
