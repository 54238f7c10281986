#include "passes/masks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "passes/make_loops.hpp"

namespace fathom::passes {
namespace {

using loop::Loop;
using math::Statement;

// ---- what a masked element contributes ----
/// A value that is known whatever the data is. Zero times anything is zero here: a term whose factor a mask makes 0 counts as masked out.
struct Known {
  enum class Kind : std::uint8_t { nothing, number, plus_infinity, minus_infinity, truth } kind = Kind::nothing;
  Rational number;
  bool truth = false;
  friend bool operator==(const Known&, const Known&) = default;
};
using Kind = Known::Kind;

Known known_number(Rational value) { return {Kind::number, value, false}; }
Known known_truth(bool value) { return {Kind::truth, Rational(0), value}; }
Known known_infinity(bool plus) { return {plus ? Kind::plus_infinity : Kind::minus_infinity, Rational(0), false}; }
bool is_infinite(const Known& k) { return k.kind == Kind::plus_infinity || k.kind == Kind::minus_infinity; }
bool is_number(const Known& k, std::int64_t value) { return k.kind == Kind::number && k.number == Rational(value); }

/// Values under the assumption that the given conditions are false.
class MaskedValue {
 public:
  MaskedValue(std::set<Expr> are_false, const std::map<Symbol, Known>& tensors) : false_(std::move(are_false)), tensors_(&tensors) {}

  Known operator()(Expr e) {
    if (const auto found = memo_.find(e); found != memo_.end()) return found->second;
    const Known value = false_.contains(e) ? known_truth(false) : compute(e);
    return memo_[e] = value;
  }

 private:
  Known compute(Expr e) {
    switch (e.op()) {
      case Op::number:
        return e.node().inexact != 0 ? Known{} : known_number(e.node().number);
      case Op::infinity:
        return known_infinity(true);
      case Op::boolean:
        return known_truth(e.node().truth);
      case Op::read: {
        const auto found = tensors_->find(e.name());
        return found == tensors_->end() ? Known{} : found->second;
      }
      case Op::cast: {
        const Known value = (*this)(e.arg(0));
        return is_infinite(value) || is_number(value, 0) || is_number(value, 1) ? value : Known{};
      }
      case Op::where: {
        const Known condition = (*this)(e.arg(0));
        if (condition.kind == Kind::truth) return (*this)(e.arg(condition.truth ? 1 : 2));
        const Known a = (*this)(e.arg(1)), b = (*this)(e.arg(2));
        return a == b ? a : Known{};
      }
      case Op::logical_and:
      case Op::logical_or:
      case Op::logical_not:
        return logical(e);
      default:
        break;
    }
    return e.args().size() == 1 ? unary(e.op(), (*this)(e.arg(0))) : e.args().size() == 2 ? binary(e.op(), e) : Known{};
  }

  Known logical(Expr e) {
    const Known a = (*this)(e.arg(0));
    if (e.is(Op::logical_not)) return a.kind == Kind::truth ? known_truth(!a.truth) : Known{};
    const Known b = (*this)(e.arg(1));
    const bool decisive = e.is(Op::logical_or);
    for (const Known& each : {a, b}) {
      if (each.kind == Kind::truth && each.truth == decisive) return known_truth(decisive);
    }
    return a.kind == Kind::truth && b.kind == Kind::truth ? known_truth(!decisive) : Known{};
  }

