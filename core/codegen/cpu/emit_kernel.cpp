// A kernel's declarations and control flow. A loop over tagged ranges is one loop whose tag is a run-time value, so its body is compiled
// once.
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Verifier.h>

#include "codegen/cpu/emitter.hpp"
#include "ir/overloaded.hpp"

namespace fathom::cpu {
namespace {
constexpr std::int64_t array_alignment = 64;
constexpr std::int64_t array_padding = 256;  ///< vectors may read past the end of an array
constexpr std::int64_t largest_arena = std::int64_t{1} << 28;

Expr with_fixed_dims(Expr e, const LaunchLayout& layout) {
  Substitution values;
  for (const auto& [name, value] : layout.fixed_dims) values[dim(name)] = values[symbol(name)] = number(value);
  return simplify_integer(substitute(e, values));
}
}  // namespace

KernelEmitter::KernelEmitter(Ops& ops, const kernel::Module& module, const kernel::Kernel& kernel, const LaunchLayout& layout,
                             const kernel::StatementLines& lines, llvm::DISubprogram* scope)
    : ops_(ops), b_(ops.b), m_(module), k_(kernel), layout_(layout), lines_(lines), scope_(scope), kinds_(infer_kinds(module, kernel)) {
  for (const kernel::Role& role : kernel.roles) count_reads(role.body, reads_);
  for (const kernel::Let& let : kernel.lets) count_reads(let.value, reads_);
}

// ---- launch ----

Place KernelEmitter::launch_place(std::size_t argument, llvm::Value* launch) {
  const LaunchTensor& tensor = layout_.tensors[argument];
  const auto field = [&](int which) {  // one of the four pointers of Launch
    return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), launch, static_cast<std::uint64_t>(which)));
  };
  const auto entry = [&](int which, std::size_t i, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstGEP1_64(type, field(which), i));
  };
  Place place;
  place.name = tensor.name;
  place.dtype = tensor.dtype;
  place.base = entry(0, argument, b_.getPtrTy());
  for (std::size_t d = 0; d < tensor.extents.size(); ++d) {
    const auto known = constant_integer(with_fixed_dims(tensor.extents[d], layout_));
    place.extents.push_back(known ? ops_.i64(*known) : entry(1, tensor.first_axis + d, b_.getInt64Ty()));
    place.strides.push_back(static_cast<int>(d) == tensor.contiguous ? ops_.i64(1) : entry(2, tensor.first_axis + d, b_.getInt64Ty()));
  }
  return place;
}

void KernelEmitter::declare_launch(llvm::Value* launch) {
  for (std::size_t i = 0; i < layout_.tensors.size(); ++i) declare(launch_place(i, launch));
  for (const auto& [name, value] : layout_.fixed_dims) scalars_[name] = ops_.integer(value);
  if (layout_.runtime_dims.empty()) return;
  llvm::Value* dims = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), launch, 3));
  for (std::size_t i = 0; i < layout_.runtime_dims.size(); ++i)
    scalars_[layout_.runtime_dims[i]] = {b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), dims, i)), Kind::integer, 1};
}

// ---- declarations ----

Place KernelEmitter::allocate(Symbol name, DType dtype, const std::vector<std::int64_t>& shape) {
  Place place;
  place.name = name;
  place.dtype = dtype;
  place.local = true;
  std::int64_t count = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    place.strides.insert(place.strides.begin(), ops_.i64(count));
    place.extents.insert(place.extents.begin(), ops_.i64(shape[d]));
    if (shape[d] > 0 && count > largest_arena / shape[d]) {
      fail("'" + name.text() + "' is larger than " + std::to_string(largest_arena >> 20) + " MiB; choose smaller tiles.");
      count = 1;
    }
    count *= std::max<std::int64_t>(shape[d], 1);
  }
  auto* placeholder = new llvm::Argument(b_.getPtrTy());  // becomes a parameter in finish_function
  arrays_.emplace_back(placeholder, arena_bytes_);
  place.base = placeholder;
  arena_bytes_ += (count * size_in_bytes(dtype) + array_padding + array_alignment - 1) / array_alignment * array_alignment;
  if (arena_bytes_ > largest_arena)
    fail("The tile values of kernel '" + k_.name.text() + "' need more than " + std::to_string(largest_arena >> 20) +
         " MiB a thread; choose smaller tiles.");
  return place;
}

