// Reports of ptxas as they were recorded: plain, with spills, of several kernels, with products that were serialised; and texts that are
// none.
#include "session/ptxas_report.hpp"

#include <gtest/gtest.h>

namespace fathom::session {
namespace {

constexpr std::string_view plain =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'softmax_rows_y' for 'sm_80'\n"
    "ptxas info    : Function properties for softmax_rows_y\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 40 registers, used 1 barriers, 800 bytes smem, 368 bytes cmem[0]\n"
    "ptxas info    : Compile time = 26.208 ms\n";

TEST(PtxasReport, tells_what_a_kernel_takes) {
  const auto report = read_ptxas_report(plain);
  ASSERT_TRUE(report) << report.error().reason;
  ASSERT_EQ(report->kernels.size(), 1U);
  const PtxasKernel& kernel = report->kernels[0];
  EXPECT_EQ(kernel.name, "softmax_rows_y");
  EXPECT_EQ(kernel.architecture, "sm_80");
  EXPECT_EQ(kernel.registers, 40);
  EXPECT_EQ(kernel.static_shared_bytes, 800);
  EXPECT_EQ(kernel.stack_bytes + kernel.spill_store_bytes + kernel.spill_load_bytes, 0);
  EXPECT_TRUE(report->faults.empty());
}

TEST(PtxasReport, counts_spills_of_several_kernels_apart) {
  const auto report = read_ptxas_report(
      "ptxas info    : Overriding maximum register limit 256 for 'k2' with  24 of maxrregcount option\n"
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k2' for 'sm_90a'\n"
      "ptxas info    : Function properties for k2\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 0 barriers\n"
      "ptxas info    : Compile time = 26.208 ms\n"
      "ptxas info    : Compiling entry function 'k1' for 'sm_90a'\n"
      "ptxas info    : Function properties for k1\n"
      "    264 bytes stack frame, 112 bytes spill stores, 96 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 264 bytes cumulative stack size, 1024 bytes smem\n"
      "ptxas info    : Function properties for helper_that_is_not_inlined\n"
      "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n");
  ASSERT_TRUE(report) << report.error().reason;
  ASSERT_EQ(report->kernels.size(), 2U);
  EXPECT_EQ(report->kernels[0].name, "k1") << "in the order of names, not of ptxas";
  EXPECT_EQ(report->kernels[0].registers, 168) << "not the 24 of another line";
  EXPECT_EQ(report->kernels[0].stack_bytes, 264);
  EXPECT_EQ(report->kernels[0].spill_store_bytes, 120) << "what it calls spills, too";
  EXPECT_EQ(report->kernels[0].spill_load_bytes, 100);
  EXPECT_EQ(report->kernels[0].static_shared_bytes, 1024);
  EXPECT_EQ(report->kernels[1].registers, 10);
  EXPECT_EQ(report->kernels[1].spill_store_bytes, 0);
}

TEST(PtxasReport, says_which_products_were_serialised) {
  const std::string sentence =
      "Potential Performance Loss: wgmma.mma_async instructions are serialized due to non wgmma instructions defining accumulator "
      "registers of "
      "a wgmma between start and end of the pipeline stage in the function 'k'";
  for (const std::string code : {"C7510", "C7511", "C7512", "C7513", "C7514"}) {
    const auto report = read_ptxas_report("ptxas info    : (" + code + ") " + sentence + "\n" + std::string(plain));
    ASSERT_TRUE(report) << report.error().reason;
    ASSERT_EQ(report->faults.size(), 1U);
    EXPECT_EQ(report->faults[0].code, code);
    EXPECT_EQ(report->faults[0].sentence, sentence);
  }
  for (const std::string code : {"C7508", "C7515", "C751", "C75100"}) {
    const auto report = read_ptxas_report("ptxas info    : (" + code + ") Something else\n" + std::string(plain));
    ASSERT_TRUE(report) << report.error().reason;
    EXPECT_TRUE(report->faults.empty()) << code;
  }
}

TEST(PtxasReport, is_refused_where_it_says_nothing_of_a_kernel) {
  EXPECT_FALSE(read_ptxas_report(""));
  EXPECT_FALSE(read_ptxas_report("ptxas info    : 0 bytes gmem\n"));
  const auto cut = read_ptxas_report(
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().nodes, std::vector<std::string>{"k"});
}

}  // namespace
}  // namespace fathom::session