  static Known unary(Op op, const Known& x) {
    if (x.kind == Kind::nothing || x.kind == Kind::truth) return {};
    switch (op) {
      case Op::neg:
        if (is_infinite(x)) return known_infinity(x.kind == Kind::minus_infinity);
        if (const auto value = subtract(Rational(0), x.number)) return known_number(*value);
        return {};
      case Op::exp:
      case Op::exp2:
        if (x.kind == Kind::minus_infinity) return known_number(Rational(0));
        if (x.kind == Kind::plus_infinity) return x;
        return is_number(x, 0) ? known_number(Rational(1)) : Known{};
      case Op::log:
      case Op::log2:
        if (x.kind == Kind::plus_infinity) return x;
        if (is_number(x, 0)) return known_infinity(false);
        return is_number(x, 1) ? known_number(Rational(0)) : Known{};
      case Op::abs:
        if (is_infinite(x)) return known_infinity(true);
        return x.number.sign() >= 0 ? x : unary(Op::neg, x);
      case Op::sqrt:
      case Op::tanh:
      case Op::erf:
      case Op::sin:
        return is_number(x, 0) ? x : Known{};
      case Op::sigmoid:
        return x.kind == Kind::minus_infinity ? known_number(Rational(0)) : Known{};
      default:
        return {};
    }
  }

  Known binary(Op op, Expr e) {
    const Known a = (*this)(e.arg(0)), b = (*this)(e.arg(1));
    switch (op) {
      case Op::mul:
        if (is_number(a, 0) || is_number(b, 0)) return known_number(Rational(0));
        if (is_infinite(a) && b.kind == Kind::number) return known_infinity((a.kind == Kind::plus_infinity) == (b.number.sign() > 0));
        if (is_infinite(b) && a.kind == Kind::number) return known_infinity((b.kind == Kind::plus_infinity) == (a.number.sign() > 0));
        return numbers(a, b, multiply);
      case Op::div:
        if (is_number(a, 0)) return a;
        if (is_infinite(a) && b.kind == Kind::number && b.number.sign() != 0)
          return known_infinity((a.kind == Kind::plus_infinity) == (b.number.sign() > 0));
        return b.kind == Kind::number && b.number.sign() != 0 ? numbers(a, b, divide) : Known{};
      case Op::add:
        // An infinite score stays infinite whatever finite bias is added.
        if (is_infinite(a) && !(is_infinite(b) && b.kind != a.kind)) return a;
        if (is_infinite(b) && !is_infinite(a)) return b;
        return numbers(a, b, add);
      case Op::sub:
        if (is_infinite(a) && !(is_infinite(b) && b.kind == a.kind)) return a;
        if (is_infinite(b) && !is_infinite(a)) return known_infinity(b.kind == Kind::minus_infinity);
        return numbers(a, b, subtract);
      case Op::max:
      case Op::min: {
        const Kind top = op == Op::max ? Kind::plus_infinity : Kind::minus_infinity;
        const Kind bottom = op == Op::max ? Kind::minus_infinity : Kind::plus_infinity;
        if (a.kind == top || b.kind == top) return a.kind == top ? a : b;
        if (a.kind == bottom) return b;
        return b.kind == bottom ? a : Known{};
      }
      case Op::pow:
        return is_number(a, 0) && b.kind == Kind::number && b.number.sign() > 0 ? a : Known{};
      case Op::gt:
      case Op::lt:
      case Op::ne:
      case Op::eq:
        return compare(op, a, b);
      default:
        return {};
    }
  }

  static Known numbers(const Known& a, const Known& b, std::optional<Rational> (*f)(Rational, Rational)) {
    if (a.kind != Kind::number || b.kind != Kind::number) return {};
    const auto value = f(a.number, b.number);
    return value ? known_number(*value) : Known{};
  }

  static Known compare(Op op, const Known& a, const Known& b) {
    const auto place = [](const Known& k) { return k.kind == Kind::minus_infinity ? -1 : k.kind == Kind::plus_infinity ? 1 : 0; };
    if (a.kind == Kind::nothing || b.kind == Kind::nothing || a.kind == Kind::truth || b.kind == Kind::truth) return {};
    const bool less = place(a) != place(b) ? place(a) < place(b) : a.kind == Kind::number && a.number < b.number;
    const bool same = a == b;
    switch (op) {
      case Op::lt:
        return known_truth(less);
      case Op::gt:
        return known_truth(!less && !same);
      case Op::eq:
        return known_truth(same);
      default:
        return known_truth(!same);
    }
  }

