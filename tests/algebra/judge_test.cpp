// A person's repair is derived, refuted by an array that this test folds by itself, or undecided.
#include <cmath>
#include <limits>
#include <sstream>

#include "algebra/view.hpp"
#include "algebra_test.hpp"
#include "derivations.hpp"

namespace fathom::algebra {
namespace {

Judgement judge(const math::Program& opened, const std::string& consumer, const std::string& repair) {
  const auto parsed = lang::parse_expression(repair);
  EXPECT_TRUE(parsed) << repair;
  return parsed ? judge_repair(opened, analyse(opened), Symbol(consumer), *parsed) : Judgement{};
}

struct Case {
  const char* id;
  const char* consumer;
  const char* repair;
};

const Case right[] = {
    {"softmax_hand", "l", "acc * exp(m - m')"},
    {"softmax_hand", "l", "exp(m - m') * acc"},
    {"softmax_hand", "l", "acc / exp(m' - m)"},
    {"softmax_hand", "l", "acc * exp2((m - m') / log(2))"},
    {"softmax_hand", "l", "acc * exp(min(m - m', 0))"},
    {"softmax_hand", "l", "acc * exp(-abs(m - m'))"},
    {"softmax_hand", "o", "acc * exp(m - m')"},
    {"softmax_hand", "o", "acc * exp(m - m') * l / l'"},
    {"softmax_hand", "o", "acc * (l / l') / exp(m' - m)"},
    {"softmax_prelude", "o", "acc * exp(p.m - p.m') * (p.sum / p.sum')"},
    {"norm_scaled", "q", "acc * m^2 / m'^2"},
    {"norm_scaled", "q", "acc * m * m / (m' * m')"},
    {"softmax_scale_outside_pos", "l", "acc * exp(tau * m - tau * m')"},
    {"two_references", "o", "acc * exp(m - m') * exp(n - n')"},
    {"softmax_negated", "l", "acc / exp(m - m')"},
    {"attention_row", "o", "acc * exp(p.m[i] - p.m'[i])"},
    {"max_plus", "o", "acc"},
    {"lattice_min_max", "o", "max(acc, r')"},
};

TEST(Judge, right_repairs_are_derived_however_they_are_spelled) {
  for (const Case& c : right) {
    const Judgement judgement = judge(parse_opened(test::derivation_text(c.id)), c.consumer, c.repair);
    EXPECT_EQ(judgement.verdict, Verdict::derived) << c.id << " " << c.repair << ": " << judgement.says << " " << judgement.counterexample;
    ASSERT_FALSE(judgement.derivation.empty()) << c.id << " " << c.repair;
    for (const DerivationLine& line : judgement.derivation) EXPECT_FALSE(line.rule.empty());
  }
}

const Case wrong[] = {
    {"softmax_hand", "l", "acc"},
    {"softmax_hand", "l", "acc * exp(m' - m)"},
    {"softmax_hand", "l", "acc * exp(m - m') + 1"},
    {"softmax_hand", "l", "acc * exp(min(m, 0) - m')"},
    {"softmax_hand", "l", "acc * exp(m) / exp(m')"},  // right as algebra, outside the range of numbers
    {"softmax_hand", "o", "acc * l / l'"},
    {"softmax_hand", "o", "acc * exp(m - m') * l' / l"},
    {"softmax_hand", "o", "acc * exp(2 * (m - m'))"},
    {"norm_scaled", "q", "acc * m / m'"},
    {"norm_scaled", "q", "acc * (m' / m)^2"},
    {"softmax_scale_outside_pos", "l", "acc * exp(m - m')"},
    {"two_references", "o", "acc * exp(m - m')"},
    {"softmax_negated", "l", "acc * exp(m - m')"},
};

/// "For s = [0, 1], tau = 2 in tiles of 1 + 1 elements l becomes 2, but it is 1.3."
struct Told {
  Scene scene;
  std::vector<std::int64_t> tiles;
  double found = 0;
  double wanted = 0;
};

double number_in(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

Told read_counterexample(const std::string& text) {
  Told told;
  std::string arrays = text.substr(4, text.find(" in tiles of ") - 4);
  for (std::size_t at = 0; at < arrays.size();) {
    const std::size_t equals = arrays.find(" = ", at);
    const std::string name = arrays.substr(at, equals - at);
    Array array;
    const bool is_list = arrays[equals + 3] == '[';
    const std::size_t end = is_list ? arrays.find(']', equals) : std::min(arrays.find(',', equals), arrays.size());
    std::stringstream values(arrays.substr(equals + (is_list ? 4 : 3), end - equals - (is_list ? 4 : 3)));
    for (std::string value; std::getline(values, value, ',');) array.data.push_back(number_in(value));
    if (is_list) array.shape = {static_cast<std::int64_t>(array.data.size())};
    told.scene.arrays[Symbol(name)] = array;
    at = end + (is_list ? 3 : 2);
  }
  const std::string rest = text.substr(text.find(" in tiles of ") + 13);
  std::stringstream tiles(rest.substr(0, rest.find(" elements")));
  for (std::string tile; std::getline(tiles, tile, '+');) told.tiles.push_back(static_cast<std::int64_t>(number_in(tile)));
  told.found = number_in(rest.substr(rest.find(" becomes ") + 9));
  told.wanted = number_in(rest.substr(rest.find(" but it is ") + 11));
  return told;
}

float in_float(double x) { return static_cast<float>(x); }

/// The program with T elements, the first `length` of the input arrays.
Scene prefix_of(const Scene& all, const math::Program& program, std::int64_t length) {
  Scene scene = all;
  scene.program = &program;
  scene.dims[Symbol("T")] = length;
  for (auto& [name, array] : scene.arrays)
    if (!array.shape.empty()) {
      array.shape = {length};
      array.data.resize(static_cast<std::size_t>(length));
    }
  evaluate_all(program, scene);
  return scene;
}

/// h in floats, so that what leaves their range is seen. exp and the four operations are all that the cases use.
double in_single(Expr e, const std::map<Symbol, double>& names) {
  if (e.is(Op::symbol)) return names.at(e.name());
  if (e.is(Op::number)) return e.node().number.to_double();
  std::vector<double> a;
  for (Expr arg : e.args()) a.push_back(in_single(arg, names));
  switch (e.op()) {
    case Op::neg:
      return -a[0];
    case Op::add:
      return in_float(a[0] + a[1]);
    case Op::sub:
      return in_float(a[0] - a[1]);
    case Op::mul:
      return in_float(a[0] * a[1]);
    case Op::div:
      return in_float(a[0] / a[1]);
    case Op::pow:
      return in_float(std::pow(a[0], a[1]));
    case Op::min:
      return std::fmin(a[0], a[1]);
    case Op::exp:
      return in_float(std::exp(a[0]));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

/// The consumer's sum of the last tile alone, producers complete: by the text of a program whose consumer skips the elements before it.
double of_tile(const Scene& scene, const math::Statement& consumer, std::int64_t from) {
  Scene inner = scene;
  double sum = 0;
  const math::Reduction& reduction = *consumer.reduction();
  for (std::int64_t j = from; j < scene.dims.at(Symbol("T")); ++j) {
    inner.indices[reduction.over[0].index] = j;
    sum += evaluate(reduction.values[0], inner);
  }
  return sum;
}

/// Both meanings of acc that a text may have: the consumer's value, or that value times l (what is divided by at the end).
std::vector<double> folded_with(const math::Program& program, const Case& c, const Told& told) {
  const math::Statement& consumer = *program.find(Symbol(c.consumer));
  const Expr h = *lang::parse_expression(c.repair);
  const math::Statement* divisor = std::string(c.consumer) == "o" ? program.find(Symbol("l")) : nullptr;
  std::vector<double> results;
  for (const bool delayed : {false, true}) {
    if (delayed && divisor == nullptr) continue;
    double acc = 0;
    std::int64_t length = 0;
    Scene before = told.scene;
    for (const std::int64_t tile : told.tiles) {
      const Scene now = prefix_of(told.scene, program, length + tile);
      const double scale = delayed ? now.arrays.at(Symbol("l")).data[0] : 1;
      if (acc != 0) {
        std::map<Symbol, double> names = {{Symbol("acc"), acc}};
        for (const auto& [name, array] : now.arrays)
          if (array.shape.empty() && program.find(name) != nullptr) {
            names[name] = before.arrays.at(name).data[0];
            names[primed(name)] = array.data[0];
          }
        acc = in_single(h, names);
      }
      acc = in_float(acc + scale * of_tile(now, consumer, length));
      length += tile;
      before = now;
    }
    results.push_back(delayed ? acc / before.arrays.at(Symbol("l")).data[0] : acc);
  }
  return results;
}

TEST(Judge, wrong_repairs_are_refuted_by_an_array_that_folds_to_the_values_told) {
  for (const Case& c : wrong) {
    const math::Program opened = unify_indices(parse_opened(test::derivation_text(c.id)));
    const Judgement judgement = judge(opened, c.consumer, c.repair);
    const std::string where = std::string(c.id) + " " + c.repair + ": " + judgement.counterexample;
    ASSERT_EQ(judgement.verdict, Verdict::refuted) << where << judgement.says;
    const Told told = read_counterexample(judgement.counterexample);
    ASSERT_EQ(told.tiles.size(), 2U) << where;
    const std::int64_t length = told.tiles[0] + told.tiles[1];
    EXPECT_EQ(length, 2) << "not the smallest: " << where;
    const double wanted = prefix_of(told.scene, opened, length).arrays.at(Symbol(c.consumer)).data[0];
    EXPECT_NEAR(told.wanted, wanted, 1e-5 * (1 + std::fabs(wanted))) << where;
    bool is_found = false;
    for (const double found : folded_with(opened, c, told))
      is_found =
          is_found || (std::isnan(found) && std::isnan(told.found)) || std::fabs(found - told.found) <= 1e-5 * (1 + std::fabs(found));
    EXPECT_TRUE(is_found) << where;
    EXPECT_TRUE(!(std::fabs(told.found - wanted) <= 1e-4 * (1 + std::fabs(wanted)))) << where;
  }
}

TEST(Judge, a_bare_triple_is_no_counterexample) {
  // min(acc, r') is wrong for an r' above r, which no prefix has: r is a running minimum.
  const math::Program opened = program_of("r = min[j](w[j]) o = max[j](min(u[j], r))");
  EXPECT_EQ(judge(opened, "o", "min(acc, r')").verdict, Verdict::derived);
  // With a running maximum it is wrong: what the first r cut off is missing.
  const math::Program rising = program_of("r = max[j](w[j]) o = max[j](min(u[j], r))");
  EXPECT_EQ(judge(rising, "o", "min(acc, r')").verdict, Verdict::refuted);
}

TEST(Judge, the_consumers_own_reducer_counts) {
  const std::string of_sum = "m = max[j](s[j]) o = sum[j](exp(s[j] - m))";
  const std::string of_max = "m = max[j](s[j]) o = max[j](exp(s[j] - m))";
  EXPECT_EQ(judge(program_of(of_sum), "o", "acc * exp(m - m')").verdict, Verdict::derived);
  EXPECT_EQ(judge(program_of(of_sum), "o", "1").verdict, Verdict::refuted);
  EXPECT_NE(judge(program_of(of_max), "o", "acc * exp(m - m')").verdict, Verdict::refuted);
}

TEST(Judge, a_refused_consumer_has_no_repair_that_is_derived) {
  const math::Program opened = parse_opened(test::derivation_text("relu_difference"));
  const Judgement judgement = judge(opened, "o", "acc");
  EXPECT_EQ(judgement.verdict, Verdict::refuted) << judgement.says;
  EXPECT_FALSE(judgement.counterexample.empty());
}

TEST(Judge, what_neither_arrays_nor_rules_decide_is_undecided) {
  // Right, by equality with the running maximum, which no rule here separates.
  EXPECT_EQ(judge(parse_opened(test::derivation_text("top1_value")), "o", "where(m == m', acc, 0)").verdict, Verdict::undecided);
}

TEST(Judge, names_without_meaning_are_named) {
  const math::Program opened = parse_opened(test::derivation_text("softmax_hand"));
  for (const char* repair : {"acc * exp(k - m')", "acc * k(m)", "acc * sum[j](s[j])", "acc * s[j]", "acc * s"}) {
    const Judgement judgement = judge(opened, "l", repair);
    EXPECT_EQ(judgement.verdict, Verdict::undecided) << repair;
    EXPECT_NE(judgement.says.find("no meaning"), std::string::npos) << repair << ": " << judgement.says;
  }
  EXPECT_EQ(judge(opened, "nothing", "acc").verdict, Verdict::undecided);
}

TEST(Judge, verdicts_are_the_same_each_time) {
  const math::Program opened = parse_opened(test::derivation_text("two_references"));
  const Judgement a = judge(opened, "o", "acc * exp(m' - m)");
  const Judgement b = judge(opened, "o", "acc * exp(m' - m)");
  EXPECT_EQ(a.counterexample, b.counterexample);
  EXPECT_EQ(a.says, b.says);
}

}  // namespace
}  // namespace fathom::algebra
