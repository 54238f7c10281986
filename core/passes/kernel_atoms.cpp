// Contractions on the target's matrix atoms. The second operand is a panel [k,n], n along the vector; the first is read row by row. A load
// inside a loop fills a depth-1 channel from its own role (a slot filled by stores), one outside a buffer. An elementwise value may take
// over the accumulator's buffer when that is dead: the tile of scores becomes the tile of weights in place.
#include <fmt/format.h>

#include <algorithm>

#include "passes/kernel_place.hpp"
#include "passes/tile_contraction.hpp"
#include "passes/tile_walk.hpp"

namespace fathom::passes {
namespace {

using kernel::Access;
using kernel::Block;
using kernel::Statement;
using kernel::Value;

const Symbol channel_role = "all"_sym;

/// One product: acc[m,n] (=|+=) a[m,k] * b[k,n].
struct Product {
  Symbol m, n, k;
  Expr a, b;
};

/// Which operand is which: n is the accumulator's last axis.
std::optional<Product> product_of(const Contraction& c, const std::vector<Expr>& acc) {
  if (acc.size() != 2 || !acc[0].is(Op::index) || !acc[1].is(Op::index) || !plain_axes(c.left, 2) || !plain_axes(c.right, 2))
    return std::nullopt;
  const Symbol m = acc[0].name(), n = acc[1].name();
  for (const auto& [a, b] : {std::make_pair(c.left, c.right), std::make_pair(c.right, c.left)}) {
    if (other_axis(a, c.axis) == m && other_axis(b, c.axis) == n && a.name() != b.name()) return Product{m, n, c.axis, a, b};
  }
  return std::nullopt;
}

/// The kernel's own name of an atom, declared when it is first used.
Symbol atom_name(kernel::Kernel& k, Symbol atom, Names& names) {
  for (const kernel::AtomUse& use : k.atoms) {
    if (use.atom == atom) return use.name;
  }
  const Symbol name = names.fresh("fma");
  k.atoms.push_back({name, atom});
  return name;
}

kernel::Mma* find_product(Block& block, Symbol token) {
  for (Statement& s : block) {
    if (auto* mma = std::get_if<kernel::Mma>(&s.op); mma != nullptr && mma->token == token) return mma;
    auto* loop = std::get_if<kernel::For>(&s.op);
    auto* when = std::get_if<kernel::When>(&s.op);
    if (loop == nullptr && when == nullptr) continue;
    if (kernel::Mma* found = find_product(loop != nullptr ? loop->body : when->body, token)) return found;
  }
  return nullptr;
}

void collect_atoms(const Block& block, std::set<Symbol>& used) {
  for (const Statement& s : block) {
    if (const auto* mma = std::get_if<kernel::Mma>(&s.op)) used.insert(mma->atom);
    if (const auto* loop = std::get_if<kernel::For>(&s.op)) collect_atoms(loop->body, used);
    if (const auto* when = std::get_if<kernel::When>(&s.op)) collect_atoms(when->body, used);
  }
}

class AtomPlacer {
 public:
  AtomPlacer(kernel::Kernel& k, const Memory& memory, const kernel::Kinds& kinds, const Target& target, Names& names)
      : kernel_(k), memory_(memory), kinds_(kinds), target_(target), names_(names) {}

  AtomSummary run() {
    for (kernel::Role& role : kernel_.roles) {
      role_ = &role;
      reuse_accumulators(role.body);
      block(role.body);
      panels(role.body, false);
    }
    for (const auto& [name, axes] : buffers_) declare_buffer(name, axes);
    return std::move(summary_);
  }

