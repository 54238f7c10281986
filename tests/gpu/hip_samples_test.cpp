// Plans of the samples for AMD's targets, run lane by lane with the target's wave and its matrix instructions; and faults planted in
// fragments and waits, which have to be seen.
#include <functional>

#include "sample_runs.hpp"

namespace fathom {
namespace {

using gpu::ThreadBlock;
using gpu::ThreadModule;
using test::Sample;

const char* const amd_targets[] = {"gfx90a", "gfx942", "gfx1100"};

Sample in_type(const char* name, std::map<std::string, std::int64_t> dims, const char* own, const char* type) {
  return {name, std::move(dims), {{std::string(own) + "[", std::string(type) + "["}}};
}

std::vector<Sample> samples_in(const char* type) {
  return {in_type("softmax", {{"R", 7}, {"C", 600}}, "f32", type), in_type("rmsnorm", {{"R", 9}, {"C", 512}}, "f16", type),
          in_type("matmul_bias_gelu", {{"M", 70}, {"N", 128}, {"K", 192}}, "f32", type),
          in_type("attention", {{"B", 1}, {"H", 2}, {"Hk", 1}, {"S", 70}, {"T", 70}}, "f16", type),
          in_type("attention_nomask", {{"B", 1}, {"H", 1}, {"S", 40}, {"T", 130}}, "f32", type)};
}

Trace chosen(const std::vector<std::pair<const char*, const char*>>& choices) {
  Trace trace;
  for (const auto& [site, choice] : choices) trace.entries.push_back({site, choice, false, Origin::by_user});
  return trace;
}

bool has_products(const Sample& s) { return std::string(s.name).find("attention") == 0 || std::string(s.name).find("matmul") == 0; }

TEST(SamplesInWaves, are_what_their_text_says) {
  for (const char* target : amd_targets) {
    for (const char* type : {"f16", "bf16", "f32"}) {
      for (const Sample& s : samples_in(type)) {
        const auto c = test::compiled(s, target);
        ASSERT_TRUE(c);
        if (std::string(target) == "gfx1100" && std::string(type) == "f32" && has_products(s)) {  // no instruction multiplies f32
          EXPECT_NE(test::fault_of(*c, "gaussian").find("no atom of gfx1100 takes that"), std::string::npos) << s.name;
          continue;
        }
        for (const char* family : {"gaussian", "descending"})
          EXPECT_EQ(test::fault_of(*c, family), "") << s.name << " in " << type << " on " << target << ", " << family;
      }
    }
  }
}

/// Several waves a workgroup, several tiles of rows a wave, slots that are filled in the trip itself or ahead.
TEST(SamplesInWaves, are_right_whatever_is_chosen) {
  const std::vector<std::pair<const char*, const char*>> plans[] = {
      {{"y/i/tile", "64"}, {"y/k/tile", "64"}},
      {{"y/i/tile", "64"}, {"y/k/tile", "64"}, {"matmul_bias_gelu/warps", "1"}},
      {{"y/i/tile", "64"}, {"y/k/tile", "64"}, {"matmul_bias_gelu/warps", "2"}, {"matmul_bias_gelu/stages", "3"}},
      {{"y/i/tile", "32"}, {"y/k/tile", "64"}, {"matmul_bias_gelu/stages", "1"}},
  };
  for (const char* target : amd_targets) {
    for (const auto& plan : plans) {
      const auto c = test::compiled(in_type("matmul_bias_gelu", {{"M", 100}, {"N", 64}, {"K", 320}}, "f32", "bf16"), target, chosen(plan));
      ASSERT_TRUE(c);
      EXPECT_EQ(test::fault_of(*c, "gaussian"), "") << target << " " << plan.back().first << " = " << plan.back().second;
    }
    const auto c = test::compiled(in_type("attention_nomask", {{"B", 1}, {"H", 1}, {"S", 64}, {"T", 96}, {"D", 64}}, "f32", "f16"), target,
                                  chosen({{"o/i/tile", "32"}, {"o/j/tile", "32"}}));
    ASSERT_TRUE(c);
    EXPECT_EQ(test::fault_of(*c, "gaussian"), "") << target;
  }
}

// ---- planted faults ----

Target with_atoms(const std::string& name, const std::function<void(MatrixAtom&)>& change) {
  Target target = *target_named(name);
  for (MatrixAtom& atom : target.atoms) change(atom);
  return target;
}

/// The fragment whose lanes count the other way round along a dimension of which they hold two groups.
void exchange_strides(Fragment& fragment) {
  ASSERT_GE(fragment.size(), 2U);
  std::swap(fragment[0].stride, fragment[1].stride);
}

TEST(SamplesInWaves, wrong_fragments_are_seen) {
  for (const char* name : amd_targets) {
    const Sample sample = in_type("matmul_bias_gelu", {{"M", 32}, {"N", 64}, {"K", 64}}, "f32", "f16");
    const auto c = test::compiled(sample, name);
    ASSERT_TRUE(c);
    ASSERT_EQ(test::fault_of(*c, "gaussian"), "");
    const std::pair<const char*, std::function<void(MatrixAtom&)>> faults[] = {
        {"columns of a lane's results", [](MatrixAtom& atom) { exchange_strides(atom.accumulator_fragment); }},
        {"rows and columns of the result",
         [](MatrixAtom& atom) {
           for (FragmentDigit& d : atom.accumulator_fragment)
             d.dimension = d.dimension == FragmentDigit::Dimension::m ? FragmentDigit::Dimension::n : FragmentDigit::Dimension::m;
         }},
        {"columns of b",
         [](MatrixAtom& atom) {  // as the machine's rows lie in MFMA where it is WMMA, and the other way round
           for (FragmentDigit& d : atom.b_fragment)
             if (d.dimension == FragmentDigit::Dimension::n) d.stride = d.extent == 16 ? -1 : d.stride == 1 ? 8 : 1;
           for (std::size_t i = 0; i < atom.b_fragment.size(); ++i) {
             FragmentDigit& d = atom.b_fragment[i];
             if (d.stride != -1) continue;
             d = {HierarchyLevel::lane, 2, 8, FragmentDigit::Dimension::n, 1};
             atom.b_fragment.push_back({HierarchyLevel::lane, 1, 2, FragmentDigit::Dimension::n, 8});
             break;
           }
           if (atom.b_fragment[1].extent == 8)
             std::swap(atom.b_fragment[1].step, atom.b_fragment[2].step), atom.b_fragment[1].step = 1, atom.b_fragment[2].step = 8;
         }},
    };
    for (const auto& [what, change] : faults) {
      const Target wrong = with_atoms(name, change);
      EXPECT_NE(test::fault_of(*c, "gaussian", &wrong), "") << what << " on " << name;
    }
  }
}

/// Steps of only one operand: a sum over other pairs.
TEST(SamplesInWaves, steps_of_one_operand_alone_are_seen) {
  for (const char* name : {"gfx90a", "gfx942"}) {
    const Target wrong = with_atoms(name, [](MatrixAtom& atom) { exchange_strides(atom.b_fragment); });
    for (const char* type : {"f16", "bf16", "f32"}) {
      const auto c = test::compiled(in_type("matmul_bias_gelu", {{"M", 32}, {"N", 64}, {"K", 64}}, "f32", type), name);
      ASSERT_TRUE(c);
      EXPECT_NE(test::fault_of(*c, "gaussian", &wrong), "") << type << " on " << name;
    }
  }
}

/// Every `name` in turn taken away from the programs.
int each_without(const ThreadModule& made, const std::string& name, const std::function<void(const ThreadModule&)>& visit) {
  int count = 0;
  const std::function<bool(ThreadBlock&, int&)> take = [&](ThreadBlock& block, int& left) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto* call = std::get_if<gpu::Do>(&block[i].op);
      if (call != nullptr && call->call.name().text() == name && left-- == 0) {
        block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
      if (auto* loop = std::get_if<gpu::Loop>(&block[i].op); loop != nullptr && take(loop->body, left)) return true;
      auto* branch = std::get_if<gpu::Branch>(&block[i].op);
      if (branch != nullptr && (take(branch->then, left) || take(branch->otherwise, left))) return true;
    }
    return false;
  };
  for (;; ++count) {
    ThreadModule changed = made;
    int left = count;
    if (!take(changed.kernels[0].roles[0].body, left)) return count;
    visit(changed);
  }
}

TEST(SamplesInWaves, waits_that_are_missing_are_seen) {
  for (const char* name : amd_targets) {
    const auto c = test::compiled(in_type("matmul_bias_gelu", {{"M", 64}, {"N", 64}, {"K", 256}}, "f32", "f16"), name,
                                  chosen({{"y/i/tile", "64"}, {"y/k/tile", "64"}}));
    ASSERT_TRUE(c);
    const auto made = gpu::lower(c->final_ir().module(), c->target);
    ASSERT_TRUE(made);
    ASSERT_EQ(made->kernels[0].threads, 4 * made->lanes);
    int seen = 0;
    const int waits = each_without(*made, "wait_for_workgroup",
                                   [&](const ThreadModule& changed) { seen += test::fault_of(*c, changed, "gaussian").empty() ? 0 : 1; });
    EXPECT_GE(waits, 2) << name;
    EXPECT_GE(seen, 1) << name;
    EXPECT_EQ(each_without(*made, "wait_for_copies", [](const ThreadModule&) {}), 0) << "copies through registers wait for themselves";
  }
}

/// WMMA wants its operands in both halves of the wave.
TEST(SamplesInWaves, operands_in_one_half_of_a_wave_are_seen) {
  const auto c = test::compiled(in_type("attention_nomask", {{"B", 1}, {"H", 1}, {"S", 16}, {"T", 64}}, "f32", "f16"), "gfx1100");
  ASSERT_TRUE(c);
  const auto made = gpu::lower(c->final_ir().module(), c->target);
  ASSERT_TRUE(made);
  ThreadModule changed = *made;
  int exchanged = 0;
  const std::function<void(ThreadBlock&)> keep_own = [&](ThreadBlock& block) {
    for (gpu::ThreadStatement& s : block) {
      if (auto* loop = std::get_if<gpu::Loop>(&s.op)) keep_own(loop->body);
      auto* declared = std::get_if<gpu::Declare>(&s.op);
      const bool exchange = declared != nullptr && declared->initial && declared->initial.is(Op::call) &&
                            declared->initial.name().text() == "shuffle_xor" && declared->variable.type == gpu::Type::pair_f16;
      if (!exchange) continue;
      declared->initial = declared->initial.arg(0);
      ++exchanged;
    }
  };
  keep_own(changed.kernels[0].roles[0].body);
  EXPECT_GE(exchanged, 1);
  EXPECT_NE(test::fault_of(*c, changed, "gaussian").find("both halves of a wave"), std::string::npos);
}

TEST(SamplesInWaves, instructions_of_another_wave_are_seen) {
  const auto c = test::compiled(in_type("matmul_bias_gelu", {{"M", 32}, {"N", 64}, {"K", 64}}, "f32", "f16"), "gfx942");
  ASSERT_TRUE(c);
  const auto made = gpu::lower(c->final_ir().module(), c->target);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->lanes, 64);
  ThreadModule changed = *made;
  changed.lanes = 32;
  EXPECT_NE(test::fault_of(*c, changed, "gaussian").find("waves of 64 lanes"), std::string::npos);
}

}  // namespace
}  // namespace fathom
