// Switches that break a plan on purpose. All are found in the program's own derivations: repairs that the algebra derived, guards that
// compare a value with the identity of its extremum, extrema that a repair follows and that the results do not depend on.
#include "session/stage_breaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lang/lang.hpp"
#include "session/stage_plane.hpp"

namespace fathom::session::stage {
namespace {

constexpr std::string_view repair_prefix = "repair:", max_prefix = "max:", guard_id = "guard";
constexpr std::string_view unmoved = "acc";

bool has_prefix(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

passes::Options options_of(const Inputs& inputs) {
  passes::Options options = inputs.options;
  options.parse_expression = [](std::string_view text) -> Result<Expr> {
    auto parsed = lang::parse_expression(text);
    if (!parsed) return refuse(parsed.error().front().message, {std::string(text)}, parsed.error().front().cure);
    return *parsed;
  };
  return options;
}

Result<Compiled> replayed(const Compilation& from, math::Program program, Inputs inputs) {
  auto record = passes::replay(program, from.target, inputs.trace, options_of(inputs));
  if (!record) return tl::unexpected<Refusal>(record.error());
  auto compilation = std::make_shared<Compilation>();
  compilation->inputs = std::move(inputs);
  compilation->program = std::move(program);
  compilation->target = from.target;
  compilation->record = *std::move(record);
  return Compiled(std::move(compilation));
}

// ---- no repair ----

/// Sites where the algebra derived how an old state is moved.
std::vector<const Decision*> repairs_of(const Compilation& compilation) {
  std::vector<const Decision*> found;
  for (const Decision& decision : compilation.record.decisions)
    if (decision.kind == "repair" && !decision.unsound && decision.choice != unmoved) found.push_back(&decision);
  return found;
}

std::string consumer_of(const std::string& site) { return site.substr(0, site.find('/')); }

Inputs without_repair(Inputs inputs, const std::string& site) {
  std::erase_if(inputs.trace.entries, [&](const TraceEntry& each) { return each.site == site; });
  inputs.trace.entries.push_back({site, std::string(unmoved), false, Origin::by_lesson});
  inputs.options.unsound = true;
  return inputs;
}

bool is_unsound(const Compilation& compilation) {
  return std::any_of(compilation.record.decisions.begin(), compilation.record.decisions.end(),
                     [](const Decision& each) { return each.unsound; });
}

// ---- no guard ----

/// where(x == -inf, a, b) as b: what is compared is a value of the program, not a literal.
Expr without_guards(Expr expr) {
  if (!expr) return expr;
  return transform(expr, [](Expr e) {
    if (!e.is(Op::where) || !e.arg(0).is(Op::eq)) return e;
    const Expr left = e.arg(0).arg(0), right = e.arg(0).arg(1);
    const bool is_guard = is_infinite(left) != is_infinite(right) &&
                          ((is_infinite(right) ? left : right).is(Op::read) || (is_infinite(right) ? left : right).is(Op::symbol));
    return is_guard ? e.arg(2) : e;
  });
}

math::Program without_guards(math::Program program) {
  for (math::Statement& statement : program.statements) {
    if (auto* map = std::get_if<math::Map>(&statement.value)) map->value = without_guards(map->value);
    if (auto* reduction = std::get_if<math::Reduction>(&statement.value))
      for (Expr& value : reduction->values) value = without_guards(value);
  }
  return program;
}

void remove_guards(kernel::Block& block) {
  for (kernel::Statement& statement : block) {
    if (auto* value = std::get_if<kernel::Value>(&statement.op))
      for (Expr& each : value->values) each = without_guards(each);
    if (auto* loop = std::get_if<kernel::For>(&statement.op)) remove_guards(loop->body);
    if (auto* when = std::get_if<kernel::When>(&statement.op)) remove_guards(when->body);
    if (auto* part = std::get_if<kernel::If>(&statement.op)) remove_guards(part->body);
  }
}

Ir without_guards(const Ir& ir) {
  if (ir.level == Level::math) return make_ir(without_guards(ir.math()));
  if (ir.level == Level::loop) return make_ir(loop::Program{without_guards(ir.loop().math), ir.loop().root});
  kernel::Module module = ir.module();
  for (kernel::Kernel& kernel : module.kernels)
    for (kernel::Role& role : kernel.roles) remove_guards(role.body);
  return make_ir(ir.level, std::move(module));
}

// ---- no max ----

/// Extrema that repairs follow.
std::set<Symbol> followed_extrema(const Compilation& compilation) {
  const math::Program& opened = math_at(compilation, 0);
  std::set<Symbol> found;
  for (const Fusion& fusion : compilation.record.fusions) {
    if (!fusion.repair || fusion.refusal) continue;
    for (const math::Gauge& gauge : fusion.repair->gauges) {
      if (!gauge.reference.is(Op::read)) continue;
      const math::Statement* statement = opened.find(gauge.reference.name());
      const math::Reduction* reduction = statement == nullptr ? nullptr : statement->reduction();
      const auto op = reduction == nullptr ? std::nullopt : monoid_operation(*reduction->reducer);
      if (op == Op::max || op == Op::min) found.insert(statement->name);
    }
  }
  return found;
}

math::Program with_zero(math::Program opened, Symbol extremum) {
  for (math::Statement& statement : opened.statements)
    if (statement.name == extremum) statement.value = math::Map{number(0)};
  return opened;
}

/// Whatever the extremum is, the results are the same in exact arithmetic: seen by the wide reference, in which nothing overflows.
bool only_shifts(const math::Program& opened, const math::Program& without) {
  const DimValues dims = math::default_dims(opened);
  for (const char* family : {"gaussian", "ascending", "large"}) {
    const interp::Arrays inputs = interp::make_inputs(opened, dims, family, 1);
    const auto with_it = interp::reference(opened, inputs, dims, {}), without_it = interp::reference(without, inputs, dims, {});
    if (!with_it || !without_it) return false;
    for (const auto& [name, expected] : *with_it) {
      const interp::Bounded& other = without_it->at(name);
      for (std::size_t i = 0; i < expected.value.size(); ++i) {
        if (expected.undetermined[i] || other.undetermined[i]) continue;
        if (!(std::abs(expected.value[i] - other.value[i]) <= expected.bound[i] + other.bound[i])) return false;
      }
    }
  }
  return true;
}

std::size_t same_step(const Compilation& from, std::size_t step, const Compilation& to) {
  const Step& wanted = from.record.steps[step];
  std::size_t last = 0;
  for (std::size_t i = 0; i < to.record.steps.size(); ++i) {
    if (to.record.steps[i].id == wanted.id) return i;
    if (to.record.steps[i].level <= wanted.level) last = i;
  }
  return last;
}

Result<interp::Arrays> results_of(const Ir& ir, const math::Program& program, const std::string& family) {
  const DimValues dims = math::default_dims(program);
  interp::RunOptions options;
  options.dims = dims;
  return interp::run(ir, interp::make_inputs(program, dims, family, 1), options);
}

/// Does one of the results show it?
bool are_far_apart(const interp::Arrays& legal, const interp::Arrays& broken) {
  constexpr double visible = 1e-2;
  for (const auto& [name, array] : legal) {
    const auto other = broken.find(name);
    if (other == broken.end() || other->second.data.size() != array.data.size()) return true;
    for (std::size_t i = 0; i < array.data.size(); ++i) {
      const double a = array.data[i], b = other->second.data[i];
      if (std::isnan(a) || a == b) continue;
      if (!(std::abs(a - b) <= visible * std::max(std::abs(a), 1e-3))) return true;
    }
  }
  return false;
}

/// The data that are asked for where they show it, else the first family that does; empty where none does.
std::string family_that_shows(const Variant& variant, const Compilation& blackboard, std::size_t step, const std::string& wanted) {
  const auto shows = [&](const std::string& family) {
    const auto legal = results_of(blackboard.record.steps[step].after, blackboard.program, family);
    const auto broken = results_of(variant.ir, blackboard.program, family);
    return legal && broken && are_far_apart(*legal, *broken);
  };
  std::vector<std::string> families = interp::data_families(blackboard.program);
  std::stable_partition(families.begin(), families.end(), [&](const std::string& each) { return has_prefix(each, wanted); });
  for (const std::string& each : families)
    if (!interp::holds_special_values(each) && shows(each)) return each;
  return {};
}

/// Offered only where it can be had, the program is another one, and there are data on which a result shows it.
void offer(std::vector<Break>& breaks, Break offered, const Compiled& blackboard, std::size_t step) {
  const auto variant = variant_of(blackboard, step, {offered.id});
  if (!variant || print(variant->ir) == print(blackboard->record.steps[step].after) || !verify(variant->ir)) return;
  offered.family = family_that_shows(*variant, *blackboard, step, offered.family);
  if (!offered.family.empty()) breaks.push_back(std::move(offered));
}

}  // namespace

Result<Variant> variant_of(const Compiled& blackboard, std::size_t step, const std::vector<std::string>& breaks) {
  Variant variant{blackboard, step, blackboard->record.steps.at(step).after, false};
  Inputs inputs = blackboard->inputs;
  math::Program program = blackboard->program;
  bool is_other = false, guards = true;
  for (const std::string& each : breaks) {
    if (each == guard_id) {
      guards = false;
    } else if (has_prefix(each, repair_prefix)) {
      const auto repairs = repairs_of(*blackboard);
      const auto at = std::find_if(repairs.begin(), repairs.end(), [&](const Decision* decision) {
        return consumer_of(decision->site) == each.substr(repair_prefix.size());
      });
      if (at == repairs.end()) return refuse(fmt::format("Nothing here is repaired by the name of {}.", each), {each});
      inputs = without_repair(std::move(inputs), (*at)->site);
      is_other = true;
    } else if (has_prefix(each, max_prefix)) {
      program = with_zero(is_opened(program) ? program : math_at(*blackboard, 0), Symbol(each.substr(max_prefix.size())));
      is_other = true;
    } else {
      return refuse(fmt::format("There is no break {}.", each), {each});
    }
  }
  if (is_other) {
    auto broken = replayed(*blackboard, std::move(program), std::move(inputs));
    if (!broken) return tl::unexpected<Refusal>(broken.error());
    variant.compilation = *std::move(broken);
    variant.step = same_step(*blackboard, step, *variant.compilation);
    variant.ir = variant.compilation->record.steps[variant.step].after;
  }
  if (!guards) variant.ir = without_guards(variant.ir);
  variant.unsound = !breaks.empty() || is_unsound(*variant.compilation);
  return variant;
}

std::vector<Break> breaks_of(const Compilation& blackboard, std::size_t step) {
  std::vector<Break> breaks;
  const Compiled compiled(&blackboard, [](const Compilation*) {});  // outlives this call
  for (const Decision* decision : repairs_of(blackboard)) {
    const std::string consumer = consumer_of(decision->site);
    offer(breaks,
          {std::string(repair_prefix) + consumer, fmt::format("no repair of {}", consumer),
           fmt::format(
               "{} keeps what it has when its reference moves, instead of {}. It is wrong from the trip in which the reference moves.",
               consumer, decision->choice),
           "ascending"},
          compiled, step);
  }
  offer(breaks,
        {std::string(guard_id), "no guard",
         "Nothing looks whether a reference is still infinite. A row of which nothing has counted yet computes inf - inf, or 0 / 0.",
         "infinite-prefix"},
        compiled, step);
  const math::Program& opened = math_at(blackboard, 0);
  for (const Symbol extremum : followed_extrema(blackboard))
    if (only_shifts(opened, with_zero(opened, extremum)))
      offer(breaks,
            {std::string(max_prefix) + extremum.text(), fmt::format("no {}", extremum.text()),
             fmt::format("{} is 0 throughout. On paper the result is the same; in numbers with an end, exp of a large value is infinite.",
                         extremum.text()),
             "large"},
            compiled, step);
  return breaks;
}

}  // namespace fathom::session::stage
