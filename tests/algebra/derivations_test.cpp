// The oracle: 99 texts worked independently of the compiler, with accepted answers, causes of refusals and witnesses.
#include "derivations.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/view.hpp"
#include "algebra_test.hpp"

namespace fathom::algebra {
namespace {

using test::derivations;
using test::Json;

std::string kind_of(const Fusion& fusion) { return fusion.refusal ? "refused" : std::string(name(fusion.kind)); }

bool is_accepted(const Json& entry, const Fusion& fusion) {
  const std::string kind = kind_of(fusion);
  for (const Json& accepted : entry.at("accept"))
    if (accepted.get<std::string>() == kind) return true;
  if (kind != "refused" || entry.at("kind") != "repaired") return false;
  return fusion.rank && *fusion.rank > 1 && *fusion.rank == entry.at("rank").get<int>() &&
         fusion.refusal->reason.find("not supported yet") != std::string::npos;
}

TEST(Derivations, all_99_are_there) { EXPECT_EQ(derivations().size(), 99U); }

TEST(Derivations, every_focus_gets_an_accepted_answer) {
  for (const Json& entry : derivations()) {
    const std::string id = entry.at("id").get<std::string>();
    const Analysis analysis = analyse(parse_opened(entry.at("text").get<std::string>()));
    const Fusion* fusion = analysis.find(Symbol(entry.at("focus").get<std::string>()));
    ASSERT_NE(fusion, nullptr) << id;
    EXPECT_TRUE(is_accepted(entry, *fusion)) << id << ": " << kind_of(*fusion) << " rank " << fusion->rank.value_or(0)
                                             << (fusion->refusal ? fusion->refusal->reason : "") << ", accepted "
                                             << entry.at("accept").dump();
  }
}

TEST(Derivations, ranks_are_those_of_the_oracle) {
  for (const Json& entry : derivations()) {
    const Analysis analysis = analyse(parse_opened(entry.at("text").get<std::string>()));
    const Fusion* fusion = analysis.find(Symbol(entry.at("focus").get<std::string>()));
    if (fusion == nullptr || !fusion->rank || !entry.at("rank").is_number() || kind_of(*fusion) != entry.at("kind").get<std::string>())
      continue;
    EXPECT_EQ(*fusion->rank, entry.at("rank").get<int>()) << entry.at("id");
  }
}

std::string without_spaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

TEST(Derivations, refused_entries_are_refused_for_the_stated_cause) {
  const std::vector<std::string> causes = {"is not of finite rank", "range:", "identity index", "condition compares", "log("};
  for (const Json& entry : derivations()) {
    if (entry.at("kind") != "refused") continue;
    const std::string id = entry.at("id").get<std::string>();
    const Analysis analysis = analyse(parse_opened(entry.at("text").get<std::string>()));
    const Fusion* fusion = analysis.find(Symbol(entry.at("focus").get<std::string>()));
    ASSERT_TRUE(fusion != nullptr && fusion->refusal) << id;
    const std::string stated = entry.at("refused").at("reason").get<std::string>();
    const std::string& given = fusion->refusal->reason;
    const std::string mixed = without_spaces(entry.at("refused").at("mixed").get<std::string>());
    const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
    bool same_kind = false;
    for (const std::string& cause : causes) {
      const std::string in_oracle = cause == "is not of finite rank" ? "not of finite rank" : cause;
      same_kind = same_kind || (has(stated, in_oracle) && has(given, cause));
    }
    const bool same_part = !fusion->refusal->nodes.empty() && without_spaces(fusion->refusal->nodes[0]) == mixed;
    EXPECT_TRUE(same_kind) << id << "\n  given: " << given << "\n  stated: " << stated;
    if (has(stated, "finite rank") && id != "softmax_of_softmax" && !has(stated, "range")) {
      EXPECT_TRUE(same_part) << id << " " << fusion->refusal->nodes[0] << " for " << mixed;
    }
    EXPECT_EQ(fusion->pass, 2) << id;
  }
}

Array array_of(const Json& json) {
  Array array;
  test::flatten(json, array.shape, array.data);
  return array;
}

Scene scene_of(const Json& witness) {
  Scene scene;
  for (const auto& [name, value] : witness.at("dims").items()) scene.dims[Symbol(name)] = value.get<std::int64_t>();
  for (const auto& [name, value] : witness.at("inputs").items()) scene.arrays[Symbol(name)] = array_of(value);
  return scene;
}

/// Largest magnitude of the inputs: sums of numbers of that size may cancel.
void expect_close(const std::string& what, const Array& actual, const Array& expected) {
  ASSERT_EQ(actual.data.size(), expected.data.size()) << what;
  for (std::size_t i = 0; i < actual.data.size(); ++i) {
    const double want = expected.data[i];
    if (std::isnan(want)) continue;  // the text itself is NaN there: a fused form may differ
    if (std::isinf(want)) {
      EXPECT_EQ(actual.data[i], want) << what << " element " << i;
    } else {
      EXPECT_NEAR(actual.data[i], want, 1e-8 * (1 + std::fabs(want))) << what << " element " << i;
    }
  }
}

class Folds : public testing::TestWithParam<Fold> {};

TEST_P(Folds, of_every_fused_entry_give_the_witnesses_results) {
  const std::vector<std::vector<double>> cuts = {
      {}, {0.5}, {0.25, 0.25, 0.75}, {0.0, 0.125, 0.5, 0.875}, {0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875}};
  for (const Json& entry : derivations()) {
    const math::Program unified = unify_indices(parse_opened(entry.at("text").get<std::string>()));
    const Analysis analysis = analyse(unified);
    for (const Json& witness : entry.at("witness"))
      for (const std::vector<double>& cut : cuts) {
        Scene scene = scene_of(witness);
        fold_all(unified, analysis, scene, GetParam(), cut);
        for (const auto& [name, value] : witness.at("expected").items()) {
          const Array expected = array_of(value);
          expect_close(entry.at("id").get<std::string>() + " " + witness.at("family").get<std::string>() + " in " +
                           std::to_string(cut.size() + 1) + " tiles",
                       scene.arrays[Symbol(name)], expected);
        }
      }
  }
}
INSTANTIATE_TEST_SUITE_P(, Folds, testing::Values(Fold::rolling, Fold::split_k),
                         [](const auto& instance) { return instance.param == Fold::rolling ? "rolling" : "split_k"; });

TEST(FoldsThemselves, catch_a_repair_that_does_not_move) {
  const math::Program unified = unify_indices(program_of("m = max[j](s[j]) o = sum[j](exp(s[j] - m))"));
  Analysis analysis = analyse(unified);
  for (Fusion& fusion : analysis.fusions)
    if (fusion.repair) fusion.repair->carried[0].move = symbol(fusion.repair->carried[0].name);
  Scene scene;
  scene.dims = {{Symbol("T"), 8}, {Symbol("D"), 4}};
  scene.arrays[Symbol("s")] = {{8}, {0, 1, 2, 3, 4, 5, 6, 7}};
  fold_all(unified, analysis, scene, Fold::rolling, {0.5});
  double expected = 0;
  for (int i = 0; i < 8; ++i) expected += std::exp(i - 7.0);
  EXPECT_GT(std::fabs(scene.arrays[Symbol("o")].data[0] - expected), 0.1);
}

TEST(Derivations, normal_forms_have_the_texts_values) {
  for (const Json& entry : derivations()) {
    const math::Program opened = parse_opened(entry.at("text").get<std::string>());
    const math::Program normal = normalise(opened, analyse(opened)).program;
    const auto valid = math::verify(normal);
    EXPECT_TRUE(valid) << entry.at("id") << ": " << (valid ? "" : valid.error().reason) << "\n" << math::print(normal);
    for (const Json& witness : entry.at("witness")) {
      Scene scene = scene_of(witness);
      evaluate_all(normal, scene);
      for (const auto& [name, value] : witness.at("expected").items()) {
        const Array expected = array_of(value);
        expect_close(entry.at("id").get<std::string>() + " " + witness.at("family").get<std::string>(), scene.arrays[Symbol(name)],
                     expected);
      }
    }
  }
}

}  // namespace
}  // namespace fathom::algebra
