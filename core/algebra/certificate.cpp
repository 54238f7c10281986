// Two kinds of test, each able to fail alone. Deterministic: random values come from hashes, real functions from judge_functions.
#include "algebra/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "algebra/judge_arrays.hpp"
#include "algebra/judge_residues.hpp"

namespace fathom::algebra {

using math::Statement;
using Outcome = Certificate::Outcome;

namespace {

constexpr int exact_points = 3;
constexpr int most_draws = 60;
constexpr int elements = 3;

// ---- exact ----

class ExactTest {
 public:
  ExactTest(const ProgramView& view, const Statement& consumer, const Form& form) : consumer_(consumer), form_(form) {
    for (Expr value : consumer.reduction()->values) text_ = view.inlined(value);
    for (math::Carried& carried : form_.carried) carried.term = view.inlined(carried.term);
    form_.project = view.inlined(form_.project);
    for (math::Gauge& gauge : form_.gauges) gauge.reference = view.inlined(gauge.reference);
  }

  /// Sums of one value, of operations that have laws at residues.
  [[nodiscard]] bool applies() const {
    const auto is_sum = [](const Reducer& reducer) { return monoid_operation(reducer) == Op::add; };
    const auto& reduction = *consumer_.reduction();
    return is_sum(*reduction.reducer) && reduction.values.size() == 1 && is_exact(text_) && is_exact(form_.project) &&
           std::all_of(form_.gauges.begin(), form_.gauges.end(), [](const math::Gauge& g) { return g.reference.is(Op::read); }) &&
           std::all_of(form_.carried.begin(), form_.carried.end(),
                       [&](const math::Carried& c) { return is_sum(*c.reducer) && is_exact(c.term) && is_exact(c.move); });
  }

  /// The law that fails; empty: all hold. `points`: at how many they were tested.
  std::string run(int& points) {
    points = 0;
    for (std::uint64_t seed = 1; seed <= most_draws && points < exact_points; ++seed) {
      Point point(hash_combine(hash_bytes(consumer_.name.text()), seed));
      ok_ = true;
      std::string failed = laws(point);
      if (!ok_) continue;
      if (!failed.empty()) return failed;
      ++points;
    }
    return {};
  }

 private:
  Residue need(Residue r) {
    ok_ = ok_ && r.is_finite();
    return r;
  }

  void stand(Point& point, std::uint64_t element) const {
    for (const math::Axis& axis : consumer_.reduction()->over) point.set_index(axis.index, element);
  }

  void set_gauges(Point& point, std::uint64_t which, bool next = false) const {
    for (const math::Gauge& gauge : form_.gauges)
      point.set(next ? primed(gauge.name) : gauge.name, point.random(hash_combine(hash_bytes(gauge.name.text()), which)));
  }

  /// What is carried of all elements about the gauges as they are set.
  std::vector<Residue> sums(Point& point) {
    std::vector<Residue> all(form_.carried.size());
    for (std::uint64_t element = 1; element <= elements; ++element) {
      stand(point, element);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = all[i] + need(point.value(form_.carried[i].term));
    }
    return all;
  }

  std::vector<Residue> moved(Point& point, const std::vector<Residue>& from, std::uint64_t gauge, std::uint64_t next) {
    set_gauges(point, gauge);
    set_gauges(point, next, true);
    for (std::size_t i = 0; i < from.size(); ++i) point.set(form_.carried[i].name, from[i]);
    std::vector<Residue> to;
    for (const math::Carried& carried : form_.carried) to.push_back(need(point.value(carried.move)));
    return to;
  }

  static bool same(const std::vector<Residue>& a, const std::vector<Residue>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), agree);
  }

