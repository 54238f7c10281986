// Fourier-Motzkin elimination with integer tightening over a few rows; case distinctions for min, max, abs and where.
#include "lang/linear.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace fathom::lang {
namespace {

constexpr std::size_t most_rows = 240;
constexpr int most_splits = 5;
constexpr std::size_t most_alternatives = 16;
constexpr std::uint32_t deepest = 64;
constexpr std::int64_t largest = std::int64_t{1} << 60U;  // sums of two stay inside 64 bits

bool fits(std::int64_t x) { return x >= -largest && x <= largest; }

/// a * x + b * y, or nullopt on overflow.
std::optional<std::int64_t> combine(std::int64_t a, std::int64_t x, std::int64_t b, std::int64_t y) {
  std::int64_t left = 0, right = 0, sum = 0;
  if (__builtin_mul_overflow(a, x, &left) || __builtin_mul_overflow(b, y, &right) || __builtin_add_overflow(left, right, &sum))
    return std::nullopt;
  return fits(sum) ? std::optional(sum) : std::nullopt;
}

std::optional<Linear> combine(std::int64_t a, const Linear& x, std::int64_t b, const Linear& y) {
  Linear result;
  const auto constant = combine(a, x.constant, b, y.constant);
  if (!constant) return std::nullopt;
  result.constant = *constant;
  const auto coefficient = [](const Linear& l, Expr atom) {
    const auto found = l.terms.find(atom);
    return found == l.terms.end() ? std::int64_t{0} : found->second;
  };
  std::set<Expr> atoms;
  for (const auto& [atom, c] : x.terms) atoms.insert(atom);
  for (const auto& [atom, c] : y.terms) atoms.insert(atom);
  for (const Expr atom : atoms) {
    const auto c = combine(a, coefficient(x, atom), b, coefficient(y, atom));
    if (!c) return std::nullopt;
    if (*c != 0) result.terms[atom] = *c;
  }
  return result;
}

Linear of_constant(std::int64_t value) { return {{}, value}; }
Linear of_atom(Expr atom) { return {{{atom, 1}}, 0}; }

class Linearizer {
 public:
  explicit Linearizer(const DimValues& values) : values_(values) {}

  std::optional<Linear> run(Expr e) const {
    if (!e || e.node().depth > deepest) return std::nullopt;
    switch (e.op()) {
      case Op::number:
        if (e.node().inexact != 0 || !e.node().number.is_integer() || !fits(e.node().number.num())) return std::nullopt;
        return of_constant(e.node().number.num());
      case Op::dim: {
        const auto found = values_.find(e.name());
        return found == values_.end() ? of_atom(e) : of_constant(found->second);
      }
      case Op::neg:
        return sum(0, {}, -1, run(e.arg(0)));
      case Op::add:
        return sum(1, run(e.arg(0)), 1, run(e.arg(1)));
      case Op::sub:
        return sum(1, run(e.arg(0)), -1, run(e.arg(1)));
      case Op::mul:
        return product(e);
      case Op::floordiv:
        return quotient(e);
      case Op::mod:
        return remainder(e);
      case Op::cast:
        return is_integer(e.node().dtype) ? run(e.arg(0)) : std::nullopt;
      default:
        return of_atom(e);
    }
  }

 private:
  static std::optional<Linear> sum(std::int64_t a, std::optional<Linear> x, std::int64_t b, std::optional<Linear> y) {
    if ((a != 0 && !x) || !y) return std::nullopt;
    return combine(a, x ? *x : Linear{}, b, *y);
  }
  std::optional<Linear> product(Expr e) const {
    const auto x = run(e.arg(0)), y = run(e.arg(1));
    if (!x || !y) return std::nullopt;
    if (x->terms.empty()) return combine(x->constant, *y, 0, *y);
    if (y->terms.empty()) return combine(y->constant, *x, 0, *x);
    return of_atom(e);
  }
  std::optional<Linear> quotient(Expr e) const {
    const auto x = run(e.arg(0)), y = run(e.arg(1));
    if (!x || !y) return std::nullopt;
    if (!y->terms.empty() || y->constant <= 0) return of_atom(e);
    if (x->terms.empty()) return of_constant(x->constant / y->constant - (x->constant % y->constant < 0 ? 1 : 0));
    return of_atom(binary(Op::floordiv, e.arg(0), number(y->constant)));
  }
  std::optional<Linear> remainder(Expr e) const {
    const auto x = run(e.arg(0)), y = run(e.arg(1));
    if (!x || !y) return std::nullopt;
    if (!y->terms.empty() || y->constant <= 0) return of_atom(e);
    const auto q = quotient(binary(Op::floordiv, e.arg(0), e.arg(1)));
    return sum(1, x, -y->constant, q);
  }

