#include "edit.hpp"

namespace fathom::mutants {
namespace {

using kernel::Block;
using kernel::Module;
using kernel::Statement;

void blocks_below(Block& block, const std::function<void(Block&)>& f) {
  f(block);
  for (Statement& each : block) {
    if (auto* loop = std::get_if<kernel::For>(&each.op)) blocks_below(loop->body, f);
    if (auto* when = std::get_if<kernel::When>(&each.op)) blocks_below(when->body, f);
    if (auto* branch = std::get_if<kernel::If>(&each.op)) blocks_below(branch->body, f);
  }
}

void values_in(Block& root, const std::function<void(kernel::Value&)>& f) {
  blocks_below(root, [&](Block& block) {
    for (Statement& each : block)
      if (auto* value = std::get_if<kernel::Value>(&each.op)) f(*value);
  });
}

/// The tree with every node edited; nodes are shared and immutable, so new ones are made.
loop::NodeRef edited(const loop::NodeRef& node, const std::function<void(loop::Node&)>& f) {
  loop::Node copy = *node;
  if (auto* loop = std::get_if<loop::Loop>(&copy)) loop->body = edited(loop->body, f);
  if (auto* sequence = std::get_if<loop::Sequence>(&copy))
    for (loop::NodeRef& each : sequence->items) each = edited(each, f);
  f(copy);
  return std::make_shared<const loop::Node>(std::move(copy));
}

}  // namespace

Edit on_loops(std::function<void(loop::Program&)> f) {
  return [f = std::move(f)](const Ir& ir) {
    loop::Program program = ir.loop();
    f(program);
    return make_ir(std::move(program));
  };
}

Edit on_module(std::function<void(Module&)> f) {
  return [f = std::move(f)](const Ir& ir) {
    Module module = ir.module();
    f(module);
    return make_ir(ir.level, std::move(module));
  };
}

void each_loop(loop::Program& program, const std::function<void(loop::Loop&)>& f) {
  program.root = edited(program.root, [&](loop::Node& node) {
    if (auto* loop = std::get_if<loop::Loop>(&node)) f(*loop);
  });
}

void each_combine(loop::Program& program, const std::function<void(loop::Combine&)>& f) {
  program.root = edited(program.root, [&](loop::Node& node) {
    if (auto* combine = std::get_if<loop::Combine>(&node)) f(*combine);
  });
}

void each_repair(loop::Program& program, const std::function<void(math::Repair&)>& f) {
  for (math::Statement& each : program.math.statements)
    if (auto* reduction = std::get_if<math::Reduction>(&each.value); reduction != nullptr && reduction->repair) f(*reduction->repair);
}

void each_map(loop::Program& program, const Rewrite& f) {
  for (math::Statement& each : program.math.statements)
    if (auto* map = std::get_if<math::Map>(&each.value)) map->value = transform(map->value, f);
}

void each_block(Module& module, const std::function<void(Block&)>& f) {
  for (kernel::Kernel& kernel : module.kernels)
    for (kernel::Role& role : kernel.roles) blocks_below(role.body, f);
}

void each_value(Module& module, const std::function<void(kernel::Value&)>& f) {
  for (kernel::Kernel& kernel : module.kernels)
    for (kernel::Role& role : kernel.roles) values_in(role.body, f);
}

void each_for(Module& module, const std::function<void(kernel::For&)>& f) {
  each_block(module, [&](Block& block) {
    for (Statement& each : block)
      if (auto* loop = std::get_if<kernel::For>(&each.op); loop != nullptr && !loop->ranges.empty()) f(*loop);
  });
}

void each_carried_value(Module& module, const std::function<void(kernel::Value&)>& f) {
  each_for(module, [&](kernel::For& loop) {
    if (!loop.carry.empty()) values_in(loop.body, f);
  });
}

void each_let(Module& module, const std::function<void(kernel::Let&)>& f) {
  for (kernel::Kernel& kernel : module.kernels)
    for (kernel::Let& let : kernel.lets) f(let);
  each_block(module, [&](Block& block) {
    for (Statement& each : block)
      if (auto* let = std::get_if<kernel::Let>(&each.op)) f(*let);
  });
}

void rewrite(kernel::Value& value, const Rewrite& f) {
  for (Expr& each : value.values) each = transform(each, f);
}

void rewrite(Module& module, const Rewrite& f) {
  each_value(module, [&](kernel::Value& value) { rewrite(value, f); });
}

bool is_number(Expr e, int value) { return e == number(value); }

bool is_reduce(Expr e, const char* reducer) { return e.is(Op::reduce) && e.name() == Symbol(reducer); }

bool is_guard(Expr e, int then) {
  return e.is(Op::where) && e.arg(0).is(Op::eq) && is_minus_infinity(e.arg(0).arg(1)) && is_number(e.arg(1), then);
}

bool is_rescale(Expr e) { return e.is(Op::add) && e.arg(0).is(Op::mul) && is_reduce(e.arg(1), "sum"); }

bool is_running_maximum(Expr e) { return e.is(Op::max) && is_reduce(e.arg(1), "max"); }

bool is_result(const Module& module, Symbol name) {
  for (const math::Parameter& each : module.results)
    if (each.name == name) return true;
  return false;
}

bool reads_parameter(const Module& module, Expr e) {
  if (!e.is(Op::read) || e.args().empty()) return false;
  for (const math::Parameter& each : module.params)
    if (each.name == e.name()) return true;
  return false;
}

bool has_prime(Symbol name) { return !name.text().empty() && name.text().back() == '\''; }

Symbol without_prime(Symbol name) { return has_prime(name) ? Symbol(name.text().substr(0, name.text().size() - 1)) : name; }

}  // namespace fathom::mutants