 private:
  /// f32 atoms only: operands are widened when they are packed.
  AtomChoice atoms_for(const Product& p, Symbol result) {
    const std::int64_t m = extent_of(kernel_, p.m), n = extent_of(kernel_, p.n), k = extent_of(kernel_, p.k);
    AtomChoice choice{Symbol(), result, m, n, k, {}};
    for (const MatrixAtom& atom : target_.atoms) {
      const bool divides = m % atom.m == 0 && n % atom.n == 0;
      if (atom.a != DType::f32 || atom.b != DType::f32 || !(divides || atom.ragged) || k % atom.k != 0 || m == 0 || n == 0 || k == 0)
        continue;
      choice.candidates.emplace_back(atom.name, price(atom, m, n, k));
    }
    std::stable_sort(choice.candidates.begin(), choice.candidates.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (choice.candidates.empty() && !target_.atoms.empty()) {
      const MatrixAtom& first = target_.atoms.front();
      summary_.refusals.push_back(
          {fmt::format("The product {} is {}x{} over {}; no atom of {} divides it (the first is {}, {}x{}).", result.text(), m, n, k,
                       target_.name.text(), first.name.text(), first.m, first.n),
           {result.text()},
           fmt::format("Take a tile of {} that {} divides and one of {} that {} divides.", p.m.text(), first.m, p.n.text(), first.n)});
    }
    return choice;
  }

  /// Multiplications of one tile, those of ragged edges and of filling the accumulators counted as whole ones.
  static double price(const MatrixAtom& atom, std::int64_t m, std::int64_t n, std::int64_t k) {
    const std::int64_t blocks = (m + atom.m - 1) / atom.m * ((n + atom.n - 1) / atom.n);
    return static_cast<double>(blocks * atom.m * atom.n) * (static_cast<double>(k) + atom.fill);
  }

  void block(Block& statements) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (auto* loop = std::get_if<kernel::For>(&statements[i].op)) {
        block(loop->body);
      } else if (auto* v = std::get_if<Value>(&statements[i].op); v != nullptr && v->targets.size() == 1 && v->values.size() == 1) {
        Block instead = on_atom(*v, statements[i].origins);
        if (instead.empty()) continue;
        const auto at = statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(i));
        statements.insert(at, std::make_move_iterator(instead.begin()), std::make_move_iterator(instead.end()));
        i += instead.size() - 1;
      }
    }
  }

  /// The statements that replace the value, or none where it stays.
  Block on_atom(const Value& v, const Origins& origins) {
    Expr node;
    std::optional<Contraction> found;
    int reduces = 0;
    visit(v.values[0], [&](Expr e) {
      if (!e.is(Op::reduce)) return;
      ++reduces;
      if (const std::optional<Contraction> c = contraction(e)) {
        found = c;
        node = e;
      }
    });
    if (!found || reduces != 1) return {};
    const bool stored = memory_.count(v.targets[0].name) > 0;
    const std::vector<Expr> axes = stored ? accumulator_axes(*found) : v.targets[0].subscripts;
    const std::optional<Product> p = product_of(*found, axes);
    if (!p || !is_held(*p, v)) return {};
    AtomChoice choice = atoms_for(*p, v.targets[0].name);
    if (choice.candidates.empty()) return {};
    ++summary_.products;
    operand(p->a.name(), {p->m, p->k});
    operand(p->b.name(), {p->k, p->n});
    return replaced(v, node, *p, std::move(choice), axes, origins);
  }

  /// Do f32 operands and an f32 accumulator hold the values? An integer among reals is rounded to f32 by the product itself.
  bool is_held(const Product& p, const Value& v) {
    const Symbol result = v.targets[0].name;
    const auto of = [&](Expr e) { return kernel::settled(kernel::kind_of(e, kinds_, {})); };
    kernel::Kind kind = of(binary(Op::mul, p.a, p.b));
    if (kind == kernel::Kind::f32 && memory_.count(result) == 0 && of(v.values[0]) == kernel::Kind::f64) kind = kernel::Kind::f64;
    const std::map<Symbol, int> counts = count_reads(role_->body);
    for (const Expr operand : {p.a, p.b}) {  // in a panel for f32 it would be rounded for its other readers too
      if (of(operand) == kernel::Kind::integer && counts.at(operand.name()) > 1) kind = kernel::Kind::integer;
    }
    if (kind == kernel::Kind::f32) return true;
    summary_.refusals.push_back({fmt::format("The product {} is computed in {}; the atoms of {} compute in f32.", result.text(),
                                             name(kernel::storage_of(kind)), target_.name.text()),
                                 {result.text()},
                                 "Where f32 is enough, write the cast f32(…) of an operand."});
    return false;
  }

