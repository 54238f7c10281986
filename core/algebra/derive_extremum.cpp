// Extrema (max, min, any, all): a term that rises or falls with one u-part, in the same direction for every r, needs only the extremum of
// that part: nothing to repair. An extremum of several such terms carries one each (a lattice of rank K).
#include <algorithm>

#include "algebra/derive.hpp"
#include "algebra/rules/rule.hpp"
#include "ir/comparison.hpp"

namespace fathom::algebra {

namespace {

const Symbol hole_name("acc");

/// g as a monotone function of one u-part: `context` over symbol(acc), which stands for `inside`.
struct Piece {
  Expr inside;
  Expr context;
  bool rises = true;
  bool keeps_identity = true;  ///< the consumer's identity stays what it is under `context`
  std::set<Expr> mask;         ///< counts only where these hold
};

struct Climber {
  Normaliser& n;
  const Consumer& consumer;
  bool largest;  ///< max or any

  [[nodiscard]] Role role(Expr e) const { return n.roles().of(e); }
  [[nodiscard]] bool has_u(Expr e) const { return (role(e) & u_role) != 0; }
  [[nodiscard]] bool has_r(Expr e) const { return (role(e) & r_role) != 0; }

  std::optional<Piece> climb(Expr e) {
    if (!has_r(e)) return Piece{e, symbol(hole_name), true, true, {}};
    if (!has_u(e)) return std::nullopt;
    if (auto offset = as_offset(e)) return offset;
    switch (e.op()) {
      case Op::neg:
        return through(e, 0, true, false);
      case Op::exp:
      case Op::exp2:
      case Op::tanh:
      case Op::sigmoid:
      case Op::erf:
      case Op::sqrt:
      case Op::log:
      case Op::log2:
      case Op::floor:
        return through(e, 0, false, false);
      case Op::add:
      case Op::logical_and:
      case Op::logical_or:
        return one_side(e, false, false, e.is(Op::add));
      case Op::sub:
        return has_u(e.arg(0)) && has_u(e.arg(1)) ? std::nullopt
               : has_u(e.arg(0))                  ? through(e, 0, false, true)
                                                  : through(e, 1, true, false);
      case Op::max:
        return one_side(e, false, false, !largest);
      case Op::min:
        return one_side(e, false, false, largest);
      case Op::mul:
        return has_u(e.arg(0)) && has_u(e.arg(1)) ? std::nullopt : scaled(e, has_u(e.arg(0)) ? 0 : 1);
      case Op::div:
        return has_u(e.arg(1)) ? std::nullopt : scaled(e, 0);
      case Op::gt:
      case Op::ge:
        return one_side(e, false, true, true);
      case Op::lt:
      case Op::le:
        return one_side(e, true, false, true);
      case Op::logical_not:
        return through(e, 0, true, false);
      case Op::where:
        return select(e);
      default:
        return std::nullopt;
    }
  }

  /// u + r in normal form, masks of the u side included.
  std::optional<Piece> as_offset(Expr e) {
    if (e.is(Op::gt) || e.is(Op::ge) || e.is(Op::lt) || e.is(Op::le) || e.is(Op::logical_and) || e.is(Op::logical_or) ||
        e.is(Op::logical_not))
      return std::nullopt;
    const Sum& sum = n.of(e);
    Sum u;
    Sum r;
    for (const Term& term : sum.terms) {
      const Role of_term = n.roles().of(term);
      if (of_term == mixed) return std::nullopt;
      (of_term == u_role ? u : r).terms.push_back(term);
    }
    if (u.terms.empty() || r.terms.empty()) return std::nullopt;
    Piece piece{n.print(u), symbol(hole_name) + n.print(r), true, true, {}};
    for (Expr guard : sum.alive) {
      if (n.roles().of(guard) != u_role || !largest) return std::nullopt;
      piece.mask.insert(guard);
    }
    if (r.terms.size() == 1 && r.terms[0].coefficient.sign() < 0) {
      Term positive_part = r.terms[0];
      positive_part.coefficient = subtract(Rational(0), positive_part.coefficient).value_or(positive_part.coefficient);
      piece.context = symbol(hole_name) - n.print(positive_part);
    }
    return piece;
  }

  /// The operand `i` climbs; the others are free of u.
  std::optional<Piece> through(Expr e, std::size_t i, bool falls, bool keeps) {
    auto piece = climb(e.arg(i));
    if (!piece || !piece->mask.empty()) return std::nullopt;
    std::vector<Expr> args(e.args().begin(), e.args().end());
    for (std::size_t k = 0; k < args.size(); ++k) args[k] = k == i ? piece->context : n.canonical(args[k]);
    piece->context = with_args(e, std::move(args));
    piece->rises = piece->rises != falls;
    piece->keeps_identity = piece->keeps_identity && keeps;
    return piece;
  }

  std::optional<Piece> one_side(Expr e, bool left_falls, bool right_falls, bool keeps) {
    if (has_u(e.arg(0)) && has_u(e.arg(1))) return std::nullopt;
    return has_u(e.arg(0)) ? through(e, 0, left_falls, keeps) : through(e, 1, right_falls, keeps);
  }

  std::optional<Piece> scaled(Expr e, std::size_t i) {
    const Sum& factor = n.of(e.arg(1 - i));
    // x^2 / l^2: the largest x^2 alone may leave the range
    if (factor.is_one_term() && !has_first_powers(factor.terms[0])) return std::nullopt;
    const Signs sign = n.facts().sign(e.arg(1 - i));
    if (is_within(sign, positive | zero)) return through(e, i, false, false);
    if (is_within(sign, negative | zero)) return through(e, i, true, false);
    return std::nullopt;
  }

