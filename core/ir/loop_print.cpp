// Prints Loop programs. The text is that of the Math level with a tree for a body:
//   loops NAME(params) -> (results) [where …] { item … }
//   item = ("parallel" | "for" | "fold") INDEX "in" expr ":" expr "by" expr [ "[" TAG expr ":" expr { "," … } "]" ] "{" item … "}"
//        | "combine" INDEX "of" expr "{" NAME { "," NAME } "}" | "{" item … "}" | statement
// lang::parse_loop reads it back.
#include <fmt/format.h>

#include "ir/loop.hpp"

namespace fathom::loop {
namespace {

std::string_view word(Mark mark) {
  switch (mark) {
    case Mark::parallel:
      return "parallel";
    case Mark::sequential:
      return "for";
    case Mark::fold:
      return "fold";
  }
  return "";
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(&program) {}

  void items(const NodeRef& node, int indent) {
    if (!node) return;
    if (const auto* sequence = std::get_if<Sequence>(node.get())) {
      for (const NodeRef& each : sequence->items) item(each, indent);
    } else {
      item(node, indent);
    }
  }

  std::string out;

 private:
  void line(int indent, std::string_view text) { out += std::string(static_cast<std::size_t>(indent) * 2, ' ') + std::string(text) + "\n"; }

  void item(const NodeRef& node, int indent) {
    if (const auto* loop = std::get_if<Loop>(node.get())) {
      line(indent, header(*loop) + " {");
      items(loop->body, indent + 1);
      line(indent, "}");
    } else if (std::holds_alternative<Sequence>(*node)) {
      line(indent, "{");
      items(node, indent + 1);
      line(indent, "}");
    } else if (const auto* combine = std::get_if<Combine>(node.get())) {
      std::string names;
      for (const Symbol each : combine->statements) names += (names.empty() ? "" : ", ") + each.text();
      line(indent, fmt::format("combine {} of {} {{ {} }}", combine->split.text(), fathom::print(combine->count), names));
    } else {
      leaf(std::get<Leaf>(*node).statement, indent);
    }
  }

  [[nodiscard]] static std::string header(const Loop& loop) {
    std::string text = fmt::format("{} {} in {}:{} by {}", word(loop.mark), loop.index.text(), fathom::print(loop.lo),
                                   fathom::print(loop.hi), fathom::print(loop.tile));
    for (std::size_t i = 0; i < loop.ranges.size(); ++i) {
      const TileRange& range = loop.ranges[i];
      text += fmt::format("{}{} {}:{}", i == 0 ? " [" : ", ", range.tag.empty() ? "all" : range.tag.text(), fathom::print(range.lo),
                          fathom::print(range.hi));
    }
    return loop.ranges.empty() ? text : text + "]";
  }

  void leaf(Symbol name, int indent) {
    const math::Statement* statement = program_->math.find(name);
    if (statement == nullptr) return line(indent, name.text() + " = ?");
    const std::string text = math::print(*statement, program_->math);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      line(indent, std::string_view(text).substr(at, end - at));
      at = end + 1;
    }
  }

  const Program* program_;
};

}  // namespace

std::string print(const Program& program) {
  math::Program head = program.math;
  head.statements.clear();
  head.functions.clear();
  std::string text = math::print(head);
  // The Math printer ends in the operator's empty body; here the tree takes its place.
  text.erase(text.rfind("{\n}"));
  const std::size_t keyword = text.rfind("operator ");
  text.replace(keyword, std::string_view("operator").size(), "loops");
  Printer printer(program);
  printer.items(program.root, 1);
  return text + "{\n" + printer.out + "}\n";
}

}  // namespace fathom::loop
