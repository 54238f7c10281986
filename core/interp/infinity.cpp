#include "interp/infinity.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "interp/elaborate.hpp"
#include "interp/statements.hpp"
#include "lang/laws.hpp"

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
  /// Outside of an exponent, where the text gives NaN a meaning.
  [[nodiscard]] bool meets_another() const { return meets_another_; }

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
    if (a != Reach::none && b != Reach::none) meets_another_ = true;
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
  bool harmful_ = false, meets_another_ = false;
};

/// Follows a parameter through elementwise statements, and masks through all.
class Beside {
 public:
  explicit Beside(Symbol param) : holders_{param} {}

  void define(const Prepared& statement) {
    std::vector<Expr> values = statement.values;
    if (statement.value) values.push_back(statement.value);
    for (const Expr value : values) {
      if (is_masked(value)) masked_.insert(statement.name);
      if (statement.value && holds(value)) holders_.insert(statement.name);
      visit(value, [&](Expr e) {
        if (!e.is(Op::mul)) return;
        found_ = found_ || (holds(e.arg(0)) && is_masked(e.arg(1))) || (holds(e.arg(1)) && is_masked(e.arg(0)));
      });
    }
  }
  [[nodiscard]] bool found() const { return found_; }

 private:
  [[nodiscard]] bool holds(Expr e) const { return reads_any(e, holders_); }

  /// A choice of 0 or an infinity by the places of elements, in the expression or in what it reads.
  [[nodiscard]] bool is_masked(Expr root) const {
    bool masks = reads_any(root, masked_);
    visit(root, [&](Expr e) { masks = masks || (e.is(Op::where) && is_place(e.arg(0)) && (is_fill(e.arg(1)) || is_fill(e.arg(2)))); });
    return masks;
  }
  static bool reads_any(Expr e, const std::set<Symbol>& names) {
    const std::set<Symbol> read = tensors_read(e);
    return std::any_of(read.begin(), read.end(), [&](Symbol name) { return names.contains(name); });
  }
  static bool is_place(Expr condition) {
    bool index = false, reduced = false;
    visit(condition, [&](Expr e) {
      index = index || e.is(Op::index);
      reduced = reduced || e.is(Op::reduce);
    });
    return index && !reduced;
  }
  static bool is_fill(Expr branch) {
    const Expr size = branch.is(Op::neg) ? branch.arg(0) : branch;
    return size.is(Op::infinity) || (size.is(Op::number) && size.node().number.sign() == 0 && size.node().inexact == 0);
  }

  std::set<Symbol> holders_, masked_;
  bool found_ = false;
};

/// Follows a parameter into reductions.
class Reached {
 public:
  Reached(const math::Program& program, Symbol param) : program_(program), holders_{param} {}

  void define(const Prepared& statement) {
    std::vector<Expr> values = statement.values;
    if (statement.value) values.push_back(statement.value);
    const bool holds_it = std::any_of(values.begin(), values.end(), [&](Expr value) { return holds(value); });
    if (!holds_it) return;
    holders_.insert(statement.name);
    if (statement.reducer) reducers_.push_back(statement.reducer);
    for (const Expr value : values)
      visit(value, [&](Expr e) {
        if (e.is(Op::reduce) && holds(e)) reducers_.push_back(reducer_named(program_.reducers, e.name()));
      });
  }
  [[nodiscard]] const std::vector<ReducerRef>& reducers() const { return reducers_; }

 private:
  [[nodiscard]] bool holds(Expr e) const {
    const std::set<Symbol> read = tensors_read(e);
    return std::any_of(read.begin(), read.end(), [&](Symbol name) { return holders_.contains(name); });
  }

  const math::Program& program_;
  std::set<Symbol> holders_;
  std::vector<ReducerRef> reducers_;
};

/// Follows a parameter into extrema, with its sign there.
class Masking {
 public:
  explicit Masking(Symbol param) : signs_{{param, 1}} {}

