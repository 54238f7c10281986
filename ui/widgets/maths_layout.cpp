// From the expression tree to boxes: what core/session/mathml.cpp says to a browser.
#include <algorithm>

#include "widgets/maths_boxes.hpp"
#include "widgets/maths_grammar.hpp"

namespace fathom::ui::widgets {
namespace {

using boxes::Class;
using boxes::Item;
using boxes::Row;
using boxes::Setting;
using boxes::Style;

constexpr ImWchar minus = 0x2212, prime = 0x2032, infinite = 0x221E, negation = 0xAC, dot = 0x22C5, root_floor = 0x230A, end_floor = 0x230B;
constexpr float after_if = 0.3F;        // ems
constexpr float under_relation = 1.5F;  // how far a line that goes on is set in, ems

Item item(Expr, Setting);

Item marked(Item made, Expr node) {
  made.box.node = node;
  return made;
}

Item word(std::string_view text, Setting setting, Class cls = Class::ord) { return boxes::letters(text, MathsFace::upright, setting, cls); }

Item in_parentheses(Item inner, Setting setting) { return boxes::fenced('(', std::move(inner), ')', setting); }

Item operand(Expr e, bool parenthesised, Setting setting) {
  Item inner = item(e, setting);
  return parenthesised ? in_parentheses(std::move(inner), setting) : inner;
}

Item comma(Setting setting) { return boxes::sign(',', setting, Class::punct); }

Item list(std::span<const Expr> items, Setting setting) {
  Row row(setting);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) row.add(comma(setting));
    row.add(operand(items[i], grammar::is_parenthesised_in_list(items[i], i, items.size()), setting));
  }
  return row.finish();
}

/// One letter leans, several stand; dots stay between them.
Item base_of(const grammar::Name& name, Setting setting) {
  Row row(setting);
  for (std::size_t i = 0; i < name.segments.size(); ++i) {
    const std::string& segment = name.segments[i];
    if (i > 0) row.add(word(".", setting));
    const bool is_letter = segment.size() == 1 && (segment[0] < '0' || segment[0] > '9');
    row.add(boxes::letters(segment, is_letter ? MathsFace::italic : MathsFace::upright, setting));
  }
  Item out = row.finish();
  out.is_character = true;
  return name.tilde ? boxes::under_tilde(std::move(out), setting) : out;
}

/// All of it takes the colour of the name.
void ink_as_name(MathsBox& box) {
  if (box.glyphs) {
    auto glyphs = *box.glyphs;
    glyphs.is_name = true;
    box.glyphs = std::make_shared<const MathsBox::Glyphs>(std::move(glyphs));
  }
  for (MathsBox& part : box.parts) ink_as_name(part);
}

Item identifier(const std::string& text, std::optional<Item> subscript, Setting setting) {
  const grammar::Name name = grammar::parts_of(text);
  Item base = base_of(name, setting);
  ink_as_name(base.box);
  if (name.primes == 0 && !subscript) return base;
  std::optional<Item> above;
  if (name.primes > 0) {
    Row primes(setting.raised());
    for (int i = 0; i < name.primes; ++i) primes.add(boxes::sign(prime, setting.raised()));
    above = primes.finish();
    ink_as_name(above->box);
  }
  return boxes::scripts(std::move(base), std::move(subscript), std::move(above), setting);
}

Item applied(std::string_view function, std::span<const Expr> args, Setting setting) {
  Row row(setting);
  row.add(word(function, setting, Class::op));
  row.add(in_parentheses(list(args, setting), setting));
  return row.finish();
}

Item called(Expr e, Setting setting) {
  Row row(setting);
  Item function = word(e.name().text(), setting, Class::op);
  const auto& indices = e.node().bound;
  if (!indices.empty()) {
    Row below(setting.raised());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (i > 0) below.add(comma(setting.raised()));
      below.add(marked(identifier(indices[i].text(), std::nullopt, setting.raised()), index(indices[i])));
    }
    function = boxes::scripts(std::move(function), below.finish(), std::nullopt, setting);
  }
  row.add(std::move(function));
  row.add(in_parentheses(list(e.args(), setting), setting));
  return row.finish();
}

struct Sign {
  ImWchar code;
  Class cls;
};
Sign sign_of(Op op) {
  switch (op) {
    case Op::add:
      return {'+', Class::bin};
    case Op::sub:
      return {minus, Class::bin};
    case Op::eq:
      return {'=', Class::rel};
    case Op::ne:
      return {0x2260, Class::rel};
    case Op::lt:
      return {'<', Class::rel};
    case Op::le:
      return {0x2264, Class::rel};
    case Op::gt:
      return {'>', Class::rel};
    case Op::ge:
      return {0x2265, Class::rel};
    case Op::logical_and:
      return {0x2227, Class::bin};
    case Op::logical_or:
      return {0x2228, Class::bin};
    default:
      return {dot, Class::bin};
  }
}

