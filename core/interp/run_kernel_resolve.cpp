// Resolves the statements of a role: names to places and slots, what all groups do together, loops with stages.
#include <algorithm>

#include "interp/run_kernel_step.hpp"
#include "ir/overloaded.hpp"

namespace fathom::interp::tiles {
namespace {

using kernel::Access;
using kernel::Statement;

const Symbol& done_token() {
  static const auto* name = new Symbol("done");
  return *name;
}
const Symbol& group_number() {
  static const auto* name = new Symbol("g");
  return *name;
}

/// acc = [acc +] sum over what is not on the left of a * b.
Expr product_of(const kernel::Mma& m) {
  const Expr product = read(m.a.name, m.a.subscripts) * read(m.b.name, m.b.subscripts);
  std::set<Symbol> contracted = free_indices(product);
  for (const Expr subscript : m.acc.subscripts) {
    for (const Symbol kept : free_indices(subscript)) contracted.erase(kept);
  }
  std::vector<Bound> bound;
  for (const Symbol index : contracted) bound.push_back({index, {}, {}});
  const Expr sum = bound.empty() ? product : reduce(Symbol("sum"), {}, bound, {product});
  return m.accumulate ? read(m.acc.name, m.acc.subscripts) + sum : sum;
}

void collect(const std::vector<Step>& steps, std::map<const Statement*, const Step*>& by_statement) {
  for (const Step& step : steps) {
    by_statement[step.from] = &step;
    collect(step.body, by_statement);
  }
}

}  // namespace

Resolver::Resolver(const kernel::Module& module, const kernel::Kernel& kernel, RoleCode& code)
    : kernel_(kernel), code_(code), frame_(code.frame), places_(kernel::places_of(module, kernel)) {}

void Resolver::run(const kernel::Module& module) {
  std::set<Symbol> slots;
  kernel::collect_slots(code_.role->body, slots);
  frame_.memories.insert(slots.begin(), slots.end());
  if (frame_.memories.count(group_number()) == 0) {
    code_.group_axis = frame_.add_axis({group_number(), code_.groups, 0, -1, 1});
    frame_.name_axis(group_number(), code_.group_axis);
  }
  code_.steps = block(code_.role->body);
  if (code_.groups > 1) {
    const kernel::Varying varies(module, kernel_, *code_.role);
    for (Step& step : code_.steps) mark_together(step, varies, false);
  }
  stages(code_.steps);
}

std::vector<Step> Resolver::block(const kernel::Block& block) {
  std::vector<Step> steps;
  steps.reserve(block.size());
  for (const Statement& s : block) steps.push_back(statement(s));
  return steps;
}

Step::Target Resolver::target(Formula& formula, const Access& access) {
  Step::Target target{access.name, frame_.slot(access.name), frame_.memories.count(access.name) > 0, {}, -1};
  if (target.stored) {
    target.place = FormulaBuilder(frame_, formula).add(read(access.name, access.subscripts));
    return target;
  }
  for (const Expr subscript : access.subscripts) {
    const std::optional<int> axis = subscript.is(Op::index) ? frame_.axis_named(subscript.name()) : std::nullopt;
    if (!axis) stop("`" + access.name.text() + "` is a value: the subscripts on its left side must be axes", {access.name.text()});
    target.dims.push_back(*axis);
  }
  return target;
}

void Resolver::assignment(Step& step, const std::vector<Access>& targets, const std::vector<Expr>& values) {
  FormulaBuilder builder(frame_, step.formula);
  for (const Expr value : values) step.values.push_back(builder.add(value));
  for (const Access& each : targets) step.targets.push_back(target(step.formula, each));
}

void Resolver::channel(Step& step, const Access& access) {
  FormulaBuilder builder(frame_, step.formula);
  for (const Expr subscript : access.subscripts) step.subscripts.push_back(builder.add(subscript));
}

Step Resolver::statement(const Statement& statement) {
  Step step;
  step.from = &statement;
  FormulaBuilder builder(frame_, step.formula);
  std::visit(Overloaded{
                 [&](const kernel::Value& v) {
                   assignment(step, v.targets, v.values);
                   if (v.otherwise) step.otherwise = builder.add(v.otherwise);
                 },
                 [&](const kernel::Let& l) { assignment(step, {Access{l.name, {}}}, {l.value}); },
                 [&](const kernel::Copy& c) {
                   assignment(step, {c.to}, {c.from});
                   if (c.otherwise) step.otherwise = builder.add(c.otherwise);
                   frame_.slot(c.token);
                 },
                 [&](const kernel::Mma& m) {
                   assignment(step, {m.acc}, {product_of(m)});
                   frame_.slot(m.token);
                 },
                 [&](const kernel::Await& a) { frame_.slot(a.token); },
                 [&](const kernel::Atomic& a) { assignment(step, {Access{a.result, {}}, a.place}, {a.value}); },
                 [&](const kernel::Acquire& a) { channel(step, a.channel); },
                 [&](const kernel::Receive& r) { channel(step, r.channel); },
                 [&](const kernel::Publish& p) { channel(step, p.channel); },
                 [&](const kernel::Release& r) { channel(step, r.channel); },
                 [&](const kernel::Take&) {},
                 [&](const kernel::Pass&) {},
                 [&](const kernel::For& loop) {
                   std::vector<Access> targets;
                   std::vector<Expr> initial;
                   for (const kernel::Carry& c : loop.carry) {
                     step.carried.insert(c.value.name);
                     if (c.initial == symbol(done_token())) {
                       step.tokens.push_back(frame_.slot(c.value.name));
                       continue;
                     }
                     targets.push_back(c.value);
                     initial.push_back(c.initial);
                   }
                   assignment(step, targets, initial);
                   for (const kernel::TaggedRange& r : loop.ranges) step.ranges.push_back({r.tag, builder.add(r.lo), builder.add(r.hi)});
                   step.body = block(loop.body);
                 },
                 [&](const kernel::When& when) {
                   step.values.push_back(builder.add(when.condition));
                   step.body = block(when.body);
                 },
                 [&](const kernel::If& part) {
                   step.values.push_back(builder.add(read(part.condition.name, part.condition.subscripts)));
                   for (const kernel::Carry& c : part.carry) step.carried.insert(c.value.name);
                   step.body = block(part.body);
                 },
             },
             statement.op);
  return step;
}

// ---- what all groups do together, and what one of them does for all ----

void Resolver::mark_together(Step& step, const kernel::Varying& varies, bool conditional) {
  if (const auto* v = std::get_if<kernel::Value>(&step.from->op)) {
    step.meets = !v->values.empty() && std::all_of(v->values.begin(), v->values.end(), kernel::reduces_over_groups);
    for (std::size_t i = 0; i < step.targets.size(); ++i) {
      const bool same = step.meets || !varies(v->values[std::min(i, v->values.size() - 1)]);
      step.targets[i].once = !conditional && same && !varies(v->targets[i]);
    }
  }
  if (std::holds_alternative<kernel::Atomic>(step.from->op)) step.meets = true;
  bool inner = conditional;
  if (const auto* w = std::get_if<kernel::When>(&step.from->op)) inner = inner || varies(w->condition);
  if (const auto* i = std::get_if<kernel::If>(&step.from->op)) inner = inner || varies(i->condition);
  if (const auto* loop = std::get_if<kernel::For>(&step.from->op)) inner = inner || varies(loop->variable);
  for (Step& each : step.body) mark_together(each, varies, inner);
}

// ---- loops with stages ----

void Resolver::stages(std::vector<Step>& steps) {
  for (Step& step : steps) {
    stages(step.body);
    const auto* loop = std::get_if<kernel::For>(&step.from->op);
    if (loop != nullptr && !loop->ranges.empty() && kernel::has_stages(*loop)) step.staged = staged(step, *loop);
  }
}

std::shared_ptr<const StagedLoop> Resolver::staged(const Step& loop, const kernel::For& from) {
  auto code = std::make_shared<StagedLoop>();
  std::map<const Statement*, const Step*> by_statement;
  collect(loop.body, by_statement);
  code->last_stage = kernel::last_stage(from);
  for (const Symbol name : loop.carried) code->carried.insert(frame_.slot(name));
  for (std::size_t range = 0; range < from.ranges.size(); ++range) {
    StagedLoop::Body& body = code->bodies.emplace_back();
    std::map<Symbol, std::vector<StagedLoop::Let>> lets;  // with those that they read
    for (const kernel::Placed& placed : kernel::body_in(from, range)) {
      const kernel::Uses uses = kernel::uses_of(*placed.statement, places_);
      StagedLoop::Operation op;
      op.step = by_statement.at(placed.statement);
      op.stage = placed.at ? placed.at->stage : 0;
      op.order = placed.at ? placed.at->order : -1;
      for (const Symbol name : uses.reads) {
        if (const auto let = lets.find(name); let != lets.end()) {
          for (const StagedLoop::Let& each : let->second) {
            const auto same = [&](const StagedLoop::Let& other) { return other.step == each.step; };
            if (std::none_of(op.lets.begin(), op.lets.end(), same)) op.lets.push_back(each);
          }
          continue;
        }
        const int slot = frame_.slot(name);
        op.reads.push_back({slot, body.versions.count(slot) > 0 ? body.versions[slot] : 0});
      }
      if (!placed.at) {
        op.lets.push_back({op.step, op.reads});
        for (const Symbol name : uses.writes) lets[name] = op.lets;
        continue;
      }
      for (const Symbol name : uses.writes) {
        const int slot = frame_.slot(name);
        op.writes.push_back({slot, ++body.versions[slot]});
        code->defined.insert(slot);
      }
      body.operations.push_back(std::move(op));
    }
  }
  return code;
}

}  // namespace fathom::interp::tiles