void KernelEmitter::declare_axes() {
  for (const kernel::TileAxis& axis : k_.axes) {
    std::int64_t whole = 1;
    std::vector<Symbol> names;
    for (std::size_t i = axis.parts.size(); i-- > 0;) {
      const kernel::AxisPart& part = axis.parts[i];
      const auto extent = constant_integer(with_fixed_dims(part.extent, layout_));
      if (!extent || *extent < 0 || *extent > largest_arena) {
        fail("The tile axis '" + part.name.text() + "' has the extent " + print(part.extent) +
             ", which is not a constant: tiles have fixed extents on the CPU.");
        return;
      }
      extents_[part.name] = *extent;
      if (axis.parts.size() > 1) parts_[part.name] = {axis.name, whole};
      whole *= *extent;
      if (whole > largest_arena) {
        fail("The tile axis '" + axis.name.text() + "' is too large.");
        return;
      }
      names.insert(names.begin(), part.name);
    }
    extents_[axis.name] = whole;
    if (axis.parts.size() > 1) split_[axis.name] = names;
  }
}

void KernelEmitter::declare_kernel() {
  const auto shape_of = [&](Symbol name, const std::vector<Expr>& box) {
    std::vector<std::int64_t> shape;
    for (Expr e : box) {
      const auto extent = constant_integer(with_fixed_dims(e, layout_));
      if (!extent || *extent < 0) fail("'" + name.text() + "' has the extent " + print(e) + ", which is not a constant.");
      shape.push_back(extent.value_or(0));
    }
    return shape;
  };
  for (const kernel::Buffer& buffer : k_.buffers) {
    if (!buffer.alias.empty())
      fail("The buffer '" + buffer.name.text() + "' has an alias; the CPU back end gives each buffer its own place.");
    Place place = allocate(buffer.name, buffer.dtype, shape_of(buffer.name, buffer.box));
    place.drops_group = !buffer.each.empty();
    declare(place);
  }
  for (const kernel::Channel& channel : k_.channels) {
    if (constant_integer(channel.depth) != 1 || channel.from != channel.to)
      fail("The channel '" + channel.name.text() + "' must have depth 1 and lead from a role to itself on the CPU.");
    declare(allocate(channel.name, channel.dtype, shape_of(channel.name, channel.box)));
  }
}

// An axis that is not declared gets its extent from a box that it walks.
void KernelEmitter::infer_axes(std::span<const Expr> subscripts, Symbol name) {
  const Place* place = find_place(name, subscripts.size());
  if (place == nullptr || subscripts.size() != place->extents.size()) return;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    if (!subscripts[d].is(Op::index) || extents_.contains(subscripts[d].name())) continue;
    if (const auto extent = constant_of(place->extents[d])) extents_[subscripts[d].name()] = *extent;
  }
}

void KernelEmitter::infer_axes(const kernel::Block& body) {
  const auto reads = [&](Expr e) {
    if (!e) return;
    visit(e, [&](Expr node) {
      if (node.is(Op::read)) infer_axes(node.args(), node.name());
    });
  };
  const auto access = [&](const kernel::Access& a) { infer_axes(a.subscripts, a.name); };
  for (const kernel::Statement& statement : body)
    std::visit(Overloaded{[&](const kernel::Value& s) {
                            for (const kernel::Access& target : s.targets) access(target);
                            for (Expr e : s.values) reads(e);
                          },
                          [&](const kernel::Copy& s) {
                            access(s.to);
                            reads(s.from);
                          },
                          [&](const kernel::Mma& s) {
                            access(s.a);
                            access(s.b);
                            access(s.acc);
                          },
                          [&](const kernel::Acquire& s) { slots_[s.slot] = s.channel.name; },
                          [&](const kernel::Receive& s) { slots_[s.slot] = s.channel.name; },
                          [&](const kernel::For& s) { infer_axes(s.body); }, [&](const kernel::When& s) { infer_axes(s.body); },
                          [&](const kernel::If& s) { infer_axes(s.body); }, [](const auto&) {}},
               statement.op);
}