  /// Axes of the product of a stored contraction: the operands' own, rows first. The one that the store has last is the column.
  std::vector<Expr> accumulator_axes(const Contraction& c) const {
    if (!plain_axes(c.left, 2) || !plain_axes(c.right, 2)) return {};
    return {index(other_axis(c.left, c.axis)), index(other_axis(c.right, c.axis))};
  }

  Block replaced(const Value& v, Expr node, const Product& p, AtomChoice choice, const std::vector<Expr>& axes, const Origins& origins) {
    Block out;
    const auto add = [&](auto op) { out.push_back(Statement{std::move(op), std::nullopt, origins}); };
    const Expr value = v.values[0];
    const Access& target = v.targets[0];
    const bool own =
        memory_.count(target.name) == 0 && (value == node || (value.is(Op::add) && (value.arg(0) == node || value.arg(1) == node)));
    const Access acc = own ? target : Access{names_.fresh(target.name.text() + ".product"), axes};
    const bool accumulates = own && value != node;
    if (accumulates) {
      const Expr base = value.arg(0) == node ? value.arg(1) : value.arg(0);
      if (base != read(acc.name, acc.subscripts)) add(Value{{acc}, {base}, Expr(), std::nullopt, {}});
    }
    const Symbol token = names_.fresh(acc.name.text() + ".token");
    const auto access = [](Expr e, Symbol first, Symbol second) { return Access{e.name(), {index(first), index(second)}}; };
    const Symbol atom = atom_name(kernel_, choice.candidates.front().first, names_);
    add(kernel::Mma{token, atom, acc, accumulates, access(p.a, p.m, p.k), access(p.b, p.k, p.n)});
    choice.token = token;
    summary_.choices.push_back(std::move(choice));
    add(kernel::Await{acc, token, false});
    if (!accumulates && !is_carried(acc.name)) buffers_[acc.name] = {p.m, p.n};
    if (!own) {
      Value rest = v;
      rest.values[0] = transform(value, [&](Expr e) { return e == node ? read(acc.name, acc.subscripts) : e; });
      add(std::move(rest));
    }
    return out;
  }

  [[nodiscard]] bool is_carried(Symbol name) const { return is_carried(role_->body, name); }
  static bool is_carried(const Block& statements, Symbol name) {
    for (const Statement& s : statements) {
      const auto* loop = std::get_if<kernel::For>(&s.op);
      if (loop == nullptr) continue;
      for (const kernel::Carry& c : loop->carry) {
        if (c.value.name == name) return true;
      }
      if (is_carried(loop->body, name)) return true;
    }
    return false;
  }

  /// The value lies in memory as [first, second]; a value that two products want differently keeps the first order.
  void operand(Symbol name, std::pair<Symbol, Symbol> axes) {
    if (!is_carried(name)) buffers_.emplace(name, axes);
  }

  /// x = f(acc) where acc is dead afterwards: x takes acc's place.
  void reuse_accumulators(Block& statements) {
    for (Statement& s : statements) {
      if (auto* loop = std::get_if<kernel::For>(&s.op)) reuse_accumulators(loop->body);
    }
    for (std::size_t i = 0; i < statements.size(); ++i) {
      const auto* v = std::get_if<Value>(&statements[i].op);
      if (v == nullptr || v->targets.size() != 1 || v->values.size() != 1 || v->otherwise || memory_.count(v->targets[0].name) > 0)
        continue;
      const Symbol to = v->targets[0].name;
      if (!feeds_product(statements, i, to)) continue;
      if (const std::optional<Symbol> from = dead_after(statements, i, *v)) {
        rename_value(statements, to, *from);
        take_over(summary_.came_from, *from, to);
        return reuse_accumulators(statements);
      }
    }
  }

