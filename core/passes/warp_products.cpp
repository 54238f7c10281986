#include "passes/warp_products.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "passes/tile_contraction.hpp"
#include "passes/tile_walk.hpp"

namespace fathom::passes {
namespace {

using kernel::Access;
using kernel::Block;
using kernel::Statement;
using kernel::Value;

const Symbol own_role = "all"_sym;
constexpr std::int64_t bytes_of_a_chunk = 16;  // that an asynchronous copy moves

/// acc[m,n] (=|+=) a[m,k] * b[k,n] on an atom.
struct WarpProduct {
  Symbol m, n, k;
  Expr a, b;
  const MatrixAtom* atom = nullptr;
  Symbol use;  ///< the kernel's name of the atom
};

class WarpPlacer {
 public:
  WarpPlacer(kernel::Kernel& k, const Memory& memory, const kernel::Kinds& kinds, const Target& target, Names& names, AtomWidth width)
      : kernel_(k), memory_(memory), kinds_(kinds), target_(target), names_(names), width_(width) {}

  Result<WarpProducts> run() {
    for (kernel::Role& role : kernel_.roles) {
      reads_ = count_reads(role.body);
      collect_loops(role.body, false);
      collect(role.body);
      if (refusal_) return tl::unexpected(*refusal_);
      rewrite(role.body);
    }
    return summary_;
  }

 private:
  // ---- what there is ----

  void collect(const Block& block) {
    for_each_value(block, [&](const Value& v) {
      if (v.values.size() == 1) definitions_.insert_or_assign(v.targets[0].name, v.values[0]);
    });
    for_each_value(block, [&](const Value& v) {
      for (const Expr value : v.values) {
        visit(value, [&](Expr node) {
          if (const auto c = contraction(node)) product(v, node, *c);
        });
      }
    });
  }

  void product(const Value& v, Expr node, const Contraction& c) {
    if (refusal_) return;
    const std::string& result = v.targets[0].name.text();
    const auto refuse_it = [&](const std::string& why, const std::string& hint) {
      refusal_ = Refusal{"The product " + result + " " + why, {result}, hint};
    };
    if (!plain_axes(c.left, 2) || !plain_axes(c.right, 2) || v.targets.size() != 1)
      return refuse_it("is no product of two matrices.", "The Tile level and its costs are complete.");
    const std::vector<Expr>& target = v.targets[0].subscripts;
    WarpProduct p;
    for (const auto& [a, b] : {std::make_pair(c.left, c.right), std::make_pair(c.right, c.left)}) {
      const Symbol m = other_axis(a, c.axis), n = other_axis(b, c.axis);
      const auto place = [&](Symbol axis) {  // the one that the result has first is the row
        for (std::size_t i = 0; i < target.size(); ++i)
          if (contains(target[i], index(axis))) return i;
        return target.size();
      };
      if (m != n && place(m) < place(n)) p = {m, n, c.axis, a, b, nullptr, Symbol()};
    }
    if (p.m.empty()) return refuse_it("has no axis of rows and one of columns.", "The Tile level and its costs are complete.");
    const kernel::Kind kind = kernel::settled(kernel::kind_of(binary(Op::mul, p.a, p.b), kinds_, {}));
    if (kind != kernel::Kind::f32)
      return refuse_it(
          fmt::format("is computed in {}; the atoms of {} compute in f32.", name(kernel::storage_of(kind)), target_.name.text()),
          "Where f32 is enough, write the cast f32(…) of an operand.");
    const DType a = operand_dtype(p.a.name()), b = operand_dtype(p.b.name());
    const std::int64_t m = extent_of(kernel_, p.m), n = extent_of(kernel_, p.n), k = extent_of(kernel_, p.k);
    for (const MatrixAtom& atom : target_.atoms) {
      const bool fits = atom.asynchronous == (width_ == AtomWidth::warpgroup) && atom.a == a && atom.b == b && m % atom.m == 0 &&
                        n % atom.n == 0 && k % atom.k == 0 && (!atom.asynchronous || lies_right(atom, p));
      if (fits && (p.atom == nullptr || atom.n > p.atom->n) && (p.atom == nullptr || atom.asynchronous)) p.atom = &atom;
    }
    if (p.atom == nullptr) {
      return refuse_it(
          fmt::format("is {}x{} over {} of {} and {}; no atom of {} takes that.", m, n, k, name(a), name(b), target_.name.text()),
          which_have_one());
    }
    if (!is_load(p.b.name()))
      return refuse_it("has a right operand that is computed, which no ring brings to shared memory yet.",
                       "The Tile level and its costs are complete.");
    p.use = use_of(*p.atom, v.targets[0].name);
    products_[node] = p;
    if (p.atom->a_home == Home::registers) {
      as_a_[p.a.name()] = p.use;
    } else {
      as_b_.insert(p.a.name());
    }
    as_b_.insert(p.b.name());
    ++uses_[p.a.name()];
    ++uses_[p.b.name()];
    summary_.in_loops += loaded_in_loops_.count(v.targets[0].name) > 0 ? 1 : 0;
    summary_.results.push_back(result);
    summary_.atoms.push_back(p.atom->name.text());
    summary_.rows.insert(p.m);
    summary_.columns.insert(p.n);
    summary_.atom_rows = std::max<std::int64_t>(summary_.atom_rows, p.atom->m);
  }

