// Laws of the Tile level: what it computes is what the text says, for every shape; masks and fills stand where they must and nowhere else.
#include "tile_runs.hpp"

namespace fathom::lowering_tests {
namespace {

std::string text_at(const Lowered& lowered, Level level) { return print(lowered.last(level)); }

struct SampleCase {
  const char* name;
  Dims dims;
};
const SampleCase small_samples[] = {
    {"attention_nomask", {{"B", 1}, {"H", 2}, {"S", 5}, {"T", 70}, {"D", 8}}},
    {"attention", {{"B", 1}, {"H", 2}, {"Hk", 1}, {"S", 50}, {"T", 50}, {"D", 8}}},
    {"softmax", {}},
    {"logsumexp", {}},
    {"rmsnorm", {}},
    {"matmul_bias_gelu", {}},
    {"cross_entropy", {}},
};

/// The sample's own dimensions cut down, ragged on purpose, where the case names none.
Dims small_dims(const std::string& text, Dims dims) {
  if (!dims.empty()) return dims;
  const auto file = lang::parse_file(text);
  if (!file) return dims;
  std::int64_t next = 37;
  for (const math::Dimension& d : file->operators.front().dims) dims[d.name.text()] = std::min(d.value, next += 13);
  return dims;
}

TEST(LowerToTiles, every_sample_computes_what_its_text_says) {
  for (const SampleCase& one : small_samples) {
    SCOPED_TRACE(one.name);
    const std::string text = read_sample(one.name);
    expect_right(lower(text, small_dims(text, one.dims)), "gaussian");
  }
}

TEST(UseExp2, scores_that_are_inputs_keep_their_digits_where_they_are_large) {
  expect_right(lower(read_sample("softmax"), {{"R", 3}, {"C", 70}}), "large");
  expect_right(lower(read_sample("logsumexp"), {{"R", 3}, {"C", 70}}), "large");
}

TEST(LowerToTiles, attention_is_right_on_every_family_of_data) {
  expect_right_on_all(lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 5}, {"T", 70}, {"D", 4}}));
  expect_right_on_all(lower(read_sample("attention"), {{"B", 1}, {"H", 2}, {"Hk", 1}, {"S", 7}, {"T", 9}, {"D", 4}}));
}

TEST(LowerToTiles, one_key_fewer_keys_than_a_tile_and_more_rows_than_keys_are_legal) {
  for (const std::int64_t t : {1, 3, 64, 65, 129}) {
    SCOPED_TRACE(t);
    expect_right(lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 49}, {"T", t}, {"D", 4}}), "ascending");
    expect_right(lower(read_sample("attention"), {{"B", 1}, {"H", 1}, {"Hk", 1}, {"S", 49}, {"T", t}, {"D", 4}}), "gaussian");
  }
}

TEST(LowerToTiles, run_time_sizes_stay_names_and_zero_keys_give_the_empty_result) {
  const Lowered lowered = lower(read_sample("attention_dynamic"), {});
  EXPECT_NE(text_at(lowered, Level::tile).find("dim S = runtime"), std::string::npos);
  for (const std::int64_t t : {0, 1, 5, 70}) {
    SCOPED_TRACE(t);
    DimValues values;
    for (const math::Dimension& d : lowered.written.dims) {
      if (d.runtime) values[d.name] = d.name == "S"_sym ? 3 : t;
    }
    expect_right(lowered, "gaussian", values);
  }
}