  void define(const Prepared& statement) {
    int sign = statement.value ? of(statement.value) : 0;
    for (const Expr value : statement.values) sign = fold(statement.reducer.get(), of(value), sign);
    signs_[statement.name] = sign;
  }
  /// Of the infinity that is the identity of the extrema that the parameter reaches.
  [[nodiscard]] int sign() const { return reaches_minimum_ && !reaches_maximum_ ? 1 : -1; }

 private:
  int of(Expr e) {
    const auto known = memo_.find(e);
    if (known != memo_.end()) return known->second;
    const int sign = compute(e);
    memo_.emplace(e, sign);
    return sign;
  }

  int compute(Expr e) {
    switch (e.op()) {
      case Op::read: {
        for (const Expr arg : e.args()) of(arg);
        const auto found = signs_.find(e.name());
        return found == signs_.end() ? 0 : found->second;
      }
      case Op::neg:
        return -of(e.arg(0));
      case Op::sub: {
        const int left = of(e.arg(0)), right = of(e.arg(1));
        return left != 0 ? left : -right;
      }
      case Op::mul: {
        const int left = of(e.arg(0)), right = of(e.arg(1));
        return left != 0 ? left * factor(e.arg(1)) : right * factor(e.arg(0));
      }
      case Op::reduce: {
        const ReducerRef reducer = builtin_reducer(e.name());
        int sign = 0;
        for (const Expr value : values_of(e)) sign = fold(reducer.get(), of(value), sign);
        return sign;
      }
      default: {
        int sign = 0;
        for (const Expr arg : e.args()) {
          const int one = of(arg);
          sign = sign != 0 ? sign : one;
        }
        return sign;
      }
    }
  }

  /// The sign of a factor that is written as a number; others are taken as positive.
  static int factor(Expr e) { return e.is(Op::neg) || (e.is(Op::number) && e.node().number.sign() < 0) ? -1 : 1; }

  int fold(const Reducer* reducer, int sign, int others) {
    const auto operation = reducer == nullptr ? std::nullopt : monoid_operation(*reducer);
    if (operation == Op::min || operation == Op::max) {
      const bool rises = sign > 0, wants_least = operation == Op::min;
      if (sign != 0) (rises == wants_least ? reaches_minimum_ : reaches_maximum_) = true;
    }
    return others != 0 ? others : sign;
  }

  std::map<Symbol, int> signs_;
  std::map<Expr, int> memo_;
  bool reaches_minimum_ = false, reaches_maximum_ = false;
};

/// The follower after all statements; absent where the program has no meaning.
template <class Follower>
std::optional<Follower> followed(const math::Program& program, Follower follower) {
  const Result<std::vector<Prepared>> statements = prepare(program);
  if (!statements) return std::nullopt;
  for (const Prepared& statement : *statements) follower.define(statement);
  return follower;
}

}  // namespace

int sign_of_masks(const math::Program& program, Symbol param) {
  const auto masking = followed(program, Masking(param));
  return masking ? masking->sign() : -1;
}

bool stands_beside_mask(const math::Program& program, Symbol param) {
  const auto beside = followed(program, Beside(param));
  return !beside || beside->found();
}

bool folds_alike(const math::Program& program, Symbol param, double special) {
  const auto reached = followed(program, Reached(program, param));
  return reached && std::all_of(reached->reducers().begin(), reached->reducers().end(),
                                [&](const ReducerRef& each) { return each && lang::laws_hold_with(*each, special); });
}

bool meets_its_infinities(const math::Program& program, Symbol param) {
  const std::set<Symbol> no_ones;
  const auto spread = followed(program, Spread(param, no_ones));
  return !spread || spread->meets_another();
}

bool takes_infinity(const math::Program& program, Symbol param, const std::set<Symbol>& ones) {
  const auto spread = followed(program, Spread(param, ones));
  return spread && spread->is_harmless();
}

}  // namespace fathom::interp
