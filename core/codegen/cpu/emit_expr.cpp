// Expressions on one element, or on a vector of elements. `mask` says for which lanes the value matters: a read under a `where` or a
// short-circuit is masked by its condition, so an element that is masked out is never loaded, nor are its subscripts.
#include "codegen/cpu/emitter.hpp"

namespace fathom::cpu {

Val KernelEmitter::fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
  return ops_.integer(0);
}

Val KernelEmitter::scalar(Expr e) {
  Frame frame;
  return eval(e, frame);
}

llvm::Value* KernelEmitter::scalar_integer(Expr e) { return ops_.convert(scalar(e), Kind::integer).v; }

Val KernelEmitter::eval(Expr e, Frame& frame, Val mask) {
  const auto key = std::make_tuple(e, mask.v, frame.at_first);
  if (const auto found = frame.memo.find(key); found != frame.memo.end()) return found->second;
  const llvm::BasicBlock* block = b_.GetInsertBlock();
  Val value = eval_uncached(e, frame, mask);
  if (block == b_.GetInsertBlock()) frame.memo[key] = value;
  return value;
}

Val KernelEmitter::eval_uncached(Expr e, Frame& frame, Val mask) {
  switch (e.op()) {
    case Op::number:
      if (e.node().inexact != 0) return ops_.real(e.node().inexact, Kind::real_literal);
      if (e.node().number.is_integer()) return {ops_.i64(e.node().number.num()), Kind::literal, 1};
      return ops_.real(e.node().number.to_double(), Kind::real_literal);
    case Op::infinity:
      return ops_.real(std::numeric_limits<double>::infinity(), Kind::real_literal);
    case Op::boolean:
      return ops_.truth(e.node().truth);
    case Op::index:
    case Op::dim:
    case Op::symbol:
      return eval_name(e, frame);
    case Op::read:
      return eval_read(e, frame, mask);
    case Op::tuple:
      return eval(untuple(e), frame, mask);
    case Op::cast:
      return ops_.round_to(eval(e.arg(0), frame, mask), e.node().dtype);
    case Op::where:
      return eval_where(e, frame, mask);
    case Op::logical_and:
    case Op::logical_or:
      return eval_logical(e, frame, mask);
    case Op::random: {
      std::vector<Val> arguments;
      for (const Expr arg : e.args()) arguments.push_back(eval(arg, frame, mask));
      return ops_.random(arguments);
    }
    case Op::extent:
    case Op::call:
    case Op::reduce:
      return fail("'" + print(e) + "' cannot be compiled for the CPU here: " + std::string(spelling(e.op())) + " is not supported.");
    default:
      break;
  }
  if (kind(e.op()) == OpKind::infix) {
    Val left = eval(e.arg(0), frame, mask);
    return ops_.binary(e.op(), left, eval(e.arg(1), frame, mask));
  }
  if ((e.op() == Op::min || e.op() == Op::max) && e.args().size() >= 2) {
    Val result = eval(e.arg(0), frame, mask);
    for (std::size_t i = 1; i < e.args().size(); ++i) result = ops_.binary(e.op(), result, eval(e.arg(i), frame, mask));
    return result;
  }
  return ops_.unary(e.op(), eval(e.arg(0), frame, mask));
}

Val KernelEmitter::eval_name(Expr e, Frame& frame) {
  const Symbol name = e.name();
  if (const auto found = frame.symbols.find(name); found != frame.symbols.end()) return found->second;
  if (Val value = eval_index(name, frame)) return value;
  if (const auto found = scalars_.find(name); found != scalars_.end()) return found->second;
  if (const Place* place = find_place(name, 0); place != nullptr) return eval_read(read(name, {}), frame, {});
  return fail("The name '" + name.text() + "' means nothing here.");
}