/// Bounded on both sides, folded over two indices, one loop in another, names that the ranges would like to have.
const std::pair<const char*, const char*> range_texts[] = {
    {"a window",
     "dim S = 9, T = 9, W = 3\noperator f(s: f32[S,T], v: f32[T]) -> (o: f32[S])\n{\n"
     " c[i,j] = where(j <= i and j > i - W, s[i,j], -inf)\n p[i,j] = softmax[j](c[i,j])\n o[i] = sum[j](p[i,j] * v[j])\n}\n"},
    {"a window wide enough for open trips",
     "dim S = 37, T = 37, W = 23\noperator f(s: f32[S,T]) -> (o: f32[S])\n{\n"
     " c[i,j] = where(j <= i and j > i - W, s[i,j], -inf)\n o[i] = logsumexp[j](c[i,j])\n}\n"},
    {"two indices", "dim B = 5, C = 7\noperator f(x: f32[B,C]) -> (y: f32)\n{\n y = sum[b,c](x[b,c])\n}\n"},
    {"two indices and a repair",
     "dim A = 3, B = 5, C = 21\noperator f(x: f32[A,B,C]) -> (y: f32[A])\n{\n m[a] = max[b,c](x[a,b,c])\n"
     " y[a] = sum[b,c](exp(x[a,b,c] - m[a]))\n}\n"},
    {"pooling",
     "dim A = 8, B = 6\noperator f(x: f32[A,B]) -> (y: f32[A // 2,B // 3])\n{\n"
     " y[i in 0:A // 2,j in 0:B // 3] = max[a in 0:2,b in 0:3](x[2 * i + a,3 * j + b])\n}\n"},
    {"names of ranges",
     "dim S = 7, T = 7\noperator f(open: f32[S,T]) -> (mixed: f32[S])\n{\n"
     " trips[i,j] = where(j <= i, open[i,j], -inf)\n mixed[i] = logsumexp[j](trips[i,j])\n}\n"}};

TEST(LowerToTiles, ranges_may_repeat_nest_and_be_called_like_tensors) {
  for (const char* target : {"blackboard", "x86-64"}) {
    for (const auto& [what, text] : range_texts) {
      SCOPED_TRACE(std::string(what) + " on " + target);
      expect_right_on_all(lower(text, {}, {}, target));
    }
  }
}

TEST(LowerToTiles, parts_of_a_fold_store_what_they_compute) {
  const char* text =
      "dim S = 3, T = 61\noperator f(x: f32[S,T], w: f32[S,T]) -> (o: f32[S], y: f32[S,T])\n{\n lo[i] = min[j](x[i,j])\n"
      " hi[i] = max[j](x[i,j])\n y[i,j] = (x[i,j] - lo[i]) / (hi[i] - lo[i])\n o[i] = sum[j](w[i,j] * y[i,j])\n}\n";
  for (const auto& [target, tile] : {std::pair{"blackboard", "4"}, {"x86-64", "16"}}) {
    for (const char* parts : {"2", "3", "32"}) {
      SCOPED_TRACE(std::string(parts) + " on " + target);
      const Lowered lowered = lower(text, {}, {{"o/j/tile", tile}, {"o/j/fold", "split-k"}, {"o/j/splits", parts}}, target);
      EXPECT_TRUE(lowered.record.refusals.empty()) << lowered.record.refusals[0].reason;
      EXPECT_NE(text_at(lowered, Level::tile).find("o.sum.part"), std::string::npos);
      expect_right_on_all(lowered);
    }
  }
}

TEST(LowerToTiles, a_causal_mask_is_tested_in_mixed_trips_only) {
  const Lowered lowered = lower(read_sample("attention"), {{"B", 1}, {"H", 1}, {"Hk", 1}, {"S", 256}, {"T", 256}, {"D", 4}});
  const std::string text = text_at(lowered, Level::tile);
  const std::size_t when = text.find("when mixed");
  ASSERT_NE(when, std::string::npos) << text;
  const std::size_t select = text.find("where(", text.find("for ", text.find("carry")) == std::string::npos ? 0 : text.find("carry"));
  EXPECT_GT(select, 0U);
  EXPECT_EQ(text.find("<="), text.find("<=", when)) << "a mask outside `when mixed`:\n" << text;
}

