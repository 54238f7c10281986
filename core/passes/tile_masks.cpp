// Tails: what a tile reads and counts outside the extents. First fills and masks until every reduction sees its identity there, then the
// loop is divided, then selects that open trips do not need go into `when mixed`, then loads that may reach outside get their `else`.
#include "passes/tile_masks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/kernel_kinds.hpp"
#include "passes/tile_outside.hpp"
#include "passes/tile_walk.hpp"

namespace fathom::passes {
namespace {

using kernel::Block;
using kernel::For;
using kernel::Statement;
using kernel::TaggedRange;
using kernel::Value;
using kernel::When;

constexpr int max_rounds = 200;

/// A reduction over the axis whose value outside is not its identity.
struct Failure {
  int position = 0;  ///< of the statement, in order
  Value* statement = nullptr;
  Block* block = nullptr;
  Expr lifted, identity;
};

class Tail {
 public:
  Tail(For& loop, const LoopFact& fact, Facts outside, const Memory& memory, const std::vector<ReducerRef>& reducers, kernel::Kinds& kinds,
       std::map<Symbol, Expr>& fills)
      : loop_(loop),
        fact_(fact),
        values_(fact.axis, std::move(outside)),
        memory_(memory),
        reducers_(reducers),
        kinds_(kinds),
        fills_(fills) {}

  /// Fills and masks until no reduction fails; false if some still do. Each value that is folded needs few rounds.
  bool settle() {
    constexpr std::size_t rounds_a_value = 8;
    std::size_t folded = 1;
    for_each_value(loop_.body, [&](Value& v, Block&) {
      for (const Expr value : v.values)
        fathom::visit(value, [&](Expr node) { folded += node.is(Op::reduce) ? values_of(node).size() : 0; });
    });
    for (std::size_t round = 0; round < rounds_a_value * folded; ++round) {
      const std::optional<Failure> failure = first_failure();
      if (!failure) return true;
      if (!try_fill(*failure) && !try_mask(*failure) && !try_operands(*failure)) isolate(*failure);
    }
    return !first_failure();
  }
  [[nodiscard]] int masks() const { return static_cast<int>(masks_.size()); }

  /// Puts the masks into the definitions, as selects on the outside.
  void apply(Expr inside) {
    for_each_value(loop_.body, [&](Value& v, Block&) {
      if (v.targets.size() != 1) return;
      const auto mask = masks_.find(v.targets[0].name);
      if (mask == masks_.end() || reads(v.values[0], v.targets[0].name)) return;
      const Expr e = v.values[0];
      v.values[0] = e.is(Op::where) && e.arg(2) == mask->second ? where(binary(Op::logical_and, e.arg(0), inside), e.arg(1), e.arg(2))
                                                                : where(inside, e, mask->second);
    });
  }

 private:
  [[nodiscard]] static bool reads(Expr e, Symbol name) { return tensors_read(e).count(name) > 0; }
  [[nodiscard]] bool has_axis(const kernel::Access& target) const {
    return std::find(target.subscripts.begin(), target.subscripts.end(), index(fact_.axis)) != target.subscripts.end();
  }
  [[nodiscard]] bool is_load(const Value& v) const {
    return v.values.size() == 1 && v.values[0].is(Op::read) && memory_.count(v.values[0].name()) > 0;
  }

  /// Does every element outside the loop lie outside the memory that is read? Else the load brings a value of its own there, not a fill.
  [[nodiscard]] bool leaves_memory(Expr access) const {
    const MemoryShape& shape = memory_.at(access.name());
    for (std::size_t k = 0; k < access.args().size() && k < shape.box.size(); ++k) {
      if (never_negative(access.arg(k) - shape.box[k], values_.facts())) return true;
    }
    return false;
  }

  std::optional<Failure> first_failure() {
    std::optional<Failure> out;
    int position = 0;
    definitions_.clear();
    filled_.clear();
    for_each_value(loop_.body, [&](Value& v, Block& block) {
      ++position;
      if (!out) {
        for (const Expr value : v.values) check(value, v, block, position, out);
      }
      for (std::size_t k = 0; k < v.targets.size(); ++k) {
        const Symbol name = v.targets[k].name;
        if (memory_.count(name) > 0) continue;
        definitions_[name] = &v;
        values_.set(name, outside_of(v, k));
      }
    });
    return out;
  }