  /// where(c, x, y): c and one branch free of u.
  std::optional<Piece> select(Expr e) {
    if (has_u(e.arg(0)) || (has_u(e.arg(1)) && has_u(e.arg(2)))) return std::nullopt;
    return through(e, has_u(e.arg(1)) ? 1 : 2, false, false);
  }

  [[nodiscard]] bool is_identity(Expr e) const { return largest ? is_minus_infinity(e) : e.is(Op::infinity); }
  [[nodiscard]] bool joins(Expr e) const {
    return largest ? e.is(Op::max) || e.is(Op::logical_or) : e.is(Op::min) || e.is(Op::logical_and);
  }

  /// The terms of an extremum of extrema, each under its mask. False where one of them is not monotone.
  bool pieces(Expr e, const std::set<Expr>& mask, std::vector<Piece>& found) {
    if (has_r(e) && joins(e) && has_u(e)) return pieces(e.arg(0), mask, found) && pieces(e.arg(1), mask, found);
    if (e.is(Op::where) && is_identity(e.arg(2)) && role(e.arg(0)) == u_role) {
      std::set<Expr> inner = mask;
      inner.merge(n.conjuncts(e.arg(0)));
      return pieces(e.arg(1), inner, found);
    }
    if (!has_u(e)) {
      Piece present{conjunction(mask), where(symbol(hole_name), n.canonical(e), largest ? minus_infinity() : infinity()), true, true, {}};
      found.push_back(std::move(present));
      return true;
    }
    auto piece = climb(e);
    if (!piece) return false;
    piece->mask.insert(mask.begin(), mask.end());
    if (!piece->mask.empty() && !piece->keeps_identity) return false;
    found.push_back(std::move(*piece));
    return true;
  }
};

bool is_boolean(Expr e, const math::Program& program) {
  if (is_condition(e.op())) return true;
  if (!e.is(Op::read)) return false;
  const math::Parameter* parameter = program.param(e.name());
  const math::Statement* statement = program.find(e.name());
  return (parameter != nullptr && parameter->dtype == DType::boolean) || (statement != nullptr && statement->dtype == DType::boolean);
}

}  // namespace

Result<Derived> derive_extremum(Normaliser& n, const Consumer& consumer, Op operation) {
  const math::Reduction& reduction = *consumer.statement->reduction();
  Climber climber{n, consumer, operation == Op::max || operation == Op::logical_or};
  const Expr value = consumer.values[0];
  for (const Producer& producer : consumer.producers)
    if (!producer.at_identity) return refuse(producer.name.text() + " is not read at the identity index.", {print(producer.read)});
  std::vector<Piece> pieces;
  // As it is written; else in normal form, |x / l| as |x| / l.
  bool rises = climber.pieces(value, {}, pieces);
  if (!rises) {
    pieces.clear();
    rises = climber.pieces(n.canonical(value), {}, pieces);
  }
  if (!rises || pieces.empty()) {
    const Mixed part = smallest_mixed(value, n, {value, false});
    return refuse(print(part.part) + " neither rises nor falls with one part of each element whatever it reads of its own loop.",
                  {print(part.part)});
  }
  Derived derived;
  Fusion& fusion = derived.fusion;
  fusion.kind = FusionKind::factored;
  fusion.rank = static_cast<int>(pieces.size());
  for (const Producer& producer : consumer.producers)
    if (std::find(fusion.producers.begin(), fusion.producers.end(), producer.name) == fusion.producers.end())
      fusion.producers.push_back(producer.name);
  begin_derivation(fusion, consumer, n, value);
  Expr behind;
  Expr text;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const Piece& piece = pieces[k];
    const bool takes_largest = climber.largest == piece.rises;
    const bool boolean_part = is_boolean(piece.inside, n.facts().view().program());
    const ReducerRef reducer = builtin_reducer(Symbol(boolean_part ? (takes_largest ? "any" : "all") : takes_largest ? "max" : "min"));
    const Symbol name = unused_name(n.facts().view().program(), consumer.statement->name.text() + "." +
                                                                    (pieces.size() == 1 ? reducer->name.text() : std::to_string(k)));
    const Expr identity = reducer->state.front().identity;
    Expr term = is_boolean(piece.inside, n.facts().view().program()) ? conjunction(n.conjuncts(piece.inside)) : n.canonical(piece.inside);
    if (!piece.mask.empty()) term = guarded(piece.mask, term, identity);
    Expr result = substitute(piece.context, {{symbol(hole_name), symbol(name)}});
    const Expr own_identity = reduction.reducer->state.front().identity;
    // Such a piece has no mask, so only an empty range leaves it at the identity: an element may be -inf itself.
    if (!piece.keeps_identity) result = unless_empty(reduction, n.facts().view().program(), result, own_identity);
    fusion.factored.push_back({name, reducer, term, symbol(name)});
    derived.parts.push_back({name, reducer, {}, {term}});
    math::Reduction of_piece = reduction;
    of_piece.reducer = reducer;
    const Expr in_text = substitute(result, {{symbol(name), reduction_expr(of_piece, term)}});
    behind = behind ? binary(operation, behind, result) : result;
    text = text ? binary(operation, text, in_text) : in_text;
  }
  fusion.project = behind;
  derived.project = behind;
  fusion.delayed = print(named(substitute(behind, {}), consumer));
  const DerivationLine last = line("maximum of a rising function", reduction_expr(reduction, value), text);
  fusion.derivation.push_back(last);
  fusion.all_lines.push_back(last);
  return derived;
}

}  // namespace fathom::algebra
