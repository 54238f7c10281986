// Lesson files: TOML. Every field is read once and every other one is a mistake, so that a misspelled name is found.
#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "lang/lang.hpp"
#include "session/lesson.hpp"

namespace fathom::session {
namespace {

constexpr std::size_t largest_file = 1 << 20;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[nodiscard]] SourceSpan span(const toml::node& node) const { return span(node.source()); }
  [[nodiscard]] SourceSpan span(const toml::source_region& region) const { return {0, offset(region.begin), offset(region.end)}; }

  void error(SourceSpan at, std::string message, std::string cure = {}) {
    diagnostics.push_back({Severity::error, at, std::move(message), std::move(cure), {}});
  }

  void only(const toml::table& table, const std::string& path, std::initializer_list<std::string_view> fields) {
    for (const auto& [key, node] : table) {
      if (std::find(fields.begin(), fields.end(), key.str()) != fields.end()) continue;
      std::string known;
      for (const std::string_view field : fields) known += fmt::format("{}{}", known.empty() ? "" : ", ", field);
      error(span(key.source()), fmt::format("{}{} is no field", path, key.str()), fmt::format("Here are: {}.", known));
    }
  }

  std::string text(const toml::table& table, const std::string& path, std::string_view field, bool needed) {
    const toml::node* node = table.get(field);
    if (node == nullptr) {
      if (needed) error(span(table), fmt::format("{}{} is missing", path, field), "It is a text: " + std::string(field) + " = \"…\".");
      return {};
    }
    const auto value = node->value<std::string>();
    if (!node->is_string() || value->empty()) {
      error(span(*node), fmt::format("{}{} is no text", path, field), "Write it in quotes.");
      return {};
    }
    return *value;
  }

  bool flag(const toml::table& table, const std::string& path, std::string_view field) {
    const toml::node* node = table.get(field);
    if (node == nullptr) return false;
    if (!node->is_boolean()) error(span(*node), fmt::format("{}{} is neither true nor false", path, field));
    return node->value<bool>().value_or(false);
  }

  std::vector<std::string> texts(const toml::table& table, const std::string& path, std::string_view field) {
    std::vector<std::string> all;
    const toml::node* node = table.get(field);
    if (node == nullptr) return all;
    const toml::array* array = node->as_array();
    if (array == nullptr) {
      error(span(*node), fmt::format("{}{} is no list of texts", path, field), "Write [\"…\", \"…\"].");
      return all;
    }
    for (const toml::node& each : *array) {
      if (!each.is_string())
        error(span(each), fmt::format("{}{} has something that is no text", path, field), "Write it in quotes.");
      else
        all.push_back(*each.value<std::string>());
    }
    return all;
  }

  const toml::table* table(const toml::table& in, const std::string& path, std::string_view field) {
    const toml::node* node = in.get(field);
    if (node == nullptr) return nullptr;
    if (node->as_table() == nullptr) error(span(*node), fmt::format("{}{} is no table", path, field));
    return node->as_table();
  }

  std::vector<const toml::table*> tables(const toml::table& in, const std::string& path, std::string_view field) {
    std::vector<const toml::table*> all;
    const toml::node* node = in.get(field);
    if (node == nullptr) return all;
    const toml::array* array = node->as_array();
    if (array == nullptr) {
      error(span(*node), fmt::format("{}{} is no list of tables", path, field), fmt::format("Write [[{}]] before each.", field));
      return all;
    }
    for (const toml::node& each : *array) {
      if (each.as_table() != nullptr)
        all.push_back(each.as_table());
      else
        error(span(each), fmt::format("{}{} has something that is no table", path, field));
    }
    return all;
  }

  Expr expression(SourceSpan at, const std::string& path, const std::string& written) {
    const auto parsed = lang::parse_expression(written);
    if (parsed) return *parsed;
    error(at, fmt::format("{}: `{}` is no expression: {}", path, written, parsed.error().front().message), parsed.error().front().cure);
    return {};
  }

  [[nodiscard]] std::uint32_t offset(const toml::source_position& at) const {
    std::size_t place = 0;
    for (toml::source_index line = 1; line < at.line && place < text_.size(); ++line) {
      const auto end = text_.find('\n', place);
      place = end == std::string_view::npos ? text_.size() : end + 1;
    }
    for (toml::source_index column = 1; column < at.column && place < text_.size(); ++column) {
      ++place;
      while (place < text_.size() && (static_cast<unsigned char>(text_[place]) & 0xC0U) == 0x80U) ++place;
    }
    return static_cast<std::uint32_t>(std::min(place, text_.size()));
  }

  Diagnostics diagnostics;

 private:
  std::string_view text_;
};