TEST(LowerToTiles, whole_tiles_need_neither_fill_nor_mask) {
  const std::string text = text_at(lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 96}, {"T", 128}, {"D", 64}},
                                         {{"o/i/tile", "48"}, {"o/j/tile", "64"}}),
                                   Level::tile);
  EXPECT_EQ(text.find(" else "), std::string::npos) << text;
  EXPECT_EQ(text.find("when "), std::string::npos) << text;
}

/// The loop's end is named by the element, the mask's by the tile that it was loaded into.
TEST(LowerToTiles, an_end_that_is_an_element_is_tested_once) {
  const Lowered lowered =
      lower("dim B = 3, T = 40\noperator f(x: f32[B,T], len: i32[B]) -> (y: f32[B]) {\n  y[b] = max[j in 0:len[b]](x[b,j])\n}\n", {}, {});
  const std::string text = text_at(lowered, Level::tile);
  EXPECT_NE(text.find("j0 + j < len.t"), std::string::npos) << text;
  EXPECT_EQ(text.find(" and "), std::string::npos) << text;
  expect_right_on_all(lowered);
}

TEST(LowerToTiles, the_repair_factor_is_computed_once_and_shared) {
  const std::string text =
      text_at(lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 96}, {"T", 128}, {"D", 64}}), Level::tile);
  std::size_t count = 0;
  for (std::size_t at = text.find(" f["); at != std::string::npos; at = text.find(" f[", at + 1))
    count += text.compare(at, 8, " f[i] = ") == 0 ? 1 : 0;
  EXPECT_EQ(count, 1U) << text;
}

TEST(LowerToTiles, split_k_merges_states_and_empty_parts_leave_no_trace) {
  for (const std::int64_t t : {17, 70, 200}) {
    const Lowered lowered = lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 5}, {"T", t}, {"D", 4}},
                                  {{"o/j/tile", "16"}, {"o/j/fold", "split-k"}, {"o/j/splits", "4"}});
    EXPECT_NE(text_at(lowered, Level::tile).find(".states["), std::string::npos);
    expect_right_on_all(lowered);
  }
}

TEST(LowerToTiles, a_part_of_a_split_masks_no_more_than_the_rolling_fold) {
  const Dims dims = {{"B", 1}, {"H", 1}, {"S", 96}, {"T", 1000}, {"D", 64}};
  const Lowered split = lower(read_sample("attention_nomask"), dims, {{"o/j/tile", "64"}, {"o/j/fold", "split-k"}, {"o/j/splits", "4"}});
  const std::string text = text_at(split, Level::tile);
  EXPECT_NE(text.find("for jt in [open j.split * 4:min(j.split * 4 + 4, 15), mixed 15:j.split * 4 + 4]"), std::string::npos) << text;
  const Lowered rolling = lower(read_sample("attention_nomask"), dims, {{"o/j/tile", "64"}});
  const auto selects = [](const std::string& of) {
    std::size_t count = 0;
    for (std::size_t at = of.find("j0 + j < "); at != std::string::npos; at = of.find("j0 + j < ", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(selects(text), selects(text_at(rolling, Level::tile))) << text;
}

TEST(LowerToTiles, ends_of_ranges_that_the_extents_decide_stand_without_min_and_max) {
  const Lowered causal = lower(read_sample("attention"), {{"B", 1}, {"H", 1}, {"Hk", 1}, {"S", 1024}, {"T", 1024}, {"D", 64}},
                               {{"o/i/tile", "48"}, {"o/j/tile", "64"}});
  const std::string text = text_at(causal, Level::tile);
  const std::size_t at = text.find("for jt in [");
  ASSERT_NE(at, std::string::npos) << text;
  const std::string header = text.substr(at, text.find(']', at) + 1 - at);
  EXPECT_EQ(header, "for jt in [open 0:(i0 + 1) // 64, mixed (i0 + 1) // 64:(min(i0 + 48, 1024) - 1) // 64 + 1]");
}

TEST(LowerToTiles, a_kernel_reads_a_result_that_an_earlier_kernel_stored) {
  for (const char* dtype : {"f32", "f16"}) {
    const std::string text = std::string("dim S = 7, T = 40, D = 16\noperator two(s: f32[S,T], v: f32[T,D]) -> (o: f32[S,D], l: ") + dtype +
                             "[S])\n{\n l[i] = sum[j](exp(s[i,j]))\n o[i,d] = sum[j](exp(s[i,j]) / l[i] * v[j,d])\n}\n";
    const Lowered fused = lower(text, {});
    std::vector<std::pair<std::string, std::string>> apart;
    for (const Decision& d : fused.record.decisions) {
      if (d.kind == "fuse") apart.emplace_back(d.site, "no");
    }
    ASSERT_FALSE(apart.empty());
    const Lowered lowered = lower(text, {}, apart);
    EXPECT_GT(lowered.last(Level::tile).module().kernels.size(), 1U);
    for (const std::string& family : interp::data_families()) {
      if (family != "large") expect_right(lowered, family);  // exp(1e5) is infinite in the text
    }
  }
}

TEST(LowerToTiles, unfused_plans_are_modules_of_several_kernels) {
  const Lowered fused = lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 5}, {"T", 70}, {"D", 4}});
  std::vector<std::pair<std::string, std::string>> apart;
  for (const Decision& d : fused.record.decisions) {
    if (d.kind == "fuse") {
      for (const Alternative& a : d.alternatives) {
        if (a.choice != d.choice && !a.refused) apart.emplace_back(d.site, a.choice);
      }
    }
  }
  ASSERT_FALSE(apart.empty());
  const Lowered lowered = lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 5}, {"T", 70}, {"D", 4}}, apart);
  EXPECT_GT(lowered.last(Level::tile).module().kernels.size(), 1U);
  EXPECT_FALSE(lowered.last(Level::tile).module().workspaces.empty());
  expect_right_on_all(lowered);
}

