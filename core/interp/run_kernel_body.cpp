// Resolves and runs the statements of a kernel.
#include "interp/run_kernel_body.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fathom::interp::tiles {

using kernel::Access;
using kernel::Statement;

KernelRun::KernelRun(Frame& frame, const kernel::Kernel& kernel, const RunOptions& options)
    : frame_(frame), kernel_(kernel), options_(options) {}

// ---- resolving ----

TileRef KernelRun::uniform(Expr expr) {
  Formula formula;
  FormulaBuilder(frame_, formula).root(expr);
  return Evaluation(frame_, formula).value(formula.roots[0]);
}

void KernelRun::declare_axis(const kernel::TileAxis& axis) {
  const auto extent_of = [&](Expr extent) {
    const std::int64_t value = uniform_integer(uniform(extent), "the extent of axis `" + axis.name.text() + "`");
    if (value < 0 || value > largest_tile) stop("axis `" + axis.name.text() + "` has an extent that no tile can have", {axis.name.text()});
    return value;
  };
  AxisInfo whole{axis.name, 1, 0, -1, 1};
  std::vector<AxisInfo> parts;
  for (const kernel::AxisPart& part : axis.parts) {
    const std::int64_t extent = extent_of(part.extent);
    for (AxisInfo& slower : parts) slower.stride *= extent;
    parts.push_back({part.name, extent, 0, -1, 1});
    whole.extent *= extent;
  }
  if (whole.extent > largest_tile) stop("axis `" + axis.name.text() + "` has an extent that no tile can have", {axis.name.text()});
  const int id = frame_.add_axis(whole);
  frame_.name_axis(axis.name, id);
  if (parts.size() == 1 && parts[0].name == axis.name) return;
  for (AxisInfo& part : parts) {
    part.whole = id;
    frame_.name_axis(part.name, frame_.add_axis(part));
  }
}

Memory KernelRun::reserve(DType dtype, const std::vector<Expr>& box, const std::string& what) {
  Memory memory{dtype, {}, {}, nullptr, {}};
  for (const Expr extent : box) memory.shape.push_back(std::max<std::int64_t>(uniform_integer(uniform(extent), "an extent of " + what), 0));
  const std::int64_t size = count(memory.shape);
  frame_.budget().spend(size);
  if (size > largest_tile) stop(what + " would have more than 2^26 elements");
  memory.own.assign(static_cast<std::size_t>(size), 0.0);
  return memory;
}

void KernelRun::declare() {
  for (const kernel::TileAxis& axis : kernel_.axes) declare_axis(axis);
  for (const kernel::Buffer& b : kernel_.buffers) {
    Memory& memory = buffers_[b.name] = reserve(b.dtype, b.box, "buffer `" + b.name.text() + "`");
    frame_.memories.insert(b.name);
    frame_.bind(b.name, &memory);
  }
  for (const kernel::Channel& c : kernel_.channels) {
    const std::int64_t depth = uniform_integer(uniform(c.depth), "the depth of channel `" + c.name.text() + "`");
    if (depth < 1 || depth > 64) stop("channel `" + c.name.text() + "` needs a depth from 1 to 64", {c.name.text()});
    for (std::int64_t i = 0; i < depth; ++i) rings_[c.name].slots.push_back(reserve(c.dtype, c.box, "channel `" + c.name.text() + "`"));
  }
  for (const kernel::Role& role : kernel_.roles) collect_memories(role.body);
}

void KernelRun::collect_memories(const kernel::Block& block) {
  for (const Statement& s : block) {
    if (const auto* acquire = std::get_if<kernel::Acquire>(&s.op)) frame_.memories.insert(acquire->slot);
    if (const auto* receive = std::get_if<kernel::Receive>(&s.op)) frame_.memories.insert(receive->slot);
    if (const auto* loop = std::get_if<kernel::For>(&s.op)) collect_memories(loop->body);
    if (const auto* when = std::get_if<kernel::When>(&s.op)) collect_memories(when->body);
    if (const auto* part = std::get_if<kernel::If>(&s.op)) collect_memories(part->body);
  }
}

std::vector<Step> KernelRun::resolve(const kernel::Block& block) {
  std::vector<Step> steps;
  steps.reserve(block.size());
  for (const Statement& s : block) steps.push_back(resolve(s));
  return steps;
}