  Outside outside_of(const Value& v, std::size_t k) {
    const Symbol name = v.targets[k].name;
    if (const auto mask = masks_.find(name); mask != masks_.end()) return literal(mask->second);
    if (is_load(v)) {
      if (!has_axis(v.targets[0]) || !leaves_memory(v.values[0])) return Outside::any;
      const auto fill = fills_.find(name);
      if (fill == fills_.end()) return Outside::zero;
      filled_.insert(name);
      return literal(fill->second);
    }
    return k < v.values.size() ? values_.of(v.values[k]) : Outside::any;
  }

  void check(Expr value, Value& v, Block& block, int position, std::optional<Failure>& out) {
    fathom::visit(value, [&](Expr node) {
      if (out || !node.is(Op::reduce)) return;
      const std::vector<Bound> bounds = bounds_of(node);
      if (std::none_of(bounds.begin(), bounds.end(), [&](const Bound& b) { return b.index == fact_.axis; })) return;
      const ReducerRef reducer = reducer_named(reducers_, node.name());
      const std::vector<Expr> lifted = values_of(node);
      const std::vector<Expr> identities = identities_of(reducer, lifted, node.node().result == Symbol("states"));
      for (std::size_t k = 0; k < lifted.size() && !out; ++k) {
        const Expr identity = k < identities.size() ? identities[k] : number(0);
        if (values_.of(lifted[k]) == literal(identity) && literal(identity) != Outside::any && literal(identity) != Outside::finite)
          continue;
        if (lifted[k].is(Op::read) && masks_.count(lifted[k].name()) > 0 && masks_.at(lifted[k].name()) == identity) continue;
        if (lifted[k].is(Op::read) && filled_.count(lifted[k].name()) > 0 && fills_.at(lifted[k].name()) == identity) continue;
        out = Failure{position, &v, &block, lifted[k], identity};
      }
    });
  }

  /// As values of the kinds in which the reducer folds these.
  [[nodiscard]] std::vector<Expr> identities_of(const ReducerRef& reducer, const std::vector<Expr>& lifted, bool states) const {
    std::vector<Expr> out;
    if (!reducer) return out;
    std::vector<kernel::Kind> values;
    for (const Expr value : lifted) values.push_back(kernel::kind_of(value, kinds_, reducers_));
    const std::vector<kernel::Kind> kinds = kernel::component_kinds(*reducer, values, states, reducers_);
    for (std::size_t k = 0; k < kinds.size(); ++k) out.push_back(kernel::identity_in(kinds[k], reducer->state[k].identity));
    return out;
  }

  /// Does the change move the first failure further down, or remove it?
  bool helps(const Failure& before) {
    const std::optional<Failure> after = first_failure();
    return !after || after->position > before.position || (after->position == before.position && after->lifted != before.lifted);
  }

  bool try_fill(const Failure& f) {
    if (!f.lifted.is(Op::read)) return false;
    const auto found = definitions_.find(f.lifted.name());
    if (found == definitions_.end() || !is_load(*found->second) || !has_axis(found->second->targets[0])) return false;
    const Symbol name = f.lifted.name();
    if (fills_.count(name) > 0) return false;
    fills_[name] = f.identity;
    if (helps(f)) return true;
    fills_.erase(name);
    return false;
  }

  bool try_mask(const Failure& f) {
    if (!f.lifted.is(Op::read)) return false;
    const Symbol name = f.lifted.name();
    const auto found = definitions_.find(name);
    if (found == definitions_.end() || masks_.count(name) > 0 || found->second->targets.size() != 1) return false;
    if (is_load(*found->second) || !has_axis(found->second->targets[0]) || reads(found->second->values[0], name)) return false;
    masks_[name] = f.identity;
    if (helps(f)) return true;
    masks_.erase(name);
    return false;
  }

  /// A product of two tiles stays one: both operands are 0 outside, by fill or by mask, so that no NaN meets the 0 of the other.
  bool try_operands(const Failure& f) {
    if (!f.lifted.is(Op::mul) || constant_value(f.identity) != 0) return false;
    const std::map<Symbol, Expr> masks = masks_;
    for (const Expr operand : f.lifted.args()) {
      if (!operand.is(Op::read)) continue;
      const Symbol name = operand.name();
      const auto found = definitions_.find(name);
      if (found == definitions_.end() || !has_axis(found->second->targets[0]) || values_.of(operand) == Outside::zero) continue;
      if (is_load(*found->second) || found->second->targets.size() != 1 || reads(found->second->values[0], name)) continue;
      masks_.emplace(name, number(0));
    }
    if (masks_.size() != masks.size() && helps(f)) return true;
    masks_ = masks;
    return false;
  }

