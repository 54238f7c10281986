// What a lesson asks of the record, in words and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "algebra/judge_functions.hpp"
#include "ir/units.hpp"
#include "lang/lang.hpp"
#include "passes/nest.hpp"
#include "session/lesson.hpp"
#include "session/short_text.hpp"

namespace fathom::session {
namespace {

using Of = Quantity::Of;

struct Word {
  std::string_view text;
  Of of;
  bool has_name;
};
constexpr std::array words = std::to_array<Word>({{"bytes", Of::bytes, true},
                                                  {"stored", Of::stored, false},
                                                  {"traffic", Of::traffic, false},
                                                  {"exps", Of::exps, false},
                                                  {"flops", Of::flops, false},
                                                  {"on_chip", Of::on_chip, false},
                                                  {"room", Of::room, false},
                                                  {"time", Of::time, false},
                                                  {"passes", Of::passes, true},
                                                  {"dim", Of::dim, true},
                                                  {"choice", Of::choice, true},
                                                  {"says", Of::says, false},
                                                  {"title", Of::title, true},
                                                  {"value", Of::value, true}});

std::string known_words() {
  std::string text;
  for (const Word& word : words)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", word.text,
                        word.of == Of::value ? "(EXPRESSION)"
                        : word.has_name      ? "(NAME)"
                                             : "");
  return text;
}

/// Euler's number, as people write it in an answer.
Expr with_euler(Expr e) {
  return transform(e, [](Expr part) {
    const bool is_e = (part.is(Op::symbol) || part.is(Op::index)) && part.name().text() == "e";
    return is_e ? unary(Op::exp, number(1)) : part;
  });
}

/// Of an expression without names; nullopt where there is one.
std::optional<double> value_of(Expr e, int depth = 0) {
  constexpr int deepest = 64;
  if (depth > deepest) return std::nullopt;
  if (e.is(Op::number)) return e.node().inexact != 0 ? e.node().inexact : e.node().number.to_double();
  if (e.is(Op::infinity)) return INFINITY;
  if (e.is(Op::boolean)) return e.node().truth ? 1 : 0;
  const OpKind which = kind(e.op());
  if ((which != OpKind::prefix && which != OpKind::infix && which != OpKind::function) || e.is(Op::random) || e.is(Op::extent))
    return std::nullopt;
  std::vector<double> args;
  for (const Expr each : e.args()) {
    const auto value = value_of(each, depth + 1);
    if (!value) return std::nullopt;
    args.push_back(*value);
  }
  if (e.is(Op::where)) return args[0] != 0 ? args[1] : args[2];
  return algebra::value_of(e.op(), args);
}

const Step* step_named(const Compilation& compilation, const std::string& id) {
  const auto& steps = compilation.record.steps;
  const auto at = std::find_if(steps.begin(), steps.end(), [&](const Step& each) { return each.id == id; });
  return at == steps.end() ? nullptr : &*at;
}

std::string steps_of(const Compilation& compilation) {
  std::string text;
  for (const Step& step : compilation.record.steps) text += (text.empty() ? "" : ", ") + step.id;
  return text;
}

Result<Measured> bytes_of(const Compilation& compilation, const Step& step, const std::string& name) {
  const auto has = [&](const Step& each) {
    return std::find_if(each.lives.begin(), each.lives.end(), [&](const TensorLife& life) { return life.tensor.text() == name; });
  };
  const auto life = has(step);
  const auto& steps = compilation.record.steps;
  if (life == step.lives.end() && std::none_of(steps.begin(), steps.end(), [&](const Step& each) { return has(each) != each.lives.end(); }))
    return refuse(fmt::format("no step has a tensor `{}`", name), {name});
  const bool is_stored = life != step.lives.end() && (life->place == "main memory" || life->place == "argument" || life->place == "result");
  const double bytes = is_stored ? life->bytes : 0;
  return Measured{bytes, bytes_text(bytes)};
}

Result<Measured> count_of(double count) { return Measured{count, count_text(count)}; }

/// "one" … "nine", as sentences have it.
std::string small_number(std::size_t n) {
  constexpr std::array names = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
  return n < names.size() ? names[n] : std::to_string(n);
}

}  // namespace

Result<Quantity> parse_quantity(std::string_view text) {
  Quantity quantity;
  const auto at = text.rfind('@');
  if (at != std::string_view::npos) quantity.step = text.substr(at + 1), text = text.substr(0, at);
  const auto open = text.find('(');
  const std::string_view word = text.substr(0, open);
  const auto known = std::find_if(words.begin(), words.end(), [&](const Word& each) { return each.text == word; });
  const std::string cure = "What can be asked: " + known_words() + "; and @STEP behind it.";
  if (known == words.end()) return refuse(fmt::format("`{}` is no quantity", word), {std::string(word)}, cure);
  if (known->has_name != (open != std::string_view::npos) || (known->has_name && text.back() != ')'))
    return refuse(fmt::format("`{}` is not written so", text), {std::string(text)}, cure);
  quantity.of = known->of;
  if (!known->has_name) return quantity;
  quantity.name = text.substr(open + 1, text.size() - open - 2);
  if (quantity.of != Of::value) return quantity;
  const auto parsed = lang::parse_expression(quantity.name);
  if (!parsed) return refuse(parsed.error().front().message, {quantity.name}, parsed.error().front().cure);
  quantity.value = *parsed;
  if (!value_of(*parsed))
    return refuse(fmt::format("`{}` has no value by itself", quantity.name), {quantity.name}, "Write it without names.");
  return quantity;
}