Drawing drawing_from(Reader& reader, const toml::table& table, const std::string& path) {
  reader.only(table, path, {"statements", "of_text", "after", "equations", "passes", "bars", "check", "guard"});
  Drawing drawing;
  drawing.span = reader.span(table);
  drawing.of_text = reader.flag(table, path, "of_text");
  drawing.after = reader.flag(table, path, "after");
  int kinds = 0;
  if (table.get("statements") != nullptr)
    ++kinds, drawing.kind = Drawing::Kind::statements, drawing.names = reader.texts(table, path, "statements");
  if (table.get("passes") != nullptr)
    ++kinds, drawing.kind = Drawing::Kind::passes, drawing.names = {reader.text(table, path, "passes", true)};
  if (table.get("guard") != nullptr)
    ++kinds, drawing.kind = Drawing::Kind::guard, drawing.names = {reader.text(table, path, "guard", true)};
  if (table.get("check") != nullptr)
    ++kinds, drawing.kind = Drawing::Kind::check, drawing.names = {reader.text(table, path, "check", true)};
  if (table.get("equations") != nullptr) {
    ++kinds, drawing.kind = Drawing::Kind::equations;
    for (const std::string& each : reader.texts(table, path, "equations")) {
      const auto equals = each.find(" = ");
      if (equals == std::string::npos) {
        reader.error(drawing.span, fmt::format("{}equations: `{}` has no ` = `", path, each));
        continue;
      }
      drawing.equations.emplace_back(reader.expression(drawing.span, path + "equations", each.substr(0, equals)),
                                     reader.expression(drawing.span, path + "equations", each.substr(equals + 3)));
    }
  }
  if (table.get("bars") != nullptr) {
    ++kinds, drawing.kind = Drawing::Kind::bars;
    for (const toml::table* bar : reader.tables(table, path, "bars")) {
      reader.only(*bar, path + "bars.", {"label", "quantity"});
      drawing.bars.push_back({reader.text(*bar, path + "bars.", "label", true), reader.text(*bar, path + "bars.", "quantity", true)});
    }
  }
  if (kinds != 1)
    reader.error(drawing.span, path + "a figure shows exactly one thing", "One of statements, equations, passes, bars, check and guard.");
  return drawing;
}

Question question_from(Reader& reader, const toml::table& table, const std::string& path) {
  reader.only(table, path, {"ask", "choices", "answer", "because", "then"});
  Question question;
  question.span = reader.span(table);
  question.ask = reader.text(table, path, "ask", true);
  question.choices = reader.texts(table, path, "choices");
  question.answer = reader.text(table, path, "answer", true);
  question.then = reader.text(table, path, "then", true);
  if (const toml::table* because = reader.table(table, path, "because"))
    for (const auto& [key, node] : *because) question.because.emplace(key.str(), reader.text(*because, path + "because.", key.str(), true));
  const std::string& answer = question.answer;
  if (!answer.empty() && (answer.front() != '{' || answer.find('}') != answer.size() - 1))
    reader.error(question.span, path + "answer is not one quantity", "Write {bytes(s)} or another: an answer is computed, never typed in.");
  return question;
}

Mistake mistake_from(Reader& reader, const toml::table& table, const std::string& path) {
  reader.only(table, path, {"write", "breaks", "says"});
  Mistake mistake;
  mistake.span = reader.span(table);
  mistake.write = reader.texts(table, path, "write");
  mistake.says = reader.text(table, path, "says", true);
  if (table.get("breaks") != nullptr) {
    const std::string law = reader.text(table, path, "breaks", true);
    mistake.breaks_sums = law == "C2";
    if (law != "C2") reader.error(mistake.span, path + "breaks is not C2", "Repairs are told apart by what they compute, or by C2.");
  }
  if (mistake.write.empty()) reader.error(mistake.span, path + "write is missing", "Give examples: write = [\"acc\"].");
  for (const std::string& each : mistake.write)
    if (const Expr form = reader.expression(mistake.span, path + "write", each)) mistake.forms.push_back(form);
  return mistake;
}