  const DimValues& values_;
};

/// Divides by the common factor of the coefficients; the constant is rounded down, which is exact over integers.
void tighten(Linear& row) {
  std::int64_t divisor = 0;
  for (const auto& [atom, c] : row.terms) divisor = std::gcd(divisor, c);
  if (divisor <= 1) return;
  for (auto& [atom, c] : row.terms) c /= divisor;
  const std::int64_t floor = row.constant / divisor;
  row.constant = floor - (row.constant % divisor < 0 ? 1 : 0);
}

bool is_false(const Linear& row) { return row.terms.empty() && row.constant < 0; }

/// How rows bound an atom: how many from below and from above, and whether some do with a coefficient that is not 1.
struct Bounds {
  std::size_t lower = 0, upper = 0;
  bool wide_lower = false, wide_upper = false;
  /// Joining rows in pairs loses no integer solution where one side has unit coefficients only.
  [[nodiscard]] bool is_exact() const { return !wide_lower || !wide_upper; }
};

/// True if the rows (each >= 0) have no integer solution; false if they have one or the limits are reached. `exact_first`: atoms whose
/// elimination is exact go first, whatever that costs.
bool contradictory(std::vector<Linear> rows, bool exact_first) {
  while (true) {
    std::map<Expr, Bounds> bounds;
    for (Linear& row : rows) {
      tighten(row);
      if (is_false(row)) return true;
      for (const auto& [atom, c] : row.terms) {
        Bounds& one = bounds[atom];
        ++(c > 0 ? one.lower : one.upper);
        (c > 0 ? one.wide_lower : one.wide_upper) |= c != 1 && c != -1;
      }
    }
    if (bounds.empty()) return false;
    const auto cost = [&](const auto& entry) {
      return std::pair(exact_first && !entry.second.is_exact(), entry.second.lower * entry.second.upper);
    };
    const auto cheapest = std::min_element(bounds.begin(), bounds.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
    const Expr atom = cheapest->first;
    std::vector<Linear> lower, upper, rest;
    for (Linear& row : rows) {
      const auto found = row.terms.find(atom);
      (found == row.terms.end() ? rest : found->second > 0 ? lower : upper).push_back(std::move(row));
    }
    if (rest.size() + lower.size() * upper.size() > most_rows) return false;
    for (const Linear& low : lower) {
      for (const Linear& up : upper) {
        if (auto joined = combine(-up.terms.at(atom), low, low.terms.at(atom), up)) rest.push_back(std::move(*joined));
      }
    }
    rows = std::move(rest);
  }
}

/// Only rows that share atoms with the goal, directly or through other rows.
std::vector<Linear> relevant(const std::vector<Linear>& rows, const Linear& goal) {
  std::set<Expr> reached;
  for (const auto& [atom, c] : goal.terms) reached.insert(atom);
  std::vector<Linear> result;
  std::vector<bool> taken(rows.size(), false);
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto touches = [&](const auto& term) { return reached.count(term.first) != 0; };
      if (taken[i] || !std::any_of(rows[i].terms.begin(), rows[i].terms.end(), touches)) continue;
      taken[i] = grew = true;
      for (const auto& [atom, c] : rows[i].terms) reached.insert(atom);
      result.push_back(rows[i]);
    }
  }
  return result;
}

/// Proves rows => goal >= 0, adding what defines the atoms on the way.
class Prover {
 public:
  explicit Prover(const DimValues& fixed) : fixed_(fixed) {}

  bool prove(std::vector<Linear> rows, const Linear& goal, std::set<Expr> defined, int splits) const {
    for (bool grew = true; grew && rows.size() < most_rows;) {
      grew = false;
      for (const Expr atom : atoms_of(rows, goal)) {
        if (!defined.insert(atom).second) continue;
        grew = true;
        if (atom.is(Op::dim)) rows.push_back(of_atom(atom));  // a dimension is never negative
        if (atom.is(Op::floordiv)) define_quotient(atom, rows);
        if (is_choice(atom) && splits > 0) return prove_both(atom, rows, goal, defined, splits - 1);
      }
    }
    rows = relevant(rows, goal);
    const auto negated = combine(-1, goal, 0, goal);
    if (!negated) return false;
    rows.push_back(*negated);
    rows.back().constant -= 1;
    return contradictory(rows, false) || contradictory(rows, true);
  }