// ---- the function ----

std::int64_t KernelEmitter::emit(const std::string& name) {
  llvm::Module& module = ops_.module();
  auto* draft_type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false);
  auto* draft = llvm::Function::Create(draft_type, llvm::Function::InternalLinkage, name + ".draft", module);
  b_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", draft));
  come_from(0);
  declare_launch(draft->getArg(0));
  declare_axes();
  declare_kernel();
  if (k_.roles.size() != 1) fail("Kernel '" + k_.name.text() + "' has " + std::to_string(k_.roles.size()) + " roles; the CPU runs one.");
  if (!k_.turns.empty()) fail("Kernel '" + k_.name.text() + "' has turns; the CPU runs one group.");
  if (error_.empty()) {
    infer_axes(k_.roles[0].body);
    scalars_[k_.work.variable] = {draft->getArg(1), Kind::integer, 1};
    for (const kernel::Let& let : m_.lets) scalars_[let.name] = scalar(let.value);
    for (const kernel::Let& let : k_.lets) scalars_[let.name] = scalar(let.value);
    emit_role(k_.roles[0]);
  }
  b_.CreateRetVoid();
  finish_function(draft, name);
  return arena_bytes_;
}

// Arrays become noalias parameters of the body, so that LLVM knows that they are apart; the entry cuts them from the arena.
void KernelEmitter::finish_function(llvm::Function* draft, const std::string& name) {
  llvm::Module& module = ops_.module();
  std::vector<llvm::Type*> parameters{b_.getPtrTy(), b_.getInt64Ty()};
  parameters.resize(2 + arrays_.size(), b_.getPtrTy());
  auto* body = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), parameters, false), llvm::Function::InternalLinkage,
                                      name + ".body", module);
  body->splice(body->begin(), draft);
  for (unsigned i = 0; i < 2; ++i) draft->getArg(i)->replaceAllUsesWith(body->getArg(i));
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const unsigned parameter = static_cast<unsigned>(i + 2);
    arrays_[i].first->replaceAllUsesWith(body->getArg(parameter));
    delete arrays_[i].first;
    body->addParamAttr(parameter, llvm::Attribute::NoAlias);
    body->addParamAttr(parameter, llvm::Attribute::getWithAlignment(module.getContext(), llvm::Align(array_alignment)));
  }
  draft->eraseFromParent();
  body->setSubprogram(scope_);
  body->addFnAttr(llvm::Attribute::NoInline);
  body->addFnAttr(llvm::Attribute::NoUnwind);
  auto* entry_type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getPtrTy()}, false);
  auto* entry = llvm::Function::Create(entry_type, llvm::Function::ExternalLinkage, name, module);
  entry->addFnAttr(llvm::Attribute::NoUnwind);
  b_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", entry));
  b_.SetCurrentDebugLocation({});
  std::vector<llvm::Value*> arguments{entry->getArg(0), entry->getArg(1)};
  for (const auto& [placeholder, offset] : arrays_)
    arguments.push_back(b_.CreateConstGEP1_64(b_.getInt8Ty(), entry->getArg(2), static_cast<std::uint64_t>(offset)));
  b_.CreateCall(body, arguments);
  b_.CreateRetVoid();
}

void KernelEmitter::emit_role(const kernel::Role& role) {
  const auto one = [](Expr e) { return !e || constant_integer(e) == 1; };
  if (!one(role.groups) || !one(role.warps)) {
    fail("Role '" + role.name.text() + "' has several groups or warps; on the CPU one thread is the workgroup.");
    return;
  }
  for (const kernel::Statement& statement : role.body) {
    const auto* loop = std::get_if<kernel::For>(&statement.op);
    if (const auto* let = std::get_if<kernel::Let>(&statement.op)) {
      scalars_[let->name] = scalar(let->value);
    } else if (loop != nullptr && loop->ranges.empty()) {
      if (loop->through || !loop->carry.empty()) fail("A loop over work that carries values between items is not supported on the CPU.");
      scalars_[loop->variable] = scalars_[k_.work.variable];
      emit_block(loop->body);
    } else {
      fail("Role '" + role.name.text() + "' has statements outside its loop over work, which the CPU back end does not run.");
    }
  }
}

