// Certificates: everything that is derived of the oracle's texts has one, and no mutated repair gets one.
#include "algebra/certificate.hpp"

#include <cmath>
#include <functional>

#include "algebra/judge_functions.hpp"
#include "algebra/judge_residues.hpp"
#include "algebra_test.hpp"
#include "derivations.hpp"

namespace fathom::algebra {
namespace {

using Outcome = Certificate::Outcome;

TEST(Certificate, everything_derived_of_the_oracles_texts_has_one) {
  int certified = 0;
  for (const auto& entry : test::derivations()) {
    const std::string id = entry.at("id").get<std::string>();
    const Analysis analysis = analyse(parse_opened(test::derivation_text(id)));
    for (const Fusion& fusion : analysis.fusions) {
      if (fusion.refusal) {
        EXPECT_EQ(fusion.refusal->reason.find("certificate"), std::string::npos) << id << ": " << fusion.refusal->reason;
        continue;
      }
      if (fusion.kind == FusionKind::classic) continue;
      EXPECT_NE(fusion.certificate.find("Tested"), std::string::npos) << id << " " << fusion.consumer.text();
      ++certified;
    }
  }
  EXPECT_GE(certified, 80);
}

/// A fusion of a text, changed by `mutate`, and what its certificate says.
Certificate of_mutant(const std::string& id, const std::string& consumer, const std::function<void(Fusion&)>& mutate) {
  const math::Program opened = parse_opened(test::derivation_text(id));
  Analysis analysis = analyse(opened);
  for (Fusion& fusion : analysis.fusions)
    if (fusion.consumer == Symbol(consumer)) {
      EXPECT_TRUE(fusion.repair || !fusion.factored.empty()) << id;
      mutate(fusion);
      return certify(ProgramView(opened), analysis.fusions, fusion);
    }
  ADD_FAILURE() << id;
  return {};
}

math::Carried& carried(Fusion& fusion) { return fusion.repair ? fusion.repair->carried.front() : fusion.factored.front(); }

struct Mutant {
  const char* law;
  const char* id;
  const char* consumer;
  void (*mutate)(Fusion&);
};

const Mutant mutants[] = {
    {"wrong sign", "softmax_hand", "l",
     [](Fusion& f) { carried(f).move = transform(carried(f).move, [](Expr e) { return e.is(Op::exp) ? unary(Op::exp, -e.arg(0)) : e; }); }},
    {"missing factor", "softmax_hand", "o", [](Fusion& f) { carried(f).move = symbol(carried(f).name); }},
    {"extra factor", "softmax_hand", "o", [](Fusion& f) { carried(f).move = carried(f).move * number(2); }},
    {"extra addend", "softmax_hand", "l", [](Fusion& f) { carried(f).move = carried(f).move + number(1); }},
    {"swapped primed names", "two_references", "o",
     [](Fusion& f) {
       Substitution swap;
       for (const math::Gauge& gauge : f.repair->gauges) {
         swap[symbol(gauge.name)] = symbol(primed(gauge.name));
         swap[symbol(primed(gauge.name))] = symbol(gauge.name);
       }
       carried(f).move = substitute(carried(f).move, swap);
     }},
    {"wrong reference", "two_references", "o", [](Fusion& f) { f.repair->gauges[0].reference = f.repair->gauges[1].reference; }},
    {"one reference does not move", "two_references", "o",
     [](Fusion& f) {
       const Symbol gauge = f.repair->gauges[0].name;
       carried(f).move = substitute(carried(f).move, {{symbol(primed(gauge)), symbol(gauge)}});
     }},
    {"what stands behind is dropped", "softmax_hand", "o", [](Fusion& f) { f.repair->project = symbol(carried(f).name); }},
    {"scale is forgotten", "softmax_scale_outside_pos", "o",
     [](Fusion& f) {
       carried(f).move = transform(carried(f).move, [](Expr e) {
         return e.is(Op::mul) && e.arg(0).is(Op::read) && e.arg(0).name() == Symbol("tau") ? e.arg(1) : e;
       });
     }},
    {"power is wrong", "norm_scaled", "q",
     [](Fusion& f) { carried(f).move = transform(carried(f).move, [](Expr e) { return e.is(Op::pow) ? e.arg(0) : e; }); }},
    {"exponential of each reference by itself leaves the range", "softmax_hand", "l",
     [](Fusion& f) {
       carried(f).move = transform(
           carried(f).move, [](Expr e) { return e.is(Op::exp) ? unary(Op::exp, e.arg(0).arg(0)) / unary(Op::exp, e.arg(0).arg(1)) : e; });
     }},
    {"term misses a factor", "cosine_similarity", "o", [](Fusion& f) { carried(f).term = carried(f).term.arg(0); }},
    {"factored part is applied twice", "weighted_mean", "o",
     [](Fusion& f) { f.project = f.project / (f.project / symbol(carried(f).name)) / number(2); }},
    {"extremum of the wrong part", "max_plus", "o", [](Fusion& f) { f.project = symbol(carried(f).name); }},
    {"minimum for maximum", "max_plus", "o", [](Fusion& f) { carried(f).reducer = builtin_reducer(Symbol("min")); }},
    {"absorbs nothing", "guarded_by_all", "o",
     [](Fusion& f) {
       carried(f).move = symbol(carried(f).name);
       f.repair->project = symbol(carried(f).name);
     }},
};

TEST(Certificate, mutated_repairs_fail) {
  for (const Mutant& mutant : mutants) {
    const Certificate certificate = of_mutant(mutant.id, mutant.consumer, mutant.mutate);
    EXPECT_EQ(certificate.outcome, Outcome::failed) << mutant.law << " of " << mutant.id << ": " << certificate.says;
  }
}

TEST(Certificate, a_fusion_that_is_left_alone_passes_where_its_mutants_fail) {
  for (const Mutant& mutant : mutants) {
    const Certificate certificate = of_mutant(mutant.id, mutant.consumer, [](Fusion&) {});
    EXPECT_EQ(certificate.outcome, Outcome::passed) << mutant.id << ": " << certificate.says;
  }
}

TEST(Certificate, a_failed_one_takes_the_fusion_back_and_what_builds_on_it) {
  const math::Program opened = parse_opened(test::derivation_text("softmax_hand"));
  std::vector<Fusion> fusions = analyse(opened).fusions;
  for (Fusion& fusion : fusions)
    if (fusion.consumer == Symbol("l")) carried(fusion).move = symbol(carried(fusion).name);
  certify_all(ProgramView(opened), fusions, Tests::all);
  for (const Fusion& fusion : fusions) {
    if (fusion.consumer == Symbol("m")) continue;
    ASSERT_TRUE(fusion.refusal) << fusion.consumer.text();
    EXPECT_NE(fusion.refusal->reason.find("certificate"), std::string::npos);
    EXPECT_FALSE(fusion.repair);
    EXPECT_EQ(fusion.pass, fusion.consumer == Symbol("l") ? 2 : 3);
  }
}

TEST(Certificate, a_text_without_values_is_undecided_and_not_derived) {
  const math::Program opened = program_of("m = max[j](s[j]) o = sum[j](exp(s[j] - m) * log(-1 - v[j] * v[j]))");
  const Analysis analysis = analyse(opened);
  ASSERT_NE(analysis.find(Symbol("o")), nullptr);
  EXPECT_TRUE(analysis.find(Symbol("o"))->refusal);
}

TEST(Residues, keep_the_laws_of_exponentials_and_roots) {
  const auto at = [](const char* text, std::uint64_t seed) {
    const auto parsed = lang::parse_expression(text);
    EXPECT_TRUE(parsed) << text;
    Point point(seed);
    return point.value(*parsed);
  };
  const std::pair<const char*, const char*> equal[] = {{"exp(a) * exp(b)", "exp(a + b)"},
                                                       {"exp(a) / exp(b)", "exp(a - b)"},
                                                       {"exp(3 * a)", "exp(a) ^ 3"},
                                                       {"sqrt(exp(a))", "exp(a / 2)"},
                                                       {"exp2(a) * exp2(b)", "exp2(a + b)"},
                                                       {"(a + b) ^ 2", "a * a + 2 * a * b + b * b"},
                                                       {"where(a < b, 1, 2)", "where(b <= a, 2, 1)"},
                                                       {"a / b", "a * (1 / b)"}};
  for (const auto& [x, y] : equal) EXPECT_TRUE(agree(at(x, 5), at(y, 5))) << x << " = " << y;
  const std::pair<const char*, const char*> different[] = {
      {"exp(a) * exp(b)", "exp(a * b)"}, {"exp(a) + exp(b)", "exp(a + b)"}, {"a - b", "b - a"}, {"exp(2 * a)", "2 * exp(a)"}};
  for (const auto& [x, y] : different) EXPECT_FALSE(agree(at(x, 5), at(y, 5))) << x << " = " << y;
}

TEST(Functions, agree_with_the_mathematical_library) {
  const auto value = [](Op op, double x) { return value_of(op, {&x, 1}); };
  for (double x = -30; x <= 30; x += 0.37) {
    const auto near = [&](double a, double b) { EXPECT_NEAR(a, b, 1e-12 * (1 + std::fabs(b))) << x; };
    near(value(Op::exp, x), std::exp(x));
    near(value(Op::exp2, x), std::exp2(x));
    near(value(Op::sin, x), std::sin(x));
    near(value(Op::cos, x), std::cos(x));
    near(value(Op::tanh, x), std::tanh(x));
    near(value(Op::erf, x), std::erf(x));
    if (x > 0) near(value(Op::log, x), std::log(x));
  }
  EXPECT_EQ(in_single_range(1e39), std::numeric_limits<double>::infinity());
  EXPECT_EQ(in_single_range(1e-50), 0);
}

}  // namespace
}  // namespace fathom::algebra