  /// What the atoms of a warp take.
  std::string which_have_one() const {
    std::string types;
    int m = 1, n = 1, k = 1;
    for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
      for (const MatrixAtom& atom : target_.atoms) {
        if (atom.asynchronous || atom.a != type || atom.b != type) continue;
        types += (types.empty() ? "" : " or ") + std::string(name(type));
        m = std::max(m, atom.m);
        n = std::max(n, atom.n);
        k = std::max(k, atom.k);
        break;
      }
    }
    return fmt::format("Operands of one type ({}) and tiles that {} rows, {} columns and {} steps divide have one.", types, m, n, k);
  }

  /// An asynchronous atom reads B as its slot has it, and A too, where A is loaded anew in every trip; else A stays in registers.
  bool lies_right(const MatrixAtom& atom, const WarpProduct& p) const {
    const auto last_axis = [&](Symbol tile) {
      const Expr load = definitions_.at(tile);
      Symbol last;
      for (const Expr subscript : load.args())
        for (const Symbol axis : free_indices(subscript)) last = axis;
      return last;
    };
    if (!is_load(p.b.name()) || atom.b_rows_are_k != (last_axis(p.b.name()) != p.k)) return false;
    const bool from_slot = is_load(p.a.name()) && loaded_in_loops_.count(p.a.name()) > 0 && last_axis(p.a.name()) == p.k;
    return (atom.a_home == Home::shared) == from_slot;
  }

  void collect_loops(const Block& block, bool in_loop) {
    for (const Statement& s : block) {
      if (const auto* v = std::get_if<Value>(&s.op); v != nullptr && in_loop) loaded_in_loops_.insert(v->targets[0].name);
      if (const auto* f = std::get_if<kernel::For>(&s.op)) collect_loops(f->body, in_loop || !f->ranges.empty());
      if (const auto* w = std::get_if<kernel::When>(&s.op)) collect_loops(w->body, in_loop);
    }
  }

  bool is_load(Symbol tile) const {
    const auto at = definitions_.find(tile);
    return at != definitions_.end() && at->second.is(Op::read) && memory_.count(at->second.name()) > 0;
  }
  /// The 16-bit type that the tile's elements have as they lie in memory or by their last rounding; f32 where there is none.
  DType operand_dtype(Symbol tile) const {
    const auto at = definitions_.find(tile);
    if (at == definitions_.end()) return DType::f32;
    const Expr value = at->second;
    if (is_load(tile)) return memory_.at(value.name()).dtype;
    return value.is(Op::cast) && value.node().dtype != DType::real ? value.node().dtype : DType::f32;
  }
  /// A name for each product: `as c.mma.a` says whose operand it is.
  Symbol use_of(const MatrixAtom& atom, Symbol result) {
    const Symbol name = names_.fresh(result.text() + ".mma");
    kernel_.atoms.push_back({name, atom.name});
    return name;
  }