Item relation(ImWchar code, Setting setting) {
  constexpr ImWchar unequal = 0x2260;
  if (code != unequal) return boxes::sign(code, setting, Class::rel);
  Item equals = boxes::sign('=', setting, Class::rel), slash = boxes::sign('/', setting);  // the faces have no glyph for both
  Item out;
  out.left = out.right = Class::rel;
  const float width = equals.box.width, slash_width = slash.box.width;
  boxes::put(out.box, std::move(equals.box), 0, 0);
  boxes::put(out.box, std::move(slash.box), (width - slash_width) / 2, 0);
  boxes::enclose(out.box);
  return out;
}

Item infix(Expr e, Setting setting) {
  const grammar::Sides sides = grammar::parenthesised(e);
  Row row(setting);
  row.add(operand(e.arg(0), sides.left, setting));
  const Sign sign = sign_of(e.op());
  if (e.is(Op::mod))
    row.add(word("mod", setting, Class::bin));
  else if (sign.cls == Class::rel)
    row.add(relation(sign.code, setting));
  else
    row.add(boxes::sign(sign.code, setting, sign.cls));
  row.add(operand(e.arg(1), sides.right, setting));
  return row.finish();
}

Item big_operator(Expr e, Setting setting) {
  constexpr ImWchar sum = 0x2211, product = 0x220F;
  const std::string name = grammar::reducer_name(e);
  const MathsFace face = setting.style == Style::display ? MathsFace::size2 : MathsFace::size1;
  Item op = name == "sum"    ? boxes::sign(sum, setting, Class::op, face)
            : name == "prod" ? boxes::sign(product, setting, Class::op, face)
                             : word(name, setting, Class::op);
  Row under(setting.raised());
  for (const Symbol bound : e.node().bound) {
    if (!under.empty()) under.add(comma(setting.raised()));
    under.add(marked(identifier(bound.text(), std::nullopt, setting.raised()), index(bound)));
  }
  const auto values = values_of(e);
  Row row(setting);
  row.add(under.empty() ? std::move(op) : boxes::limits(std::move(op), under.finish(), setting));
  row.add(values.size() == 1 ? operand(values[0], grammar::is_parenthesised_body(values[0]), setting)
                             : in_parentheses(list(values, setting), setting));
  return row.finish();
}

Item power(Item base, Expr exponent, Setting setting) {
  return boxes::scripts(std::move(base), std::nullopt, item(exponent, setting.raised()), setting);
}

Item power_of(Expr base, Expr exponent, Setting setting) {
  if (base.is(Op::read) && !base.args().empty() && grammar::parts_of(base.name().text()).primes == 0) {
    Item name = base_of(grammar::parts_of(base.name().text()), setting);  // the exponent stands over the subscripts
    ink_as_name(name.box);
    return boxes::scripts(marked(std::move(name), base), list(base.args(), setting.raised()), item(exponent, setting.raised()), setting);
  }
  return power(operand(base, grammar::is_parenthesised_base(base), setting), exponent, setting);
}

/// In exponents and subscripts a bar would make its parts too small: a slash, with the parentheses that it needs.
Item slashed(Expr above, Expr below, Setting setting) {
  const bool left = grammar::strength(above) < grammar::multiplicative || above.is(Op::reduce) || above.is(Op::where);
  const bool right = grammar::strength(below) < grammar::tight || below.is(Op::div) || below.is(Op::rsqrt);
  Row row(setting);
  row.add(operand(above, left, setting));
  row.add(boxes::sign('/', setting));
  row.add(operand(below, right, setting));
  return row.finish();
}

Item quotient(Expr above, Expr below, Setting setting) {
  if (setting.is_script()) return slashed(above, below, setting);
  return boxes::fraction(item(above, setting.part_of_fraction()), item(below, setting.part_of_fraction()), setting);
}

Item reciprocal_root(Expr e, Setting setting) {
  if (setting.is_script()) {
    Row row(setting);
    row.add(word("1/", setting));
    row.add(boxes::root(item(e.arg(0), setting), setting));
    return row.finish();
  }
  const Setting inside = setting.part_of_fraction();
  return boxes::fraction(word("1", inside), boxes::root(item(e.arg(0), inside), inside), setting);
}

Item cases(Expr e, Setting setting) {
  Row condition(setting);
  condition.add(word("if", setting));
  condition.add(boxes::space(after_if, setting));
  condition.add(item(e.arg(0), setting));
  std::vector<std::pair<Item, Item>> rows;
  rows.emplace_back(item(e.arg(1), setting), condition.finish());
  rows.emplace_back(item(e.arg(2), setting), word("else", setting));
  return boxes::cases(std::move(rows), setting);
}