  std::set<Expr> false_;
  const std::map<Symbol, Known>* tensors_;
  std::map<Expr, Known> memo_;
};

/// The state that a reduction's element lifts to is the identity, component by component.
bool lifts_to_identity(const math::Reduction& reduction, MaskedValue& value) {
  const Reducer& reducer = *reduction.reducer;
  std::map<Symbol, Known> parameters;
  for (std::size_t i = 0; i < reducer.parameters.size() && i < reduction.values.size(); ++i)
    parameters[reducer.parameters[i]] = value(reduction.values[i]);
  const std::map<Symbol, Known> none;
  return std::all_of(reducer.state.begin(), reducer.state.end(), [&](const Component& component) {
    MaskedValue constants({}, none);
    const Known identity = constants(component.identity);
    if (component.lift.is(Op::symbol)) return identity.kind != Kind::nothing && parameters[component.lift.name()] == identity;
    return identity.kind != Kind::nothing && constants(component.lift) == identity;
  });
}

// ---- which conditions decide ----
void flatten_and(Expr e, std::vector<Expr>& atoms) {
  if (!e.is(Op::logical_and)) return atoms.push_back(e);
  flatten_and(e.arg(0), atoms);
  flatten_and(e.arg(1), atoms);
}

/// The nest's body and what it reads element by element, other nests' results included: a stored score is masked where it was computed.
std::vector<const Statement*> seen_by(const math::Program& program, const Nest& nest, Symbol index) {
  std::set<Symbol> wanted(nest.body.begin(), nest.body.end());
  std::vector<const Statement*> all;
  for (auto each = program.statements.rbegin(); each != program.statements.rend(); ++each) {
    if (!wanted.contains(each->name) || !(axis_names(*each).contains(index) || each->reduction() != nullptr)) continue;
    all.push_back(&*each);
    if (each->map() != nullptr || std::find(nest.body.begin(), nest.body.end(), each->name) != nest.body.end())
      wanted.merge(reads_of(*each));
  }
  std::reverse(all.begin(), all.end());
  return all;
}

/// Conditions of every `where` that the nest sees, taken apart at `and`.
std::vector<Expr> conditions_in(const std::vector<const Statement*>& statements) {
  std::vector<Expr> all;
  for (const Statement* each : statements) {
    for (const Expr value : values_of(*each)) {
      visit(value, [&](Expr e) {
        if (e.is(Op::where)) flatten_and(e.arg(0), all);
      });
    }
  }
  std::vector<Expr> unique;
  for (const Expr each : all) {
    if (std::find(unique.begin(), unique.end(), each) == unique.end()) unique.push_back(each);
  }
  return unique;
}

bool masks_everything(const math::Program& program, const Nest& nest, Symbol index, Expr condition) {
  std::map<Symbol, Known> known;
  for (const Statement* statement : seen_by(program, nest, index)) {
    MaskedValue value({condition}, known);
    const auto* reduction = statement->reduction();
    const bool is_here = std::find(nest.body.begin(), nest.body.end(), statement->name) != nest.body.end();
    if (reduction == nullptr) {
      const Known result = value(statement->map()->value);
      if (result.kind != Kind::nothing) known[statement->name] = result;
    } else if (is_here &&
               std::any_of(reduction->over.begin(), reduction->over.end(), [&](const math::Axis& axis) { return axis.index == index; })) {
      if (!lifts_to_identity(*reduction, value)) return false;
    }
  }
  return true;
}

// ---- affine comparisons ----
/// a * index + Σ coefficient * other index + rest.
struct Linear {
  std::map<Symbol, std::int64_t> coefficients;
  Expr rest = number(0);
};

std::optional<Linear> linear(Expr e) {
  if (free_indices(e).empty()) return tensors_read(e).empty() ? std::optional(Linear{{}, e}) : std::nullopt;
  if (e.is(Op::index)) return Linear{{{e.name(), 1}}, number(0)};
  const auto combined = [&](std::int64_t sign) -> std::optional<Linear> {
    auto a = linear(e.arg(0));
    const auto b = linear(e.arg(1));
    if (!a || !b) return std::nullopt;
    for (const auto& [name, c] : b->coefficients) a->coefficients[name] += sign * c;
    a->rest = sign > 0 ? a->rest + b->rest : a->rest - b->rest;
    return a;
  };
  const auto scaled = [](std::optional<Linear> a, std::int64_t factor) {
    if (!a) return a;
    for (auto& [name, c] : a->coefficients) c *= factor;
    a->rest = number(Rational(factor)) * a->rest;
    return a;
  };
  switch (e.op()) {
    case Op::add:
      return combined(1);
    case Op::sub:
      return combined(-1);
    case Op::neg:
      return scaled(linear(e.arg(0)), -1);
    case Op::mul: {
      if (const auto left = constant_integer(e.arg(0))) return scaled(linear(e.arg(1)), *left);
      if (const auto right = constant_integer(e.arg(1))) return scaled(linear(e.arg(0)), *right);
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

/// index <= bound (upper) or index >= bound, bound = (Σ coefficient * other + rest) // divisor, rounded inwards.
struct Bounded {
  bool upper = true;
  Linear numerator;
  std::int64_t divisor = 1;
};

/// l - r <= -strict, for the index.
std::optional<Bounded> bound_of(Expr l, Expr r, bool strict, Symbol index) {
  auto form = linear(l - r);
  if (!form) return std::nullopt;
  const auto at = form->coefficients.find(index);
  if (at == form->coefficients.end() || at->second == 0) return std::nullopt;
  const std::int64_t a = at->second;
  form->coefficients.erase(at);
  if (strict) form->rest = form->rest + number(1);
  Bounded bounded;
  bounded.upper = a > 0;
  bounded.divisor = a > 0 ? a : -a;
  // a*x <= -R: x <= (-R) // a. For a = -b: x >= R / b rounded up.
  const std::int64_t sign = a > 0 ? -1 : 1;
  for (const auto& [name, c] : form->coefficients) {
    if (c != 0) bounded.numerator.coefficients[name] = sign * c;
  }
  bounded.numerator.rest = sign < 0 ? -form->rest : form->rest;
  return bounded;
}

std::vector<Bounded> bounds_in(Expr comparison, Symbol index) {
  if (comparison.args().size() != 2) return {};
  const Expr l = comparison.arg(0), r = comparison.arg(1);
  std::vector<std::optional<Bounded>> found;
  switch (comparison.op()) {
    case Op::le:
      found = {bound_of(l, r, false, index)};
      break;
    case Op::lt:
      found = {bound_of(l, r, true, index)};
      break;
    case Op::ge:
      found = {bound_of(r, l, false, index)};
      break;
    case Op::gt:
      found = {bound_of(r, l, true, index)};
      break;
    case Op::eq:
      found = {bound_of(l, r, false, index), bound_of(r, l, false, index)};
      break;
    default:
      break;
  }
  std::vector<Bounded> all;
  for (const auto& each : found) {
    if (!each) return {};
    all.push_back(*each);
  }
  return all;
}

/// First and last element of an index while the fold runs: those of the trip of a parallel loop, else of the whole axis.
struct Box {
  Expr first, last;
};

std::optional<Box> box_of(const loop::Program& program, const Nest& nest, Symbol name) {
  for (const Loop& each : nest.outer) {
    if (each.index != name) continue;
    if (constant_integer(each.tile) == 1) return Box{index(name), index(name)};
    return Box{index(name), make(Op::min, {index(name) + each.tile, each.hi}) - number(1)};
  }
  for (const Symbol statement : nest.body) {
    for (const math::Axis& axis : program.math.find(statement)->axes) {
      if (axis.index == name && free_indices(axis.lo).empty() && free_indices(axis.hi).empty()) return Box{axis.lo, axis.hi - number(1)};
    }
  }
  return std::nullopt;
}

std::optional<Expr> extreme(const loop::Program& program, const Nest& nest, const Linear& form, bool largest) {
  Expr sum = form.rest;
  for (const auto& [name, coefficient] : form.coefficients) {
    const auto box = box_of(program, nest, name);
    if (!box) return std::nullopt;
    const Expr end = (coefficient > 0) == largest ? box->last : box->first;
    sum = sum + number(Rational(coefficient)) * end;
  }
  return sum;
}

Expr floor_divided(Expr e, std::int64_t divisor) { return divisor == 1 ? e : binary(Op::floordiv, e, number(Rational(divisor))); }
Expr ceil_divided(Expr e, std::int64_t divisor) {
  return divisor == 1 ? e : binary(Op::floordiv, e + number(Rational(divisor - 1)), number(Rational(divisor)));
}
Expr smaller(Expr a, Expr b) { return make(Op::min, {a, b}); }
Expr larger(Expr a, Expr b) { return make(Op::max, {a, b}); }

/// Numbers of the first trip that is not skipped, the first open one, the end of the open ones, the end of all.
struct Cuts {
  Expr begin, open_begin, open_end, end;
};

Cuts cuts_of(const loop::Program& program, const Nest& nest, const Loop& fold, const std::vector<Bounded>& bounds) {
  const Expr length = fold.hi - fold.lo;
  const Expr trips = simplify_integer(binary(Op::floordiv, length + fold.tile - number(1), fold.tile));
  Cuts cuts{number(0), number(0), binary(Op::floordiv, length, fold.tile), trips};
  for (const Bounded& each : bounds) {
    const auto smallest = extreme(program, nest, each.numerator, false), largest = extreme(program, nest, each.numerator, true);
    if (!smallest || !largest) {
      cuts.open_end = cuts.open_begin;
      continue;
    }
    const auto bound = [&](Expr e) { return each.upper ? floor_divided(e, each.divisor) : ceil_divided(e, each.divisor); };
    const Expr low = bound(*smallest) - fold.lo, high = bound(*largest) - fold.lo;
    if (each.upper) {
      cuts.end = smaller(cuts.end, binary(Op::floordiv, high, fold.tile) + number(1));
      cuts.open_end = smaller(cuts.open_end, binary(Op::floordiv, low + number(1), fold.tile));
    } else {
      cuts.begin = larger(cuts.begin, binary(Op::floordiv, low, fold.tile));
      cuts.open_begin = larger(cuts.open_begin, binary(Op::floordiv, high + fold.tile - number(1), fold.tile));
    }
  }
  const auto cut_at = [&](bool upper) {
    return std::any_of(bounds.begin(), bounds.end(), [&](const Bounded& each) { return each.upper == upper; });
  };
  // 0 <= begin <= open_begin <= open_end <= end, whatever the extents are. An upper bound alone keeps open_end <= end by itself.
  if (cut_at(true)) {
    cuts.end = larger(cuts.end, number(0));
    cuts.open_end = larger(cuts.open_end, number(0));
  }
  if (cut_at(false)) {
    cuts.begin = smaller(cuts.begin, cuts.end);
    cuts.open_begin = smaller(larger(cuts.open_begin, cuts.begin), cuts.end);
    cuts.open_end = larger(cuts.open_end, cuts.open_begin);
  }
  for (Expr* each : {&cuts.begin, &cuts.open_begin, &cuts.open_end, &cuts.end}) *each = simplify_integer(*each);
  return cuts;
}

bool may_be_ragged(const math::Program& program, const Loop& fold) {
  const auto length = is_fixed(program, fold.hi - fold.lo) ? value_at_defaults(program, fold.hi - fold.lo) : std::nullopt;
  const auto tile = constant_integer(fold.tile);
  return !length || !tile || *length % *tile != 0;
}

/// Both nests walk the same tiles of every index that the conditions compare.
bool same_tiles(const Nest& a, const Nest& b, const std::vector<Expr>& conditions, Symbol index) {
  if (!a.folds_over(index) || !b.folds_over(index)) return false;
  std::set<Symbol> compared = {index};
  for (const Expr each : conditions) compared.merge(free_indices(each));
  return std::all_of(compared.begin(), compared.end(), [&](Symbol name) {
    const Loop *left = a.loop(name), *right = b.loop(name);
    return left == right || (left != nullptr && right != nullptr && same_range(*left, *right));
  });
}

/// A tensor that this nest leaves in memory is complete only if no reader looks at what was skipped: readers skip the same tiles.
std::optional<Refusal> refuse_skipping(const loop::Program& program, const std::vector<Nest>& nests, std::size_t here,
                                       const std::vector<Expr>& conditions, Symbol index, std::set<std::size_t>& readers) {
  const Nest& nest = nests[here];
  for (const Symbol name : nest.body) {
    const Statement& statement = *program.math.find(name);
    if (!axis_names(statement).contains(index)) continue;
    if (is_result(program.math, name))
      return Refusal{fmt::format("{} is a result, so that its masked elements must be computed too.", name.text()), {name.text()}, ""};
    for (std::size_t i = 0; i < nests.size(); ++i) {
      if (i == here) continue;
      const Nest& other = nests[i];
      const std::vector<Symbol> theirs = other.statements();
      const auto reads = [&](Symbol each) { return reads_of(*program.math.find(each)).contains(name); };
      if (std::none_of(theirs.begin(), theirs.end(), reads)) continue;
      const bool skips_too = same_tiles(nest, other, conditions, index) &&
                             std::all_of(conditions.begin(), conditions.end(),
                                         [&](Expr condition) { return masks_everything(program.math, other, index, condition); });
      if (!skips_too)
        return Refusal{fmt::format("{} is stored, and a later loop over {} reads it where it is masked.", name.text(), index.text()),
                       {name.text()},
                       "Fuse the two loops, or let the reader mask it too."};
      readers.insert(i);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Expr> mask_conditions(const loop::Program& program, const Nest& nest, Symbol index) {
  std::vector<Expr> conditions;
  for (const Expr each : conditions_in(seen_by(program.math, nest, index))) {
    if (!bounds_in(each, index).empty() && masks_everything(program.math, nest, index, each)) conditions.push_back(each);
  }
  return conditions;
}

Bounding bounds_by_mask(const loop::Program& program, const std::vector<Nest>& nests, std::size_t here) {
  Bounding result;
  const Nest& nest = nests[here];
  if (nest.folds.empty()) return result;
  const Loop& fold = nest.folds.back();
  result.conditions = mask_conditions(program, nest, fold.index);
  if (!result.conditions.empty()) {
    result.refused = refuse_skipping(program, nests, here, result.conditions, fold.index, result.readers);
    if (result.refused) {
      result.conditions.clear();
      result.readers.clear();
    }
  }
  if (result.conditions.empty() && !may_be_ragged(program.math, fold)) return result;
  std::vector<Bounded> bounds;
  for (const Expr each : result.conditions) {
    for (Bounded& bound : bounds_in(each, fold.index)) bounds.push_back(std::move(bound));
  }
  const Cuts cuts = cuts_of(program, nest, fold, bounds);
  const bool is_cut_below = std::any_of(bounds.begin(), bounds.end(), [](const Bounded& each) { return !each.upper; });
  if (is_cut_below) result.ranges.push_back({mixed_trips, cuts.begin, cuts.open_begin});
  result.ranges.push_back({open_trips, cuts.open_begin, cuts.open_end});
  result.ranges.push_back({mixed_trips, cuts.open_end, cuts.end});
  return result;
}

void compute_what_is_read(const loop::Program& program, std::vector<Nest>& nests) {
  const auto skips = [&](std::size_t nest) {
    return !nests[nest].folds.empty() && !nests[nest].folds.back().ranges.empty() &&
           !bounds_by_mask(program, nests, nest).conditions.empty();
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < nests.size(); ++i) {
      if (!skips(i)) continue;
      const std::set<std::size_t> readers = bounds_by_mask(program, nests, i).readers;
      if (std::all_of(readers.begin(), readers.end(), skips)) continue;
      nests[i].folds.back().ranges.clear();
      changed = true;
    }
  }
}

}  // namespace fathom::passes
