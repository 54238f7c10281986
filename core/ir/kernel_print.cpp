// Text of the Tile and Kernel levels, in the grammar of docs/kernel.md. One statement a line, declarations grouped by kind in a fixed
// order, so that equal modules have equal text and print -> parse -> print is a fixed point. Origins are not part of the text.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ir/kernel.hpp"
#include "ir/kernel_lines.hpp"
#include "ir/overloaded.hpp"

namespace fathom::kernel {
namespace {

const std::string& text(Symbol name) { return name.text(); }

std::string list(const std::vector<Expr>& items) {
  std::string out;
  for (const Expr item : items) out += (out.empty() ? "" : ",") + fathom::print(item);
  return out;
}

std::string list(const std::vector<Symbol>& items, const char* separator = ", ") {
  std::string out;
  for (const Symbol item : items) out += (out.empty() ? "" : separator) + item.text();
  return out;
}

std::string box(DType dtype, const std::vector<Expr>& extents) {
  const std::string element(name(dtype));
  return extents.empty() ? element : fmt::format("{}[{}]", element, list(extents));
}

std::string access(const Access& place) {
  return place.subscripts.empty() ? text(place.name) : fmt::format("{}[{}]", text(place.name), list(place.subscripts));
}

std::string via(const std::vector<Symbol>& paths) { return paths.empty() ? "" : fmt::format(" via({})", list(paths, ",")); }

std::string otherwise(Expr fill) { return fill ? " else " + fathom::print(fill) : ""; }

std::string use(const TokenUse& token) { return text(token.token) + (token.source_only ? ".read" : ""); }

std::string after(const std::vector<TokenUse>& tokens) {
  std::string out;
  for (const TokenUse& token : tokens) out += (out.empty() ? " after " : ", ") + use(token);
  return out;
}

std::string carry(const std::vector<Carry>& carried) {
  if (carried.empty()) return "";
  std::string out;
  for (const Carry& one : carried) {
    out += out.empty() ? "" : ", ";
    out += access(one.value) + (one.initial ? " = " + fathom::print(one.initial) : "");
  }
  return fmt::format(" carry({})", out);
}

std::string range(Expr lo, Expr hi) { return fmt::format("{}:{}", fathom::print(lo), fathom::print(hi)); }

std::string ranges(const For& loop) {
  if (loop.ranges.empty()) return loop.through ? "work through" : "work";
  if (loop.ranges.size() == 1 && loop.ranges[0].tag.empty()) return range(loop.ranges[0].lo, loop.ranges[0].hi);
  std::string out;
  for (const TaggedRange& part : loop.ranges) {
    out += (out.empty() ? "" : ", ") + text(part.tag) + " " + range(part.lo, part.hi);
  }
  return fmt::format("[{}]", out);
}

std::string layout(const std::optional<OperandLayout>& operand) {
  if (!operand) return "";
  static constexpr const char* spelled[] = {"a", "b", "acc"};
  return fmt::format(" as {}.{}", text(operand->atom), spelled[static_cast<int>(operand->role)]);
}

std::string reducer(const Reducer& r) {
  std::string state, lift, combine, results;
  for (const Component& part : r.state) {
    const char* separator = state.empty() ? "" : ", ";
    const std::string dtype = part.dtype == DType::real ? "" : fmt::format(": {}", name(part.dtype));
    state += fmt::format("{}{}{} = {}", separator, text(part.name), dtype, fathom::print(part.identity));
    lift += separator + fathom::print(part.lift);
    combine += separator + fathom::print(part.combine);
  }
  for (const ReducerResult& result : r.results) {
    results += fmt::format("    result {} = {}\n", text(result.name), fathom::print(result.value));
  }
  return fmt::format("  reducer {}({}) {{\n    state {}\n    lift ({})\n    combine ({})\n{}  }}\n", text(r.name), list(r.parameters),
                     state, lift, combine, results);
}

/// Prints one statement; blocks recurse with a deeper indentation.
struct StatementPrinter {
  std::string& out;
  int indent;
  const std::optional<At>& at;

  void line(const std::string& body) { out += fmt::format("{:{}}{}{}\n", "", indent, body, stage()); }
  [[nodiscard]] std::string stage() const { return at ? fmt::format(" @{}.{}", at->stage, at->order) : ""; }
  void block(const std::string& head, const Block& body) {
    line_open(head);
    for (const Statement& inner : body) out += print(inner, indent + 2);
    out += fmt::format("{:{}}}}\n", "", indent);
  }
  void line_open(const std::string& head) { out += fmt::format("{:{}}{} {{\n", "", indent, head); }