  std::string laws(Point& point) {
    std::string failed = text_law(point);
    if (!failed.empty() || form_.gauges.empty()) return failed;
    set_gauges(point, 1);
    const std::vector<Residue> about_first = sums(point);
    set_gauges(point, 2);
    const std::vector<Residue> about_second = sums(point);
    if (!same(moved(point, about_first, 1, 2), about_second))
      return "what is carried about one reference does not become what is carried about the next (C1)";
    std::vector<Residue> a;
    std::vector<Residue> b;
    std::vector<Residue> both;
    for (std::size_t i = 0; i < form_.carried.size(); ++i) {
      a.push_back(point.random(100 + i));
      b.push_back(point.random(200 + i));
      both.push_back(a[i] + b[i]);
    }
    const std::vector<Residue> x = moved(point, a, 1, 2);
    const std::vector<Residue> y = moved(point, b, 1, 2);
    std::vector<Residue> parts;
    for (std::size_t i = 0; i < x.size(); ++i) parts.push_back(x[i] + y[i]);
    if (!same(moved(point, both, 1, 2), parts)) return "moving a sum is not the sum of what moves (C2)";
    const std::vector<Residue> nothing(form_.carried.size());
    if (!same(moved(point, nothing, 1, 2), nothing)) return "an empty prefix does not stay empty when it moves (C0)";
    if (!same(moved(point, a, 1, 1), a)) return "a reference that stays moves what is carried (action)";
    if (!same(moved(point, x, 2, 3), moved(point, a, 1, 3))) return "two moves are not the one move from first to last (action)";
    return {};
  }

  /// The text's sum is what stands behind the carried sums, the gauges at the running producers.
  std::string text_law(Point& point) {
    for (const math::Gauge& gauge : form_.gauges) point.set(gauge.name, need(point.value(gauge.reference)));
    const std::vector<Residue> carried = sums(point);
    Residue text;
    for (std::uint64_t element = 1; element <= elements; ++element) {
      stand(point, element);
      text = text + need(point.value(text_));
    }
    for (std::size_t i = 0; i < carried.size(); ++i) point.set(form_.carried[i].name, carried[i]);
    if (agree(need(point.value(form_.project)), text)) return {};
    return "what is carried does not give the sum of the text";
  }

  const Statement& consumer_;
  Form form_;
  Expr text_;
  bool ok_ = true;
};

// ---- on arrays ----

/// Values of one tensor. A fifth of the elements of a masked family is -inf.
enum class Family : std::uint8_t { plain, small_integers, masked, masked_prefix, ascending, equal, large, count };

double draw(Family family, std::uint64_t key, std::size_t at, std::size_t size) {
  constexpr double minus_inf = -std::numeric_limits<double>::infinity();
  const std::uint64_t bits = hash_combine(key, at);
  const double unit = static_cast<double>(bits >> 40U) * 0x1p-24;
  switch (family) {
    case Family::small_integers:
      return static_cast<double>(bits % 4) - 1;
    case Family::masked:
      return bits % 5 == 0 ? minus_inf : 6 * unit - 3;
    case Family::masked_prefix:
      return 2 * at < size ? minus_inf : -200 + 3 * unit;
    case Family::ascending:
      return 3 * static_cast<double>(at) - 4 + unit;
    case Family::equal:
      return 1.75;
    case Family::large:
      return 200 * unit - 100;
    default:
      return 4 * unit - 2;
  }
}

class ArrayTest {
 public:
  ArrayTest(const ProgramView& view, const Statement& consumer, const Form& form, std::set<Symbol> running)
      : view_(view), consumer_(consumer), form_(form), running_(std::move(running)), parameters_(parameters_of(view.program(), consumer)) {}

  /// What fails, with the array; empty: nothing. A round takes the first tensor through all families.
  std::string run(std::uint64_t rounds) {
    for (const std::int64_t length : {std::int64_t{2}, std::int64_t{5}, std::int64_t{1}}) {
      const auto dims = small_dims(view_.program(), consumer_, length);
      if (!dims) continue;
      for (std::uint64_t seed = 0; seed < rounds * static_cast<std::uint64_t>(Family::count); ++seed) {
        const auto inputs = make_inputs(*dims, seed, length);
        if (!inputs || !is_admitted(view_, consumer_, *inputs)) continue;
        if (std::string failed = test(*inputs, Arithmetic::wide); !failed.empty()) return failed;
        if (!may_leave_single_range(seed)) continue;
        if (std::string failed = test(*inputs, Arithmetic::single_range); !failed.empty()) return failed;
      }
    }
    return {};
  }

