// Atomics, once a workgroup, and what other workgroups and other kernels have stored: fences, loads that bypass what may be stale, and
// waits for kernels in front.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"
#include "ir/overloaded.hpp"

namespace fathom::gpu {
namespace {

void expressions_of(const kernel::Block& body, const std::function<void(Expr)>& found) {
  const auto access = [&](const kernel::Access& a) {
    for (const Expr e : a.subscripts) found(e);
  };
  for (const kernel::Statement& s : body) {
    std::visit(Overloaded{
                   [&](const kernel::Value& v) {
                     for (const Expr e : v.values) found(e);
                     for (const kernel::Access& to : v.targets) access(to);
                   },
                   [&](const kernel::Let& l) { found(l.value); },
                   [&](const kernel::Copy& c) {
                     found(c.from);
                     access(c.to);
                   },
                   [&](const kernel::For& f) {
                     for (const kernel::TaggedRange& r : f.ranges) {
                       found(r.lo);
                       found(r.hi);
                     }
                     expressions_of(f.body, found);
                   },
                   [&](const kernel::When& w) {
                     found(w.condition);
                     expressions_of(w.body, found);
                   },
                   [&](const kernel::If& i) { expressions_of(i.body, found); },
                   [](const auto&) {},
               },
               s.op);
  }
}

std::set<Symbol> reads_of(const kernel::Kernel& k) {
  std::set<Symbol> names;
  const auto note = [&](Expr e) {
    if (e)
      visit(e, [&](Expr part) {
        if (part.is(Op::read)) names.insert(part.name());
      });
  };
  for (const kernel::Let& l : k.lets) note(l.value);
  for (const kernel::Role& r : k.roles) expressions_of(r.body, note);
  return names;
}

/// Values' targets, ends of copies; atomics too, if asked for.
void stores_of(const kernel::Block& body, std::set<Symbol>& names, bool& acquires) {
  for (const kernel::Statement& s : body) {
    if (const auto* v = std::get_if<kernel::Value>(&s.op))
      for (const kernel::Access& to : v->targets) names.insert(to.name);
    if (const auto* c = std::get_if<kernel::Copy>(&s.op)) names.insert(c->to.name);
    if (const auto* a = std::get_if<kernel::Atomic>(&s.op)) {
      names.insert(a->place.name);
      acquires = acquires || a->acquire;
    }
    if (const auto* f = std::get_if<kernel::For>(&s.op)) stores_of(f->body, names, acquires);
    if (const auto* w = std::get_if<kernel::When>(&s.op)) stores_of(w->body, names, acquires);
    if (const auto* i = std::get_if<kernel::If>(&s.op)) stores_of(i->body, names, acquires);
  }
}

}  // namespace

/// Tensors that this kernel reads while others store them: workgroups beside it, which an atomic makes known, and a kernel in front that it
/// does not wait for before it starts. And what a kernel behind reads in that way.
void KernelLowering::find_what_others_store() {
  const auto stored = [](const kernel::Kernel& k, bool& acquires) {
    std::set<Symbol> names;
    for (const kernel::Role& r : k.roles) stores_of(r.body, names, acquires);
    return names;
  };
  bool acquires = false, ignored = false;
  const std::set<Symbol> own = stored(kernel_, acquires), reads = reads_of(kernel_);
  std::set<Symbol> others = acquires ? own : std::set<Symbol>();
  for (std::size_t i = 0; i < module_.kernels.size(); ++i) {
    const kernel::Kernel& k = module_.kernels[i];
    // Only the kernel directly in front is one that the machine lets another begin beside; a launch condition may leave it out.
    const bool early = i > 0 && k.early && target_.starts_early && module_.kernels[i - 1].name == k.after && !module_.kernels[i - 1].when;
    if (!early) continue;
    if (&k == &kernel_) {
      result_.early = true;
      for (std::size_t before = 0; before < i; ++before) {
        const std::set<Symbol> its = stored(module_.kernels[before], ignored);
        others.insert(its.begin(), its.end());
      }
    }
    if (&module_.kernels[i - 1] == &kernel_) next_reads_ = reads_of(k);
  }
  std::set_intersection(reads.begin(), reads.end(), others.begin(), others.end(), std::inserter(others_store_, others_store_.end()));
}

bool KernelLowering::reads_what_others_store(const kernel::Statement& s) const {
  bool found = false;
  expressions_of({s}, [&](Expr e) {
    if (e) visit(e, [&](Expr part) { found = found || (part.is(Op::read) && others_store_.count(part.name()) > 0); });
  });
  return found;
}

bool KernelLowering::lets_read_what_others_store() const {
  return std::any_of(kernel_.lets.begin(), kernel_.lets.end(), [&](const kernel::Let& l) {
    bool found = false;
    visit(l.value, [&](Expr part) { found = found || (part.is(Op::read) && others_store_.count(part.name()) > 0); });
    return found;
  });
}

/// All threads come here: work items aside, nothing is around the statement.
void KernelLowering::meet_other_kernels(const kernel::Statement& s) {
  if (loops_ > 0 || conditions_ > 0) return;
  if (const auto* f = std::get_if<kernel::For>(&s.op); f != nullptr && f->ranges.empty()) return;  // its body's statements come here
  if (result_.early && !waited_ && reads_what_others_store(s)) {
    waited_ = true;
    emit({Do{call_of("wait_for_kernels_in_front", {})}});
  }
  if (next_reads_.empty() || next_started_) return;
  std::set<Symbol> stores;
  bool ignored = false;
  stores_of({s}, stores, ignored);
  const bool hands_on = std::any_of(stores.begin(), stores.end(), [&](Symbol name) { return next_reads_.count(name) > 0; });
  if (!hands_on) return;
  next_started_ = true;
  emit({Do{call_of("start_kernel_behind", {})}});
}

/// Whoever sees the new number sees what all threads of this workgroup stored before (release); behind it all threads see what the
/// workgroups stored that counted before (acquire).
void KernelLowering::lower_atomic(const kernel::Atomic& a) {
  const std::string& name = a.result.text();
  const Memory* m = memory(a.place.name);
  if (m == nullptr || !m->global) refused("the atomic `" + name + "` counts in what is no workspace", {name});
  const Type type = type_of(m->dtype);
  const std::string& operation = a.operation.text();
  const bool wraps = operation == "inc_wrap";
  if (type != Type::i32 && (wraps || type != Type::i64))
    refused("the atomic `" + name + "` is on numbers that the machine has no such operation for", {name}, "count in i32");
  const char* function = wraps                ? "increment_wrapping"
                         : operation == "add" ? "atomic_add"
                         : operation == "max" ? "atomic_max"
                                              : "atomic_min";
  const Symbol shared = names_.fresh(name + "_of_workgroup");
  result_.shared.push_back({shared, type, {}});
  if (a.release) emit({Do{call_of("fence_device", {})}});
  wait_for_role();
  Expr one = first_thread();
  if (const Expr zero = group_zero()) one = one ? binary(Op::logical_and, zero, one) : zero;
  ThreadBlock count = inside([&] {
    const Expr place = call_of("&", {fathom::read(m->name, {offset(*m, a.place.subscripts, {})})});
    emit({Assign{symbol(shared), call_of(function, {place, converted(element(a.value, {}), type).expr})}});
  });
  if (one) {
    emit({Branch{one, std::move(count), {}}});
  } else {
    for (ThreadStatement& s : count) emit(std::move(s));
  }
  wait_for_role();
  const Symbol result = names_.of(a.result);
  emit({Declare{{result, type, {}}, symbol(shared)}});
  scalars_[a.result] = {symbol(result), type};
  if (a.acquire) emit({Do{call_of("fence_device", {})}});
}

}  // namespace fathom::gpu
