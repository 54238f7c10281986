// The oracle of derivations, from outside: what `explain` says of each text, and that its witnesses come out of every level by both folds.
#include "derivations.hpp"

#include <algorithm>
#include <cctype>
#include <regex>

#include "session_test.hpp"

namespace fathom::session_tests {
namespace {

using test::derivations;

const Json* entry_for(const Json& list, const std::string& consumer) {
  for (const Json& entry : list)
    if (entry.at("consumer") == consumer && !entry.contains("instead")) return &entry;
  return nullptr;
}

bool accepts(const Json& entry, const std::string& kind) {
  return std::any_of(entry.at("accept").begin(), entry.at("accept").end(), [&](const Json& one) { return one == kind; });
}

/// The oracle's rank-K repairs: this version names the rank and the sums, and runs them in a second pass.
bool is_of_higher_rank(const Json& entry) {
  return entry.at("kind") == "repaired" && entry.at("rank").is_number() && entry.at("rank").get<int>() > 1;
}

/// The words by which both the oracle and a Refusal name a cause.
bool same_cause(const std::string& stated, const std::string& given) {
  static const std::vector<std::pair<std::string, std::string>> causes = {{"not of finite rank", "is not of finite rank"},
                                                                          {"range:", "range:"},
                                                                          {"identity index", "identity index"},
                                                                          {"condition compares", "condition compares"},
                                                                          {"log(", "log("}};
  return std::any_of(causes.begin(), causes.end(), [&](const auto& cause) {
    return stated.find(cause.first) != std::string::npos && given.find(cause.second) != std::string::npos;
  });
}

TEST(Explain, answers_every_entry_of_the_oracle) {
  int fused = 0, refused = 0, of_higher_rank = 0;
  for (const Json& entry : derivations()) {
    const std::string id = entry.at("id"), focus = entry.at("focus");
    SCOPED_TRACE(id);
    const Compiled c = compiled(entry.at("text").get<std::string>());
    ASSERT_TRUE(c);
    const Json document = Json::parse(session::explain_json(*c));
    const Json* fusion = entry_for(document.at("fusions"), focus);
    const Json* refusal = entry_for(document.at("refusals"), focus);
    ASSERT_TRUE((fusion == nullptr) != (refusal == nullptr)) << "one entry for each consumer";
    if (fusion != nullptr) {
      ++fused;
      EXPECT_TRUE(accepts(entry, fusion->at("kind"))) << fusion->dump(1);
      if (fusion->at("kind") == "repaired") {
        EXPECT_EQ(fusion->at("rank"), 1);
        EXPECT_TRUE(fusion->at("repair").is_string());
      }
      if (fusion->at("kind") != "classic") {
        EXPECT_FALSE(fusion->at("derivation").empty());
      }
      EXPECT_EQ(fusion->at("folds").dump(), R"(["rolling","split-k"])");
      continue;
    }
    const std::string reason = refusal->at("reason");
    if (is_of_higher_rank(entry) && !accepts(entry, "refused")) {
      ++of_higher_rank;
      EXPECT_NE(reason.find("rank " + std::to_string(entry.at("rank").get<int>())), std::string::npos) << reason;
      EXPECT_NE(reason.find("not supported yet"), std::string::npos) << reason;
      continue;
    }
    ++refused;
    EXPECT_TRUE(accepts(entry, "refused")) << reason;
    const Json& stated = entry.at("refused");
    if (stated.is_null()) continue;
    EXPECT_TRUE(same_cause(stated.at("reason"), reason)) << reason << "\nstated: " << stated.at("reason");
  }
  EXPECT_GT(fused, 50);
  EXPECT_GT(refused, 10);
  EXPECT_GT(of_higher_rank, 3);
}

struct Plan {
  const char* name;
  const char* target;
  const char* fold;
  bool fuse = true;
};

/// Tiles of two elements where the length allows it, and the fold asked for.
Compiled plan_of(const std::string& text, const Dims& sizes, const Plan& plan) {
  const Compiled by_default = compiled(text, sizes, {}, plan.target);
  if (!by_default) return nullptr;
  Choices choices = all_of(*by_default, "tile", "2");
  const auto more = [&](const Choices& list) { choices.insert(choices.end(), list.begin(), list.end()); };
  if (!plan.fuse) more(all_of(*by_default, "fuse", "no"));
  const Compiled tiled = compiled(text, sizes, choices, plan.target);
  if (tiled) more(all_of(*tiled, "fold", plan.fold));
  const Compiled c = compiled(text, sizes, choices, plan.target);
  if (c)
    for (const Refusal& refusal : c->record.refusals) ADD_FAILURE() << refusal.reason;
  return c;
}

/// Does `explain` say that the consumer has the split-k fold?
bool explains_split(const session::Compilation& c, const std::string& consumer) {
  const Json document = Json::parse(session::explain_json(c));
  const Json* fusion = entry_for(document.at("fusions"), consumer);
  return fusion != nullptr && fusion->at("folds").dump().find("split-k") != std::string::npos;
}

/// Has the plan nothing to share out: one trip in every loop that folds?
bool has_single_trips(const session::Compilation& c) {
  return std::all_of(c.record.decisions.begin(), c.record.decisions.end(), [](const Decision& decision) {
    return decision.kind != "fold" || std::any_of(decision.alternatives.begin(), decision.alternatives.end(), [](const Alternative& each) {
             return each.choice == "split-k" && each.refused && each.refused->reason.find("has one trip") != std::string::npos;
           });
  });
}

class Witnesses : public testing::TestWithParam<Plan> {};

/// Tiles of two elements, so that a witness of eight takes four trips and every repair moves.
TEST_P(Witnesses, come_out_within_the_bound_at_every_level) {
  const Plan plan = GetParam();
  Outcome all;
  std::set<std::string> offered, split;
  for (const Json& entry : derivations()) {
    const std::string id = entry.at("id"), text = entry.at("text");
    SCOPED_TRACE(id);
    std::map<Dims, Compiled> plans;
    const auto plan_at = [&](const Dims& sizes) { return plan_of(text, sizes, plan); };
    for (const Json& witness : entry.at("witness")) {
      const Dims sizes = witness.at("dims").get<Dims>();
      if (plans.count(sizes) == 0) {
        plans[sizes] = plan_at(sizes);
        ASSERT_TRUE(plans[sizes]);
        if (explains_split(*plans[sizes], entry.at("focus")) && !has_single_trips(*plans[sizes])) offered.insert(id);
      }
      const Compiled c = plans[sizes];
      if (loop_plan(*c).find("combine") != std::string::npos) split.insert(id);
      const DimValues dims = math::default_dims(c->program);
      const Outcome one =
          expect_right(*c, test::inputs_of(c->program, witness, dims), dims, true, id + " " + witness.at("family").get<std::string>());
      all.passed += one.passed;
      all.inconclusive += one.inconclusive;
      all.undefined += one.undefined;
    }
  }
  EXPECT_GT(all.passed, 900);
  EXPECT_LT(all.inconclusive, all.passed / 20) << "too many results whose bound exceeds them";
  if (plan.fold == std::string("split-k")) {
    EXPECT_GT(split.size(), 60U);
    for (const std::string& id : offered) EXPECT_EQ(split.count(id), 1U) << id << ": explain offers split-k, no witness ran so";
  }
}
INSTANTIATE_TEST_SUITE_P(, Witnesses,
                         testing::Values(Plan{"rolling", "blackboard", "rolling"}, Plan{"split_k", "blackboard", "split-k"},
                                         Plan{"unfused", "blackboard", "rolling", false}),
                         [](const auto& instance) { return std::string(instance.param.name); });

// ---- readable derivations ----

std::set<std::string> names_in(const std::string& text) {
  static const std::regex name("[A-Za-z_][A-Za-z0-9_.]*");
  std::set<std::string> all;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), name); at != std::sregex_iterator(); ++at) all.insert(at->str());
  return all;
}

