#include "passes/value_kinds.hpp"

namespace fathom::passes {
namespace {

using kernel::Kind;
using kernel::Kinds;
using Reducers = std::vector<ReducerRef>;

Kind kind_of_reduction(const math::Reduction& r, const Kinds& kinds, const Reducers& reducers) {
  const std::vector<Kind> parts = carried_kinds(r, kinds, reducers);
  if (!r.repair) return kernel::result_kind(*r.reducer, r.result, 0, parts, reducers);
  Kinds scope = kinds;
  for (std::size_t k = 0; k < parts.size(); ++k) scope[r.repair->carried[k].name] = parts[k];
  return kernel::kind_of(r.repair->project, scope, reducers);
}

}  // namespace

std::vector<Kind> carried_kinds(const math::Reduction& r, const Kinds& kinds, const Reducers& reducers) {
  std::vector<Kind> values;
  for (const Expr value : r.values) values.push_back(kernel::kind_of(value, kinds, reducers));
  if (!r.repair) return kernel::component_kinds(*r.reducer, values, false, reducers);
  std::vector<Kind> out;
  Kinds scope = kinds;
  const bool whole = r.repair->carried.size() == 1 && r.values.size() == 1;
  for (const math::Carried& c : r.repair->carried) {
    const Kind term = whole ? values[0] : kernel::kind_of(c.term, scope, reducers);
    out.push_back(kernel::component_kinds(*c.reducer, {term}, false, reducers)[0]);
    scope[c.name] = out.back();
  }
  for (std::size_t k = 0; k < out.size(); ++k) {  // a move may widen what it moves
    const math::Carried& c = r.repair->carried[k];
    if (c.move) out[k] = kernel::join(out[k], kernel::kind_of(c.move, scope, reducers));
  }
  return out;
}

Kinds value_kinds(const math::Program& program) {
  Kinds kinds;
  for (const math::Parameter& p : program.params) kinds[p.name] = kernel::kind_of(p.dtype);
  for (const math::Statement& s : program.statements) {
    const math::Reduction* r = s.reduction();
    if (r != nullptr && r->repair) {
      for (const math::Gauge& g : r->repair->gauges)
        kinds[g.name] = kinds[primed(g.name)] = kernel::settled(kernel::kind_of(g.reference, kinds, program.reducers));
    }
    Kind kind = r != nullptr ? kind_of_reduction(*r, kinds, program.reducers) : kernel::kind_of(s.map()->value, kinds, program.reducers);
    if (s.dtype != DType::real) kind = kernel::kind_of(s.dtype);
    kinds[s.name] = kernel::settled(kind);
  }
  return kinds;
}

DType stored_type(const math::Statement& s, const Kinds& kinds) {
  return s.dtype == DType::real ? kernel::storage_of(kinds.at(s.name)) : s.dtype;
}

}  // namespace fathom::passes