  [[nodiscard]] int folds() const { return folds_; }

 private:
  static Family family_of_first(std::uint64_t seed) { return static_cast<Family>(seed % static_cast<std::uint64_t>(Family::count)); }
  /// Where scores are small, what single precision keeps is what doubles keep.
  static bool may_leave_single_range(std::uint64_t seed) {
    const Family family = family_of_first(seed);
    return family == Family::large || family == Family::masked || family == Family::masked_prefix;
  }

  std::optional<Inputs> make_inputs(const DimValues& dims, std::uint64_t seed, std::int64_t length) const {
    Inputs inputs{dims, {}};
    std::uint64_t number = 0;
    for (const math::Parameter* parameter : parameters_) {
      const auto shape = shape_of(*parameter, dims);
      if (!shape) return std::nullopt;
      Table table{parameter->dtype, *shape, {}};
      std::size_t size = 1;
      for (const std::int64_t extent : *shape) size *= static_cast<std::size_t>(extent);
      const std::uint64_t key = hash_combine(hash_combine(seed + 1, static_cast<std::uint64_t>(length)), ++number);
      // the first tensor goes through all families, the others take their own
      const Family family = family_of_first(number == 1 ? seed : key);
      for (std::size_t i = 0; i < size; ++i) table.data.push_back(element(*parameter, family, key, i, size, length));
      inputs.tables.emplace(parameter->name, std::move(table));
    }
    return inputs;
  }

  static double element(const math::Parameter& parameter, Family family, std::uint64_t key, std::size_t i, std::size_t size,
                        std::int64_t length) {
    const std::uint64_t bits = hash_combine(key, i);
    if (parameter.dtype == DType::boolean) return bits % 5 == 0 ? 0 : 1;
    if (is_integer(parameter.dtype)) return static_cast<double>(bits % static_cast<std::uint64_t>(length + 1));
    if (parameter.extents.empty()) return 0.25 * static_cast<double>(1 + bits % 8);  // a scalar: mostly a scale, an epsilon
    return draw(family, key, i, size);
  }

  std::string test(const Inputs& inputs, Arithmetic arithmetic) {
    Trial trial(view_, consumer_, running_, inputs, arithmetic);
    std::string failed;
    for (const bool last : {false, true}) {
      std::vector<std::int64_t> point;
      for (const math::Axis& axis : consumer_.axes) {
        const auto hi = evaluate_integer(axis.hi, inputs.dims);
        point.push_back(last && hi ? std::max<std::int64_t>(0, *hi - 1) : 0);
      }
      if (last && std::all_of(point.begin(), point.end(), [](std::int64_t at) { return at == 0; })) break;
      trial.stand_at(point);
      const Segment whole = trial.whole();
      if (whole.end <= whole.begin || whole.end - whole.begin > 64) continue;
      const double text = trial.text(whole);
      if (std::isnan(text) || trial.gave_up() || (arithmetic == Arithmetic::single_range && !std::isfinite(text))) continue;
      for (const bool tree : {false, true})
        if (failed = fold(trial, whole, tree, text); !failed.empty()) return fmt::format("{} for {}", failed, text_of(inputs, parameters_));
    }
    return {};
  }

