// Linear forms and bounds by elimination: to show e >= 0, names are replaced one by one by the end of their range that makes e least;
// min, max and // are relaxed to the side that is still a bound. Bounded depth, no search beyond the branches of min and max.
#include "passes/tile_arith.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace fathom::passes {
namespace {

constexpr int max_depth = 48;

void add_scaled(Linear& to, const Linear& from, std::int64_t factor) {
  to.constant += from.constant * factor;
  for (const auto& [atom, count] : from.terms) {
    std::int64_t& slot = to.terms[atom];
    slot += count * factor;
    if (slot == 0) to.terms.erase(atom);
  }
}

Linear constant_form(std::int64_t value) {
  Linear out;
  out.constant = value;
  return out;
}

bool is_small(std::int64_t value) { return value > -(std::int64_t{1} << 40) && value < (std::int64_t{1} << 40); }

Linear linear_at(Expr e, int depth) {
  Linear out;
  const auto atom = [&] {
    out.terms[e] = 1;
    return out;
  };
  if (depth > max_depth) return atom();
  if (e.is(Op::number)) return e.node().inexact == 0 && e.node().number.is_integer() ? constant_form(e.node().number.num()) : atom();
  if (e.is(Op::add) || e.is(Op::sub)) {
    out = linear_at(e.arg(0), depth + 1);
    add_scaled(out, linear_at(e.arg(1), depth + 1), e.is(Op::add) ? 1 : -1);
    return out;
  }
  if (e.is(Op::neg)) {
    add_scaled(out, linear_at(e.arg(0), depth + 1), -1);
    return out;
  }
  if (e.is(Op::mul)) {
    const Linear left = linear_at(e.arg(0), depth + 1);
    const Linear right = linear_at(e.arg(1), depth + 1);
    if (left.terms.empty() && is_small(left.constant)) {
      add_scaled(out, right, left.constant);
      return out;
    }
    if (right.terms.empty() && is_small(right.constant)) {
      add_scaled(out, left, right.constant);
      return out;
    }
  }
  return atom();
}

/// e >= 0 by elimination; each step removes one atom or proves nothing.
class Prover {
 public:
  explicit Prover(const Facts& facts) : facts_(facts) {}

  bool holds(const Linear& form, int depth) {
    if (depth > max_depth || ++steps_ > 4000) return false;
    for (const auto& [atom, count] : form.terms) {
      if (const auto let = facts_.lets.find(atom); let != facts_.lets.end())
        return holds(replaced(form, atom, linear(let->second)), depth + 1);
    }
    for (const auto& [atom, count] : form.terms) {
      if (const auto trip = facts_.trips.find(atom); trip != facts_.trips.end())
        return holds(at_end(form, atom, count, trip->second), depth + 1);
    }
    for (const auto& [atom, count] : form.terms) {
      if (atom.is(Op::min) || atom.is(Op::max)) return branches(form, atom, count, depth);
      if (atom.is(Op::floordiv) || atom.is(Op::mod)) return quotient(form, atom, count, depth);
    }
    for (const auto& [atom, count] : form.terms) {
      if (element(form, atom, count)) return holds(as_element(form, atom, count), depth + 1);
    }
    for (const auto& [atom, count] : form.terms) {
      if (const auto span = facts_.spans.find(atom); span != facts_.spans.end())
        return holds(at_end(form, atom, count, span->second), depth + 1);
    }
    for (const auto& [atom, count] : form.terms) {
      if (count > 0 && atom.is(Op::mul) && holds(linear(atom.arg(0)), depth + 1) && holds(linear(atom.arg(1)), depth + 1))
        return holds(replaced(form, atom, constant_form(0)), depth + 1);
    }
    if (form.constant < 0) return false;
    for (const auto& [atom, count] : form.terms) {
      if (count < 0 || !atom.is(Op::dim)) return false;
    }
    return true;
  }

 private:
  static Linear replaced(const Linear& form, Expr atom, const Linear& by) {
    Linear out = form;
    const std::int64_t count = out.terms[atom];
    out.terms.erase(atom);
    add_scaled(out, by, count);
    return out;
  }

  static Linear at_end(const Linear& form, Expr atom, std::int64_t count, const Span& span) {
    return replaced(form, atom, count > 0 ? linear(span.lo) : minus(linear(span.hi), constant_form(1)));
  }

  /// Is this atom the axis of an element number base + axis that occurs as a whole?
  [[nodiscard]] bool element(const Linear& form, Expr atom, std::int64_t count) const {
    const auto base = facts_.bases.find(atom);
    if (base == facts_.bases.end() || facts_.elements.count(atom) == 0) return false;
    const auto found = form.terms.find(base->second);
    return found != form.terms.end() && found->second == count;
  }

