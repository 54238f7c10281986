// Every rule: where it applies, where it does not, and that both sides have one value on random arrays.
#include <algorithm>
#include <cmath>
#include <random>

#include "algebra/normal_form.hpp"
#include "algebra/rules/rule.hpp"
#include "algebra_test.hpp"
#include "files.hpp"

namespace fathom::algebra {
namespace {

/// `positive` and `negative` are statements y[j] = ... (or y = ... for rules on reductions): the rule is tried at their root, for a
/// consumer over j in whose loop m = max[j](u[j]), n = min[j](u[j]) and r = sum[j](w[j]) run.
struct RuleCase {
  std::string rule;
  std::string positive;
  std::string negative;
};

const std::vector<RuleCase>& cases() {
  static const std::vector<RuleCase> all = {
      {"base two as base e", "exp2(s[j])", "exp(s[j])"},
      {"binary logarithm as natural", "log2(abs(s[j]))", "log(abs(s[j]))"},
      {"product of exponentials", "exp(s[j]) * exp(t[j])", "exp(s[j]) * t[j]"},
      {"quotient of exponentials", "exp(s[j]) / exp(m)", "s[j] / exp(m)"},
      {"exponential of a logarithm", "exp(-log(abs(s[j])))", "exp(s[j])"},
      {"logarithm of an exponential", "log(exp(s[j]))", "log(abs(s[j]))"},
      {"logarithm of a product", "log(abs(s[j]) * tau)", "log(s[j] * t[j])"},
      {"root as a power", "sqrt(abs(s[j]))", "abs(s[j])"},
      {"reciprocal root as a power", "rsqrt(abs(s[j]) + 1)", "sqrt(abs(s[j]))"},
      {"power of a product", "(s[j] * t[j])^2", "s[j]^2"},
      {"power of a power", "(s[j]^2)^3", "s[j]^2"},
      {"distribute", "(u[j] - r) * s[j]", "(u[j] - s[j]) * t[j]"},
      {"expand a power", "(u[j] - r)^3", "(u[j] - s[j])^3"},
      {"cosine of a sum", "cos(u[j] - r)", "cos(u[j] - s[j])"},
      {"sine of a sum", "sin(u[j] + r)", "sin(u[j] * r)"},
      {"absolute value by sign", "abs(u[j] - m)", "abs(u[j] - r)"},
      {"absolute value of a product", "abs(s[j] * tau)", "abs(s[j])"},
      {"maximum by order", "max(u[j], m)", "max(u[j], r)"},
      {"minimum by order", "min(u[j], m)", "min(u[j], r)"},
      {"mask into the exponent", "where(keep[j], exp(s[j] - m), 0)", "where(keep[j], exp(s[j]), 1)"},
      {"add into a mask", "where(keep[j], s[j], -inf) + t[j]", "where(keep[j], s[j], 0) + t[j]"},
      {"scale a mask", "0.5 * where(keep[j], s[j], -inf)", "-0.5 * where(keep[j], s[j], -inf)"},
      {"split a select", "where(keep[j], u[j], r)", "where(keep[j], u[j], s[j])"},
      {"definition", "y0[j]", "s[j]"},
      {"pull a guard behind the sum", "sum[j](where(r > 0, s[j], 0))", "sum[j](where(s[j] > 0, s[j], 0))"},
      {"pull a factor behind the sum", "sum[j](s[j] / tau)", "sum[j](s[j] * t[j])"},
      {"pull an offset behind the maximum", "max[j](s[j] - r)", "max[j](s[j] - t[j])"},
      {"pull a factor behind the maximum", "max[j](tau * s[j])", "max[j](eps * s[j])"},
      {"maximum of a rising function", "max[j](tanh(s[j]))", "max[j](cos(s[j]))"},
      {"bound by the running maximum", "exp(u[j] - m)", "exp(s[j] - m)"},
      {"pivot", "tau * (exp(s[j] - r) / exp(s[j] - m))", "tau * (s[j] / exp(t[j]))"},
  };
  return all;
}

struct Bench {
  math::Program program;
  Expr root;
};

/// The program around an expression, and the expression itself as the text has it.
Bench bench_of(const std::string& text) {
  const bool reduces = text.find("[j](") != std::string::npos;
  const std::string statement = reduces ? "y = 1 + " + text : "y[j] = " + text;
  const std::string body =
      "m = max[j](u[j]) n = min[j](u[j]) r = sum[j](w[j]) y0[j] = s[j] * t[j] " + statement + " o = " + (reduces ? "y" : "sum[j](y[j])");
  Bench bench{program_of(body), {}};
  for (const math::Statement& each : bench.program.statements)
    if (each.name == Symbol("y")) bench.root = each.map()->value;
  if (!reduces) return bench;
  const math::Reduction& reduction = *bench.program.find(bench.root.arg(1).name())->reduction();
  bench.root =
      reduce(reduction.reducer->name, {}, {{reduction.over[0].index, reduction.over[0].lo, reduction.over[0].hi}}, {reduction.values[0]});
  return bench;
}

std::optional<Expr> tried(const std::string& rule, const Bench& bench) {
  const ProgramView view(bench.program);
  const Facts facts(view);
  const Symbol j("j");
  Normaliser n(facts, Roles({j}, {Symbol("m"), Symbol("n"), Symbol("r")}));
  n.know({n.of(read(Symbol("u"), {index(j)})), read(Symbol("m"), {}), true});
  n.know({n.of(read(Symbol("u"), {index(j)})), read(Symbol("n"), {}), false});
  return rule_named(rule).apply(bench.root, n);
}

TEST(Rules, every_rule_has_a_case) {
  for (const RuleInfo& rule : rules()) {
    const auto found = std::find_if(cases().begin(), cases().end(), [&](const RuleCase& each) { return each.rule == rule.name; });
    EXPECT_NE(found, cases().end()) << rule.name;
    EXPECT_FALSE(rule.equation.empty());
    EXPECT_FALSE(rule.theme.empty());
  }
  EXPECT_EQ(cases().size(), rules().size());
}

TEST(Rules, apply_where_their_left_side_and_condition_hold) {
  for (const RuleCase& each : cases()) {
    const Bench bench = bench_of(each.positive);
    const auto after = tried(each.rule, bench);
    ASSERT_TRUE(after) << each.rule << ": " << each.positive;
    EXPECT_NE(*after, bench.root) << each.rule;
  }
}

TEST(Rules, do_not_apply_elsewhere) {
  for (const RuleCase& each : cases()) {
    const auto after = tried(each.rule, bench_of(each.negative));
    EXPECT_FALSE(after) << each.rule << ": " << each.negative << " became " << (after ? print(*after) : "");
  }
}

TEST(Rules, keep_the_value_on_random_arrays) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-2, 2);
  for (const RuleCase& each : cases()) {
    const Bench bench = bench_of(each.positive);
    const auto after = tried(each.rule, bench);
    ASSERT_TRUE(after) << each.rule;
    for (int round = 0; round < 20; ++round) {
      Scene scene;
      scene.program = &bench.program;
      scene.dims = {{Symbol("T"), 8}, {Symbol("D"), 4}};
      for (const math::Parameter& parameter : bench.program.params) {
        Array& array = scene.arrays[parameter.name];
        if (!parameter.extents.empty()) array.shape = {8};
        for (int i = 0; i < (parameter.extents.empty() ? 1 : 8); ++i)
          array.data.push_back(parameter.dtype == DType::boolean ? (uniform(random) > 0 ? 1 : 0) : uniform(random));
      }
      scene.arrays[Symbol("tau")].data[0] = 0.25 + std::fabs(uniform(random));
      evaluate_all(bench.program, scene);
      scene.indices[Symbol("j")] = round % 8;
      const double before = evaluate(bench.root, scene);
      const double value = evaluate(*after, scene);
      const std::string both = each.rule + ": " + print(bench.root) + " and " + print(*after);
      if (each.rule == "bound by the running maximum") {
        EXPECT_LE(before, value) << both;
      } else if (std::isinf(before)) {
        EXPECT_EQ(before, value) << both;
      } else {
        EXPECT_NEAR(before, value, 1e-9 * (1 + std::fabs(before))) << both;
      }
    }
  }
}

TEST(Rules, are_all_in_the_documentation) {
  const std::string page = test::read_file(test::in_project("docs/algebra.md"));
  for (const RuleInfo& rule : rules()) {
    EXPECT_NE(page.find("| " + rule.name + " |"), std::string::npos) << rule.name;
    EXPECT_NE(page.find(rule.equation), std::string::npos) << rule.equation;
  }
}

}  // namespace
}  // namespace fathom::algebra
