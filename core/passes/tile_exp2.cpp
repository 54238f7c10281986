// exp(x) becomes exp2(x * log2 e), and the factor costs nothing: scores stay as the contraction left them, the reference that is subtracted
// is kept in units of log2, and a score is one multiply-add. Values that are homogeneous of degree one in each other (maxima, selects,
// differences) form a class; each member has a unit, and where units meet a constant stands. Knows no operator, only homogeneity.
#include <fmt/format.h>

#include <algorithm>

#include "ir/kernel_kinds.hpp"
#include "passes/lowering.hpp"
#include "passes/tile_masks.hpp"
#include "passes/tile_walk.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

constexpr double log2_e = 1.4426950408889634;

struct Definition {
  Expr value;  ///< absent: not one expression (states of a reducer)
  bool load = false;
  std::size_t axes = 0;
};
using Definitions = std::map<Symbol, std::vector<Definition>>;

bool is_unit_free(Expr e) { return is_infinite(e) || constant_value(e) == 0; }

/// Tile values whose scaling by c > 0 scales the expression by c; nullopt where there is no such set.
bool homogeneous(Expr e, const Memory& memory, std::set<Symbol>& leaves) {
  if (is_unit_free(e)) return true;
  const auto all = [&](std::size_t from) {
    for (std::size_t i = from; i < e.args().size(); ++i) {
      if (!homogeneous(e.arg(i), memory, leaves)) return false;
    }
    return true;
  };
  switch (e.op()) {
    case Op::read:
      if (memory.count(e.name()) > 0 || e.args().empty()) return false;
      leaves.insert(e.name());
      return true;
    case Op::neg:
    case Op::add:
    case Op::sub:
    case Op::max:
    case Op::min:
      return all(0);
    case Op::where:
      return all(1);
    case Op::reduce:
      return e.node().result.empty() && (e.name() == "max"_sym || e.name() == "min"_sym) && homogeneous(values_of(e)[0], memory, leaves);
    default:
      return false;
  }
}

bool has_reduce(Expr e) {
  bool found = false;
  visit(e, [&](Expr node) { found = found || node.is(Op::reduce); });
  return found;
}

/// A * C with a positive constant C: (A, C).
std::optional<std::pair<Expr, double>> scaled(Expr e) {
  if (!e.is(Op::mul) && !e.is(Op::div)) return std::nullopt;
  for (std::size_t k = 0; k < 2; ++k) {
    const std::optional<double> c = constant_value(e.arg(1 - k));
    if (!c || *c <= 0 || (e.is(Op::div) && k == 1)) continue;
    return std::make_pair(e.arg(k), e.is(Op::div) ? 1 / *c : *c);
  }
  return std::nullopt;
}

bool takes_constant(Expr e) {
  if (e.is(Op::neg)) return takes_constant(e.arg(0));
  if (e.is(Op::add) || e.is(Op::sub)) return takes_constant(e.arg(0)) || takes_constant(e.arg(1));
  return constant_value(e) || scaled(e);
}

/// c * e, the constant folded into products, and over sums where a part has a constant to fold it into: of plain values a * c - b * c loses
/// what (a - b) * c keeps.
Expr times(Expr e, double c) {
  if (c == 1) return e;
  if (const std::optional<double> value = constant_value(e)) return real_constant(*value * c);
  if (const auto product = scaled(e)) return times(product->first, product->second * c);
  if ((e.is(Op::add) || e.is(Op::sub)) && takes_constant(e)) return binary(e.op(), times(e.arg(0), c), times(e.arg(1), c));
  if (e.is(Op::neg)) return -times(e.arg(0), c);
  return e * real_constant(c);
}

bool is_power_of_two(double c) {
  constexpr int most_halvings = 1100;  // more than the exponents of a double
  for (int i = 0; i < most_halvings && c > 1; ++i) c /= 2;
  for (int i = 0; i < most_halvings && c < 1; ++i) c *= 2;
  return c == 1;
}