void KernelEmitter::emit_block(const kernel::Block& body) {
  const auto names = scalars_;
  const int around = line_;
  for (const kernel::Statement& statement : body) {
    if (!error_.empty()) break;
    come_from(lines_.at(&statement));
    emit_statement(statement);
  }
  flush();
  come_from(around);  // the end of a loop is the loop's
  scalars_ = names;
}

void KernelEmitter::come_from(int line) {
  line_ = line;
  b_.SetCurrentDebugLocation(llvm::DILocation::get(b_.getContext(), static_cast<unsigned>(line), 0, scope_));
}

void KernelEmitter::emit_statement(const kernel::Statement& statement) {
  const auto unsupported = [&](const char* what) { fail(std::string(what) + " is not supported by the CPU back end."); };
  std::visit(Overloaded{[&](const kernel::Value& s) { emit_value(s); },
                        [&](const kernel::Let& s) {
                          flush();
                          scalars_[s.name] = scalar(s.value);
                        },
                        [&](const kernel::Copy& s) { emit_value({{s.to}, {s.from}, s.otherwise, {}, {}}); },
                        [&](const kernel::Mma& s) { emit_mma(s); }, [&](const kernel::Await& s) { emit_await(s); },
                        [&](const kernel::Acquire& s) { slots_[s.slot] = s.channel.name; },
                        [&](const kernel::Receive& s) { slots_[s.slot] = s.channel.name; }, [&](const kernel::For& s) { emit_for(s); },
                        [&](const kernel::When& s) {
                          flush();
                          emit_when(ops_.convert(scalar(s.condition), Kind::boolean).v, [&] { emit_block(s.body); });
                        },
                        [&](const kernel::If& s) { emit_if(s); }, [&](const kernel::Atomic&) { unsupported("'atomic'"); },
                        [&](const kernel::Take&) { unsupported("'take'"); }, [&](const kernel::Pass&) { unsupported("'pass'"); },
                        [](const auto&) {}},
             statement.op);
}

void KernelEmitter::emit_value(const kernel::Value& s) {
  const bool several = s.targets.size() > 1 && s.values.size() == 1 && s.values[0].is(Op::reduce);
  if (s.values.size() != (several ? 1 : s.targets.size())) {
    fail("A statement has " + std::to_string(s.targets.size()) + " targets but " + std::to_string(s.values.size()) + " values.");
    return;
  }
  std::vector<Expr> subscripts;
  for (const kernel::Access& target : s.targets)
    if (target.subscripts.size() > subscripts.size()) subscripts = target.subscripts;
  for (const kernel::Access& target : s.targets) subscripts.insert(subscripts.end(), target.subscripts.begin(), target.subscripts.end());
  const std::vector<Symbol> axes = axes_of(subscripts);
  if (several) {
    Expr e = s.values[0];
    flush();
    Reduction r;
    r.targets = s.targets;
    r.reducer = reducer_named(m_.reducers, e.name());
    if (r.reducer == nullptr) {
      fail("There is no reducer named '" + e.name().text() + "'.");
      return;
    }
    r.states = e.node().result == "states"_sym;
    r.kept = nest_axes(axes);
    r.reduced = reduced_axes(e);
    std::vector<Symbol> inner = axes;
    for (const NestAxis& axis : r.reduced) inner.push_back(axis.name);
    for (Expr value : values_of(e)) r.values.push_back(hoist_reductions(value, inner, s.otherwise));
    r.otherwise = s.otherwise;
    emit_reduction(std::move(r));
    return;
  }
  Map map{s.targets, {}, s.otherwise, line_};
  bool reduces = false;
  for (Expr value : s.values) visit(value, [&](Expr node) { reduces = reduces || node.is(Op::reduce); });
  if (reduces) flush();
  for (Expr value : s.values) map.values.push_back(hoist_reductions(value, axes, s.otherwise));
  add_map(std::move(map));
}