// A whole axis is found from its parts, a part from its axis.
Val KernelEmitter::eval_index(Symbol name, Frame& frame) {
  const auto lane = [&](Symbol axis) {
    const Val& value = frame.index.at(axis);
    return frame.at_first && axis == frame.vector_axis && frame.lanes > 1 ? Val{frame.first, Kind::integer, 1} : value;
  };
  if (frame.index.contains(name)) return lane(name);
  if (const auto parts = split_.find(name); parts != split_.end() && parts->second.size() > 1) {
    Val sum;
    for (Symbol part : parts->second) {
      if (!frame.index.contains(part)) return {};
      Val term = ops_.binary(Op::mul, lane(part), ops_.integer(parts_.at(part).stride));
      sum = sum ? ops_.binary(Op::add, sum, term) : term;
    }
    return sum;
  }
  if (const auto part = parts_.find(name); part != parts_.end() && frame.index.contains(part->second.axis)) {
    Val quotient = ops_.binary(Op::floordiv, lane(part->second.axis), ops_.integer(part->second.stride));
    return ops_.binary(Op::mod, quotient, ops_.integer(extents_.at(name)));
  }
  return {};
}

Val KernelEmitter::eval_read(Expr e, Frame& frame, Val mask) {
  if (const auto found = frame.given.find(e); found != frame.given.end()) return found->second;
  const Symbol name = resolve(e.name());
  if (const auto found = frame.symbols.find(name); found != frame.symbols.end() && e.args().empty()) return found->second;
  if (const auto found = frame.elements.find(name); found != frame.elements.end())
    if (std::equal(e.args().begin(), e.args().end(), found->second.first.begin(), found->second.first.end())) return found->second.second;
  const Place* place = find_place(name, e.args().size());
  if (place == nullptr) {
    if (const auto found = scalars_.find(name); found != scalars_.end() && e.args().empty()) return found->second;
    return fail("'" + name.text() + "' is read before anything is assigned to it.");
  }
  return load(*place, subscripts_of(*place, e.args()), frame, mask);
}

bool KernelEmitter::reads_memory(Expr e) const {
  bool found = false;
  visit(e, [&](Expr node) {
    if (!node.is(Op::read) || found) return;
    const Place* place = find_place(node.name(), node.args().size());
    found = place != nullptr && !place->local;
  });
  return found;
}

// `a and b`: b is not evaluated, so not loaded, where a decides.
Val KernelEmitter::eval_logical(Expr e, Frame& frame, Val mask) {
  Val left = ops_.convert(eval(e.arg(0), frame, mask), Kind::boolean);
  Val needed = mask;
  if (reads_memory(e.arg(1))) needed = ops_.conjunction(mask, e.is(Op::logical_and) ? left : ops_.negation(left));
  return ops_.binary(e.op(), left, eval(e.arg(1), frame, needed));
}

Val KernelEmitter::eval_where(Expr e, Frame& frame, Val mask) {
  Val condition = ops_.convert(eval(e.arg(0), frame, mask), Kind::boolean);
  const auto branch_mask = [&](Expr branch_value, bool when) {
    return reads_memory(branch_value) ? ops_.conjunction(mask, when ? condition : ops_.negation(condition)) : mask;
  };
  Val then = eval(e.arg(1), frame, branch_mask(e.arg(1), true));
  Val otherwise = eval(e.arg(2), frame, branch_mask(e.arg(2), false));
  return ops_.select(condition, then, otherwise);
}

Val KernelEmitter::eval_or(Expr value, Expr otherwise, Frame& frame) {
  if (!otherwise) return eval(value, frame);
  const bool watched = std::exchange(frame.watch_inside, true);
  const Val before = std::exchange(frame.inside, Val{});
  frame.memo.clear();  // a remembered read would not report whether it was inside
  Val result = eval(value, frame);
  const Val inside = std::exchange(frame.inside, before);
  frame.watch_inside = watched;
  Val fill = eval(otherwise, frame);
  return inside ? ops_.select(inside, result, fill) : result;
}

}  // namespace fathom::cpu
