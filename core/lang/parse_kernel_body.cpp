// Reads the statements of a role. A statement ends where the next token cannot continue it: line ends carry no meaning, except that
// the flags `release` and `acquire` of an atomic stand on its line.
#include <array>
#include <charconv>
#include <utility>

#include "lang/parse_kernel.hpp"

namespace fathom::lang {

using kernel::Access;
using kernel::Statement;

bool KernelParser::keyword(std::string_view word) const { return in_.at(word) && !in_.at("=", 1) && !in_.at(",", 1) && !in_.at("[", 1); }

bool KernelParser::on_this_line() const {
  const SourceSpan last = in_.span_from(in_.peek().span.begin);
  const std::string_view between = in_.source().substr(last.end, in_.peek().span.begin - last.end);
  return between.find('\n') == std::string_view::npos;
}

bool KernelParser::block(kernel::Block& body) {
  if (!in_.expect("{", "before a block") || !in_.enter()) return false;
  bool good = true;
  while (good && !in_.at("}") && !in_.at_end()) {
    std::optional<Statement> s = statement();
    good = s.has_value();
    if (good) body.push_back(std::move(*s));
  }
  in_.leave();
  return good && in_.expect("}", "at the end of a block");
}

std::optional<Statement> KernelParser::statement() {
  using Reader = bool (KernelParser::*)(Statement&);
  static constexpr std::array<std::pair<std::string_view, Reader>, 7> readers = {{{"for", &KernelParser::loop},
                                                                                  {"when", &KernelParser::when},
                                                                                  {"if", &KernelParser::condition_block},
                                                                                  {"publish", &KernelParser::hand_over<kernel::Publish>},
                                                                                  {"release", &KernelParser::hand_over<kernel::Release>},
                                                                                  {"take", &KernelParser::turn_op<kernel::Take>},
                                                                                  {"pass", &KernelParser::turn_op<kernel::Pass>}}};
  Statement s;
  for (const auto& [word, reader] : readers) {
    if (!keyword(word)) continue;
    in_.next();
    if (!(this->*reader)(s)) return std::nullopt;
    return s;
  }
  bool good = false;
  if (keyword("let")) {
    in_.next();
    auto l = let();
    good = l.has_value();
    if (good) s.op = *l;
  } else if (keyword("await")) {
    in_.next();
    good = await(s, std::nullopt);
  } else {
    good = assignment(s);
  }
  if (!good || !at_stage(s)) return std::nullopt;
  return s;
}

bool KernelParser::at_stage(Statement& s) {
  if (!in_.accept("@")) return true;
  const Token token = in_.peek();
  const std::size_t dot = token.text.find('.');
  kernel::At at;
  const auto number = [](std::string_view digits, int& to) {
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, to);
    return error == std::errc{} && stop == end && !digits.empty();
  };
  const bool good = token.kind == TokenKind::number && dot != std::string_view::npos && number(token.text.substr(0, dot), at.stage) &&
                    number(token.text.substr(dot + 1), at.order);
  if (!good) {
    in_.unexpected("a stage and an order, `@1.4`");
    return false;
  }
  in_.next();
  s.at = at;
  return true;
}

// ---- places ----

std::optional<Access> KernelParser::access(bool introduces_indices) {
  Access a;
  if (!name_into(a.name, "the name of a value, buffer, slot or tensor")) return std::nullopt;
  if (!in_.at("[")) return a;
  introduces_indices_ = introduces_indices;
  auto subscripts = in_.subscripts(scope());
  introduces_indices_ = false;
  if (!subscripts) return std::nullopt;
  a.subscripts = std::move(*subscripts);
  return a;
}

void KernelParser::define_target(const Access& target) {
  if (target.subscripts.empty()) define(target.name, read(target.name, {}));
}

bool KernelParser::via(std::vector<Symbol>& paths) {
  if (!keyword("via")) return true;
  in_.next();
  if (!in_.expect("(", "after `via`")) return false;
  do {
    Symbol path;
    if (!name_into(path, "a path or policy")) return false;
    paths.push_back(path);
  } while (in_.accept(","));
  return in_.expect(")", "after the paths of `via`");
}