  /// The lifted value becomes a tile of its own, and that tile is masked.
  void isolate(const Failure& f) {
    std::string base = f.statement->targets[0].name.text();
    while (!base.empty() && base.back() == '\'') base.pop_back();  // a prime ends a name
    Symbol name(base + ".in");
    for (int i = 2; definitions_.count(name) > 0 || masks_.count(name) > 0; ++i) name = Symbol(fmt::format("{}.in.{}", base, i));
    Value fresh;
    kernel::Access target{name, {}};
    std::vector<Symbol> axes = axes_in_order(f.lifted);
    if (std::find(axes.begin(), axes.end(), fact_.axis) == axes.end()) axes.push_back(fact_.axis);
    for (const Symbol axis : axes) target.subscripts.push_back(index(axis));
    fresh.targets.push_back(target);
    fresh.values.push_back(f.lifted);
    kinds_[name] = kernel::kind_of(f.lifted, kinds_, reducers_);
    const Expr instead = read(name, target.subscripts);
    for (Expr& value : f.statement->values) {
      value = transform(value, [&](Expr node) {
        if (!node.is(Op::reduce)) return node;
        const std::vector<Bound> bounds = bounds_of(node);
        if (std::none_of(bounds.begin(), bounds.end(), [&](const Bound& b) { return b.index == fact_.axis; })) return node;
        std::vector<Expr> lifted = values_of(node);
        const ReducerRef reducer = reducer_named(reducers_, node.name());
        const std::vector<Expr> identities = identities_of(reducer, lifted, node.node().result == Symbol("states"));
        // Components that fold one value may have different identities: each is masked by its own.
        for (std::size_t k = 0; k < lifted.size(); ++k)
          if (lifted[k] == f.lifted && (k < identities.size() ? identities[k] : number(0)) == f.identity) lifted[k] = instead;
        return reduce(node.name(), node.node().result, bounds, lifted);
      });
    }
    masks_[name] = f.identity;
    insert_before(*f.block, f.statement, Statement{std::move(fresh), std::nullopt, {}});
  }

  For& loop_;
  const LoopFact& fact_;
  OutsideValues values_;
  const Memory& memory_;
  const std::vector<ReducerRef>& reducers_;
  kernel::Kinds& kinds_;
  std::map<Symbol, Expr>& fills_;
  std::map<Symbol, Expr> masks_;
  std::set<Symbol> filled_;  ///< loads that bring their fill outside
  std::map<Symbol, Value*> definitions_;
};

class Masker {
 public:
  Masker(BuiltKernel& built, const Memory& memory, const std::vector<ReducerRef>& reducers, kernel::Kinds& kinds)
      : built_(built), memory_(memory), reducers_(reducers), kinds_(kinds) {}

  MaskSummary run() {
    for (kernel::Role& role : built_.kernel.roles) {
      loops(role.body, built_.meant, built_.real);
      fill_loads(role.body, {built_.real});
    }
    return summary_;
  }

 private:
  void loops(Block& block, const Facts& meant, const Facts& real) {
    for (Statement& s : block) {
      auto* loop = std::get_if<For>(&s.op);
      if (loop == nullptr) continue;
      decide_ends(*loop, real);
      const auto fact = built_.loops.find(loop->variable);
      if (fact == built_.loops.end()) {
        if (loop->ranges.empty()) whole_axes(*loop, meant);
        loops(loop->body, meant, real);
        continue;
      }
      Facts meant_here = meant, real_here = real;
      if (!fact->second.axis.empty()) {
        meant_here.elements[index(fact->second.axis)] = {fact->second.lo, fact->second.hi};
        meant_here.bases[index(fact->second.axis)] = fact->second.base;
        tail(*loop, fact->second, meant_here, real_here);
        decide_ends(*loop, real);
      }
      specialise(*loop, fact->second, meant_here);
      const Span whole{number(0), whole_range(*loop)};
      meant_here.trips[symbol(loop->variable)] = whole;
      real_here.trips[symbol(loop->variable)] = whole;
      loops(loop->body, meant_here, real_here);
    }
  }

  static void decide_ends(For& loop, const Facts& facts) {
    for (TaggedRange& range : loop.ranges) {
      range.lo = simplify_integer(with_ends_decided(range.lo, facts));
      range.hi = simplify_integer(with_ends_decided(range.hi, facts));
    }
  }