/// Names that the text, its opened form and the notation have; `acc` is what an accumulator is called in a derivation.
std::set<std::string> known_names(const session::Compilation& c) {
  std::set<std::string> known = names_in(c.inputs.source);
  for (const Step& step : c.record.steps)
    if (step.id == "open-prelude") known.merge(names_in(print(step.after)));
  for (const char* word : {"acc", "exp", "log", "sqrt", "where", "inf", "sum", "max", "min",  "prod", "in",
                           "and", "or",  "not", "abs",  "sin",   "cos", "any", "all", "exp2", "log2"})
    known.insert(word);
  return known;
}

/// The text with operands of sums and products in one order: equal for expressions that differ by order and brackets alone.
std::string ordered(Expr e) {
  std::vector<std::string> parts;
  const std::function<void(Expr, Op)> flatten_chain = [&](Expr part, Op op) {
    if (!part.is(op)) return parts.push_back(ordered(part));
    flatten_chain(part.arg(0), op);
    flatten_chain(part.arg(1), op);
  };
  if (e.is(Op::add) || e.is(Op::mul)) {
    flatten_chain(e, e.op());
    std::sort(parts.begin(), parts.end());
  } else if (e.args().empty() || e.is(Op::read)) {
    return print(e);
  } else {
    for (const Expr arg : e.args()) parts.push_back(arg ? ordered(arg) : "");
  }
  std::string text = std::to_string(static_cast<int>(e.op())) + e.node().name.text() + "(";
  for (const std::string& part : parts) text += part + ";";
  return text + ")";
}

bool is_pure_reordering(const DerivationLine& line) { return line.before && line.after && ordered(line.before) == ordered(line.after); }

TEST(Derivation, of_softmax_has_at_most_eight_lines_and_none_is_a_reordering) {
  for (const std::string name : {"attention", "attention_nomask", "softmax", "logsumexp"}) {
    const Compiled c = compiled(read_sample(name));
    ASSERT_TRUE(c);
    int repaired = 0;
    for (const Fusion& fusion : c->record.fusions) {
      SCOPED_TRACE(name + " " + fusion.consumer.text());
      repaired += fusion.kind == FusionKind::repaired ? 1 : 0;
      EXPECT_LE(fusion.derivation.size(), 8U);
      if (fusion.kind == FusionKind::repaired) {
        EXPECT_GE(fusion.derivation.size(), 2U);
      }
      for (const DerivationLine& line : fusion.derivation) {
        EXPECT_FALSE(is_pure_reordering(line)) << print(line.before) << "  ->  " << print(line.after);
        EXPECT_FALSE(line.rule.empty());
        EXPECT_FALSE(line.equation.empty());
      }
    }
    EXPECT_GE(repaired, 1) << name;
  }
}

TEST(Derivation, invents_no_names) {
  for (const Json& entry : derivations()) {
    const Compiled c = compiled(entry.at("text").get<std::string>());
    ASSERT_TRUE(c);
    const std::set<std::string> known = known_names(*c);
    for (const Fusion& fusion : c->record.fusions)
      for (const DerivationLine& line : fusion.derivation)
        for (const Expr side : {line.before, line.after})
          for (const std::string& used : names_in(side ? print(side) : ""))
            EXPECT_EQ(known.count(used), 1U) << entry.at("id") << ": " << used << " in " << print(side);
  }
}

}  // namespace
}  // namespace fathom::session_tests