class Rescaler {
 public:
  Rescaler(kernel::Kernel& k, const Memory& memory) : kernel_(k), memory_(memory) {}

  /// The value that most exponentials are for: names the site. Empty: no exponential here, or one in f64, for which no machine has a 2^x.
  Symbol main_value(const kernel::Kinds& kinds, const std::vector<ReducerRef>& reducers) {
    collect();
    const bool wide =
        std::any_of(arguments_.begin(), arguments_.end(), [&](Expr e) { return kernel::kind_of(e, kinds, reducers) == kernel::Kind::f64; });
    return wide ? Symbol() : main_;
  }

  void run() {
    collect();
    make_class();
    choose_units();
    for (kernel::Role& role : kernel_.roles) rewrite(role.body);
  }

  [[nodiscard]] double scale() const { return scale_; }
  /// Scores that are inputs carry no rounding of their own: x * log2(e) - m * log2(e) would lose what x - m keeps. Then (x - m) * log2(e).
  [[nodiscard]] bool has_exact_scores() const {
    return std::any_of(class_.begin(), class_.end(), [&](Symbol name) {
      const auto found = definitions_.find(name);
      return found != definitions_.end() &&
             std::any_of(found->second.begin(), found->second.end(), [](const Definition& d) { return d.load; });
    });
  }

  /// Nor do products with a power of two round: where the text's own scale loses nothing, folding log2(e) in before the difference would.
  [[nodiscard]] bool subtracts_first() const { return has_exact_scores() || is_power_of_two(scale_); }

 private:
  void collect() {
    definitions_.clear();
    arguments_.clear();
    std::size_t widest = 0;
    for (const kernel::Role& role : kernel_.roles) {
      collect_carries(role.body);
      for_each_value(role.body, [&](const kernel::Value& v) {
        for (std::size_t k = 0; k < v.targets.size(); ++k) {
          const Expr value = k < v.values.size() && v.values.size() == v.targets.size() ? v.values[k] : Expr();
          const bool load = value && value.is(Op::read) && memory_.count(value.name()) > 0;
          definitions_[v.targets[k].name].push_back({value, load, v.targets[k].subscripts.size()});
          if (!value) continue;
          visit(value, [&](Expr node) {
            if (!node.is(Op::exp)) return;
            arguments_.push_back(node.arg(0));
            if (!main_.empty() && v.targets[k].subscripts.size() <= widest) return;
            widest = v.targets[k].subscripts.size();
            main_ = v.targets[k].name;
          });
        }
      });
    }
  }

  void collect_carries(const kernel::Block& block) {
    for (const kernel::Statement& s : block) {
      const auto* loop = std::get_if<kernel::For>(&s.op);
      if (loop == nullptr) continue;
      for (const kernel::Carry& c : loop->carry) definitions_[c.value.name].push_back({c.initial, false, c.value.subscripts.size()});
      collect_carries(loop->body);
    }
  }

  /// Everything that the exponents' values are made of homogeneously.
  void make_class() {
    std::vector<Symbol> pending;
    for (const Expr argument : arguments_) {
      std::set<Symbol> leaves;
      if (!homogeneous(argument, memory_, leaves)) continue;
      for (const Symbol leaf : leaves) pending.push_back(leaf);
      exponent_leaves_.insert(leaves.begin(), leaves.end());
    }
    while (!pending.empty()) {
      const Symbol name = pending.back();
      pending.pop_back();
      if (!class_.insert(name).second) continue;
      for (const Definition& d : definitions_[name]) {
        std::set<Symbol> leaves;
        if (d.value && !d.load && homogeneous(d.value, memory_, leaves)) pending.insert(pending.end(), leaves.begin(), leaves.end());
      }
    }
  }