  static Expr whole_range(const For& loop) {
    Expr hi = loop.ranges.front().hi;
    for (const TaggedRange& part : loop.ranges) {
      if (part.hi != hi) hi = binary(Op::max, hi, part.hi);
    }
    return hi;
  }

  [[nodiscard]] static Facts with_range(Facts facts, const For& loop, const TaggedRange& range) {
    facts.trips[symbol(loop.variable)] = {range.lo, range.hi};
    return facts;
  }

  void tail(For& loop, const LoopFact& fact, const Facts& meant, const Facts& real) {
    const bool possible = std::any_of(loop.ranges.begin(), loop.ranges.end(), [&](const TaggedRange& range) {
      return !never_negative(fact.hi - (fact.base + fact.tile), with_range(real, loop, range));
    });
    if (!possible) return;
    Facts outside = meant;
    outside.lets.erase(fact.base);
    outside.elements[index(fact.axis)] = {fact.hi, fact.hi + fact.tile};
    Tail masks(loop, fact, outside, memory_, reducers_, kinds_, fills_);
    summary_.settled = masks.settle() && summary_.settled;
    if (masks.masks() == 0) return;
    summary_.masks += masks.masks();
    masks.apply(binary(Op::lt, simplify_integer(fact.base + index(fact.axis)), fact.hi));
    divide(loop, fact, real);
  }

  /// Axes without a loop that are longer than their index, in the loop over work items.
  void whole_axes(For& items, const Facts& meant) {
    for (const LoopFact& fact : built_.whole) {
      Facts outside = meant;
      const Expr extent = simplify_integer(fact.hi - fact.lo);
      outside.spans[index(fact.axis)] = {extent, fact.tile};
      Tail masks(items, fact, outside, memory_, reducers_, kinds_, fills_);
      summary_.settled = masks.settle() && summary_.settled;
      summary_.masks += masks.masks();
      masks.apply(binary(Op::lt, index(fact.axis), extent));
    }
  }

  /// Whole tiles first, then the one that reaches outside.
  void divide(For& loop, const LoopFact& fact, const Facts& real) {
    if (loop.ranges.size() != 1 || loop.ranges[0].tag == fact.mixed || loop.ranges[0].tag == fact.open) return;
    Expr whole = simplify_integer(binary(Op::floordiv, fact.hi - fact.lo, fact.tile));
    if (!never_negative(fact.hi - fact.lo, real)) whole = binary(Op::max, number(0), whole);
    if (constant_integer(whole) == 0) return;
    const Expr first = loop.ranges[0].lo, end = loop.ranges[0].hi;
    if (constant_integer(first) == 0) {
      loop.ranges = {{fact.open, first, whole}, {fact.mixed, whole, end}};
    } else {  // a part of the trips
      loop.ranges = {{fact.open, first, binary(Op::min, whole, end)}, {fact.mixed, binary(Op::max, whole, first), end}};
    }
    ++summary_.divided;
  }

  void specialise(For& loop, const LoopFact& fact, const Facts& meant) {
    std::vector<Facts> open;
    bool only_mixed = true;
    for (const TaggedRange& range : loop.ranges) {
      if (range.tag == fact.open) open.push_back(with_range(meant, loop, range));
      if (range.tag != fact.open && range.tag != fact.mixed) only_mixed = false;
    }
    if (open.empty() || open.size() == loop.ranges.size()) return;
    const Expr otherwise = only_mixed ? symbol(fact.mixed) : unary(Op::logical_not, symbol(fact.open));
    specialise_block(loop.body, open, otherwise);
  }

  void specialise_block(Block& block, const std::vector<Facts>& open, Expr otherwise) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (auto* inner = std::get_if<For>(&block[i].op)) {
        specialise_block(inner->body, open, otherwise);
        continue;
      }
      auto* v = std::get_if<Value>(&block[i].op);
      if (v == nullptr || v->targets.size() != 1 || memory_.count(v->targets[0].name) > 0) continue;
      const Expr full = v->values[0];
      if (tensors_read(full).count(v->targets[0].name) > 0) continue;
      const Expr plain = under(full, open);
      if (plain == full) continue;
      ++summary_.mixed_only;
      Value masked = *v;
      const bool outermost = full.is(Op::where) && plain == full.arg(1);
      if (outermost) masked.values[0] = where(full.arg(0), read(v->targets[0].name, v->targets[0].subscripts), full.arg(2));
      v->values[0] = plain;
      When when{otherwise, {Statement{std::move(masked), std::nullopt, block[i].origins}}};
      block.insert(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, Statement{std::move(when), std::nullopt, block[i].origins});
      ++i;
    }
  }