Step::Target KernelRun::resolve_target(Formula& formula, const Access& access) {
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

void KernelRun::resolve_assignment(Step& step, const std::vector<Access>& targets, const std::vector<Expr>& values) {
  FormulaBuilder builder(frame_, step.formula);
  for (const Expr value : values) step.values.push_back(builder.add(value));
  for (const Access& target : targets) step.targets.push_back(resolve_target(step.formula, target));
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

Step KernelRun::resolve(const Statement& statement) {
  Step step;
  step.from = &statement;
  FormulaBuilder builder(frame_, step.formula);
  if (const auto* v = std::get_if<kernel::Value>(&statement.op)) {
    resolve_assignment(step, v->targets, v->values);
    if (v->otherwise) step.otherwise = builder.add(v->otherwise);
  } else if (const auto* l = std::get_if<kernel::Let>(&statement.op)) {
    resolve_assignment(step, {Access{l->name, {}}}, {l->value});
  } else if (const auto* m = std::get_if<kernel::Mma>(&statement.op)) {
    resolve_assignment(step, {m->acc}, {product_of(*m)});
  } else if (const auto* loop = std::get_if<kernel::For>(&statement.op)) {
    std::vector<Access> targets;
    std::vector<Expr> initial;
    for (const kernel::Carry& c : loop->carry) {
      targets.push_back(c.value);
      initial.push_back(c.initial);
      step.carried.insert(c.value.name);
    }
    resolve_assignment(step, targets, initial);
    for (const kernel::TaggedRange& r : loop->ranges) step.ranges.push_back({r.tag, builder.add(r.lo), builder.add(r.hi)});
    step.body = resolve(loop->body);
  } else if (const auto* when = std::get_if<kernel::When>(&statement.op)) {
    step.values.push_back(builder.add(when->condition));
    step.body = resolve(when->body);
  } else if (const auto* part = std::get_if<kernel::If>(&statement.op)) {
    step.values.push_back(builder.add(read(part->condition.name, part->condition.subscripts)));
    for (const kernel::Carry& c : part->carry) step.carried.insert(c.value.name);
    step.body = resolve(part->body);
  }
  return step;
}

// ---- running ----

void KernelRun::run() {
  declare();
  std::set<Symbol> of_the_item = {kernel_.work.variable};
  for (const kernel::Let& l : kernel_.lets) {
    bool varies = false;
    visit(l.value, [&](Expr part) { varies = varies || (part.is(Op::symbol) && of_the_item.count(part.name()) > 0); });
    if (varies) of_the_item.insert(l.name);
    if (!varies) frame_.bind(l.name, uniform(l.value));
  }
  for (const kernel::Role& role : kernel_.roles) run(resolve(role.body));
}

void KernelRun::run(const std::vector<Step>& steps) {
  for (const Step& step : steps) run(step);
}

void KernelRun::run(const Step& step) {
  frame_.budget().spend(1);
  std::visit([&](const auto& op) { run_op(step, op); }, step.from->op);
}

template <class Other>
void KernelRun::run_op(const Step& step, const Other&) {
  stop("this statement needs a later back end: `" + kernel::print(*step.from) + "`");
}

void KernelRun::run_op(const Step& step, const kernel::Value&) {
  TileRef fill;
  if (step.otherwise >= 0) {
    fill = Evaluation(frame_, step.formula).value(step.otherwise);
    if (!fill->axes.empty()) stop("the value of `else` must be uniform");
  }
  assign_all(step, fill);
}

void KernelRun::run_op(const Step& step, const kernel::Let&) { assign_all(step, nullptr); }

void KernelRun::run_op(const Step& step, const kernel::Mma& mma) { in_flight_[mma.token] = &step; }

/// The operands are read as late as they may be: here. A slot that was released before is poisoned by now.
void KernelRun::run_op(const Step&, const kernel::Await& await) {
  const auto at = in_flight_.find(await.token);
  if (at == in_flight_.end()) stop("`" + await.token.text() + "` is awaited, but nothing is in flight", {await.token.text()});
  const Step& issued = *at->second;
  if (await.source_only) return;
  in_flight_.erase(at);
  if (await.acc) assign_all(issued, nullptr);
}

void KernelRun::run_op(const Step&, const kernel::Acquire& acquire) {
  Ring& ring = rings_[acquire.channel.name];
  if (ring.acquired >= ring.released + ring.slots.size()) {
    stop("channel `" + acquire.channel.name.text() + "` has no free slot: the role would wait for itself", {acquire.channel.name.text()});
  }
  Memory& slot = ring.slots[ring.acquired++ % ring.slots.size()];
  poison(slot);
  frame_.bind(acquire.slot, &slot);
}

void KernelRun::run_op(const Step&, const kernel::Publish&) {}

void KernelRun::run_op(const Step&, const kernel::Receive& receive) {
  Ring& ring = rings_[receive.channel.name];
  if (ring.received >= ring.acquired) {
    stop("channel `" + receive.channel.name.text() + "` has nothing to receive: the role would wait for itself",
         {receive.channel.name.text()});
  }
  frame_.bind(receive.slot, &ring.slots[ring.received++ % ring.slots.size()]);
}

void KernelRun::run_op(const Step&, const kernel::Release& release) {
  Ring& ring = rings_[release.channel.name];
  if (ring.released >= ring.received) {
    stop("channel `" + release.channel.name.text() + "` releases a slot that it did not receive", {release.channel.name.text()});
  }
  poison(ring.slots[ring.released++ % ring.slots.size()]);
}

void KernelRun::run_op(const Step& step, const kernel::For& loop) {
  if (loop.ranges.empty()) return run_work(step, loop);
  assign_all(step, nullptr);
  loop_carries_.push_back(&step.carried);
  trips_.emplace_back(loop.variable, 0);
  Evaluation bounds(frame_, step.formula);
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const Step::Range& r : step.ranges) {
    const std::string what = "the range of `" + loop.variable.text() + "`";
    ranges.emplace_back(uniform_integer(bounds.value(r.lo), what), uniform_integer(bounds.value(r.hi), what));
  }
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    for (std::size_t tag = 0; tag < ranges.size(); ++tag) {
      const Symbol name = step.ranges[tag].tag;
      if (!name.empty()) frame_.bind(name, scalar(Kind::boolean, name == step.ranges[k].tag ? 1 : 0));
    }
    for (std::int64_t i = ranges[k].first; i < ranges[k].second; ++i) {
      frame_.budget().spend(1);
      trips_.back().second = i;
      frame_.bind(loop.variable, scalar(Kind::integer, static_cast<double>(i)));
      run(step.body);
    }
  }
  trips_.pop_back();
  loop_carries_.pop_back();
}