bool KernelParser::token_uses(std::vector<kernel::TokenUse>& list) {
  static constexpr std::string_view read_suffix = ".read";  // the lexer takes it as a part of the name
  do {
    Symbol name;
    if (!name_into(name, "a token")) return false;
    std::string_view text = name.text();
    const bool source_only = text.size() > read_suffix.size() && text.substr(text.size() - read_suffix.size()) == read_suffix;
    if (source_only) text.remove_suffix(read_suffix.size());
    list.push_back({Symbol(text), source_only});
  } while (in_.accept(","));
  return true;
}

// ---- assignments ----

bool KernelParser::assignment(Statement& s) {
  std::vector<Access> targets;
  do {
    auto target = access(true);
    if (!target) return false;
    targets.push_back(std::move(*target));
  } while (in_.accept(","));
  if (!in_.expect("=", "after the left side of a statement")) return false;
  const bool operation = targets.size() == 1 && in_.peek(1).kind == TokenKind::name;
  const bool names_only = operation && targets[0].subscripts.empty();
  const Symbol name = targets[0].name;
  if (operation && in_.accept("await")) return await(s, std::move(targets[0]));
  if (names_only && in_.accept("copy")) return copy(s, name);
  if (names_only && in_.accept("mma")) return mma(s, name);
  if (names_only && in_.accept("atomic")) return atomic(s, name);
  if (names_only && in_.accept("acquire")) return slot_op<kernel::Acquire>(s, name);
  if (names_only && in_.accept("receive")) return slot_op<kernel::Receive>(s, name);
  return value(s, std::move(targets));
}

bool KernelParser::value(Statement& s, std::vector<Access> targets) {
  kernel::Value v;
  do {
    const Expr side = expression();
    if (!side) return false;
    v.values.push_back(side);
  } while (in_.accept(","));
  for (const Access& target : targets) define_target(target);
  v.targets = std::move(targets);
  if (v.values.size() != 1 && v.values.size() != v.targets.size()) {
    in_.unexpected("as many values as there are names on the left, or one reduction");
    return false;
  }
  if (!value_suffix(v)) return false;
  s.op = std::move(v);
  return true;
}

bool KernelParser::value_suffix(kernel::Value& v) {
  if (keyword("else")) {
    in_.next();
    v.otherwise = expression();
    if (!v.otherwise) return false;
  }
  if (keyword("as")) {
    in_.next();
    Symbol operand;
    if (!name_into(operand, "an operand of an atom, `qk.a`")) return false;
    const std::string& text = operand.text();
    const std::size_t dot = text.rfind('.');
    static constexpr std::array<std::string_view, 3> roles = {"a", "b", "acc"};
    for (std::size_t i = 0; i < roles.size() && dot != std::string::npos; ++i) {
      if (roles[i] == std::string_view(text).substr(dot + 1)) {
        v.layout = kernel::OperandLayout{Symbol(text.substr(0, dot)), static_cast<kernel::OperandRole>(i)};
      }
    }
    if (!v.layout) {
      in_.unexpected("an operand `ATOM.a`, `ATOM.b` or `ATOM.acc` before this");
      return false;
    }
  }
  return via(v.via);
}

bool KernelParser::copy(Statement& s, Symbol token) {
  kernel::Copy c;
  c.token = token;
  auto to = access(true);
  if (!to || !in_.expect("<-", "between the target and the source of a copy")) return false;
  c.to = std::move(*to);
  c.from = expression();
  if (!c.from) return false;
  if (keyword("else")) {
    in_.next();
    c.otherwise = expression();
    if (!c.otherwise) return false;
  }
  define(token, symbol(token));
  const bool good = via(c.via);
  s.op = std::move(c);
  return good;
}

bool KernelParser::mma(Statement& s, Symbol token) {
  kernel::Mma m;
  m.token = token;
  if (!name_into(m.atom, "an atom") || !in_.expect(":", "after the atom of an `mma`")) return false;
  auto acc = access(true);
  if (!acc) return false;
  m.accumulate = in_.accept("+=");
  if (!m.accumulate && !in_.expect("=", "or `+=` after the accumulator")) return false;
  auto a = access(true);
  if (!a || !in_.expect("*", "between the operands of an `mma`")) return false;
  auto b = access(true);
  if (!b) return false;
  m.acc = std::move(*acc);
  m.a = std::move(*a);
  m.b = std::move(*b);
  define(token, symbol(token));
  s.op = std::move(m);
  return true;
}