  void operator()(const Value& v) {
    std::string left;
    for (const Access& target : v.targets) left += (left.empty() ? "" : ", ") + access(target);
    std::string right;
    for (const Expr value : v.values) right += (right.empty() ? "" : ", ") + fathom::print(value);
    line(left + " = " + right + otherwise(v.otherwise) + layout(v.layout) + via(v.via));
  }
  void operator()(const Let& v) { line(fmt::format("let {} = {}", text(v.name), fathom::print(v.value))); }
  void operator()(const Copy& v) {
    line(fmt::format("{} = copy {} <- {}{}{}", text(v.token), access(v.to), fathom::print(v.from), otherwise(v.otherwise), via(v.via)));
  }
  void operator()(const Mma& v) {
    line(fmt::format("{} = mma {}: {} {} {} * {}", text(v.token), text(v.atom), access(v.acc), v.accumulate ? "+=" : "=", access(v.a),
                     access(v.b)));
  }
  void operator()(const Await& v) {
    line((v.acc ? access(*v.acc) + " = " : "") + "await " + text(v.token) + (v.source_only ? ".read" : ""));
  }
  void operator()(const Atomic& v) {
    line(fmt::format("{} = atomic {} {}, {}{}{}", text(v.result), text(v.operation), access(v.place), fathom::print(v.value),
                     v.release ? " release" : "", v.acquire ? " acquire" : ""));
  }
  void operator()(const Acquire& v) { line(fmt::format("{} = acquire {}", text(v.slot), access(v.channel))); }
  void operator()(const Receive& v) { line(fmt::format("{} = receive {}", text(v.slot), access(v.channel))); }
  void operator()(const Publish& v) { line("publish " + access(v.channel) + after(v.after)); }
  void operator()(const Release& v) { line("release " + access(v.channel) + after(v.after)); }
  void operator()(const Take& v) { line("take " + text(v.turn)); }
  void operator()(const Pass& v) { line("pass " + text(v.turn)); }
  void operator()(const For& v) { block(fmt::format("for {} in {}{}", text(v.variable), ranges(v), carry(v.carry)), v.body); }
  void operator()(const When& v) { block("when " + fathom::print(v.condition) + stage(), v.body); }
  void operator()(const If& v) { block("if " + access(v.condition) + carry(v.carry) + stage(), v.body); }
};

std::string parameters(const std::vector<math::Parameter>& params) {
  std::string out;
  for (const math::Parameter& p : params) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", text(p.name), box(p.dtype, p.extents));
    if (!p.stored.empty()) out += fmt::format(" stored({})", list(p.stored, ","));
    if (p.strided) out += " strided";
  }
  return out;
}

std::string work(const Work& w) {
  std::string head = fmt::format("    work {} in {} ", text(w.variable), range(w.lo, w.hi));
  switch (w.source) {
    case WorkSource::grid:
      return head + "grid\n";
    case WorkSource::persistent:
      return head + fmt::format("persistent {}\n", fathom::print(w.resident));
    case WorkSource::dynamic:
      return head + fmt::format("dynamic {}\n", text(w.counter));
  }
  return head;
}

std::string axis(const TileAxis& a) {
  std::string parts;
  for (const AxisPart& part : a.parts) {
    parts += fmt::format("{}{}:{}", parts.empty() ? "" : ", ", text(part.name), fathom::print(part.extent));
  }
  return fmt::format("    axis {} = {}\n", text(a.name), parts);
}

std::string each(Symbol role) { return role.empty() ? "" : " each " + text(role); }

std::string declarations(const Kernel& k) {
  std::string out = work(k.work);
  for (const TileAxis& a : k.axes) out += axis(a);
  for (const Let& l : k.lets) out += fmt::format("    let {} = {}\n", text(l.name), fathom::print(l.value));
  for (const AtomUse& a : k.atoms) out += fmt::format("    atom {} = {}\n", text(a.name), text(a.atom));
  for (const Buffer& b : k.buffers) {
    out += fmt::format("    buffer {}{}: {} in {}{}\n", text(b.name), each(b.each), box(b.dtype, b.box), text(b.space),
                       b.alias.empty() ? "" : " alias " + list(b.alias));
  }
  for (const Channel& c : k.channels) {
    out += fmt::format("    channel {}{}: {} depth {} from {} to {}\n", text(c.name), each(c.each), box(c.dtype, c.box),
                       fathom::print(c.depth), text(c.from), text(c.to));
  }
  for (const Turn& t : k.turns) out += fmt::format("    turn {} over {}\n", text(t.name), text(t.over));
  return out;
}

std::string role_head(const Role& r) {
  std::string out = "    role " + text(r.name);
  if (r.groups) out += " groups " + fathom::print(r.groups);
  out += " warps " + fathom::print(r.warps);
  if (r.registers) out += " registers " + fathom::print(r.registers);
  if (!r.partition.empty()) out += " partition " + text(r.partition);
  if (!r.combine.empty()) out += " combine " + text(r.combine);
  return out + " {\n";
}

std::string role(const Role& r) {
  std::string out = role_head(r);
  for (const Statement& s : r.body) out += print(s, 6);
  return out + "    }\n";
}

std::string kernel_head(const Kernel& k) {
  std::string out = "  kernel " + text(k.name);
  if (k.when) out += " when " + fathom::print(k.when);
  if (!k.after.empty()) out += " after " + text(k.after) + (k.early ? " early" : "");
  return out + " {\n" + declarations(k);
}

std::string kernel_text(const Kernel& k) {
  std::string out = kernel_head(k);
  for (const Role& r : k.roles) out += role(r);
  return out + "  }\n";
}

std::string module_head(const Module& m) {
  std::string out;
  for (const math::Dimension& d : m.dims) out += fmt::format("dim {} = {}{}\n", text(d.name), d.runtime ? "runtime " : "", d.value);
  out += fmt::format("module {}({}) -> ({}) {{\n", text(m.name), parameters(m.params), parameters(m.results));
  for (const Require& r : m.requires_) out += fmt::format("  require {} else {}\n", fathom::print(r.condition), text(r.otherwise));
  for (const Let& l : m.lets) out += fmt::format("  let {} = {}\n", text(l.name), fathom::print(l.value));
  for (const Workspace& w : m.workspaces) {
    out += fmt::format("  workspace {}: {}{}\n", text(w.name), box(w.dtype, w.box), w.zero ? " zero" : "");
  }
  for (const ReducerRef& r : m.reducers) out += reducer(*r);
  return out;
}

int count_lines(const std::string& printed) { return static_cast<int>(std::count(printed.begin(), printed.end(), '\n')); }

/// Statements take one line each; those with a body, one more for what closes it. `line` is moved past the block.
void place(const Block& block, int& line, StatementLines& lines) {
  for (const Statement& statement : block) {
    lines[&statement] = line++;
    const auto with_body = [&](const auto& outer) {
      place(outer.body, line, lines);
      ++line;
    };
    std::visit(Overloaded{[&](const For& s) { with_body(s); }, [&](const When& s) { with_body(s); }, [&](const If& s) { with_body(s); },
                          [](const auto&) {}},
               statement.op);
  }
}

}  // namespace

std::string print(const Statement& statement, int indent) {
  std::string out;
  std::visit(StatementPrinter{out, indent, statement.at}, statement.op);
  return out;
}

std::string print(const Module& m) {
  std::string out = module_head(m);
  for (const Kernel& k : m.kernels) out += kernel_text(k);
  return out + "}\n";
}

StatementLines lines_of(const Module& m) {
  StatementLines lines;
  int line = 1 + count_lines(module_head(m));
  for (const Kernel& k : m.kernels) {
    line += count_lines(kernel_head(k));
    for (const Role& r : k.roles) {
      line += count_lines(role_head(r));
      place(r.body, line, lines);
      ++line;  // what closes the role
    }
    ++line;
  }
  return lines;
}

Expr extent(const TileAxis& axis) {
  Expr product = number(1);
  for (const AxisPart& part : axis.parts) product = product * part.extent;
  return simplify_integer(product);
}

const TileAxis* find_axis(const Kernel& kernel, Symbol name) {
  for (const TileAxis& axis : kernel.axes) {
    if (axis.name == name) return &axis;
  }
  return nullptr;
}

}  // namespace fathom::kernel
