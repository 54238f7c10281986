// The module, roles and flow.
#include "codegen/gpu/lower.hpp"

#include <algorithm>
#include <utility>

#include "codegen/gpu/lowering.hpp"
#include "ir/overloaded.hpp"
#include "ir/trips.hpp"

namespace fathom::gpu {

void refused(std::string reason, std::vector<std::string> nodes, std::string hint) {
  throw Refused{{std::move(reason), std::move(nodes), std::move(hint)}};
}

// ---- names ----

Symbol CNames::free_name(const std::string& like) {
  std::string name;
  for (const char c : like) {
    if (c == '\'') {
      name += "_new";
    } else if (c == '~') {
      name += "_ref";
    } else {
      name += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
    }
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name = "v_" + name;
  std::string found = name;
  for (int i = 2; taken_.count(found) > 0; ++i) found = name + "_" + std::to_string(i);
  taken_.insert(found);
  return Symbol(found);
}
Symbol CNames::of(Symbol name) {
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  return known_[name] = free_name(name.text());
}
Symbol CNames::fresh(const std::string& like) { return free_name(like); }

namespace {
/// Words of the language and names of the prelude.
const std::set<std::string>& reserved() {
  static const auto* words = new std::set<std::string>{
      "alignas",  "alignof",  "and",       "asm",       "auto",    "bool",      "break",     "case",     "catch",    "char",
      "class",    "const",    "constexpr", "continue",  "default", "delete",    "do",        "double",   "else",     "enum",
      "explicit", "export",   "extern",    "false",     "float",   "for",       "friend",    "goto",     "if",       "inline",
      "int",      "long",     "mutable",   "namespace", "new",     "not",       "operator",  "or",       "private",  "protected",
      "public",   "register", "return",    "short",     "signed",  "sizeof",    "static",    "struct",   "switch",   "template",
      "this",     "throw",    "true",      "try",       "typedef", "typename",  "union",     "unsigned", "using",    "virtual",
      "void",     "volatile", "while",     "xor",       "lane",    "warp",      "g",         "abs",      "max",      "min",
      "exp",      "log",      "pow",       "sin",       "cos",     "y0",        "y1",        "j0",       "j1",       "yn",
      "jn",       "infinity", "unrolled",  "rolled",    "bf16",    "f16",       "threadIdx", "blockIdx", "blockDim", "gridDim",
      "warpSize", "main",     "arguments", "count",     "dims",    "dim_count", "stream",    "error",    "on",       "failed"};
  return *words;
}
}  // namespace

// ---- the kernel ----

KernelLowering::KernelLowering(const kernel::Module& module, const kernel::Kernel& kernel, const Target& target, ThreadModule& into)
    : module_(module), kernel_(kernel), target_(target), into_(into), names_(reserved()) {}

void KernelLowering::parameters() {
  const auto tensor = [&](Symbol name, DType dtype, const std::vector<Expr>& extents, bool constant) {
    const Symbol own = names_.of(name);
    result_.parameters.push_back({name, {own, type_of(dtype), {}}, !extents.empty(), constant});
    if (extents.empty()) {
      scalars_[name] = {symbol(own), type_of(dtype)};
    } else {
      memories_[name] = {own, dtype, extents, true, name};
      memories_[name].fresh = others_store_.count(name) > 0;
      result_.parameters.back().alone = !memories_[name].fresh;
    }
  };
  for (const math::Dimension& d : module_.dims) {
    if (!d.runtime) {
      scalars_[d.name] = {number(d.value), Type::i32};
      continue;
    }
    const Symbol own = names_.of(d.name);
    result_.parameters.push_back({d.name, {own, Type::i32, {}}, false, false});
    scalars_[d.name] = {symbol(own), Type::i32};
    not_negative_.insert(own);
  }
  for (const math::Parameter& p : module_.params) tensor(p.name, p.dtype, p.extents, true);
  for (const math::Parameter& r : module_.results) tensor(r.name, r.dtype, r.extents, false);
  for (const kernel::Workspace& w : module_.workspaces) tensor(w.name, w.dtype, w.box, false);
}

ThreadKernel KernelLowering::run() {
  kinds_ = kernel::infer_kinds(module_, kernel_);
  find_what_others_store();
  parameters();
  result_.name = names_.fresh(kernel_.name.text());
  plan_processes();
  workgroups();
  declare_channels();
  declare_buffers();
  set_up();
  for (Process& p : processes_) role(p);
  std::int64_t bytes = 0;
  (void)dynamic_offsets(result_, bytes);
  result_.alone_on_processor = processes_.size() > 1 || 2 * bytes > target_.shared_bytes;
  return result_;
}

/// How many workgroups: a work item each, or as many as are there at once. The host knows dimensions and scalars only.
void KernelLowering::workgroups() {
  Substitution lets;
  for (const kernel::Let& l : module_.lets) lets[symbol(l.name)] = substitute(l.value, lets);
  const Expr lo = element(substitute(kernel_.work.lo, lets), {}).expr;
  const auto on_host = [&](Expr e) { return element(substitute(e, lets), {}).expr; };
  result_.workgroups = on_host(constant_integer(lo) == 0 ? kernel_.work.hi : kernel_.work.hi - kernel_.work.lo);
  if (kernel_.work.source == kernel::WorkSource::persistent)
    result_.workgroups = binary(Op::min, result_.workgroups, on_host(kernel_.work.resident));
  if (kernel_.work.source != kernel::WorkSource::dynamic) return;
  result_.resident_only = true;
  drawn_ = {names_.fresh("drawn_items"), names_.fresh("item_ready"), names_.fresh("item_free")};
  result_.shared.push_back({drawn_->numbers, Type::i32, {2}});
  result_.shared.push_back({drawn_->ready, Type::barrier, {2}});
  result_.shared.push_back({drawn_->free, Type::barrier, {2}});
}

Symbol KernelLowering::scalar(const std::string& like, Typed value) {
  const Symbol name = names_.fresh(like);
  emit({Declare{{name, value.type, {}}, value.expr}});
  return name;
}

void KernelLowering::block(const kernel::Block& body) {
  for (const kernel::Statement& s : body) statement(s);
}

ThreadBlock KernelLowering::inside(const std::function<void()>& body) {
  ThreadBlock own;
  ThreadBlock* outer = block_;
  const auto tiles = tiles_;
  const auto scalars = scalars_;
  block_ = &own;
  body();
  block_ = outer;
  if (outer != nullptr) {  // what the block declared ends with it
    tiles_ = tiles;
    scalars_ = scalars;
  }
  return own;
}

void KernelLowering::statement(const kernel::Statement& s) {
  const kernel::Statement* around = std::exchange(present_, &s);
  lower_statement(s);
  present_ = around;
}

void KernelLowering::lower_statement(const kernel::Statement& s) {
  meet_other_kernels(s);
  if (stores_once(s)) return lower_once(s);
  const int apart = parts_groups(s) ? 1 : 0;
  apart_ += apart;
  std::visit(Overloaded{
                 [&](const kernel::Value& v) { lower_value(v); },
                 [&](const kernel::Let& l) { lower_let(l); },
                 [&](const kernel::For& f) { lower_for(f); },
                 [&](const kernel::When& w) { lower_when(w); },
                 [&](const kernel::If& i) { lower_if(i); },
                 [&](const kernel::Copy& c) { lower_copy(c); },
                 [&](const kernel::Mma& m) { lower_mma(m); },
                 [&](const kernel::Await& a) { lower_await(a); },
                 [&](const kernel::Acquire& a) { lower_acquire(a, loops_ > 0 || ring(a.channel).used); },
                 [&](const kernel::Publish& p) { lower_publish(p); },
                 [&](const kernel::Receive& r) { lower_receive(r, 0); },
                 [&](const kernel::Release& r) { lower_release(r); },
                 [&](const kernel::Take& t) { lower_take(t); },
                 [&](const kernel::Pass& p) { lower_pass(p); },
                 [&](const kernel::Atomic& a) { lower_atomic(a); },
             },
             s.op);
  apart_ -= apart;
}

void KernelLowering::lower_let_as(const kernel::Let& l, Symbol name) {
  const Typed value = element(without_reductions(l.value), {});
  lets_[l.name] = l.value;
  if (constant_integer(value.expr)) {
    scalars_[l.name] = value;
    return;
  }
  emit({Declare{{name, value.type, {}}, value.expr}});
  scalars_[l.name] = {symbol(name), value.type};
  if (is_integer(value.type) && not_negative(value.expr)) not_negative_.insert(name);
}

void KernelLowering::lower_for(const kernel::For& f) {
  if (f.ranges.empty()) {
    if (f.through) refused("a loop through the work items has no form on this target yet", {kernel_.name.text()});
    return work_loop(f.body);
  }
  if (kernel::has_stages(f)) return lower_staged(f);
  for (const kernel::Carry& c : f.carry)
    if (c.initial != symbol(Symbol("done"))) define(c.value, c.initial, {});  // tokens need no place
  for (std::size_t range = 0; range < f.ranges.size(); ++range) {
    range_loop(f, range, [&] {
      for (const kernel::Placed& placed : kernel::body_in(f, range)) statement(*placed.statement);
    });
  }
}

static bool has_products(const kernel::Block& body) {
  return std::any_of(body.begin(), body.end(), [](const kernel::Statement& s) {
    if (const auto* w = std::get_if<kernel::When>(&s.op)) return has_products(w->body);
    if (const auto* f = std::get_if<kernel::For>(&s.op)) return has_products(f->body);
    return std::holds_alternative<kernel::Mma>(s.op);
  });
}

void KernelLowering::range_loop(const kernel::For& f, std::size_t range, const std::function<void()>& body) {
  Loop loop;
  loop.variable = names_.fresh(f.variable.text());
  loop.lo = element(f.ranges[range].lo, {}).expr;
  loop.hi = element(f.ranges[range].hi, {}).expr;
  const auto lo = constant_integer(simplify_integer(loop.lo)), hi = constant_integer(simplify_integer(loop.hi));
  if (lo && hi && *lo >= *hi) return names_.release(loop.variable);  // no trip
  if (not_negative(loop.lo)) not_negative_.insert(loop.variable);
  ++loops_;
  loop.body = inside([&] {
    scalars_[f.variable] = {symbol(loop.variable), Type::i32};
    for (const kernel::TaggedRange& r : f.ranges)
      if (!r.tag.empty()) scalars_[r.tag] = {boolean(r.tag == f.ranges[range].tag), Type::boolean};
    if (!target_.loads_matrices && has_products(f.body)) {  // else the addresses of all fragments are kept over all trips
      emit({Assign{symbol(Symbol("lane")), call_of("again", {call_of("lane_number", {})})}});
    }
    body();
  });
  --loops_;
  names_.release(loop.variable);
  emit({loop});
}

/// On parts that warps hold: each warp by itself.
void KernelLowering::lower_if(const kernel::If& i) {
  const Expr condition = read(i.condition.name, i.condition.subscripts);
  const auto known = tiles_.find(i.condition.name);
  const bool of_warps =
      known == tiles_.end() || (known->second.layout.at(HierarchyLevel::lane).empty() && known->second.layout.registers() == 1);
  if (!of_warps)
    refused("`if " + fathom::print(condition) + "` differs between lanes of a warp, which has no form on this target yet",
            {i.condition.name.text()});
  Element at;
  if (known != tiles_.end()) at.layout = known->second.layout;
  Branch branch;
  branch.condition = converted(element(condition, at), Type::boolean).expr;
  ++conditions_;
  branch.then = inside([&] { block(i.body); });
  --conditions_;
  emit({branch});
}

void KernelLowering::lower_when(const kernel::When& w) {
  Branch branch;
  branch.condition = converted(element(w.condition, {}), Type::boolean).expr;
  ++conditions_;
  branch.then = inside([&] { block(w.body); });
  --conditions_;
  emit({branch});
}

std::int64_t size_in_bytes(Type type) {
  switch (type) {
    case Type::boolean:
      return 1;
    case Type::bf16:
    case Type::f16:
      return 2;
    case Type::i64:
    case Type::f64:
    case Type::barrier:
      return 8;
    default:
      return 4;
  }
}

std::vector<std::int64_t> dynamic_offsets(const ThreadKernel& k, std::int64_t& bytes) {
  const auto up = [](std::int64_t place, std::int64_t alignment) { return (place + alignment - 1) / alignment * alignment; };
  constexpr std::int64_t least = 128;
  std::vector<std::int64_t> offsets;
  bytes = 0;
  for (const ThreadKernel::DynamicShared& each : k.dynamic_shared) {
    const auto first = std::find_if(k.dynamic_shared.begin(), k.dynamic_shared.end(),
                                    [&](const ThreadKernel::DynamicShared& d) { return !each.alias.empty() && d.name == each.alias; });
    const auto number = static_cast<std::size_t>(first - k.dynamic_shared.begin());
    const bool alone = number >= offsets.size();  // what it lies over stands in front of it
    offsets.push_back(alone ? up(bytes, each.alignment) : offsets[number]);
    bytes = std::max(bytes, up(offsets.back() + each.elements * size_in_bytes(each.type), least));
  }
  return offsets;
}

Result<ThreadModule> lower(const kernel::Module& module, const Target& target) {
  ThreadModule made;
  made.lanes = target.lanes;
  try {
    for (const kernel::Kernel& k : module.kernels) made.kernels.push_back(KernelLowering(module, k, target, made).run());
  } catch (Refused& no) {
    return tl::unexpected(std::move(no.why));
  }
  return made;
}

}  // namespace fathom::gpu
