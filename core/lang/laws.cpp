// Tests of a reducer's laws on sampled states: identity, associativity; then order and repetition. Only states that elements can reach
// are sampled. An element at an infinite or bool identity counts as masked out where it changes nothing, whatever else it carries: the
// guard of a running maximum drops it. Where it changes a state it is an element like others (of the least and the largest value in one
// state: -inf is at the identity of the largest only). Elements are small first, so that the first violation found is a short one; they
// hold ties, both infinities where the identity holds one (then infinite values belong to the reducer's domain), and values whose sums and
// products are exact.
#include "lang/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace fathom::lang {
namespace {

using State = std::vector<double>;
constexpr double inf = std::numeric_limits<double>::infinity();

double value_of(const ExprNode& node, const std::vector<double>& a) {
  switch (node.op) {
    case Op::number:
      return node.inexact != 0 ? node.inexact : node.number.to_double();
    case Op::infinity:
      return inf;
    case Op::boolean:
      return node.truth ? 1 : 0;
    case Op::cast:
      return round_to(node.dtype, a[0]);
    case Op::neg:
      return -a[0];
    case Op::logical_not:
      return a[0] == 0 ? 1 : 0;
    case Op::add:
      return a[0] + a[1];
    case Op::sub:
      return a[0] - a[1];
    case Op::mul:
      return a[0] * a[1];
    case Op::div:
      return a[0] / a[1];
    case Op::floordiv:
      return std::floor(a[0] / a[1]);
    case Op::mod:
      return a[0] - a[1] * std::floor(a[0] / a[1]);
    case Op::pow:
      return std::pow(a[0], a[1]);
    case Op::eq:
      return a[0] == a[1];
    case Op::ne:
      return a[0] != a[1];
    case Op::lt:
      return a[0] < a[1];
    case Op::le:
      return a[0] <= a[1];
    case Op::gt:
      return a[0] > a[1];
    case Op::ge:
      return a[0] >= a[1];
    case Op::logical_and:
      return a[0] != 0 && a[1] != 0;
    case Op::logical_or:
      return a[0] != 0 || a[1] != 0;
    case Op::where:
      return a[0] != 0 ? a[1] : a[2];
    case Op::min:
      return std::isnan(a[0]) || a[0] < a[1] ? a[0] : a[1];
    case Op::max:
      return std::isnan(a[0]) || a[0] > a[1] ? a[0] : a[1];
    case Op::abs:
      return std::fabs(a[0]);
    case Op::floor:
      return std::floor(a[0]);
    case Op::exp:
      return std::exp(a[0]);
    case Op::exp2:
      return std::exp2(a[0]);
    case Op::log:
      return std::log(a[0]);
    case Op::log2:
      return std::log2(a[0]);
    case Op::sqrt:
      return std::sqrt(a[0]);
    case Op::rsqrt:
      return 1 / std::sqrt(a[0]);
    case Op::sin:
      return std::sin(a[0]);
    case Op::cos:
      return std::cos(a[0]);
    case Op::tanh:
      return std::tanh(a[0]);
    case Op::erf:
      return std::erf(a[0]);
    case Op::sigmoid:
      return 1 / (1 + std::exp(-a[0]));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

/// Several expressions over numbered variables, as a list of operations.
class Formula {
 public:
  Formula(const std::vector<Expr>& roots, const std::vector<Symbol>& variables) {
    std::unordered_map<const ExprNode*, std::size_t> places;
    for (const Expr root : roots) {
      visit(root, [&](Expr e) {
        if (places.count(&e.node()) != 0) return;
        Operation operation{&e.node(), {}, 0, false};
        for (const Expr arg : e.args()) operation.args.push_back(places.at(&arg.node()));
        const auto variable = std::find(variables.begin(), variables.end(), e.name());
        operation.is_variable = e.is(Op::symbol) && variable != variables.end();
        operation.variable = static_cast<std::size_t>(variable - variables.begin());
        places[&e.node()] = operations_.size();
        operations_.push_back(std::move(operation));
      });
      results_.push_back(places.at(&root.node()));
    }
  }

  [[nodiscard]] State operator()(const std::vector<double>& variables) const {
    std::vector<double> values(operations_.size());
    std::vector<double> args;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const Operation& operation = operations_[i];
      args.clear();
      for (const std::size_t place : operation.args) args.push_back(values[place]);
      values[i] = operation.is_variable ? variables[operation.variable] : value_of(*operation.node, args);
    }
    State state;
    for (const std::size_t place : results_) state.push_back(values[place]);
    return state;
  }

 private:
  struct Operation {
    const ExprNode* node;
    std::vector<std::size_t> args;
    std::size_t variable;
    bool is_variable;
  };
  std::vector<Operation> operations_;
  std::vector<std::size_t> results_;
};

class LawTest {
 public:
  LawTest(const Reducer& reducer, const std::vector<Kind>& kinds)
      : reducer_(reducer),
        kinds_(kinds),
        lift_(parts(&Component::lift), reducer.parameters),
        combine_(parts(&Component::combine), both_sides()) {
    identity_ = stored(Formula(parts(&Component::identity), {})({}));
    has_infinite_identity_ = std::any_of(identity_.begin(), identity_.end(), [](double x) { return std::isinf(x); });
    sample();
  }

  Laws run() {
    Laws laws;
    laws.violation = identity();
    if (laws.violation.empty()) laws.violation = associativity();
    if (!laws.violation.empty()) return laws;
    for (const Sample& a : samples_) {
      laws.idempotent = laws.idempotent && same(combined(a.state, a.state), a.state, a.infinite);
      for (const Sample& b : samples_) {
        laws.commutative = laws.commutative && same(combined(a.state, b.state), combined(b.state, a.state), a.infinite || b.infinite);
      }
    }
    return laws;
  }

  /// The laws to the letter, on states of which some hold the value.
  [[nodiscard]] bool hold_with(double special) const {
    const std::vector<State> states = states_with(special);
    const auto alike = [&](const State& a, const State& b) { return same(a, b, false); };
    for (const State& a : states) {
      if (!alike(combined(identity_, a), a) || !alike(combined(a, identity_), a)) return false;
      for (const State& b : states) {
        const State both = combined(a, b);
        if (reducer_.commutative && !alike(both, combined(b, a))) return false;
        for (const State& c : states)
          if (!alike(combined(both, c), combined(a, combined(b, c)))) return false;
      }
    }
    return true;
  }

 private:
  struct Sample {
    State state;
    std::string text;  ///< how it was made: `(2, 1)`, `(2, 1) • (3, 0)`
    bool infinite = false;
  };
  static constexpr std::size_t most_elements = 28;
  static constexpr std::size_t exhaustive = 9;  ///< all triples of the first so many samples
  static constexpr std::size_t further = 700;   ///< triples of all of them

  [[nodiscard]] std::vector<Expr> parts(Expr Component::* part) const {
    std::vector<Expr> all;
    for (const Component& component : reducer_.state) all.push_back(component.*part);
    return all;
  }
  [[nodiscard]] std::vector<Symbol> both_sides() const {
    std::vector<Symbol> names;
    for (const Component& component : reducer_.state) names.push_back(component.name);
    for (const Component& component : reducer_.state) names.push_back(primed(component.name));
    return names;
  }
  /// Integers and bools are kept exactly; reals in double, since a law is about real numbers.
  [[nodiscard]] State stored(State state) const {
    for (std::size_t i = 0; i < state.size(); ++i) {
      const DType dtype = reducer_.state[i].dtype;
      if (!is_float(dtype)) state[i] = round_to(dtype, state[i]);
    }
    return state;
  }
  [[nodiscard]] State combined(const State& a, const State& b) const {
    std::vector<double> variables = a;
    variables.insert(variables.end(), b.begin(), b.end());
    return stored(combine_(variables));
  }

  [[nodiscard]] static const std::vector<double>& values_of(Kind kind) {
    static const std::vector<double> reals = {1, 2, 0, -1, 2, 0.5, -3.25, -inf, inf, 100000, -100000, 7, 0.125};
    static const std::vector<double> integers = {1, 2, 0, 3, 3, 7, -1, 5, 1000000};
    static const std::vector<double> bools = {1, 0};
    return kind == Kind::boolean ? bools : kind == Kind::integer ? integers : reals;
  }

  void sample() {
    std::vector<Sample> marked;
    std::uint64_t seed = 1;
    for (std::size_t n = 0; n < most_elements; ++n) {
      std::vector<double> element;
      Sample sample;
      for (std::size_t p = 0; p < kinds_.size(); ++p) {
        const std::vector<double>& values = values_of(kinds_[p]);
        seed = hash_combine(seed, n * 31 + p);
        element.push_back(p == 0 && n < values.size() ? values[n] : values[seed % values.size()]);
        sample.infinite = sample.infinite || std::isinf(element.back());
        sample.text += (p == 0 ? "(" : ", ") + shown(element.back(), kinds_[p]);
      }
      sample.text += ")";
      sample.state = stored(lift_(element));
      (is_marked(sample.state) ? marked : samples_).push_back(std::move(sample));
    }
    add_groups(0);
    const auto changes = [this](const Sample& a) { return changes_some(a); };
    marked.erase(std::stable_partition(marked.begin(), marked.end(), changes), marked.end());
    const std::size_t present = samples_.size();
    samples_.insert(samples_.end(), marked.begin(), marked.end());
    add_groups(present);
    samples_.push_back({identity_, "the identity", false});
  }

  /// Single elements that are not masked out: each real parameter is the value in every third.
  [[nodiscard]] std::vector<State> states_with(double special) const {
    constexpr std::size_t elements = 9;
    std::vector<State> states;
    for (std::size_t n = 0; n < elements; ++n) {
      std::vector<double> element;
      for (const Kind kind : kinds_) {
        const std::vector<double>& values = values_of(kind);
        const bool is_whole = kind == Kind::integer || kind == Kind::boolean;
        element.push_back(!is_whole && n % 3 == 0 ? special : values[n % std::min<std::size_t>(values.size(), 6)]);
      }
      const State state = stored(lift_(element));
      if (!is_marked(state) || changes_some({state, {}, false})) states.push_back(state);
    }
    return states;
  }

  /// States of several elements, made of the samples from there on.
  void add_groups(std::size_t first) {
    const std::size_t end = samples_.size();
    for (std::size_t i = first; i + 1 < end; i += 4) {
      samples_.push_back({combined(samples_[i].state, samples_[i + 1].state), samples_[i].text + " • " + samples_[i + 1].text,
                          samples_[i].infinite || samples_[i + 1].infinite});
    }
  }

  /// At an infinite or bool identity in some component.
  [[nodiscard]] bool is_marked(const State& state) const {
    for (std::size_t i = 0; i < state.size(); ++i) {
      const bool marks = std::isinf(identity_[i]) || reducer_.state[i].dtype == DType::boolean;
      if (marks && state[i] == identity_[i]) return true;
    }
    return false;
  }

  /// Does it change a state of elements that are there for certain?
  [[nodiscard]] bool changes_some(const Sample& a) const {
    return std::any_of(samples_.begin(), samples_.end(), [&](const Sample& b) {
      if (is_marked(b.state)) return false;
      return !same(combined(a.state, b.state), b.state, b.infinite) || !same(combined(b.state, a.state), b.state, b.infinite);
    });
  }

  static std::string shown(double x, Kind kind) {
    if (std::isnan(x)) return "nan";
    if (kind == Kind::boolean) return x != 0 ? "true" : "false";
    return fmt::format("{}", x == 0 ? 0.0 : x);
  }
  [[nodiscard]] std::string shown(const State& state) const {
    std::string text;
    for (std::size_t i = 0; i < state.size(); ++i) {
      text += (i == 0 ? "(" : ", ") + shown(state[i], declared(reducer_.state[i].dtype).kind);
    }
    return text + ")";
  }

  /// Equal up to rounding. NaN equals NaN; beside a number it is a difference, unless an infinite element (of the wrong sign for an
  /// identity: others count as absent) made it. Infinities must agree where the identity holds one.
  [[nodiscard]] bool same(const State& a, const State& b, bool infinite) const {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) || std::isnan(b[i])) {
        if (std::isnan(a[i]) != std::isnan(b[i]) && !infinite) return false;
        continue;
      }
      if (std::isinf(a[i]) || std::isinf(b[i])) {
        if (a[i] != b[i] && (!infinite || has_infinite_identity_)) return false;
        continue;
      }
      double scale = 1;
      for (const State* state : {&a, &b}) {
        for (const double x : *state) scale = std::isfinite(x) ? std::max(scale, std::fabs(x)) : scale;
      }
      if (std::fabs(a[i] - b[i]) > 1e-9 * scale) return false;
    }
    return true;
  }

  [[nodiscard]] std::string identity() const {
    for (const Sample& a : samples_) {
      for (const bool left : {true, false}) {
        const State with = left ? combined(identity_, a.state) : combined(a.state, identity_);
        if (same(with, a.state, a.infinite)) continue;
        return fmt::format("with a = {}, {} gives {}, not {}", a.text, left ? "identity • a" : "a • identity", shown(with), shown(a.state));
      }
    }
    return {};
  }

  [[nodiscard]] std::string associativity() const {
    const std::size_t first = std::min(exhaustive, samples_.size());
    for (std::size_t n = 0; n < first * first * first; ++n) {
      const std::string found = associative(n % first, n / first % first, n / first / first);
      if (!found.empty()) return found;
    }
    std::uint64_t seed = 2;
    for (std::size_t n = 0; n < further; ++n) {
      seed = hash_combine(seed, n);
      const std::size_t size = samples_.size();
      const std::string found = associative(seed % size, (seed >> 16U) % size, (seed >> 32U) % size);
      if (!found.empty()) return found;
    }
    return {};
  }
  [[nodiscard]] std::string associative(std::size_t i, std::size_t j, std::size_t k) const {
    const Sample &a = samples_[i], &b = samples_[j], &c = samples_[k];
    const State left = combined(combined(a.state, b.state), c.state);
    const State right = combined(a.state, combined(b.state, c.state));
    if (same(left, right, a.infinite || b.infinite || c.infinite)) return {};
    return fmt::format("with a = {}, b = {}, c = {}, (a • b) • c gives {}, but a • (b • c) gives {}", a.text, b.text, c.text, shown(left),
                       shown(right));
  }

  const Reducer& reducer_;
  const std::vector<Kind>& kinds_;
  Formula lift_, combine_;
  State identity_;
  bool has_infinite_identity_ = false;
  std::vector<Sample> samples_;
};

}  // namespace

Laws test_laws(const Reducer& reducer, const std::vector<Kind>& parameter_kinds) { return LawTest(reducer, parameter_kinds).run(); }

bool laws_hold_with(const Reducer& reducer, double special) {
  std::vector<Kind> kinds;
  for (const Symbol parameter : reducer.parameters) {
    const auto takes = [&](const Component& component) { return component.lift == symbol(parameter); };
    const auto taker = std::find_if(reducer.state.begin(), reducer.state.end(), takes);
    kinds.push_back(taker == reducer.state.end() ? Kind::real : declared(taker->dtype).kind);
  }
  return LawTest(reducer, kinds).hold_with(special);
}

}  // namespace fathom::lang