  /// The expression where the selects that hold in every open trip are decided.
  static Expr under(Expr e, const std::vector<Facts>& open) {
    return transform(e, [&](Expr node) {
      if (!node.is(Op::where)) return node;
      const auto in_all = [&](auto&& test) { return std::all_of(open.begin(), open.end(), test); };
      if (in_all([&](const Facts& f) { return always_true(node.arg(0), f); })) return node.arg(1);
      if (in_all([&](const Facts& f) { return always_false(node.arg(0), f); })) return node.arg(2);
      return node;
    });
  }

  void fill_loads(Block& block, const std::vector<Facts>& facts) {
    for (Statement& s : block) {
      if (auto* loop = std::get_if<For>(&s.op)) {
        std::vector<Facts> inside;
        for (const Facts& f : facts) {
          if (loop->ranges.empty()) inside.push_back(f);
          for (const TaggedRange& range : loop->ranges) inside.push_back(with_range(f, *loop, range));
        }
        if (inside.size() > 64) inside.assign(1, built_.real);
        fill_loads(loop->body, inside);
      } else if (auto* when = std::get_if<When>(&s.op)) {
        fill_loads(when->body, facts);
      } else if (auto* v = std::get_if<Value>(&s.op)) {
        fill(*v, facts);
      }
    }
  }

  void fill(Value& v, const std::vector<Facts>& facts) {
    for (const Expr value : v.values) {
      std::vector<Facts> here = facts;
      fathom::visit(value, [&](Expr node) {
        if (!node.is(Op::reduce)) return;
        for (const Bound& b : bounds_of(node)) {
          for (Facts& f : here) {
            if (b.lo) f.spans[index(b.index)] = {b.lo, b.hi};
          }
        }
      });
      bool inside = true;
      DType dtype = DType::f32;
      fathom::visit(value, [&](Expr node) {
        const auto shape = node.is(Op::read) ? memory_.find(node.name()) : memory_.end();
        if (shape == memory_.end()) return;
        dtype = shape->second.dtype;
        inside = inside && std::all_of(here.begin(), here.end(), [&](const Facts& f) { return in_range(node, shape->second, f); });
      });
      if (inside) continue;
      const auto chosen = v.targets.empty() ? fills_.end() : fills_.find(v.targets[0].name);
      v.otherwise = chosen != fills_.end() ? chosen->second : dtype == DType::boolean ? boolean(false) : number(0);
      ++summary_.fills;
    }
  }

  static bool in_range(Expr access, const MemoryShape& shape, const Facts& facts) {
    for (std::size_t k = 0; k < access.args().size() && k < shape.box.size(); ++k) {
      if (!never_negative(access.arg(k), facts) || !never_negative(shape.box[k] - number(1) - access.arg(k), facts)) return false;
    }
    return true;
  }

  BuiltKernel& built_;
  const Memory& memory_;
  const std::vector<ReducerRef>& reducers_;
  kernel::Kinds& kinds_;
  std::map<Symbol, Expr> fills_;
  MaskSummary summary_;
};

}  // namespace

MaskSummary mask_tails(BuiltKernel& built, const kernel::Module& module) {
  const Memory memory = memory_of(module);
  kernel::Kinds kinds = kernel::infer_kinds(module, built.kernel);
  return Masker(built, memory, module.reducers, kinds).run();
}

Memory memory_of(const kernel::Module& m) {
  Memory out;
  for (const math::Parameter& p : m.params) {
    if (!p.extents.empty()) out[p.name] = {p.extents, p.dtype};
  }
  for (const math::Parameter& p : m.results) out[p.name] = {p.extents, p.dtype};
  for (const kernel::Workspace& w : m.workspaces) out[w.name] = {w.box, w.dtype};
  return out;
}

void remove_dead_values(kernel::Kernel& k, const Memory& memory, CameFrom& came_from) {
  for (kernel::Role& role : k.roles) {
    bool changed = true;
    for (int round = 0; changed && round < max_rounds; ++round) {
      const std::map<Symbol, int> counts = count_reads(role.body);
      changed = remove_values(role.body, [&](const Value& v) {
        return std::none_of(v.targets.begin(), v.targets.end(),
                            [&](const kernel::Access& t) { return memory.count(t.name) > 0 || counts.count(t.name) > 0; });
      });
      changed = merge_copies(role.body, counts, memory, came_from) || changed;
    }
  }
}

}  // namespace fathom::passes
