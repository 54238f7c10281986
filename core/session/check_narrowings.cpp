#include "session/check_narrowings.hpp"

#include "passes/tile_walk.hpp"

namespace fathom::session {
namespace {

using interp::BoundOptions;

/// A value "o.sum" belongs to the statement o of the text, whose names have no dots.
Symbol statement_of(Symbol value) {
  const std::string_view text = value.text();
  return Symbol(text.substr(0, text.find('.', 1)));
}

/// The sums that read the rounded copy.
void collect(Expr root, Symbol rounded, Symbol target, DType dtype, std::vector<BoundOptions::Narrowed>& out) {
  visit(root, [&](Expr e) {
    if (!e.is(Op::reduce) || !tensors_read(e).contains(rounded)) return;
    for (const Bound& bound : bounds_of(e)) out.push_back({statement_of(target), bound.index, dtype});
  });
}

/// "p.e/precision": the value p.e.
Symbol value_of(const Decision& decision) { return Symbol(decision.site.substr(0, decision.site.rfind('/'))); }

}  // namespace

std::vector<std::vector<BoundOptions::Narrowed>> narrowings_after(const Record& record) {
  std::vector<std::vector<BoundOptions::Narrowed>> all;
  std::vector<BoundOptions::Narrowed> so_far;
  for (const Step& step : record.steps) {
    const auto dtype = step.decision && step.decision->kind == "precision" ? dtype_named(step.decision->choice) : std::nullopt;
    if (dtype && step.changed && step.after.level == Level::tile) {
      const Symbol rounded(value_of(*step.decision).text() + "." + step.decision->choice);
      for (const kernel::Kernel& kernel : step.after.module().kernels)
        for (const kernel::Role& role : kernel.roles)
          passes::for_each_value(role.body, [&](const kernel::Value& value) {
            for (const Expr e : value.values) collect(e, rounded, value.targets[0].name, *dtype, so_far);
          });
    }
    all.push_back(so_far);
  }
  return all;
}

}  // namespace fathom::session