  static bool feeds_product(const Block& statements, std::size_t from, Symbol name) {
    for (std::size_t i = from + 1; i < statements.size(); ++i) {
      const auto* v = std::get_if<Value>(&statements[i].op);
      if (v == nullptr) continue;
      for (const Expr value : v->values) {
        bool found = false;
        visit(value, [&](Expr e) {
          const std::optional<Contraction> c = contraction(e);
          found = found || (c && (c->left.name() == name || c->right.name() == name));
        });
        if (found) return true;
      }
    }
    return false;
  }

  /// A product of this block, elementwise at the same axes in `v`, that nothing reads later.
  std::optional<Symbol> dead_after(const Block& statements, std::size_t at, const Value& v) const {
    bool reduces = false;
    std::set<Symbol> read_here;
    visit(v.values[0], [&](Expr e) {
      reduces = reduces || e.is(Op::reduce);
      if (e.is(Op::read) && std::equal(e.args().begin(), e.args().end(), v.targets[0].subscripts.begin(), v.targets[0].subscripts.end()))
        read_here.insert(e.name());
    });
    if (reduces || kernel::settled(kernel::kind_of(v.values[0], kinds_, {})) != kernel::Kind::f32) return std::nullopt;
    const Block rest(statements.begin() + static_cast<std::ptrdiff_t>(at) + 1, statements.end());
    const std::map<Symbol, int> later = count_reads(rest);
    for (const Symbol name : read_here) {
      if (name == v.targets[0].name || later.count(name) > 0 || is_carried(name) || !is_product(statements, at, name)) continue;
      return name;
    }
    return std::nullopt;
  }

  static bool is_product(const Block& statements, std::size_t end, Symbol name) {
    for (std::size_t i = 0; i < end; ++i) {
      const auto* v = std::get_if<Value>(&statements[i].op);
      if (v != nullptr && v->targets[0].name == name && v->values.size() == 1 && contraction(v->values[0])) return true;
    }
    return false;
  }

  // ---- panels ----