  // ---- how it is done ----

  void rewrite(Block& block) {
    Block made;
    const auto add = [&](auto op, const Origins& origins) { made.push_back(Statement{std::move(op), std::nullopt, origins}); };
    for (Statement& s : block) {
      if (auto* loop = std::get_if<kernel::For>(&s.op)) rewrite(loop->body);
      if (auto* when = std::get_if<kernel::When>(&s.op)) rewrite(when->body);
      auto* v = std::get_if<Value>(&s.op);
      if (v == nullptr || v->targets.size() != 1 || v->values.size() != 1) {
        made.push_back(std::move(s));
        continue;
      }
      const Symbol name = v->targets[0].name;
      const bool a = as_a_.count(name) > 0, b = as_b_.count(name) > 0;
      if ((a || b) && is_load(name)) {
        if (others_read(name)) made.push_back(s);
        ring(*v, a, b, [&](auto op) { add(std::move(op), s.origins); });
      } else if (a) {
        v->layout = kernel::OperandLayout{as_a_.at(name), kernel::OperandRole::a};
        made.push_back(std::move(s));
      } else {
        replace_products(std::move(s), made);
      }
    }
    block = std::move(made);
  }

  /// Does anything but products read the tile?
  bool others_read(Symbol tile) const { return reads_.at(tile) > uses_.at(tile); }

  /// Axes in the order in which memory has them: neighbours stay neighbours.
  static std::vector<Expr> memory_order(const Value& load) {
    std::vector<Expr> axes;
    for (const Expr subscript : load.values[0].args()) {
      for (const Expr axis : load.targets[0].subscripts)
        if (contains(subscript, axis)) axes.push_back(axis);
    }
    return axes;
  }

  /// Rows in memory begin at multiples of what a copy moves at once; where that is known at launch only, the launch contract says so.
  bool has_whole_chunks(Symbol tensor) const {
    const MemoryShape& shape = memory_.at(tensor);
    const std::optional<std::int64_t> row = constant_integer(shape.box.back());
    return !row || *row * size_in_bytes(shape.dtype) % bytes_of_a_chunk == 0;
  }

  template <class Add>
  void ring(const Value& load, bool as_a, bool as_b, const Add& add) {
    const Symbol tile = load.targets[0].name;
    const std::vector<Expr> axes = memory_order(load);
    const DType dtype = memory_.at(load.values[0].name()).dtype;
    const Access channel{names_.fresh(tile.text() + ".ring"), {}};
    const Symbol fill = names_.fresh(tile.text() + ".fill"), slot = names_.fresh(tile.text() + ".slot"),
                 token = names_.fresh(tile.text() + ".copy");
    std::vector<Expr> box;
    for (const Expr axis : axes) box.push_back(number(extent_of(kernel_, axis.name())));
    kernel_.channels.push_back({channel.name, Symbol(), dtype, box, number(1), own_role, own_role});
    summary_.rings.push_back(tile.text());
    add(kernel::Acquire{fill, channel});
    if (has_whole_chunks(load.values[0].name())) {
      add(kernel::Copy{token, {fill, axes}, load.values[0], load.otherwise, {}});
      add(kernel::Publish{channel, {{token, false}}});
    } else {
      summary_.stored.push_back(tile.text());
      add(Value{{{fill, axes}}, {load.values[0]}, load.otherwise, std::nullopt, {}});
      add(kernel::Publish{channel, {}});
    }
    add(kernel::Receive{slot, channel});
    if (as_a) {
      Value operand;
      const Symbol name = as_b || others_read(tile) ? names_.fresh(tile.text() + ".a") : tile;
      operand.targets = {{name, load.targets[0].subscripts}};
      operand.values = {read(slot, axes)};
      operand.layout = kernel::OperandLayout{as_a_.at(tile), kernel::OperandRole::a};
      add(operand);
      a_names_[tile] = name;
    }
    if (as_b) {
      slots_[tile] = {slot, axes};
      channels_[tile] = channel;
    } else {
      add(kernel::Release{channel, {}});
    }
  }