Task task_from(Reader& reader, const toml::table& table, const std::string& path) {
  reader.only(table, path, {"ask", "then", "select", "take", "step", "repair", "right", "mistake", "otherwise"});
  Task task;
  task.span = reader.span(table);
  task.ask = reader.text(table, path, "ask", true);
  task.then = reader.text(table, path, "then", true);
  int actions = 0;
  if (table.get("select") != nullptr) ++actions, task.action = SelectValue{reader.text(table, path, "select", true)};
  if (table.get("step") != nullptr) ++actions, task.action = GoToStep{reader.text(table, path, "step", true)};
  if (table.get("take") != nullptr) {
    ++actions;
    const std::string take = reader.text(table, path, "take", true);
    const auto equals = take.find('=');
    if (equals == std::string::npos)
      reader.error(task.span, path + "take is not SITE=CHOICE");
    else
      task.action = TakeChoice{take.substr(0, equals), take.substr(equals + 1)};
  }
  if (table.get("repair") != nullptr) {
    ++actions;
    WriteRepair write;
    write.consumer = reader.text(table, path, "repair", true);
    write.right = reader.texts(table, path, "right");
    write.otherwise = reader.text(table, path, "otherwise", true);
    const auto mistakes = reader.tables(table, path, "mistake");
    for (std::size_t i = 0; i < mistakes.size(); ++i)
      write.mistakes.push_back(mistake_from(reader, *mistakes[i], fmt::format("{}mistake {}: ", path, i + 1)));
    if (write.right.empty()) reader.error(task.span, path + "right is missing", "List at least one repair that is right.");
    task.action = std::move(write);
  } else {
    for (const std::string_view field : {"right", "mistake", "otherwise"})
      if (table.get(field) != nullptr) reader.error(task.span, fmt::format("{}{} belongs to a repair", path, field));
  }
  if (actions != 1) reader.error(task.span, path + "a task is exactly one action", "One of select, take, step and repair.");
  return task;
}

Page page_from(Reader& reader, const toml::table& table, const std::string& path) {
  reader.only(table, path, {"title", "text", "step", "look_at", "figure", "question", "task", "hints"});
  Page page;
  page.span = reader.span(table);
  page.title = reader.text(table, path, "title", true);
  page.text = reader.text(table, path, "text", true);
  page.step = reader.text(table, path, "step", true);
  page.look_at = reader.text(table, path, "look_at", false);
  page.hints = reader.texts(table, path, "hints");
  const auto figures = reader.tables(table, path, "figure");
  for (std::size_t i = 0; i < figures.size(); ++i)
    page.drawings.push_back(drawing_from(reader, *figures[i], fmt::format("{}figure {}: ", path, i + 1)));
  if (figures.empty()) reader.error(page.span, path + "figure is missing", "Every page has something to look at.");
  if (const toml::table* question = reader.table(table, path, "question"))
    page.question = question_from(reader, *question, path + "question.");
  if (const toml::table* task = reader.table(table, path, "task")) page.task = task_from(reader, *task, path + "task.");
  return page;
}

void read_start(Reader& reader, const toml::table& table, Lesson& lesson) {
  if (const toml::table* dims = reader.table(table, "", "dims"))
    for (const auto& [key, node] : *dims) {
      const auto value = node.is_integer() ? node.value<std::int64_t>() : std::nullopt;
      if (value && *value > 0)
        lesson.dims.emplace(key.str(), *value);
      else
        reader.error(reader.span(node), fmt::format("dims.{} is no size", key.str()), "Write a whole number above 0.");
    }
  if (const toml::table* choices = reader.table(table, "", "choices"))
    for (const auto& [key, node] : *choices)
      lesson.choices.push_back({std::string(key.str()), reader.text(*choices, "choices.", key.str(), true), false, Origin::by_lesson});
}

}  // namespace

Checked<Lesson> parse_lesson(std::string_view text, std::string_view file_name) {
  Reader reader(text);
  if (text.size() > largest_file) {
    reader.error({0, 0, 0}, fmt::format("{} has {} bytes", file_name, text.size()), "A lesson has less than a million.");
    return tl::unexpected<Diagnostics>(reader.diagnostics);
  }
  const toml::parse_result parsed = toml::parse(text, file_name);
  if (!parsed) {
    reader.error(reader.span(parsed.error().source()), fmt::format("this is no TOML: {}", parsed.error().description()));
    return tl::unexpected<Diagnostics>(reader.diagnostics);
  }
  const toml::table& table = parsed.table();
  reader.only(table, "", {"title", "summary", "program", "target", "dims", "choices", "hidden", "page"});
  Lesson lesson;
  lesson.span = reader.span(table);
  lesson.name = file_name.substr(0, file_name.rfind('.'));
  lesson.title = reader.text(table, "", "title", true);
  lesson.summary = reader.text(table, "", "summary", true);
  lesson.sample = reader.text(table, "", "program", true);
  lesson.target = reader.text(table, "", "target", true);
  lesson.hidden = reader.texts(table, "", "hidden");
  read_start(reader, table, lesson);
  const auto pages = reader.tables(table, "", "page");
  for (std::size_t i = 0; i < pages.size(); ++i) lesson.pages.push_back(page_from(reader, *pages[i], fmt::format("page {}: ", i + 1)));
  if (pages.empty()) reader.error(lesson.span, "page is missing", "Write [[page]] before each page.");
  if (!reader.diagnostics.empty()) return tl::unexpected<Diagnostics>(reader.diagnostics);
  return lesson;
}

}  // namespace fathom::session