Result<Measured> measure(const Compilation& compilation, const Quantity& quantity, const std::string& step_of_page) {
  if (quantity.of == Of::value) {
    const double x = value_of(quantity.value).value_or(NAN);
    return Measured{x, number_text(x)};
  }
  if (quantity.of == Of::dim) {
    const math::Dimension* dimension = compilation.program.dimension(Symbol(quantity.name));
    if (dimension == nullptr) return refuse(fmt::format("the program has no dimension `{}`", quantity.name), {quantity.name});
    return Measured{static_cast<double>(dimension->value), std::to_string(dimension->value)};
  }
  const std::string& id = quantity.of == Of::title ? quantity.name : quantity.step.empty() ? step_of_page : quantity.step;
  const Step* step = step_named(compilation, id);
  if (step == nullptr) return refuse(fmt::format("there is no step `{}`", id), {id}, "The steps are: " + steps_of(compilation) + ".");
  switch (quantity.of) {
    case Of::bytes:
      return bytes_of(compilation, *step, quantity.name);
    case Of::stored:
      return Measured{stored_bytes(*step), bytes_text(stored_bytes(*step))};
    case Of::traffic:
      return Measured{step->cost.bytes, bytes_text(step->cost.bytes)};
    case Of::exps:
      return count_of(step->cost.exps);
    case Of::flops:
      return count_of(step->cost.flops);
    case Of::on_chip:
      return Measured{step->cost.on_chip_bytes, bytes_text(step->cost.on_chip_bytes)};
    case Of::room: {
      const auto room = static_cast<double>(compilation.target.shared_bytes);
      return Measured{room, bytes_text(room)};
    }
    case Of::time:
      return Measured{step->cost.ms, milliseconds_text(step->cost.ms)};
    case Of::says:
      return Measured{0, step->says};
    case Of::title:
      return Measured{0, step->title};
    case Of::passes: {
      const std::size_t count = passes_over(compilation, id, quantity.name).size();
      if (count == 0) return refuse(fmt::format("after `{}` there is no loop over `{}`", id, quantity.name), {quantity.name});
      return Measured{static_cast<double>(count), small_number(count)};
    }
    case Of::choice: {
      for (const Decision& decision : compilation.record.decisions)
        if (decision.site == quantity.name) return Measured{0, decision.choice};
      return refuse(fmt::format("there is no decision `{}`", quantity.name), {quantity.name});
    }
    case Of::dim:
    case Of::value:
      break;
  }
  return Measured{};
}

Result<std::string> filled(std::string_view text, const Compilation& compilation, const std::string& step_of_page) {
  std::string out;
  while (!text.empty()) {
    const auto open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = text.find('}', open);
    if (close == std::string_view::npos) return refuse("a { has no } behind it", {std::string(text.substr(open))});
    const auto quantity = parse_quantity(text.substr(open + 1, close - open - 1));
    if (!quantity) return tl::unexpected<Refusal>(quantity.error());
    const auto measured = measure(compilation, *quantity, step_of_page);
    if (!measured) return tl::unexpected<Refusal>(measured.error());
    out += measured->text;
    text.remove_prefix(close + 1);
  }
  return out;
}

std::vector<std::vector<std::string>> passes_over(const Compilation& compilation, const std::string& id, const std::string& index) {
  std::vector<std::vector<std::string>> found;
  const Step* step = step_named(compilation, id);
  if (step == nullptr || step->after.level != Level::loop) return found;
  for (const passes::Nest& nest : passes::nests_of(step->after.loop())) {
    if (!nest.folds_over(Symbol(index))) continue;
    std::vector<std::string> names;
    for (const Symbol name : nest.body) names.push_back(name.text());
    found.push_back(std::move(names));
  }
  return found;
}

Result<Answered> judge_answer(const Question& question, const std::string& given, const Compilation& compilation, const std::string& step) {
  if (question.answer.size() < 3) return refuse("the answer is empty");
  const auto quantity = parse_quantity(std::string_view(question.answer).substr(1, question.answer.size() - 2));
  if (!quantity) return tl::unexpected<Refusal>(quantity.error());
  const auto truth = measure(compilation, *quantity, step);
  if (!truth) return tl::unexpected<Refusal>(truth.error());
  Answered answered{false, truth->text, {}};
  if (!question.choices.empty()) {
    answered.is_right = given == truth->text;
  } else {
    constexpr double three_digits = 0.01, one_digit = 0.1;
    const auto number = lang::parse_expression(given);
    const auto value = number ? value_of(with_euler(*number)) : std::nullopt;
    if (!value) {
      answered.says = "Type a number, or an expression without names, such as exp(2) / 3.";
      return answered;
    }
    const double distance = std::fabs(*value - truth->number) / std::fabs(truth->number);
    answered.is_right = (std::isnan(*value) && std::isnan(truth->number)) || *value == truth->number || distance <= three_digits;
    if (!answered.is_right && distance <= one_digit) {
      answered.says = "Near it, but too coarse: give three digits, or an expression.";
      return answered;
    }
  }
  if (answered.is_right) return answered;
  const auto because = question.because.find(given);
  const auto said = question.because.find("*");
  const std::string& text = because != question.because.end() ? because->second : said != question.because.end() ? said->second : "";
  const auto words_of_it = filled(text, compilation, step);
  if (!words_of_it) return tl::unexpected<Refusal>(words_of_it.error());
  answered.says = *words_of_it;
  return answered;
}

}  // namespace fathom::session