  /// Element by element in order, or the two halves (the second in order) merged.
  std::string fold(Trial& trial, Segment whole, bool tree, double text) {
    const std::int64_t middle = tree ? (whole.begin + whole.end) / 2 : whole.end;
    const auto rolled = [&](Segment part) {
      Riding riding = trial.nothing(form_, part.begin);
      for (std::int64_t i = part.begin; i < part.end; ++i) riding = trial.grown(form_, riding, {i, i + 1});
      return riding;
    };
    Riding state = rolled({whole.begin, middle});
    if (tree) state = trial.merged(form_, state, rolled({middle, whole.end}));
    const double found = trial.projected(form_, state);
    if (trial.gave_up()) return {};
    ++folds_;
    double scale = 1 + std::fabs(text);
    for (const double carried : state.carried)
      if (std::isfinite(carried)) scale += std::fabs(carried);
    if (found == text || std::fabs(found - text) <= 1e-8 * scale) return {};
    return fmt::format("the {} gives {} instead of {}", tree ? "merge of two halves" : "rolling update", number_text(found),
                       number_text(text));
  }

  const ProgramView& view_;
  const Statement& consumer_;
  const Form& form_;
  std::set<Symbol> running_;
  std::vector<const math::Parameter*> parameters_;
  int folds_ = 0;
};

}  // namespace

Certificate certify(const ProgramView& view, const std::vector<Fusion>& fusions, const Fusion& fusion, Tests tests) {
  const Statement* consumer = view.reduction(fusion.consumer);
  const auto form = form_of(fusion);
  if (consumer == nullptr || !form) return {Outcome::undecided, "Nothing that could be tested was derived."};
  ExactTest exact(view, *consumer, *form);
  int points = 0;
  if (exact.applies())
    if (std::string failed = exact.run(points); !failed.empty())
      return {Outcome::failed, fmt::format("At a random point, exactly: {}.", failed)};
  if (points == exact_points && tests == Tests::arrays_where_nothing_is_exact)
    return {Outcome::passed,
            fmt::format("Tested exactly at {} random points (values mod {}, exponents mod {}).", points, value_modulus, exponent_modulus)};
  ArrayTest arrays(view, *consumer, *form, running_with(fusions, fusion));
  if (std::string failed = arrays.run(tests == Tests::all ? 2 : 1); !failed.empty())
    return {Outcome::failed, fmt::format("On an array, {}.", failed)};
  if (arrays.folds() < 4)
    return {Outcome::undecided, "No small array could be found on which the text has a value and the laws could be tested."};
  const std::string exactly = points == 0 ? std::string{}
                                          : fmt::format("exactly at {} random points (values mod {}, exponents mod {}) and ", points,
                                                        value_modulus, exponent_modulus);
  // Without counts: how many arrays have a value depends on spelling, and what is said of a plan must not.
  return {Outcome::passed,
          fmt::format("Tested {}on small arrays with masks, ties and large scores, folded in order and as trees.", exactly)};
}

void certify_all(const ProgramView& view, std::vector<Fusion>& fusions, Tests tests) {
  std::map<Symbol, int> fallen;  // and the pass that it falls to
  for (Fusion& fusion : fusions) {
    if (fusion.refusal || fusion.kind == FusionKind::classic) continue;
    const auto on = std::find_if(fusion.producers.begin(), fusion.producers.end(), [&](Symbol name) { return fallen.count(name) != 0; });
    Certificate certificate;
    if (on == fusion.producers.end()) certificate = certify(view, fusions, fusion, tests);
    fusion.certificate = certificate.says;
    if (certificate.outcome == Outcome::passed) continue;
    const int after = on == fusion.producers.end() ? fusion.pass : fallen.at(*on);
    fusion.pass = after + 1;
    fallen[fusion.consumer] = fusion.pass;
    const std::string reason = on != fusion.producers.end()
                                   ? on->text() + ", which it reads, has no certificate."
                                   : fmt::format("The certificate of {} {}: {}", fusion.consumer.text(),
                                                 certificate.outcome == Outcome::failed ? "failed" : "is undecided", certificate.says);
    fusion.refusal = Refusal{reason, {fusion.consumer.text()}, "It runs in the next pass, with its producers complete."};
    fusion.kind = FusionKind::classic;
    fusion.repair.reset();
    fusion.factored.clear();
    fusion.project = {};
    fusion.repair_text.clear();
    fusion.delayed.clear();
    fusion.guard.clear();
  }
}

}  // namespace fathom::algebra
