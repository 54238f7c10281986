#include "ir/math_kinds.hpp"

namespace fathom::math {
namespace {

using kernel::Kind;
using kernel::Kinds;
using Reducers = std::vector<ReducerRef>;

Kind kind_of_reduction(const Reduction& r, const Kinds& kinds, const Reducers& reducers) {
  const std::vector<Kind> parts = carried_kinds(r, kinds, reducers);
  if (!r.repair) return kernel::result_kind(*r.reducer, r.result, 0, parts, reducers);
  Kinds scope = kinds;
  for (std::size_t k = 0; k < parts.size(); ++k) scope[r.repair->carried[k].name] = parts[k];
  return kernel::kind_of(r.repair->project, scope, reducers);
}

}  // namespace

std::vector<Kind> carried_kinds(const Reduction& r, const Kinds& kinds, const Reducers& reducers) {
  std::vector<Kind> values;
  for (const Expr value : r.values) values.push_back(kernel::kind_of(value, kinds, reducers));
  if (!r.repair) return kernel::component_kinds(*r.reducer, values, false, reducers);
  std::vector<Kind> out;
  Kinds scope = kinds;
  const bool whole = r.repair->carried.size() == 1 && r.values.size() == 1;
  for (const Carried& c : r.repair->carried) {
    const Kind term = whole ? values[0] : kernel::kind_of(c.term, scope, reducers);
    out.push_back(kernel::component_kinds(*c.reducer, {term}, false, reducers)[0]);
    scope[c.name] = out.back();
  }
  for (std::size_t k = 0; k < out.size(); ++k) {  // a move may widen what it moves
    const Carried& c = r.repair->carried[k];
    if (c.move) out[k] = kernel::join(out[k], kernel::kind_of(c.move, scope, reducers));
  }
  return out;
}

Kinds value_kinds(const Program& program) {
  Kinds kinds;
  for (const Parameter& p : program.params) kinds[p.name] = kernel::kind_of(p.dtype);
  for (const Statement& s : program.statements) {
    const Reduction* r = s.reduction();
    if (r != nullptr && r->repair) {
      for (const Gauge& g : r->repair->gauges)
        kinds[g.name] = kinds[primed(g.name)] = kernel::settled(kernel::kind_of(g.reference, kinds, program.reducers));
    }
    kinds[s.name] = s.dtype != DType::real ? kernel::kind_of(s.dtype) : computed_kind(s, kinds, program.reducers);
  }
  return kinds;
}

Kind computed_kind(const Statement& s, const Kinds& kinds, const Reducers& reducers) {
  const Reduction* r = s.reduction();
  return kernel::settled(r != nullptr ? kind_of_reduction(*r, kinds, reducers) : kernel::kind_of(s.map()->value, kinds, reducers));
}

bool is_narrower(DType dtype, Kind kind) {
  return dtype != DType::real && dtype != DType::boolean && (dtype != DType::f32 || kind != Kind::f32);
}

DType stored_type(const Statement& s, const Kinds& kinds) {
  return s.dtype == DType::real ? kernel::storage_of(kinds.at(s.name)) : s.dtype;
}

}  // namespace fathom::math