// On the CPU an mma is done when it is issued; only another name for the accumulator needs a copy.
void KernelEmitter::emit_await(const kernel::Await& s) {
  if (!s.acc) return;
  const auto token = tokens_.find(s.token);
  if (token == tokens_.end()) {
    fail("'" + s.token.text() + "' is awaited but no mma made it.");
    return;
  }
  if (resolve(s.acc->name) == resolve(token->second.name) && s.acc->subscripts == token->second.subscripts) return;
  emit_value({{*s.acc}, {read(token->second.name, token->second.subscripts)}, {}, {}, {}});
}

// ---- flow ----

void KernelEmitter::emit_when(llvm::Value* condition, const std::function<void()>& body) {
  branch(condition, [&] { body(); }, {});
}

void KernelEmitter::emit_if(const kernel::If& s) {
  flush();
  if (condition_) {
    fail("An 'if' inside an 'if' is not supported by the CPU back end.");
    return;
  }
  std::vector<Bound> axes;
  for (Symbol axis : axes_of(s.condition.subscripts)) axes.push_back({axis, {}, {}});
  Expr any = read(s.condition.name, s.condition.subscripts);
  if (!axes.empty()) any = hoist_reductions(reduce("any"_sym, {}, axes, {any}), {}, {});
  flush();
  emit_when(ops_.convert(scalar(any), Kind::boolean).v, [&] {
    if (!axes.empty()) {
      condition_ = s.condition;
      for (const kernel::Carry& c : s.carry) conditional_.insert(c.value.name);
    }
    emit_block(s.body);
    condition_.reset();
    conditional_.clear();
  });
}

void KernelEmitter::emit_for(const kernel::For& s) {
  flush();
  for (const kernel::Carry& c : s.carry)
    if (c.initial) emit_value({{c.value}, {c.initial}, {}, {}, {}});
  flush();
  if (!error_.empty()) return;
  const std::size_t count = s.ranges.size();
  if (count == 0) {
    fail("A loop over work inside another loop is not supported.");
    return;
  }
  std::vector<llvm::Value*> lo, hi;
  for (const kernel::TaggedRange& range : s.ranges) {
    lo.push_back(scalar_integer(range.lo));
    hi.push_back(scalar_integer(range.hi));
  }
  const auto names = scalars_;
  const auto body_with = [&](llvm::Value* i, llvm::Value* which) {
    scalars_[s.variable] = {i, Kind::integer, 1};
    std::map<Symbol, llvm::Value*> tags;
    for (std::size_t r = 0; r < count; ++r) {
      if (s.ranges[r].tag.empty()) continue;
      llvm::Value* here = which == nullptr ? ops_.truth(true).v : b_.CreateICmpEQ(which, ops_.i64(static_cast<std::int64_t>(r)));
      const auto [tag, is_new] = tags.emplace(s.ranges[r].tag, here);
      if (!is_new) tag->second = b_.CreateOr(tag->second, here);
    }
    for (const auto& [tag, holds] : tags) scalars_[tag] = {holds, Kind::boolean, 1};
    emit_block(s.body);
  };
  if (count == 1) {
    loop(lo[0], hi[0], 1, [&](llvm::Value* i) { body_with(i, nullptr); });
  } else {
    // Trip numbers 0..total over the concatenated ranges; the tag is the range that the trip falls into.
    std::vector<llvm::Value*> begin{ops_.i64(0)};
    for (std::size_t r = 0; r < count; ++r) {
      llvm::Value* length = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(hi[r], lo[r]), ops_.i64(0));
      begin.push_back(b_.CreateAdd(begin.back(), length));
    }
    loop(ops_.i64(0), begin.back(), 1, [&](llvm::Value* trip) {
      llvm::Value *which = ops_.i64(0), *shift = lo[0];
      for (std::size_t r = 1; r < count; ++r) {
        llvm::Value* reached = b_.CreateICmpSGE(trip, begin[r]);
        which = b_.CreateSelect(reached, ops_.i64(static_cast<std::int64_t>(r)), which);
        shift = b_.CreateSelect(reached, b_.CreateSub(lo[r], begin[r]), shift);
      }
      body_with(b_.CreateAdd(trip, shift), which);
    });
  }
  scalars_ = names;
}

}  // namespace fathom::cpu