bool KernelParser::await(Statement& s, std::optional<Access> acc) {
  std::vector<kernel::TokenUse> token;
  if (!token_uses(token)) return false;
  if (token.size() != 1 || (acc && token[0].source_only)) {
    in_.unexpected("one token before this; `.read` gives no value");
    return false;
  }
  if (acc) define_target(*acc);
  s.op = kernel::Await{std::move(acc), token[0].token, token[0].source_only};
  return true;
}

bool KernelParser::atomic(Statement& s, Symbol result) {
  kernel::Atomic a;
  a.result = result;
  if (!name_into(a.operation, "an atomic operation")) return false;
  auto place = access(false);
  if (!place || !in_.expect(",", "after the place of an atomic")) return false;
  a.place = std::move(*place);
  a.value = expression();
  if (!a.value) return false;
  for (bool more = true; more;) {
    more = false;
    if (in_.at("release") && on_this_line()) more = a.release = in_.accept("release");
    if (in_.at("acquire") && on_this_line()) more = a.acquire = in_.accept("acquire");
  }
  define(result, read(result, {}));
  s.op = std::move(a);
  return true;
}

// ---- channels and turns ----

template <class Op>
bool KernelParser::slot_op(Statement& s, Symbol slot) {
  auto channel = access(false);
  if (!channel) return false;
  define(slot, read(slot, {}));
  s.op = Op{slot, std::move(*channel)};
  return true;
}

template <class Op>
bool KernelParser::hand_over(Statement& s) {
  auto channel = access(false);
  if (!channel) return false;
  Op op{std::move(*channel), {}};
  if (keyword("after")) {
    in_.next();
    if (!token_uses(op.after)) return false;
  }
  s.op = std::move(op);
  return at_stage(s);
}

template <class Op>
bool KernelParser::turn_op(Statement& s) {
  Op op;
  if (!name_into(op.turn, "a turn")) return false;
  s.op = op;
  return at_stage(s);
}

// ---- flow ----

bool KernelParser::carry(std::vector<kernel::Carry>& list, bool with_initial) {
  if (!keyword("carry")) return true;
  in_.next();
  if (!in_.expect("(", "after `carry`")) return false;
  do {
    kernel::Carry c;
    auto value = access(true);
    if (!value) return false;
    c.value = std::move(*value);
    if (with_initial) {
      if (!in_.expect("=", "before the first value of what a loop carries")) return false;
      c.initial = expression();
      if (!c.initial) return false;
    }
    define_target(c.value);
    list.push_back(std::move(c));
  } while (in_.accept(","));
  return in_.expect(")", "after what is carried");
}

bool KernelParser::loop_ranges(kernel::For& f) {
  if (in_.accept("work")) {
    f.through = in_.accept("through");
    return true;
  }
  kernel::TaggedRange part;
  if (!in_.accept("[")) {
    if (!range(part.lo, part.hi)) return false;
    f.ranges.push_back(part);
    return true;
  }
  do {
    if (!name_into(part.tag, "the tag of a range") || !range(part.lo, part.hi)) return false;
    f.ranges.push_back(part);
  } while (in_.accept(","));
  return in_.expect("]", "after the ranges of a loop");
}

bool KernelParser::loop(Statement& s) {
  kernel::For f;
  if (!name_into(f.variable, "a loop variable") || !in_.expect("in", "after a loop variable") || !loop_ranges(f)) return false;
  if (!carry(f.carry, true)) return false;  // initial values stand outside of the loop
  define(f.variable, symbol(f.variable));
  for (const kernel::TaggedRange& part : f.ranges) {
    if (!part.tag.empty()) define(part.tag, symbol(part.tag));
  }
  const bool good = block(f.body);
  s.op = std::move(f);
  return good;
}

bool KernelParser::when(Statement& s) {
  kernel::When w;
  w.condition = expression();
  const bool good = w.condition && at_stage(s) && block(w.body);
  s.op = std::move(w);
  return good;
}

bool KernelParser::condition_block(Statement& s) {
  kernel::If i;
  auto condition = access(false);
  if (!condition) return false;
  i.condition = std::move(*condition);
  const bool good = carry(i.carry, false) && at_stage(s) && block(i.body);
  s.op = std::move(i);
  return good;
}

}  // namespace fathom::lang