  /// Narrow references that are only selected, never reduced, are kept in units of log2; the rest in units in which scores need no product.
  void choose_units() {
    std::size_t widest = 0;
    for (const Symbol name : exponent_leaves_) widest = std::max(widest, definitions_[name].front().axes);
    for (const Symbol name : exponent_leaves_) {
      const std::vector<Definition>& all = definitions_[name];
      references_[name] =
          all.front().axes < widest && std::all_of(
                                           all.begin(), all.end(),
                                           [&](const Definition& d) {
                                             std::set<Symbol> leaves;
                                             return d.value && !d.load && !has_reduce(d.value) && homogeneous(d.value, memory_, leaves);
                                           });
    }
    if (!has_exact_scores()) scale_ = common_scale();
    if (subtracts_first()) references_.clear();
  }

  [[nodiscard]] bool is_reference(Symbol name) const {
    const auto found = references_.find(name);
    return found != references_.end() && found->second;
  }

  /// C where every score of the class is made as A * C, else 1.
  double common_scale() {
    std::optional<double> scale;
    for (const Symbol name : class_) {
      if (is_reference(name)) continue;
      for (const Definition& d : definitions_[name]) {
        std::set<Symbol> leaves;
        if (d.value && !d.load && homogeneous(d.value, memory_, leaves)) continue;
        const auto product = d.value && !d.load ? scaled(d.value) : std::nullopt;
        if (!product || (scale && *scale != product->second)) return 1;
        scale = product->second;
      }
    }
    return scale.value_or(1);
  }

  // Stored value = true value * unit: log2(e) for references, 1 / scale for the rest of the class.
  /// From one unit to another, as the constant that stands between them.
  [[nodiscard]] double between(Symbol from, double to_log2) const {
    if (is_reference(from)) return to_log2 == log2_e ? 1 : to_log2 / log2_e;
    return class_.count(from) == 0 ? to_log2 : scale_ * to_log2;
  }

  void rewrite(kernel::Block& block) {
    for (kernel::Statement& s : block) {
      if (auto* loop = std::get_if<kernel::For>(&s.op)) rewrite(loop->body);
      if (auto* when = std::get_if<kernel::When>(&s.op)) rewrite(when->body);
      auto* v = std::get_if<kernel::Value>(&s.op);
      if (v == nullptr) continue;
      const bool whole = v->values.size() == v->targets.size();
      for (std::size_t k = 0; k < v->values.size(); ++k)
        v->values[k] = whole ? definition(v->targets[k].name, v->values[k]) : plain(v->values[k]);
    }
  }

  Expr definition(Symbol target, Expr value) {
    if (class_.count(target) == 0 || memory_.count(target) > 0) return plain(value);
    std::set<Symbol> leaves;
    if (value.is(Op::read) && memory_.count(value.name()) > 0) return value;
    if (homogeneous(value, memory_, leaves)) return in_unit(value, target);
    if (is_reference(target)) return times(plain(value), log2_e);
    if (scale_ == 1) return plain(value);
    return plain(scaled(value)->first);
  }

  /// A homogeneous expression in the target's unit: leaves of another unit are converted.
  Expr in_unit(Expr e, Symbol target) {
    const double wanted = is_reference(target) ? log2_e : 1 / scale_;
    return map_leaves(e, [&](Expr leaf) {
      if (is_reference(leaf.name()) == is_reference(target)) return leaf;
      return times(leaf, is_reference(target) ? between(leaf.name(), log2_e) : wanted / log2_e);
    });
  }

  /// Everything else sees true values; exponentials are rewritten.
  Expr plain(Expr e) {
    if (!e) return e;  // an open range of a reduction
    if (e.is(Op::exp)) return unary(Op::exp2, exponent(e.arg(0)));
    if (e.is(Op::read)) {
      if (class_.count(e.name()) == 0) return e;
      if (is_reference(e.name())) return times(e, 1 / log2_e);
      return times(e, scale_);
    }
    if ((e.is(Op::eq) || e.is(Op::ne)) && is_unit_free(e.arg(1)) && e.arg(0).is(Op::read)) return e;
    if (e.args().empty() || e.is(Op::tuple)) return e;
    std::vector<Expr> args;
    for (const Expr arg : e.args()) args.push_back(plain(arg));
    return with_args(e, std::move(args));
  }