  /// Loads that are operands: inside loops a channel of their own, filled by stores and released after the last reader.
  void panels(Block& statements, bool in_loop) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (auto* loop = std::get_if<kernel::For>(&statements[i].op)) {
        panels(loop->body, !loop->ranges.empty());
        continue;
      }
      if (auto* when = std::get_if<kernel::When>(&statements[i].op)) panels(when->body, in_loop);
      const auto* v = std::get_if<Value>(&statements[i].op);
      if (v == nullptr || v->targets.size() != 1 || v->values.size() != 1) continue;
      const Symbol name = v->targets[0].name;
      const auto placed = buffers_.find(name);
      if (placed == buffers_.end()) continue;
      const auto axes = placed->second;
      Value packed = *v;
      reorder(packed.targets[0], axes);
      const bool load = packed.values[0].is(Op::read) && memory_.count(packed.values[0].name()) > 0;
      if (load && memory_.at(packed.values[0].name()).dtype != DType::f32) packed.values[0] = cast(DType::f32, packed.values[0]);
      if (!load || !in_loop) {
        statements[i].op = std::move(packed);
        continue;
      }
      buffers_.erase(placed);
      i = channel(statements, i, std::move(packed), name, axes);
    }
    reorder_reads(statements);
  }

  std::size_t channel(Block& statements, std::size_t at, Value packed, Symbol name, const std::pair<Symbol, Symbol>& axes) {
    const Access panel{names_.fresh(name.text() + ".panel"), {}};
    const Symbol slot = names_.fresh(name.text() + ".fill");
    const std::int64_t rows = extent_of(kernel_, axes.first), columns = extent_of(kernel_, axes.second);
    kernel_.channels.push_back({panel.name, Symbol(), DType::f32, {number(rows), number(columns)}, number(1), channel_role, channel_role});
    summary_.panels.push_back(name.text());
    summary_.bytes += rows * columns * 4;
    ordered_[name] = axes;
    packed.targets[0].name = slot;
    const Origins origins = statements[at].origins;
    const auto make = [&](auto op) { return Statement{std::move(op), std::nullopt, origins}; };
    Block fill;
    fill.push_back(make(kernel::Acquire{slot, panel}));
    fill.push_back(make(std::move(packed)));
    fill.push_back(make(kernel::Publish{panel, {}}));
    fill.push_back(make(kernel::Receive{name, panel}));
    std::size_t last = at;
    for (std::size_t i = at + 1; i < statements.size(); ++i) {
      if (reads(statements[i], name)) last = i;
    }
    // an await ends the reads of its product
    if (last + 1 < statements.size() && std::holds_alternative<kernel::Mma>(statements[last].op)) ++last;
    statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(last) + 1, make(kernel::Release{panel, {}}));
    const auto place = statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(at));
    statements.insert(place, std::make_move_iterator(fill.begin()), std::make_move_iterator(fill.end()));
    return at + 3;
  }

  static bool reads(const Statement& s, Symbol name) {
    if (const auto* mma = std::get_if<kernel::Mma>(&s.op)) return mma->a.name == name || mma->b.name == name;
    return count_reads({s}).count(name) > 0;
  }

  void reorder(Access& access, const std::pair<Symbol, Symbol>& axes) {
    if (access.subscripts.size() == 2) access.subscripts = {index(axes.first), index(axes.second)};
    ordered_[access.name] = axes;
  }

  /// Every access names the axes in the order in which the value lies.
  void reorder_reads(Block& statements) {
    rewrite_expressions(statements, [&](Expr e) {
      return transform(e, [&](Expr node) {
        if (!node.is(Op::read) || !plain_axes(node, 2)) return node;
        const auto order = ordered_.find(node.name());
        if (order == ordered_.end() || node.arg(0) == index(order->second.first) || node.arg(1) != index(order->second.first)) return node;
        return read(node.name(), {node.arg(1), node.arg(0)});
      });
    });
  }

  void declare_buffer(Symbol name, const std::pair<Symbol, Symbol>& axes) {
    const std::int64_t rows = extent_of(kernel_, axes.first), columns = extent_of(kernel_, axes.second);
    kernel_.buffers.push_back({name, Symbol(), DType::f32, {number(rows), number(columns)}, "cache"_sym, {}});
    summary_.buffers.push_back(name.text());
    summary_.bytes += rows * columns * 4;
  }

  kernel::Kernel& kernel_;
  const Memory& memory_;
  const kernel::Kinds& kinds_;
  const Target& target_;
  Names& names_;
  kernel::Role* role_ = nullptr;
  AtomSummary summary_;
  std::map<Symbol, std::pair<Symbol, Symbol>> buffers_, ordered_;
};

}  // namespace

AtomSummary place_atoms(kernel::Kernel& k, const Memory& memory, const kernel::Kinds& kinds, const Target& target, Names& names) {
  return AtomPlacer(k, memory, kinds, target, names).run();
}

void choose_atom(kernel::Kernel& k, Symbol token, Symbol atom, Names& names) {
  std::set<Symbol> used;
  for (kernel::Role& role : k.roles) {
    if (kernel::Mma* mma = find_product(role.body, token)) mma->atom = atom_name(k, atom, names);
    collect_atoms(role.body, used);
  }
  std::erase_if(k.atoms, [&](const kernel::AtomUse& use) { return !used.contains(use.name); });
}

}  // namespace fathom::passes