void KernelRun::run_work(const Step& step, const kernel::For& loop) {
  const std::int64_t lo = uniform_integer(uniform(kernel_.work.lo), "the work range");
  const std::int64_t hi = uniform_integer(uniform(kernel_.work.hi), "the work range");
  assign_all(step, nullptr);
  loop_carries_.push_back(&step.carried);
  trips_.emplace_back(loop.variable, 0);
  for (std::int64_t item = lo; item < hi; ++item) {
    frame_.budget().spend(1);
    trips_.back().second = item;
    frame_.bind(loop.variable, scalar(Kind::integer, static_cast<double>(item)));
    start_item(item);
    run(step.body);
  }
  trips_.pop_back();
  loop_carries_.pop_back();
}

/// A work item finds nothing that another one left behind: which items share a workgroup is no part of the meaning.
void KernelRun::start_item(std::int64_t item) {
  frame_.bind(kernel_.work.variable, scalar(Kind::integer, static_cast<double>(item)));
  for (auto& [name, memory] : buffers_) poison(memory);
  for (const kernel::Let& l : kernel_.lets) frame_.bind(l.name, uniform(l.value));
}

void KernelRun::poison(Memory& memory) {
  frame_.budget().spend(static_cast<std::int64_t>(memory.own.size()));
  const double value = options_.poison ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  std::fill(memory.own.begin(), memory.own.end(), value);
}

void KernelRun::run_op(const Step& step, const kernel::When& when) {
  const TileRef condition = Evaluation(frame_, step.formula).value(step.values[0]);
  if (!condition->axes.empty()) stop("the condition of `when` must be uniform: `" + fathom::print(when.condition) + "`");
  if (only_value(*condition) != 0) run(step.body);
}

void KernelRun::run_op(const Step& step, const kernel::If&) {
  const TileRef outer = mask_;
  TileRef holds = Evaluation(frame_, step.formula).value(step.values[0]);
  if (outer) holds = apply(Op::logical_and, {outer, holds}, frame_.budget());
  if (!any_true(*holds)) return;
  mask_ = holds;
  if_carries_.push_back(&step.carried);
  run(step.body);
  if_carries_.pop_back();
  mask_ = outer;
}

}  // namespace fathom::interp::tiles