  Expr exponent(Expr argument) {
    std::set<Symbol> leaves;
    if (!homogeneous(argument, memory_, leaves)) {
      const Expr value = plain(argument);
      if (value.is(Op::add) || value.is(Op::sub)) return value * real_constant(log2_e);  // the digits of a difference stay
      return times(value, log2_e);
    }
    const bool wide = std::none_of(leaves.begin(), leaves.end(), [&](Symbol name) { return is_reference(name); });
    // (a - b) * c rather than a*c - b*c
    if (wide && leaves.size() > 1) return argument * real_constant(scale_ * log2_e);
    return map_leaves(argument, [&](Expr leaf) { return times(leaf, between(leaf.name(), log2_e)); });
  }
  Expr map_leaves(Expr e, const std::function<Expr(Expr)>& f) {
    if (e.is(Op::read)) return f(e);
    if (is_unit_free(e)) return e;
    std::vector<Expr> args;
    for (std::size_t i = 0; i < e.args().size(); ++i) {
      const bool value = e.is(Op::where) ? i > 0 : e.is(Op::reduce) ? i == 0 : true;
      args.push_back(value ? map_leaves(e.arg(i), f) : plain(e.arg(i)));  // plain: conditions, and ranges of a reduction
    }
    return with_args(e, std::move(args));
  }

  kernel::Kernel& kernel_;
  const Memory& memory_;
  Symbol main_;
  Definitions definitions_;
  std::vector<Expr> arguments_;
  std::set<Symbol> class_, exponent_leaves_;
  std::map<Symbol, bool> references_;
  double scale_ = 1;
};

Decision proposal(Symbol value, const kernel::Kernel& k) {
  Decision d;
  d.site = value.text() + "/exp2";
  d.kind = "rewrite";
  d.choice = "fold";
  d.reason = fmt::format("The machine's exponential is 2^x; log2(e) joins the scale, so the exponent of {} is one multiply-add ({}).",
                         value.text(), k.name.text());
  d.alternatives = {{"fold", std::nullopt, std::nullopt}, {"keep", std::nullopt, std::nullopt}};
  return d;
}

}  // namespace

Result<Ir> use_exp2(const Ir& ir, StepLog& log) {
  kernel::Module m = ir.module();
  const Memory memory = memory_of(m);
  Ir current = ir;
  std::set<std::string> asked;
  for (kernel::Kernel& k : m.kernels) {
    Rescaler rescaler(k, memory);
    const Symbol value = rescaler.main_value(kernel::infer_kinds(m, k), m.reducers);
    if (value.empty()) continue;
    Decision d = proposal(value, k);
    for (int i = 2; !asked.insert(d.site).second; ++i) d.site = fmt::format("{}.{}/exp2", value.text(), i);
    d = log.decide(std::move(d));
    StepLog::Note note;
    note.id = d.site;
    note.title = "Use exp2";
    note.rule = "exp(x) = exp2(x * log2(e))";
    note.says = fmt::format("exp stays as it is in {}.", value.text());
    if (d.choice == "fold") {
      rescaler.run();
      remove_dead_values(k, memory, note.node_map);
      const double c = rescaler.scale() * log2_e;
      note.says = rescaler.subtracts_first()
                      ? fmt::format("Every exponential of {} is an exp2 of the difference times log2(e): the scores keep their digits.",
                                    value.text())
                      : fmt::format(
                            "Every exponential of {} is an exp2; the scale and log2(e) are one constant, {}, so that a score is one "
                            "multiply-add. Not exact: at most one more rounding of the exponent.",
                            value.text(), print(real_constant(c)));
      current = make_ir(Level::tile, m);
    }
    note.decision = std::move(d);
    log.step(std::move(note), current);
  }
  return current;
}

}  // namespace fathom::passes