  /// The alternatives of a condition, or of its negation; {{}} where nothing is known.
  [[nodiscard]] Alternatives assume(Expr condition, bool holds, int depth = 0) const {
    Alternatives nothing = {{}};
    if (depth > static_cast<int>(deepest)) return nothing;
    switch (condition.op()) {
      case Op::boolean:
        return condition.node().truth == holds ? nothing : Alternatives{};
      case Op::logical_not:
        return assume(condition.arg(0), !holds, depth + 1);
      case Op::logical_and:
      case Op::logical_or: {
        const auto a = assume(condition.arg(0), holds, depth + 1), b = assume(condition.arg(1), holds, depth + 1);
        return condition.is(Op::logical_and) == holds ? both(a, b) : either(a, b);
      }
      case Op::lt:
        return order(condition, holds ? Op::lt : Op::ge);
      case Op::le:
        return order(condition, holds ? Op::le : Op::gt);
      case Op::gt:
        return order(condition, holds ? Op::gt : Op::le);
      case Op::ge:
        return order(condition, holds ? Op::ge : Op::lt);
      case Op::eq:
      case Op::ne: {
        if (condition.is(Op::eq) == holds) return both(order(condition, Op::le), order(condition, Op::ge));
        return either(order(condition, Op::lt), order(condition, Op::gt));
      }
      default:
        return nothing;
    }
  }

 private:
  static std::set<Expr> atoms_of(const std::vector<Linear>& rows, const Linear& goal) {
    std::set<Expr> atoms;
    for (const auto& [atom, c] : goal.terms) atoms.insert(atom);
    for (const Linear& row : rows) {
      for (const auto& [atom, c] : row.terms) atoms.insert(atom);
    }
    return atoms;
  }
  static bool is_choice(Expr atom) { return atom.is(Op::min) || atom.is(Op::max) || atom.is(Op::abs) || atom.is(Op::where); }

  void difference(Expr more, Expr less, std::int64_t slack, std::vector<Linear>& rows) const {
    const Linearizer linear(fixed_);
    const auto a = linear.run(more), b = linear.run(less);
    if (!a || !b) return;
    if (auto row = combine(1, *a, -1, *b)) {
      row->constant += slack;
      rows.push_back(std::move(*row));
    }
  }
  void equal(Expr a, Expr b, std::vector<Linear>& rows) const {
    difference(a, b, 0, rows);
    difference(b, a, 0, rows);
  }

  /// q = x // c, c a positive number: c*q <= x <= c*q + c - 1.
  void define_quotient(Expr q, std::vector<Linear>& rows) const {
    const auto x = Linearizer(fixed_).run(q.arg(0));
    const auto c = constant_integer(q.arg(1));
    if (!x || !c || *c <= 0) return;
    auto low = combine(1, *x, -*c, of_atom(q));
    auto high = combine(-1, *x, *c, of_atom(q));
    if (!low || !high) return;
    high->constant += *c - 1;
    rows.push_back(std::move(*low));
    rows.push_back(std::move(*high));
  }

  bool prove_both(Expr atom, const std::vector<Linear>& rows, const Linear& goal, const std::set<Expr>& defined, int splits) const {
    for (const bool first : {true, false}) {
      Alternatives cases = {{}};
      Expr value;
      if (atom.is(Op::where)) {
        cases = assume(atom.arg(0), first);
        value = atom.arg(first ? 1 : 2);
      } else {
        const Expr a = atom.arg(0);
        const Expr b = atom.is(Op::abs) ? number(0) : atom.arg(1);
        const bool takes_larger = !atom.is(Op::min);
        cases = assume(binary(takes_larger == first ? Op::ge : Op::le, a, b), true);
        value = first ? a : atom.is(Op::abs) ? -a : b;
      }
      for (std::vector<Linear> extra : cases) {
        equal(atom, value, extra);
        extra.insert(extra.end(), rows.begin(), rows.end());
        if (!prove(std::move(extra), goal, defined, splits)) return false;
      }
    }
    return true;
  }