TEST(UseExp2, no_natural_exponential_is_left_unless_it_is_kept) {
  const Dims dims = {{"B", 1}, {"H", 1}, {"S", 5}, {"T", 70}, {"D", 4}};
  const Lowered folded = lower(read_sample("attention_nomask"), dims);
  EXPECT_EQ(text_at(folded, Level::tile).find("exp("), std::string::npos);
  std::vector<std::pair<std::string, std::string>> keep;
  for (const Decision& d : folded.record.decisions) {
    if (d.site.size() > 5 && d.site.substr(d.site.size() - 5) == "/exp2") keep.emplace_back(d.site, "keep");
  }
  ASSERT_FALSE(keep.empty());
  const Lowered kept = lower(read_sample("attention_nomask"), dims, keep);
  EXPECT_NE(text_at(kept, Level::tile).find("exp("), std::string::npos);
  EXPECT_EQ(text_at(kept, Level::tile).find("exp2("), std::string::npos);
  expect_right(kept, "gaussian");
}

TEST(NarrowOperands, only_a_target_with_such_an_atom_and_a_policy_that_allows_it_rounds_the_weights) {
  const std::string text = R"(dim S = 64, T = 128, D = 64
operator a(q: f16[S, D], k: f16[T, D], v: f16[T, D]) -> (o: f16[S, D])
{
  s[i,j] = sum[d](q[i,d] * k[j,d])
  p[i,j] = softmax[j](s[i,j])
  o[i,d] = sum[j](p[i,j] * v[j,d])
})";
  EXPECT_EQ(text_at(lower(text, {}), Level::tile).find("f16("), std::string::npos);
  EXPECT_NE(text_at(lower(text, {}, {}, "sm_80"), Level::tile).find("f16("), std::string::npos);
  passes::Options exact;
  exact.precision = passes::Precision::exact;
  EXPECT_EQ(text_at(lower(text, {}, {}, "sm_80", exact), Level::tile).find("f16("), std::string::npos);
}

}  // namespace
}  // namespace fathom::lowering_tests