  [[nodiscard]] Linear as_element(const Linear& form, Expr axis, std::int64_t count) const {
    const Span& span = facts_.elements.at(axis);
    Linear out = form;
    out.terms.erase(axis);
    out.terms.erase(facts_.bases.at(axis));
    add_scaled(out, count > 0 ? linear(span.lo) : minus(linear(span.hi), constant_form(1)), count);
    return out;
  }

  /// A lower bound of count*min(a,b) is both where count > 0 (each branch must hold), either where count < 0. max the other way round.
  bool branches(const Linear& form, Expr atom, std::int64_t count, int depth) {
    const bool all = atom.is(Op::min) == (count > 0);
    for (const Expr branch : atom.args()) {
      if (holds(replaced(form, atom, linear(branch)), depth + 1) != all) return !all;
    }
    return all;
  }

  /// The largest (or least) value where every atom has constant ends.
  [[nodiscard]] std::optional<std::int64_t> constant_end(const Linear& form, bool largest) const {
    std::int64_t out = form.constant;
    for (const auto& [atom, count] : form.terms) {
      const auto span = facts_.spans.find(atom);
      if (span == facts_.spans.end() || !is_small(count)) return std::nullopt;
      const Linear lo = linear(span->second.lo), hi = linear(span->second.hi);
      if (!lo.terms.empty() || !hi.terms.empty() || !is_small(lo.constant) || !is_small(hi.constant)) return std::nullopt;
      out += count * (largest == (count > 0) ? hi.constant - 1 : lo.constant);
    }
    return out;
  }

  /// x // c lies in [(x - c + 1)/c, x/c], x % c in [0, c-1].
  bool quotient(const Linear& form, Expr atom, std::int64_t count, int depth) {
    const Linear divisor = linear(atom.arg(1));
    if (!divisor.terms.empty() || divisor.constant <= 0) return false;
    const std::int64_t c = divisor.constant;
    if (atom.is(Op::mod)) return holds(replaced(form, atom, constant_form(count > 0 ? 0 : c - 1)), depth + 1);
    if (const std::optional<std::int64_t> end = constant_end(linear(atom.arg(0)), count < 0)) {
      const std::int64_t value = *end >= 0 ? *end / c : -((c - 1 - *end) / c);
      if (holds(replaced(form, atom, constant_form(value)), depth + 1)) return true;
    }
    if (count == 1 || count == -1) return holds(without_quotient(form, atom, count, c), depth + 1);
    Linear scaled;  // multiply the whole inequality by c where c does not divide the count
    const std::int64_t factor = count % c == 0 ? 1 : c;
    if (!is_small(factor) || !is_small(count)) return false;
    add_scaled(scaled, form, factor);
    scaled.terms.erase(atom);
    const std::int64_t times = count * factor / c;
    Linear bound = linear(atom.arg(0));
    if (times > 0) bound.constant -= c - 1;
    add_scaled(scaled, bound, times);
    return holds(scaled, depth + 1);
  }

  /// The rest R is an integer: R + x // c >= 0 is c*R + x >= 0, and R - x // c >= 0 is c*R + c - 1 - x >= 0, no more and no less.
  static Linear without_quotient(const Linear& form, Expr atom, std::int64_t count, std::int64_t c) {
    Linear rest = form, out;
    rest.terms.erase(atom);
    add_scaled(out, rest, c);
    add_scaled(out, linear(atom.arg(0)), count);
    if (count < 0) out.constant += c - 1;
    return out;
  }

  const Facts& facts_;
  int steps_ = 0;
};

/// left - right >= least, for the comparison to hold (negated: to fail).
struct Inequality {
  Expr left, right;
  std::int64_t least;
};
std::optional<Inequality> inequality(Expr c, bool negated) {
  switch (c.op()) {
    case Op::le:
      return negated ? Inequality{c.arg(0), c.arg(1), 1} : Inequality{c.arg(1), c.arg(0), 0};
    case Op::lt:
      return negated ? Inequality{c.arg(0), c.arg(1), 0} : Inequality{c.arg(1), c.arg(0), 1};
    case Op::ge:
      return negated ? Inequality{c.arg(1), c.arg(0), 1} : Inequality{c.arg(0), c.arg(1), 0};
    case Op::gt:
      return negated ? Inequality{c.arg(1), c.arg(0), 0} : Inequality{c.arg(0), c.arg(1), 1};
    default:
      return std::nullopt;
  }
}

bool shows(Expr condition, const Facts& facts, bool negated) {
  const std::optional<Inequality> i = inequality(condition, negated);
  if (!i) return false;
  Linear form = minus(linear(i->left), linear(i->right));
  form.constant -= i->least;
  return Prover(facts).holds(form, 0);
}

bool is_real_op(Op op) { return op == Op::add || op == Op::sub || op == Op::mul || op == Op::div; }

/// value * 2^k is exact for every f32 value: the reciprocal of a power of two is one.
bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::frexp(value, &exponent) == 0.5 && exponent > -60 && exponent < 60;
}

}  // namespace

