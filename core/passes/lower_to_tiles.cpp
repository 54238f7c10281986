// Loop -> Tile. Every nest of parallel loops becomes a kernel, its iterations work items; what lies between kernels becomes a workspace.
// The parts: tile_plan (what goes where), tile_builder and tile_folds (statements), tile_masks (what reaches outside).
#include <fmt/format.h>

#include "ir/math_kinds.hpp"
#include "passes/lowering.hpp"
#include "passes/tile_builder.hpp"
#include "passes/tile_masks.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

using Fixed = std::map<Symbol, std::int64_t>;

std::vector<Expr> folded(const std::vector<Expr>& extents, const Fixed& fixed) {
  std::vector<Expr> out;
  for (const Expr e : extents) out.push_back(simplify_integer(fold_dims(e, fixed)));
  return out;
}

std::vector<math::Parameter> folded(std::vector<math::Parameter> params, const Fixed& fixed) {
  for (math::Parameter& p : params) p.extents = folded(p.extents, fixed);
  return params;
}

bool is_true(Expr condition) {
  if (condition.is(Op::boolean)) return condition.node().truth;
  const std::optional<std::int64_t> value = evaluate_integer(condition, {});
  return value && *value != 0;
}

/// The module without kernels: parameters with numbers for fixed dimensions, the launch contract.
kernel::Module empty_module(const math::Program& program, const Fixed& fixed) {
  kernel::Module m;
  m.name = program.name;
  for (const math::Dimension& d : program.dims) {
    if (d.runtime) m.dims.push_back(d);
  }
  m.params = folded(program.params, fixed);
  m.results = folded(program.results, fixed);
  for (const Expr condition : program.conditions) {
    const Expr c = fold_dims(condition, fixed);
    if (!is_true(c)) m.requires_.push_back({c, "unsupported"_sym});
  }
  return m;
}

void add_workspaces(kernel::Module& m, const TilePlan& plan, const Fixed& fixed) {
  const kernel::Kinds kinds = math::value_kinds(plan.math());
  for (const math::Statement& s : plan.math().statements) {
    if (!plan.in_memory(s.name) || plan.math().result(s.name) != nullptr) continue;
    kernel::Workspace space{s.name, math::stored_type(s, kinds), {}, false};
    for (const math::Axis& axis : s.axes) space.box.push_back(simplify_integer(fold_dims(axis.hi, fixed)));
    m.workspaces.push_back(std::move(space));
  }
}

std::string tile_text(const kernel::Kernel& k) {
  std::string out;
  for (const kernel::TileAxis& axis : k.axes)
    out += (out.empty() ? "" : ", ") + fmt::format("{} = {}", axis.name.text(), print(kernel::extent(axis)));
  return out.empty() ? "single elements" : "tiles " + out;
}

/// One sentence with this module's numbers.
std::string sentence(const kernel::Module& m, const MaskSummary& sum) {
  const kernel::Kernel& last = m.kernels.back();
  const auto kernels = static_cast<std::int64_t>(m.kernels.size());
  std::string out =
      fmt::format("{}; the last has {} and {}", capital(plural(kernels, "kernel")), plural(last.work.hi, "work item"), tile_text(last));
  if (kernels == 1) out = fmt::format("One kernel of {} with {}", plural(last.work.hi, "work item"), tile_text(last));
  if (!m.workspaces.empty())
    out += fmt::format("; {} between kernels", plural(static_cast<std::int64_t>(m.workspaces.size()), "workspace"));
  if (sum.fills > 0) out += fmt::format("; {} with a fill where a tile reaches outside", plural(sum.fills, "load"));
  if (sum.masks > 0) out += fmt::format("; {} for the tail", plural(sum.masks, "mask"));
  if (sum.mixed_only > 0) out += fmt::format("; {} in mixed trips only", plural(sum.mixed_only, "select"));
  return out + ".";
}

Fixed fixed_dims(const math::Program& program) {
  Fixed fixed;
  for (const math::Dimension& d : program.dims) {
    if (!d.runtime) fixed[d.name] = d.value;
  }
  return fixed;
}

Symbol kernel_name(const math::Program& program, const TilePlan& plan, std::size_t nest) {
  if (plan.nests().size() == 1) return program.name;
  return Symbol(program.name.text() + "." + plan.nests()[nest].last.text());
}

struct Lowered {
  kernel::Module module;
  MaskSummary masks;
  CameFrom came_from;
};

Result<Lowered> lowered(const loop::Program& program, const Target& target) {
  Result<TilePlan> plan = TilePlan::make(program);
  if (!plan) return tl::unexpected<Refusal>(plan.error());
  const Fixed fixed = fixed_dims(program.math);
  kernel::Module m = empty_module(program.math, fixed);
  add_workspaces(m, *plan, fixed);
  std::vector<BuiltKernel> built;
  std::set<Symbol> used;
  for (std::size_t n = 0; n < plan->nests().size(); ++n) {
    Symbol name = kernel_name(program.math, *plan, n);
    for (int i = 2; !used.insert(name).second; ++i) name = Symbol(fmt::format("{}.{}", kernel_name(program.math, *plan, n).text(), i));
    Result<BuiltKernel> one = build_tile_kernel(*plan, static_cast<int>(n), fixed, name, target);
    if (!one) return tl::unexpected<Refusal>(one.error());
    for (const kernel::Workspace& w : one->states) m.workspaces.push_back(w);
    for (const ReducerRef& r : one->reducers) m.reducers.push_back(r);
    built.push_back(std::move(*one));
  }
  const Memory memory = memory_of(m);
  MaskSummary sum;
  CameFrom came_from;
  for (BuiltKernel& one : built) {
    const MaskSummary here = mask_tails(one, m);
    if (!here.settled)
      return refuse(fmt::format("Kernel {} would count what lies outside of a tile that its range cuts.", one.kernel.name.text()),
                    {one.kernel.name.text()}, "Choose tiles that divide their ranges.");
    sum = {sum.masks + here.masks, sum.divided + here.divided, sum.mixed_only + here.mixed_only, sum.fills + here.fills};
    remove_dead_values(one.kernel, memory, came_from);
    m.kernels.push_back(std::move(one.kernel));
  }
  if (m.kernels.empty()) return refuse("The program has no statement to compute.", {program.math.name.text()});
  return Lowered{std::move(m), sum, std::move(came_from)};
}

}  // namespace

std::optional<Refusal> refuse_tiles(const loop::Program& program, const Target& target) {
  const Result<Lowered> tiles = lowered(program, target);
  if (!tiles) return tiles.error();
  const Result<void> sound = kernel::verify_tile(tiles->module);
  return sound ? std::nullopt : std::optional(sound.error());
}

Result<Ir> lower_to_tiles(const Ir& ir, StepLog& log) {
  Result<Lowered> tiles = lowered(ir.loop(), log.target());
  if (!tiles) return tl::unexpected<Refusal>(tiles.error());
  Ir out = make_ir(Level::tile, std::move(tiles->module));
  StepLog::Note note;
  note.id = "lower-to-tiles";
  note.title = "Lower to tiles";
  note.says = sentence(out.module(), tiles->masks);
  note.node_map = tiles->came_from;
  log.step(std::move(note), out);
  return out;
}

}  // namespace fathom::passes