Item prefixed(ImWchar sign, Expr e, Setting setting) {
  Row row(setting);
  row.add(boxes::sign(sign, setting));
  row.add(operand(e.arg(0), grammar::is_parenthesised_operand(e), setting));
  return row.finish();
}

Item leaf(Expr e, Setting setting) {
  switch (e.op()) {
    case Op::infinity:
      return boxes::sign(infinite, setting);
    case Op::number:
      return word(grammar::number_text(e), setting);
    case Op::boolean:
      return word(print(e), setting);
    case Op::read:
      if (!e.args().empty()) return identifier(e.name().text(), list(e.args(), setting.raised()), setting);
      [[fallthrough]];
    default:
      return identifier(e.name().text(), std::nullopt, setting);
  }
}

Item made(Expr e, Setting setting) {
  switch (e.op()) {
    case Op::number:
    case Op::infinity:
    case Op::boolean:
    case Op::index:
    case Op::dim:
    case Op::symbol:
    case Op::read:
      return leaf(e, setting);
    case Op::tuple:
      return in_parentheses(list(e.args(), setting), setting);
    case Op::cast:
      return applied(name(e.node().dtype), e.args(), setting);
    case Op::call:
      return called(e, setting);
    case Op::reduce:
      return big_operator(e, setting);
    case Op::neg:
      return prefixed(minus, e, setting);
    case Op::logical_not:
      return prefixed(negation, e, setting);
    case Op::div:
      return quotient(e.arg(0), e.arg(1), setting);
    case Op::floordiv:
      return boxes::fenced(root_floor, quotient(e.arg(0), e.arg(1), setting), end_floor, setting);
    case Op::pow:
      return power_of(e.arg(0), e.arg(1), setting);
    case Op::exp:
      if (!grammar::is_raised(e)) return applied("exp", e.args(), setting);
      return power(word("e", setting), e.arg(0), setting);
    case Op::exp2:
      return power(word("2", setting), e.arg(0), setting);
    case Op::sqrt:
      return boxes::root(item(e.arg(0), setting), setting);
    case Op::rsqrt:
      return reciprocal_root(e, setting);
    case Op::abs:
      return boxes::fenced('|', item(e.arg(0), setting), '|', setting);
    case Op::floor:
      return boxes::fenced(root_floor, item(e.arg(0), setting), end_floor, setting);
    case Op::where:
      return cases(e, setting);
    default:
      return kind(e.op()) == OpKind::infix ? infix(e, setting) : applied(spelling(e.op()), e.args(), setting);
  }
}

Item item(Expr e, Setting setting) { return marked(made(e, setting), e); }

/// A letter at the end may lean out of its box.
MathsBox whole(Item made) {
  made.box.width += made.lean;
  return std::move(made.box);
}

ImWchar code_point(const std::string& relation) {
  const auto byte = [&](std::size_t i) { return i < relation.size() ? static_cast<unsigned char>(relation[i]) : 0U; };
  if (byte(0) < 0x80U) return static_cast<ImWchar>(byte(0));
  if (byte(0) < 0xE0U) return static_cast<ImWchar>((byte(0) & 0x1FU) << 6U | (byte(1) & 0x3FU));
  return static_cast<ImWchar>((byte(0) & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU));
}

std::string said_as(const std::string& relation) {
  if (relation == "=") return "equals";
  if (relation == "≤") return "is at most";
  if (relation == "←" || relation == "→") return "becomes";
  return relation;
}

}  // namespace

MathsBox lay_out(Expr e, float em) {
  if (!e) return {};
  MathsBox box = whole(item(e, {em, Style::display}));
  box.said = spoken(e);
  return box;
}

MathsBox lay_out_relation(Expr left, std::string relation_text, Expr right, float em, float width) {
  const Setting setting{em, Style::display};
  const ImWchar code = code_point(relation_text);
  const auto right_side = [&] {
    Row row(setting);
    row.add(relation(code, setting));
    row.add(item(right, setting));
    return row.finish();
  };
  MathsBox box;
  if (left) {
    Row line(setting);
    line.add(item(left, setting));
    line.add(right_side());
    box = whole(line.finish());
  }
  if (!left || box.width > width) {
    box = {};
    MathsBox below = whole(right_side());
    float y = 0;
    if (left) {
      MathsBox above = whole(item(left, setting));
      y = above.descent + em / 2 + below.ascent;
      boxes::put(box, std::move(above), 0, 0);
    }
    boxes::put(box, std::move(below), under_relation * em, y);
    boxes::enclose(box);
  }
  box.said = (left ? spoken(left) + " " : "") + said_as(relation_text) + " " + spoken(right);
  return box;
}

}  // namespace fathom::ui::widgets