Linear linear(Expr e) { return linear_at(e, 0); }

Linear minus(const Linear& a, const Linear& b) {
  Linear out = a;
  add_scaled(out, b, -1);
  return out;
}

std::optional<std::int64_t> difference(Expr a, Expr b) {
  const Linear form = minus(linear(a), linear(b));
  if (!form.terms.empty()) return std::nullopt;
  return form.constant;
}

bool never_negative(Expr e, const Facts& facts) { return Prover(facts).holds(linear(e), 0); }

Expr with_ends_decided(Expr e, const Facts& facts) {
  return transform(e, [&](Expr node) {
    if (!node.is(Op::min) && !node.is(Op::max)) return node;
    const Expr a = node.arg(0), b = node.arg(1);
    if (never_negative(b - a, facts)) return node.is(Op::min) ? a : b;
    if (never_negative(a - b, facts)) return node.is(Op::min) ? b : a;
    return node;
  });
}

bool always_true(Expr condition, const Facts& facts) {
  if (condition.is(Op::boolean)) return condition.node().truth;
  if (condition.is(Op::logical_and)) return always_true(condition.arg(0), facts) && always_true(condition.arg(1), facts);
  if (condition.is(Op::logical_or)) return always_true(condition.arg(0), facts) || always_true(condition.arg(1), facts);
  if (condition.is(Op::logical_not)) return always_false(condition.arg(0), facts);
  return shows(condition, facts, false);
}

bool always_false(Expr condition, const Facts& facts) {
  if (condition.is(Op::boolean)) return !condition.node().truth;
  if (condition.is(Op::logical_and)) return always_false(condition.arg(0), facts) || always_false(condition.arg(1), facts);
  if (condition.is(Op::logical_or)) return always_false(condition.arg(0), facts) && always_false(condition.arg(1), facts);
  if (condition.is(Op::logical_not)) return always_true(condition.arg(0), facts);
  return shows(condition, facts, true);
}

Expr real_constant(double value) {
  if (const std::optional<Rational> exact = Rational::parse(fmt::format("{}", value < 0 ? -value : value))) {
    const Expr literal = number(*exact);
    return value < 0 ? -literal : literal;
  }
  return value < 0 ? -inexact_number(-value) : inexact_number(value);
}

std::optional<double> constant_value(Expr e) {
  if (e.is(Op::number)) {
    if (e.node().inexact != 0) return e.node().inexact;
    const std::string text = e.node().number.text();  // rounded once, which num / den is not beyond 2^53
    return text.find('/') == std::string::npos ? std::strtod(text.c_str(), nullptr) : e.node().number.to_double();
  }
  if (e.is(Op::neg) || e.is(Op::sqrt)) {
    const std::optional<double> a = constant_value(e.arg(0));
    if (!a) return std::nullopt;
    if (e.is(Op::neg)) return -*a;
    return *a >= 0 ? std::optional<double>(std::sqrt(*a)) : std::nullopt;
  }
  if (!is_real_op(e.op())) return std::nullopt;
  const std::optional<double> a = constant_value(e.arg(0));
  const std::optional<double> b = constant_value(e.arg(1));
  if (!a || !b || (e.is(Op::div) && *b == 0)) return std::nullopt;
  const double value = e.is(Op::add) ? *a + *b : e.is(Op::sub) ? *a - *b : e.is(Op::mul) ? *a * *b : *a / *b;
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

Expr fold_constants(Expr e) {
  return transform(e, [](Expr node) {
    if (node.is(Op::number)) return node;
    if (const std::optional<double> value = constant_value(node)) return real_constant(*value);
    if (!node.is(Op::div)) return node;
    const std::optional<double> divisor = constant_value(node.arg(1));
    return divisor && is_power_of_two(*divisor) ? node.arg(0) * real_constant(1 / *divisor) : node;
  });
}

/// Marks end a name or a part of it: what was put behind those of an index (j' and a t) goes in front of them.
static std::string spellable(const std::string& wish) {
  const auto is_mark = [](char c) { return c == '\'' || c == '~'; };
  std::string text, marks;
  for (std::size_t i = 0; i < wish.size(); ++i) {
    const std::size_t next = wish.find_first_not_of("'~", i);
    const bool inside = is_mark(wish[i]) && next != std::string::npos && wish[next] != '.';
    (inside ? marks : text) += wish[i];
  }
  return text + marks;
}

Symbol Names::fresh(const std::string& wanted) {
  const std::string wish = spellable(wanted);
  Symbol name(wish);
  for (int i = 2; taken_.count(name) > 0; ++i) name = Symbol(fmt::format("{}.{}", wish, i));
  taken_.insert(name);
  return name;
}

}  // namespace fathom::passes
