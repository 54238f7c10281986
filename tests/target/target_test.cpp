#include "target/target.hpp"

#include <gtest/gtest.h>

#include <set>

#include "target/host.hpp"

namespace fathom {
namespace {

TEST(Targets, the_host_is_first_and_names_are_unique) {
  ASSERT_FALSE(targets().empty());
  EXPECT_EQ(targets().front().name, Symbol("x86-64"));
  EXPECT_EQ(targets().front().lanes, host_lanes());
  std::set<Symbol> names;
  for (const Target& target : targets()) EXPECT_TRUE(names.insert(target.name).second) << target.name.text();
}

TEST(Targets, a_name_finds_its_row_and_an_unknown_one_is_refused_with_all_names) {
  for (const Target& target : targets()) EXPECT_EQ(target_named(target.name.text())->title, target.title);
  const Result<Target> unknown = target_named("sm_12");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().reason.find("sm_12"), std::string::npos);
  for (const Target& target : targets()) EXPECT_NE(unknown.error().hint.find(target.name.text()), std::string::npos);
}

TEST(Targets, the_host_is_described_by_its_vector_width_alone) {
  const Target& host = targets().front();
  int same_width = 0;
  for (const Target& target : targets()) {
    if (target.name == host.name || target.name.text().rfind("x86-64-v", 0) != 0 || target.lanes != host.lanes) continue;
    ++same_width;
    EXPECT_EQ(host.atoms.front().name, target.atoms.front().name);
    EXPECT_EQ(host.rates.matrix_flops, target.rates.matrix_flops);
    EXPECT_EQ(host.shared_bytes, target.shared_bytes);
    EXPECT_EQ(host.registers_bytes, target.registers_bytes);
    EXPECT_EQ(host.workgroups, target.workgroups);
  }
  EXPECT_EQ(same_width, 1);
}

TEST(Targets, every_rate_and_size_is_positive) {
  for (const Target& target : targets()) {
    for (const double rate :
         {target.rates.matrix_flops, target.rates.vector_flops, target.rates.exps, target.rates.memory_bytes, target.rates.on_chip_bytes})
      EXPECT_GT(rate, 0) << target.name.text();
    EXPECT_GT(target.lanes, 0);
    EXPECT_GT(target.workgroups, 0);
    EXPECT_GT(target.shared_bytes, 0);
    EXPECT_FALSE(target.spaces.empty());
    EXPECT_GE(target.rates.matrix_flops, target.rates.vector_flops) << target.name.text();
  }
}

TEST(Atoms, accumulators_fit_the_registers_and_names_are_unique) {
  for (const Target& target : targets()) {
    std::set<Symbol> names;
    ASSERT_FALSE(target.atoms.empty()) << target.name.text();
    for (const MatrixAtom& atom : target.atoms) {
      EXPECT_TRUE(names.insert(atom.name).second) << atom.name.text();
      EXPECT_EQ(atom.accumulator_home, Home::registers);
      EXPECT_LE(atom.m * atom.n * size_in_bytes(atom.accumulator), target.registers_bytes) << atom.name.text();
      EXPECT_TRUE(!atom.quiet_operands || atom.asynchronous) << atom.name.text();
    }
  }
}

TEST(Atoms, a_register_tile_of_the_cpu_leaves_registers_for_its_operands) {
  for (const Target& target : targets()) {
    if (target.code != "llvm" || target.name.text().rfind("x86-64", 0) != 0) continue;
    const MatrixAtom& atom = target.atoms.front();
    EXPECT_EQ(atom.n % target.lanes, 0);
    const int vectors = atom.n / target.lanes;
    EXPECT_LE((atom.m * vectors + vectors + 1) * target.lanes * 4, target.registers_bytes) << target.name.text();
  }
}

}  // namespace
}  // namespace fathom
