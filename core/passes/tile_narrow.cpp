// A matrix unit takes both operands in one dtype. Where one operand is stored narrow and the other was computed in f32, the computed one
// may be rounded to it: a precision decision with its bound, never a silent conversion. Only where the target has an atom for that dtype.
#include <fmt/format.h>

#include <algorithm>

#include "passes/lowering.hpp"
#include "passes/tile_contraction.hpp"
#include "passes/tile_masks.hpp"
#include "passes/tile_walk.hpp"

namespace fathom::passes {
namespace {

/// A contraction whose operands differ: `computed` may be narrowed to `dtype`.
struct Narrowing {
  Symbol result, computed, stored;
  DType dtype;
};

std::map<Symbol, DType> load_types(const kernel::Block& block, const Memory& memory) {
  std::map<Symbol, DType> out;
  for_each_value(block, [&](const kernel::Value& v) {
    if (v.values.size() != 1 || !v.values[0].is(Op::read)) return;
    const auto shape = memory.find(v.values[0].name());
    if (shape != memory.end()) out[v.targets[0].name] = shape->second.dtype;
  });
  return out;
}

bool has_atom(const Target& target, DType dtype) {
  return std::any_of(target.atoms.begin(), target.atoms.end(), [&](const MatrixAtom& a) { return a.a == dtype && a.b == dtype; });
}

std::vector<Narrowing> narrowings(const kernel::Block& block, const Memory& memory, const Target& target) {
  const std::map<Symbol, DType> loads = load_types(block, memory);
  std::vector<Narrowing> out;
  for_each_value(block, [&](const kernel::Value& v) {
    for (const Expr value : v.values) {
      visit(value, [&](Expr node) {
        const std::optional<Contraction> c = contraction(node);
        if (!c) return;
        const auto left = loads.find(c->left.name()), right = loads.find(c->right.name());
        if ((left == loads.end()) == (right == loads.end())) return;
        const bool first = left == loads.end();
        const DType dtype = (first ? right : left)->second;
        if (!is_float(dtype) || size_in_bytes(dtype) >= 4 || !has_atom(target, dtype)) return;
        out.push_back({v.targets[0].name, (first ? c->left : c->right).name(), (first ? c->right : c->left).name(), dtype});
      });
    }
  });
  return out;
}

/// Inserts the rounded copy in front of the contraction and lets only the contraction read it.
bool narrow(kernel::Block& block, const Narrowing& n) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (auto* loop = std::get_if<kernel::For>(&block[i].op)) {
      if (narrow(loop->body, n)) return true;
      continue;
    }
    auto* v = std::get_if<kernel::Value>(&block[i].op);
    if (v == nullptr || v->targets[0].name != n.result) continue;
    kernel::Value rounded;
    const Symbol name(fmt::format("{}.{}", n.computed.text(), fathom::name(n.dtype)));
    bool found = false;
    for (Expr& value : v->values) {
      value = transform(value, [&](Expr node) {
        const std::optional<Contraction> c = contraction(node);
        if (!c || (c->left.name() != n.computed && c->right.name() != n.computed)) return node;
        found = true;
        const Expr operand = c->left.name() == n.computed ? c->left : c->right;
        const std::vector<Expr> subscripts(operand.args().begin(), operand.args().end());
        rounded.targets = {{name, subscripts}};
        rounded.values = {cast(n.dtype, operand)};
        return substitute_operand(node, operand, read(name, subscripts));
      });
    }
    if (!found) continue;
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(i), kernel::Statement{std::move(rounded), std::nullopt, block[i].origins});
    return true;
  }
  return false;
}

Decision proposal(const Narrowing& n, Precision precision) {
  Decision d;
  d.site = n.computed.text() + "/precision";
  d.kind = "precision";
  const std::string to(fathom::name(n.dtype));
  const bool exact = precision == Precision::exact;
  d.choice = exact ? "f32" : to;
  d.reason = exact ? "The precision policy is exact."
                   : fmt::format("The matrix unit takes {} in {} only together with {} in {}.", n.stored.text(), to, n.computed.text(), to);
  Alternative narrow_it{to, std::nullopt, std::nullopt};
  if (exact)
    narrow_it.refused = Refusal{
        fmt::format("Rounding {} to {} is not exact.", n.computed.text(), to), {n.computed.text()}, "--precision matrix allows it."};
  d.alternatives = {narrow_it, {"f32", std::nullopt, std::nullopt}};
  return d;
}

}  // namespace

Result<Ir> narrow_operands(const Ir& ir, StepLog& log) {
  kernel::Module m = ir.module();
  const Memory memory = memory_of(m);
  Ir current = ir;
  std::set<Symbol> asked;
  for (kernel::Kernel& k : m.kernels) {
    for (kernel::Role& role : k.roles) {
      for (const Narrowing& n : narrowings(role.body, memory, log.target())) {
        if (!asked.insert(n.computed).second) continue;
        Decision d = log.decide(proposal(n, log.options().precision));
        StepLog::Note note;
        note.id = d.site;
        note.title = fmt::format("Narrow {} for the matrix unit", n.computed.text());
        note.says = fmt::format("{} stays in f32.", n.computed.text());
        if (d.choice != "f32" && narrow(role.body, n)) {
          note.says = fmt::format("{} is rounded to {}, the dtype of {}, before the product: each element by at most {} of itself.",
                                  n.computed.text(), d.choice, n.stored.text(), float_range(n.dtype).unit_roundoff);
          current = make_ir(Level::tile, m);
        }
        note.decision = std::move(d);
        log.step(std::move(note), current);
      }
    }
  }
  return current;
}

}  // namespace fathom::passes
