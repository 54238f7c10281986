// Runs one process: blocks, loops and conditions as activations on a stack, so that it can wait anywhere.
#include "interp/run_kernel_process.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/run_kernel_body.hpp"
#include "ir/overloaded.hpp"

namespace fathom::interp::tiles {

Process::Process(KernelRun& run, Workgroup& workgroup, const RoleCode& code, int group)
    : run_(run), workgroup_(workgroup), code_(code), group_(group), frame_(code.frame), options_(run.options()), kernel_(run.kernel()) {
  if (code.group_axis >= 0) frame_.bind(Symbol("g"), scalar(Kind::integer, group));
  for (const kernel::Buffer& b : kernel_.buffers) {
    if (b.each.empty()) {
      frame_.bind(b.name, &workgroup.buffers.at(b.name));
    } else if (b.each == code.role->name) {
      std::vector<Expr> box = {number(code.groups)};
      box.insert(box.end(), b.box.begin(), b.box.end());
      Memory& memory = own_buffers_[b.name] = run.reserve(frame_, b.dtype, box, "buffer `" + b.name.text() + "`");
      poison(memory);
      frame_.bind(b.name, &memory);
    }
  }
  Activation& body = stack_.emplace_back();
  body.body = &code.steps;
}

const Step* Process::next_step() const {
  const Activation& top = stack_.back();
  if (top.iterations) return top.next < top.planned.size() ? top.planned[top.next].operation->step : nullptr;
  return top.next < top.body->size() && (top.owner == nullptr || top.begun) ? &(*top.body)[top.next] : nullptr;
}

Process::Status Process::step() {
  while (!stack_.empty()) {
    Activation& top = stack_.back();
    if (const Step* next = next_step()) {
      if (top.iterations) before(top, top.planned[top.next]);
      if (!ready(*next)) return Status::waits;
      const std::size_t depth = stack_.size();
      ++top.next;
      run(*next);
      Activation& now = stack_.back();
      if (stack_.size() == depth && now.iterations) after(now, now.planned[now.next - 1]);
      return Status::moved;
    }
    Status status = Status::moved;
    if (top.owner != nullptr && std::holds_alternative<kernel::For>(top.owner->from->op)) {
      if (next_trip(top, status)) return Status::moved;
      if (status == Status::waits) return status;
    }
    pop();
  }
  return Status::ended;
}

Process::Status Process::step_seen(Operation& seen) {
  const auto is_seen = [](const Step& step) {
    const auto& op = step.from->op;
    return !std::holds_alternative<kernel::For>(op) && !std::holds_alternative<kernel::When>(op) &&
           !std::holds_alternative<kernel::If>(op) && !std::holds_alternative<kernel::Let>(op);
  };
  while (true) {
    noted_ = {};
    const Status status = step();
    const Step* waiting = status == Status::waits && !stack_.empty() ? next_step() : nullptr;
    if (waiting != nullptr) noted_.statement = waiting->from;
    if (status == Status::moved && (noted_.statement == nullptr || !is_seen(*last_))) continue;
    seen = noted_;
    seen.waits = status == Status::waits;
    seen.kernel = kernel_.name;
    seen.role = code_.role->name;
    seen.group = group_;
    seen.workgroup = workgroup_.number;
    return status;
  }
}

void Process::push(const Step& owner) {
  Activation& block = stack_.emplace_back();
  block.owner = &owner;
  block.body = &owner.body;
  block.begun = !std::holds_alternative<kernel::For>(owner.from->op);
}

void Process::pop() {
  const Step* owner = stack_.back().owner;
  if (owner != nullptr && std::holds_alternative<kernel::For>(owner->from->op)) {
    trips_.pop_back();
    loop_carries_.pop_back();
  }
  if (owner != nullptr && std::holds_alternative<kernel::If>(owner->from->op)) {
    if_carries_.pop_back();
    mask_ = stack_.back().outer_mask;
  }
  stack_.pop_back();
  if (stack_.empty()) return;
  Activation& around = stack_.back();
  if (around.iterations) after(around, around.planned[around.next - 1]);
}

void Process::run(const Step& step) {
  frame_.budget().spend(1);
  last_ = &step;
  noted_.statement = step.from;
  std::visit([&](const auto& op) { run_op(step, op); }, step.from->op);
}

// ---- loops ----

void Process::run_op(const Step& step, const kernel::For& loop) {
  assign_all(step, nullptr);
  for (const int slot : step.tokens) frame_.binding(slot) = {};
  loop_carries_.push_back(&step.carried);
  trips_.emplace_back(loop.variable, 0);
  push(step);
  Activation& now = stack_.back();
  Evaluation bounds(frame_, step.formula);
  for (const Step::Range& r : step.ranges) {
    const std::string what = "the range of `" + loop.variable.text() + "`";
    now.ranges.emplace_back(uniform_integer(bounds.value(r.lo), what), uniform_integer(bounds.value(r.hi), what));
  }
  if (step.staged) begin_iterations(now);
}

void Process::bind_tags(const Step& loop, std::size_t range) {
  for (const Step::Range& r : loop.ranges) {
    if (!r.tag.empty()) frame_.bind(r.tag, scalar(Kind::boolean, r.tag == loop.ranges[range].tag ? 1 : 0));
  }
}

/// False where the loop is over, or has to wait.
bool Process::next_trip(Activation& loop, Status& status) {
  if (loop.iterations) return next_staged_trip(loop);
  if (loop.owner->ranges.empty()) return next_item(loop, status);
  if (loop.begun) ++loop.at;
  const bool first = !loop.begun;
  loop.begun = true;
  if (first) loop.at = loop.ranges[0].first;
  bool entered = first;
  while (loop.at >= loop.ranges[loop.range].second) {
    if (++loop.range == loop.ranges.size()) return false;
    loop.at = loop.ranges[loop.range].first;
    entered = true;
  }
  if (entered) bind_tags(*loop.owner, loop.range);
  frame_.budget().spend(1);
  trips_.back().second = loop.at;
  frame_.bind(trips_.back().first, scalar(Kind::integer, static_cast<double>(loop.at)));
  loop.next = 0;
  return true;
}

bool Process::next_item(Activation& loop, Status& status) {
  std::int64_t item = 0;
  const KernelRun::Draw drawn = run_.item(workgroup_, items_begun_, item);
  if (drawn != KernelRun::Draw::item) {
    status = drawn == KernelRun::Draw::wait ? Status::waits : Status::moved;
    return false;
  }
  ++items_begun_;
  loop.begun = true;
  loop.next = 0;
  frame_.budget().spend(1);
  trips_.back().second = item;
  start_item(item);
  return true;
}

/// A work item finds nothing that another one left behind: which items share a workgroup is no part of the meaning.
void Process::start_item(std::int64_t item) {
  frame_.bind(kernel_.work.variable, scalar(Kind::integer, static_cast<double>(item)));
  const auto reads_on = [](const TokenRef& token) { return token->progress == Token::Progress::issued; };
  if (std::none_of(issued_.begin(), issued_.end(), reads_on)) {
    for (auto& [name, memory] : own_buffers_) poison(memory);
    for (const Symbol name : code_.own_buffers) poison(workgroup_.buffers.at(name));
  }
  for (const kernel::Let& l : kernel_.lets) frame_.bind(l.name, uniform(l.value));
}

void Process::poison(Memory& memory) {
  frame_.budget().spend(static_cast<std::int64_t>(memory.own.size()));
  const double value = options_.poison ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  std::fill(memory.own.begin(), memory.own.end(), value);
}

TileRef Process::uniform(Expr expr) {
  Formula formula;
  FormulaBuilder(frame_, formula).root(expr);
  return Evaluation(frame_, formula).value(formula.roots[0]);
}

// ---- conditions ----

void Process::run_op(const Step& step, const kernel::When& when) {
  const TileRef condition = Evaluation(frame_, step.formula).value(step.values[0]);
  if (!condition->axes.empty()) stop("the condition of `when` must be uniform: `" + fathom::print(when.condition) + "`");
  if (only_value(*condition) != 0) push(step);
}

void Process::run_op(const Step& step, const kernel::If&) {
  TileRef holds = Evaluation(frame_, step.formula).value(step.values[0]);
  if (mask_) holds = apply(Op::logical_and, {mask_, holds}, frame_.budget());
  if (!any_true(*holds)) return;
  push(step);
  stack_.back().outer_mask = mask_;
  mask_ = holds;
  if_carries_.push_back(&step.carried);
}

// ---- waiting ----

bool Process::ready(const Step& step) {
  return std::visit(Overloaded{
                        [&](const kernel::Acquire& a) {
                          const Ring& r = ring(step, a.channel.name);
                          return r.acquired - r.all_released() < r.slots.size();
                        },
                        [&](const kernel::Receive& a) {
                          const Ring& r = ring(step, a.channel.name);
                          return r.published > r.received[receiver(a.channel.name)];
                        },
                        [&](const kernel::Take& t) { return workgroup_.turns[t.turn] == group_; },
                        [&](const auto&) { return !step.meets || meet(step); },
                    },
                    step.from->op);
}

std::string Process::waits_for() const {
  std::string who = "role `" + code_.role->name.text() + "`";
  if (code_.groups > 1) who = "group " + std::to_string(group_) + " of " + who;
  const Step* step = stack_.empty() ? nullptr : next_step();
  if (step == nullptr) return who + " waits for a work item";
  std::string text = kernel::print(*step->from);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::string what = std::visit(Overloaded{
                                          [](const kernel::Acquire& a) { return "a free slot of `" + a.channel.name.text() + "`"; },
                                          [](const kernel::Receive& r) { return "an item of `" + r.channel.name.text() + "`"; },
                                          [](const kernel::Take& t) { return "its turn of `" + t.turn.text() + "`"; },
                                          [&](const auto&) { return "the other groups at `" + text + "`"; },
                                      },
                                      step->from->op);
  return who + " waits for " + what;
}

}  // namespace fathom::interp::tiles
