#include "interp/infinity.hpp"

#include <algorithm>
#include <map>

#include "interp/statements.hpp"

namespace fathom::interp {
namespace {

/// How infinite a value is where the parameter is.
enum class Reach : std::uint8_t {
  none,   ///< not at all
  maybe,  ///< an extremum or a choice: only where every element is
  sure    ///< as soon as one element is
};

class Spread {
 public:
  Spread(Symbol param, const std::set<Symbol>& ones) : param_(param), ones_(ones) {}

  [[nodiscard]] bool is_harmless() const { return !harmful_; }

  void define(const Prepared& statement) {
    Reach reach = statement.value ? of(statement.value) : Reach::none;
    for (const Expr value : statement.values) reach = std::max(reach, of(value));
    if (statement.reducer) reach = folded(monoid_operation(*statement.reducer), reach);
    reaches_[statement.name] = reach;
  }

 private:
  Reach of(Expr e) {
    const auto known = memo_.find(e);
    if (known != memo_.end()) return known->second;
    const Reach reach = compute(e);
    memo_.emplace(e, reach);
    return reach;
  }

  Reach compute(Expr e) {
    switch (e.op()) {
      case Op::read: {
        if (e.name() == param_) return Reach::sure;
        const auto found = reaches_.find(e.name());
        return found == reaches_.end() ? Reach::none : found->second;
      }
      case Op::exp:
      case Op::exp2:
        exponent(e.arg(0));
        return Reach::none;
      case Op::where:
        of(e.arg(0));
        return std::min(Reach::maybe, std::max(of(e.arg(1)), of(e.arg(2))));
      case Op::max:
      case Op::min:
        return std::min(Reach::maybe, of_all(e));
      case Op::reduce: {
        Reach reach = Reach::none;
        for (const Expr value : values_of(e)) reach = std::max(reach, of(value));
        const Reducer* reducer = builtin(e.name());
        return folded(reducer == nullptr ? std::nullopt : monoid_operation(*reducer), reach);
      }
      case Op::add:
      case Op::sub:
        return sum(of(e.arg(0)), of(e.arg(1)));
      case Op::mul:
      case Op::div:
      case Op::pow:
        return product(e);
      case Op::neg:
      case Op::abs:
      case Op::cast:
        return of(e.arg(0));
      default:
        return other(e);
    }
  }

  static const Reducer* builtin(Symbol name) {
    const ReducerRef found = builtin_reducer(name);
    return found.get();
  }

  Reach of_all(Expr e) {
    Reach reach = Reach::none;
    for (const Expr arg : e.args()) reach = std::max(reach, of(arg));
    return reach;
  }

  /// exp(x - m): a difference of two infinities stands for a masked element of a masked row, and the text has a guard for that.
  void exponent(Expr e) {
    if (e.is(Op::sub)) {
      of(e.arg(0)), of(e.arg(1));
    } else {
      of(e);
    }
  }

  Reach sum(Reach a, Reach b) {
    if (a == Reach::sure && b == Reach::sure) harmful_ = true;
    return std::max(a, b);
  }

  Reach product(Expr e) {
    const Reach a = of(e.arg(0)), b = of(e.arg(1));
    const auto varies = [&](Expr factor) {
      const std::set<Symbol> names = tensors_read(factor);
      return std::any_of(names.begin(), names.end(), [&](Symbol name) { return ones_.count(name) == 0; });
    };
    if ((a != Reach::none && varies(e.arg(1))) || (b != Reach::none && (varies(e.arg(0)) || !e.is(Op::mul)))) harmful_ = true;
    if (e.is(Op::pow) && a != Reach::none) harmful_ = true;
    return std::max(a, b);
  }

  Reach folded(std::optional<Op> operation, Reach reach) {
    if (reach == Reach::none) return reach;
    if (operation == Op::add) return reach;
    if (operation == Op::mul) harmful_ = true;
    return Reach::maybe;
  }

  /// Comparisons, logic and whole numbers are finite; a function of an infinity may be NaN.
  Reach other(Expr e) {
    const Reach reach = of_all(e);
    const bool is_logic = (e.op() >= Op::eq && e.op() <= Op::ge) || e.is(Op::logical_and) || e.is(Op::logical_or) || e.is(Op::logical_not);
    if (reach != Reach::none && !is_logic) harmful_ = true;
    return Reach::none;
  }

  Symbol param_;
  const std::set<Symbol>& ones_;
  std::map<Symbol, Reach> reaches_;
  std::map<Expr, Reach> memo_;
  bool harmful_ = false;
};

}  // namespace

bool takes_infinity(const math::Program& program, Symbol param, const std::set<Symbol>& ones) {
  const Result<std::vector<Prepared>> statements = prepare(program);
  if (!statements) return false;
  Spread spread(param, ones);
  for (const Prepared& statement : *statements) spread.define(statement);
  return spread.is_harmless();
}

}  // namespace fathom::interp