  [[nodiscard]] Alternatives order(Expr comparison, Op op) const {
    const Expr a = comparison.arg(0), b = comparison.arg(1);
    std::vector<Linear> rows;
    const bool less = op == Op::lt || op == Op::le;
    difference(less ? b : a, less ? a : b, op == Op::lt || op == Op::gt ? -1 : 0, rows);
    return {rows};
  }
  static Alternatives either(Alternatives a, const Alternatives& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a.size() > most_alternatives ? Alternatives{{}} : a;
  }
  static Alternatives both(const Alternatives& a, const Alternatives& b) {
    if (a.size() * b.size() > most_alternatives) return a.size() <= b.size() ? a : b;
    Alternatives all;
    for (const auto& x : a) {
      for (const auto& y : b) {
        all.push_back(x);
        all.back().insert(all.back().end(), y.begin(), y.end());
      }
    }
    return all;
  }

  const DimValues& fixed_;
};

}  // namespace

std::optional<Linear> linear_form(Expr e, const DimValues& values) { return Linearizer(values).run(e); }

void Facts::add_range(Expr index, Expr lo, Expr hi) {
  add_condition(binary(Op::le, lo, index), true);
  add_condition(binary(Op::lt, index, hi), true);
}

void Facts::add_condition(Expr condition, bool holds) { known_.push_back(Prover(fixed_).assume(condition, holds)); }

bool Facts::implies_not_negative(Expr e) const {
  const auto goal = linear_form(e, fixed_);
  if (!goal) return false;
  std::vector<std::vector<Linear>> cases = {{}};
  for (const Alternatives& alternatives : known_) {
    if (cases.size() * alternatives.size() > most_alternatives) continue;  // knowing less is sound
    std::vector<std::vector<Linear>> next;
    for (const auto& rows : cases) {
      for (const auto& more : alternatives) {
        next.push_back(rows);
        next.back().insert(next.back().end(), more.begin(), more.end());
      }
    }
    cases = std::move(next);
  }
  const Prover prover(fixed_);
  return std::all_of(cases.begin(), cases.end(), [&](const auto& rows) { return prover.prove(rows, *goal, {}, most_splits); });
}

bool Facts::implies_equal(Expr a, Expr b) const { return a == b || (implies_not_negative(a - b) && implies_not_negative(b - a)); }

std::optional<Interval> interval_of(Expr e, const DimValues& dims, const std::map<Symbol, Interval>& indices) {
  if (!e || e.node().depth > deepest) return std::nullopt;
  if (e.is(Op::index)) {
    const auto found = indices.find(e.name());
    return found == indices.end() ? std::nullopt : std::optional(found->second);
  }
  if (const auto value = evaluate_integer(e, dims)) return Interval{*value, *value};
  if (e.args().empty() || e.args().size() > 2) return std::nullopt;
  const auto a = interval_of(e.arg(0), dims, indices);
  const auto b = e.args().size() == 2 ? interval_of(e.arg(1), dims, indices) : a;
  if (!a || !b || !fits(a->least) || !fits(a->most) || !fits(b->least) || !fits(b->most)) return std::nullopt;
  const auto floor_of = [](std::int64_t x, std::int64_t c) { return x / c - (x % c < 0 ? 1 : 0); };
  switch (e.op()) {
    case Op::neg:
      return Interval{-a->most, -a->least};
    case Op::add:
      return Interval{a->least + b->least, a->most + b->most};
    case Op::sub:
      return Interval{a->least - b->most, a->most - b->least};
    case Op::min:
      return Interval{std::min(a->least, b->least), std::min(a->most, b->most)};
    case Op::max:
      return Interval{std::max(a->least, b->least), std::max(a->most, b->most)};
    case Op::mul: {
      std::vector<std::int64_t> corners;
      for (const std::int64_t x : {a->least, a->most}) {
        for (const std::int64_t y : {b->least, b->most}) {
          std::int64_t z = 0;
          if (__builtin_mul_overflow(x, y, &z)) return std::nullopt;
          corners.push_back(z);
        }
      }
      return Interval{*std::min_element(corners.begin(), corners.end()), *std::max_element(corners.begin(), corners.end())};
    }
    case Op::floordiv:
      if (b->least != b->most || b->least <= 0) return std::nullopt;
      return Interval{floor_of(a->least, b->least), floor_of(a->most, b->least)};
    case Op::mod:
      if (b->least != b->most || b->least <= 0) return std::nullopt;
      return Interval{0, b->least - 1};
    default:
      return std::nullopt;
  }
}

}  // namespace fathom::lang