  void replace_products(Statement s, Block& made) {
    Value& v = std::get<Value>(s.op);
    const Origins origins = s.origins;
    const auto add = [&](auto op) { made.push_back(Statement{std::move(op), std::nullopt, origins}); };
    std::vector<Symbol> read_here;
    Expr value = v.values[0];
    std::vector<Expr> nodes;
    visit(value, [&](Expr e) {
      if (products_.count(e) > 0) nodes.push_back(e);
    });
    bool whole = false;
    for (const Expr node : nodes) {
      const WarpProduct& p = products_.at(node);
      const Access& target = v.targets[0];
      const bool tile =
          memory_.count(target.name) == 0 && plain_axes(read(target.name, target.subscripts), 2) && target.subscripts[0] == index(p.m);
      const bool added = value.is(Op::add) && (value.arg(0) == node || value.arg(1) == node);
      whole = tile && nodes.size() == 1 && (value == node || added);
      const Access acc = whole ? target : Access{names_.fresh(target.name.text() + ".product"), {index(p.m), index(p.n)}};
      if (whole && added) {
        const Expr base = value.arg(0) == node ? value.arg(1) : value.arg(0);
        if (base != read(acc.name, acc.subscripts)) add(Value{{acc}, {base}, v.otherwise, std::nullopt, {}});
      }
      const Symbol token = names_.fresh(acc.name.text() + ".token");
      const auto a_name = a_names_.find(p.a.name());
      const bool from_slot = p.atom->a_home == Home::shared;
      const Access a = from_slot ? slots_.at(p.a.name())
                                 : Access{a_name == a_names_.end() ? p.a.name() : a_name->second, {p.a.args().begin(), p.a.args().end()}};
      add(kernel::Mma{token, p.use, acc, whole && added, a, slots_.at(p.b.name())});
      add(kernel::Await{acc, token, false});
      read_here.push_back(p.b.name());
      if (from_slot) read_here.push_back(p.a.name());
      if (!whole) value = transform(value, [&](Expr e) { return e == node ? read(acc.name, acc.subscripts) : e; });
    }
    if (!whole) {
      v.values[0] = value;
      made.push_back(std::move(s));
    }
    for (const Symbol b : read_here) {
      if (--left_of(b) == 0) add(kernel::Release{channels_.at(b), {}});
    }
  }

  /// Products that have still to read the slot.
  int& left_of(Symbol b) {
    if (left_.count(b) == 0) {
      left_[b] = 0;
      for (const auto& [node, p] : products_) {
        left_[b] += p.b.name() == b ? 1 : 0;
        left_[b] += p.a.name() == b && p.atom->a_home == Home::shared ? 1 : 0;
      }
    }
    return left_[b];
  }

  kernel::Kernel& kernel_;
  const Memory& memory_;
  const kernel::Kinds& kinds_;
  const Target& target_;
  Names& names_;
  AtomWidth width_;
  std::set<Symbol> loaded_in_loops_;  ///< values that a loop makes anew
  WarpProducts summary_;
  std::optional<Refusal> refusal_;
  std::map<Symbol, Expr> definitions_;  ///< the last one of each tile that has one value
  std::map<Expr, WarpProduct> products_;
  std::map<Symbol, Symbol> as_a_;  ///< with the atom's name
  std::set<Symbol> as_b_;
  std::map<Symbol, int> reads_, uses_, left_;
  std::map<Symbol, Symbol> a_names_;
  std::map<Symbol, Access> slots_, channels_;
};

}  // namespace

Result<WarpProducts> place_on_warps(kernel::Kernel& k, const Memory& memory, const kernel::Kinds& kinds, const Target& target, Names& names,
                                    AtomWidth width) {
  return WarpPlacer(k, memory, kinds, target, names, width).run();
}

}  // namespace fathom::passes
