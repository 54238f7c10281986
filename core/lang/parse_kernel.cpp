// Reads a module: dimensions, parameters, launch contract, workspaces, reducers and the declarations of its kernels. Never crashes or
// hangs on any text: the token stream is finite, each function consumes a token or reports an error, and an error ends the reading.
#include "lang/parse_kernel.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "lang/complete_kernel.hpp"

namespace fathom::lang {

using kernel::Kernel;
using kernel::Module;

KernelParser::KernelParser(std::string_view source, Sink& sink) : sink_(sink), in_(source, level_mode, sink) {}

// ---- names ----

Expr KernelParser::bare(Symbol name) {
  if (const auto known = names_.find(name); known != names_.end()) return known->second;
  if (!introduces_indices_ && !introduces_dims_) return {};
  const Expr meaning = introduces_dims_ ? dim(name) : index(name);
  define(name, meaning);
  return meaning;
}

Scope KernelParser::scope() {
  Scope s;
  s.bare = [this](Symbol name) { return bare(name); };
  s.reducer = [this](Symbol name) { return reducer_named(reducers_, name); };
  s.candidates = [this] {
    std::vector<std::string> known;
    for (const auto& [name, meaning] : names_) known.push_back(name.text());
    return known;
  };
  return s;
}

Expr KernelParser::expression() { return in_.expression(scope()); }

bool KernelParser::range(Expr& lo, Expr& hi) {
  lo = expression();
  if (!lo || !in_.expect(":", "between the ends of a range")) return false;
  hi = expression();
  return static_cast<bool>(hi);
}

bool KernelParser::name_into(Symbol& to, std::string_view what) {
  const std::optional<Symbol> name = in_.name(what);
  if (name) to = *name;
  return name.has_value();
}

bool KernelParser::optional_name(std::string_view keyword, Symbol& to, std::string_view what) {
  return !in_.accept(keyword) || name_into(to, what);
}

bool KernelParser::optional_expression(std::string_view keyword, Expr& to) {
  if (!in_.accept(keyword)) return true;
  to = expression();
  return static_cast<bool>(to);
}

bool KernelParser::element_type(DType& dtype, std::vector<Expr>& box) {
  const std::optional<DType> type = in_.dtype();
  if (!type) return false;
  dtype = *type;
  if (!in_.at("[")) return true;  // no box: a scalar
  auto extents = in_.subscripts(scope());
  if (extents) box = std::move(*extents);
  return extents.has_value();
}

// ---- module ----

std::optional<Module> KernelParser::module() {
  Module m;
  if (!dims(m) || !in_.expect("module", "at the start of a module") || !name_into(m.name, "the module's name")) return std::nullopt;
  introduces_dims_ = true;  // a dimension that no `dim` line declares is known from the shapes
  const bool head = parameters(m.params) && in_.expect("->", "before the results") && parameters(m.results);
  introduces_dims_ = false;
  if (!head || !in_.expect("{", "before the module's body")) return std::nullopt;
  while (!in_.at("}") && !in_.at_end()) {
    if (!module_item(m)) return std::nullopt;
  }
  if (!in_.expect("}", "at the end of the module")) return std::nullopt;
  if (!in_.at_end()) {
    in_.unexpected("the end of the text after the module");
    return std::nullopt;
  }
  if (const std::optional<Refusal> wrong = complete(m)) {
    sink_.error(in_.peek().span, wrong->reason, wrong->hint);
    return std::nullopt;
  }
  return m;
}

bool KernelParser::dims(Module& m) {
  while (in_.accept("dim")) {
    do {
      math::Dimension d;
      const std::uint32_t begin = in_.peek().span.begin;
      if (!name_into(d.name, "a dimension's name") || !in_.expect("=", "after a dimension's name")) return false;
      d.runtime = in_.accept("runtime");
      const std::optional<std::int64_t> value = in_.integer("the dimension's value");
      if (!value) return false;
      d.value = *value;
      d.span = in_.span_from(begin);
      define(d.name, dim(d.name));
      m.dims.push_back(d);
    } while (in_.accept(","));
  }
  return true;
}

bool KernelParser::module_item(Module& m) {
  if (in_.accept("require")) return require(m);
  if (in_.accept("workspace")) return workspace(m);
  if (in_.accept("reducer")) return reducer(m);
  if (in_.accept("kernel")) return kernel(m);
  if (in_.accept("let")) {
    auto l = let();
    if (l) m.lets.push_back(*l);
    return l.has_value();
  }
  in_.unexpected("`require`, `let`, `workspace`, `reducer`, `kernel` or `}`");
  return false;
}

bool KernelParser::parameters(std::vector<math::Parameter>& list) {
  if (!in_.expect("(", "before a list of tensors")) return false;
  if (in_.accept(")")) return true;
  do {
    std::optional<math::Parameter> p = parameter();
    if (!p) return false;
    list.push_back(std::move(*p));
  } while (in_.accept(","));
  return in_.expect(")", "after a list of tensors");
}

std::optional<math::Parameter> KernelParser::parameter() {
  math::Parameter p;
  const std::uint32_t begin = in_.peek().span.begin;
  if (!name_into(p.name, "a tensor's name") || !in_.expect(":", "after a tensor's name") || !element_type(p.dtype, p.extents)) {
    return std::nullopt;
  }
  if (in_.accept("stored") && !stored_names(p.stored)) return std::nullopt;
  p.strided = in_.accept("strided");
  p.span = in_.span_from(begin);
  define(p.name, read(p.name, {}));
  return p;
}

bool KernelParser::stored_names(std::vector<Symbol>& names) {
  if (!in_.expect("(", "after `stored`")) return false;
  do {
    Symbol name;
    if (!name_into(name, "a dimension's name")) return false;
    names.push_back(name);
  } while (in_.accept(","));
  return in_.expect(")", "after the names of `stored`");
}

bool KernelParser::require(Module& m) {
  kernel::Require r;
  r.condition = expression();
  if (!r.condition || !in_.expect("else", "after the condition of `require`")) return false;
  if (!name_into(r.otherwise, "the name of the plan that serves otherwise")) return false;
  m.requires_.push_back(r);
  return true;
}

std::optional<kernel::Let> KernelParser::let() {
  kernel::Let l;
  if (!name_into(l.name, "a name after `let`") || !in_.expect("=", "after the name of a `let`")) return std::nullopt;
  l.value = expression();
  if (!l.value) return std::nullopt;
  define(l.name, symbol(l.name));
  return l;
}

bool KernelParser::workspace(Module& m) {
  kernel::Workspace w;
  if (!name_into(w.name, "a workspace's name") || !in_.expect(":", "after a workspace's name") || !element_type(w.dtype, w.box))
    return false;
  w.zero = in_.accept("zero");
  define(w.name, read(w.name, {}));
  m.workspaces.push_back(std::move(w));
  return true;
}

// ---- reducers ----

bool KernelParser::reducer(Module& m) {
  Reducer r;
  Names inner;
  if (!name_into(r.name, "a reducer's name") || !in_.expect("(", "after a reducer's name")) return false;
  while (!in_.at(")")) {
    Symbol parameter;
    if (!name_into(parameter, "a parameter's name")) return false;
    r.parameters.push_back(parameter);
    inner[parameter] = symbol(parameter);
    if (!in_.accept(",")) break;
  }
  if (!in_.expect(")", "after the parameters") || !in_.expect("{", "before a reducer's body") || !components(r)) return false;
  Names carriers;
  for (const Component& part : r.state) {
    carriers[part.name] = symbol(part.name);
    carriers[primed(part.name)] = symbol(primed(part.name));
  }
  if (!component_expressions(r, inner, "lift", &Component::lift)) return false;
  if (!component_expressions(r, carriers, "combine", &Component::combine) || !results(r, carriers)) return false;
  if (!in_.expect("}", "at the end of a reducer")) return false;
  reducers_.push_back(std::make_shared<const Reducer>(std::move(r)));
  m.reducers.push_back(reducers_.back());
  return true;
}

bool KernelParser::components(Reducer& r) {
  if (!in_.expect("state", "at the start of a reducer")) return false;
  Names none;
  std::swap(names_, none);  // an identity is a constant
  bool good = true;
  do {
    Component part;
    good = name_into(part.name, "a carrier's name");
    if (good && in_.accept(":")) {
      const std::optional<DType> dtype = in_.dtype();
      good = dtype.has_value();
      if (good) part.dtype = *dtype;
    }
    good = good && in_.expect("=", "before a carrier's identity");
    if (good) part.identity = expression();
    good = good && part.identity;
    if (good) r.state.push_back(part);
  } while (good && in_.accept(","));
  std::swap(names_, none);
  return good;
}

bool KernelParser::component_expressions(Reducer& r, const Names& inner, std::string_view word, Expr Component::* field) {
  if (!in_.expect(word, "in a reducer") || !in_.expect("(", "before one expression a carrier")) return false;
  Names outer = inner;
  std::swap(names_, outer);
  bool good = true;
  for (std::size_t i = 0; good && i < r.state.size(); ++i) {
    if (i > 0) good = in_.expect(",", "between the expressions: there is one a carrier");
    if (good) r.state[i].*field = expression();
    good = good && r.state[i].*field;
  }
  std::swap(names_, outer);
  return good && in_.expect(")", "after one expression a carrier");
}

bool KernelParser::results(Reducer& r, const Names& inner) {
  Names outer = inner;
  std::swap(names_, outer);
  bool good = true;
  while (good && in_.accept("result")) {
    ReducerResult result;
    good = name_into(result.name, "a result's name") && in_.expect("=", "after a result's name");
    if (good) result.value = expression();
    good = good && result.value;
    if (good) r.results.push_back(result);
  }
  std::swap(names_, outer);
  if (r.results.empty()) {  // without `result` lines the carriers themselves are the results
    for (const Component& part : r.state) r.results.push_back({part.name, symbol(part.name)});
  }
  return good;
}

// ---- kernels ----

bool KernelParser::kernel(Module& m) {
  Kernel k;
  const Names outer = names_;
  for (const char* own : {"g", "done"})  // a parameter or workspace of that name hides the word
    if (names_.count(Symbol(own)) == 0) define(Symbol(own), symbol(Symbol(own)));
  bool good = kernel_head(k);
  while (good && !in_.at("}") && !in_.at_end()) good = kernel_item(k);
  good = good && in_.expect("}", "at the end of a kernel");
  if (good) m.kernels.push_back(std::move(k));
  names_ = outer;
  return good;
}

bool KernelParser::kernel_name(Symbol& to) {
  if (in_.peek().kind != TokenKind::word) return name_into(to, "a kernel's name");
  to = Symbol(in_.next().text);  // kernels have names of their own: `combine` is a good one, though reserved in expressions
  return true;
}

bool KernelParser::kernel_head(Kernel& k) {
  if (!kernel_name(k.name) || !optional_expression("when", k.when)) return false;
  if (in_.accept("after") && !kernel_name(k.after)) return false;
  k.early = !k.after.empty() && in_.accept("early");
  return in_.expect("{", "before a kernel's body") && in_.expect("work", "at the start of a kernel") && work(k.work);
}

bool KernelParser::work(kernel::Work& w) {
  if (!name_into(w.variable, "the work variable") || !in_.expect("in", "after the work variable") || !range(w.lo, w.hi)) return false;
  define(w.variable, symbol(w.variable));
  if (in_.accept("grid")) return true;
  if (in_.accept("persistent")) {
    w.source = kernel::WorkSource::persistent;
    w.resident = expression();
    return static_cast<bool>(w.resident);
  }
  if (in_.accept("dynamic")) {
    w.source = kernel::WorkSource::dynamic;
    return name_into(w.counter, "the workspace that counts");
  }
  in_.unexpected("`grid`, `persistent` or `dynamic`");
  return false;
}

bool KernelParser::kernel_item(Kernel& k) {
  using Reader = bool (KernelParser::*)(Kernel&);
  static constexpr std::array<std::pair<std::string_view, Reader>, 6> readers = {{{"axis", &KernelParser::axis},
                                                                                  {"atom", &KernelParser::atom},
                                                                                  {"buffer", &KernelParser::buffer},
                                                                                  {"channel", &KernelParser::channel},
                                                                                  {"turn", &KernelParser::turn},
                                                                                  {"role", &KernelParser::role}}};
  for (const auto& [word, reader] : readers) {
    if (in_.accept(word)) return (this->*reader)(k);
  }
  if (in_.accept("let")) {
    auto l = let();
    if (l) k.lets.push_back(*l);
    return l.has_value();
  }
  in_.unexpected("`axis`, `atom`, `let`, `buffer`, `channel`, `turn`, `role` or `}`");
  return false;
}

bool KernelParser::axis(Kernel& k) {
  kernel::TileAxis a;
  if (!name_into(a.name, "an axis") || !in_.expect("=", "after the name of an axis")) return false;
  do {
    kernel::AxisPart part;
    if (!name_into(part.name, "a part of the axis") || !in_.expect(":", "before the extent of a part")) return false;
    part.extent = expression();
    if (!part.extent) return false;
    a.parts.push_back(part);
  } while (in_.accept(","));
  define(a.name, index(a.name));
  for (const kernel::AxisPart& part : a.parts) define(part.name, index(part.name));
  k.axes.push_back(std::move(a));
  return true;
}

bool KernelParser::atom(Kernel& k) {
  kernel::AtomUse a;
  if (!name_into(a.name, "a name for the atom") || !in_.expect("=", "after the atom's name")) return false;
  if (!name_into(a.atom, "a row of the target's atom table")) return false;
  k.atoms.push_back(a);
  return true;
}

bool KernelParser::buffer(Kernel& k) {
  kernel::Buffer b;
  if (!name_into(b.name, "a buffer's name") || !optional_name("each", b.each, "a role")) return false;
  if (!in_.expect(":", "after a buffer's name") || !element_type(b.dtype, b.box)) return false;
  if (!in_.expect("in", "before the space of a buffer") || !name_into(b.space, "a space")) return false;
  if (in_.accept("alias")) {
    do {
      Symbol other;
      if (!name_into(other, "the buffer or channel whose place is shared")) return false;
      b.alias.push_back(other);
    } while (in_.accept(","));
  }
  k.buffers.push_back(std::move(b));
  return true;
}

bool KernelParser::channel(Kernel& k) {
  kernel::Channel c;
  if (!name_into(c.name, "a channel's name") || !optional_name("each", c.each, "a role")) return false;
  if (!in_.expect(":", "after a channel's name") || !element_type(c.dtype, c.box)) return false;
  if (!in_.expect("depth", "after the box of a channel")) return false;
  c.depth = expression();
  if (!c.depth || !in_.expect("from", "before the producing role") || !name_into(c.from, "a role")) return false;
  if (!in_.expect("to", "before the receiving role") || !name_into(c.to, "a role")) return false;
  k.channels.push_back(std::move(c));
  return true;
}

bool KernelParser::turn(Kernel& k) {
  kernel::Turn t;
  if (!name_into(t.name, "a turn's name") || !in_.expect("over", "after a turn's name") || !name_into(t.over, "a role")) return false;
  k.turns.push_back(t);
  return true;
}

bool KernelParser::role(Kernel& k) {
  kernel::Role r;
  const Names outer = names_;
  const bool good = role_head(r) && block(r.body);
  names_ = outer;
  if (good) k.roles.push_back(std::move(r));
  return good;
}

bool KernelParser::role_head(kernel::Role& r) {
  if (!name_into(r.name, "a role's name") || !optional_expression("groups", r.groups)) return false;
  if (!in_.expect("warps", "in the head of a role")) return false;
  r.warps = expression();
  if (!r.warps || !optional_expression("registers", r.registers)) return false;
  return optional_name("partition", r.partition, "an axis") && optional_name("combine", r.combine, "a reducer");
}

Checked<Module> parse_kernel(std::string_view source) {
  Sink sink;
  KernelParser parser(source, sink);
  std::optional<Module> m = parser.module();
  if (!m || !sink.ok()) {
    if (sink.ok()) sink.error({}, "this is no module");
    return tl::unexpected(sink.take());
  }
  return std::move(*m);
}

}  // namespace fathom::lang
