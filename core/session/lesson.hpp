// Lessons (docs/lessons.md): data that lead a person through the lowering of a sample. A lesson states no figure: it names quantities that
// are asked of the record, and `check_lesson` proves every claim that it makes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "session/session.hpp"

namespace fathom::session {

struct OwnRepair;
class Provenance;

/// What can be asked of a record, as the lesson writes it between braces: {bytes(s)@make-loops}, {passes(j)}, {value(exp(1 - 3))}.
struct Quantity {
  enum class Of : std::uint8_t {
    bytes,    ///< of a tensor in main memory
    stored,   ///< of all intermediates in main memory
    traffic,  ///< of the whole program
    exps,     ///< exponentials of the whole program
    flops,
    on_chip,  ///< bytes of the largest working set
    room,     ///< bytes that the machine has for it
    time,     ///< predicted
    passes,   ///< loops over an index that follow each other
    dim,      ///< value of a dimension
    choice,   ///< taken at a site
    says,     ///< the step's own sentence
    title,    ///< of a step, as the screen shows it
    value     ///< of an expression without names
  };
  Of of = Of::value;
  std::string name;  ///< tensor, index, dimension, site or step
  Expr value;
  std::string step;  ///< empty: that of the page
};
struct Measured {
  double number = 0;
  std::string text;
};
[[nodiscard]] Result<Quantity> parse_quantity(std::string_view text);
[[nodiscard]] Result<Measured> measure(const Compilation&, const Quantity&, const std::string& step_of_page);
/// The text with its quantities put in.
[[nodiscard]] Result<std::string> filled(std::string_view text, const Compilation&, const std::string& step_of_page);

struct Bar {
  std::string label;
  std::string quantity;  ///< without braces
};
/// Something to look at, drawn from the record.
struct Drawing {
  enum class Kind : std::uint8_t {
    statements,  ///< of the program after the step (or of the text), typeset
    equations,   ///< that hold, typeset
    passes,      ///< which statement stands in which loop over the index
    bars,        ///< quantities beside each other
    check,       ///< what checking the step found
    guard        ///< of a repair
  };
  Kind kind = Kind::statements;
  std::vector<std::string> names;  ///< statements; the index of passes; the consumer of a guard
  std::vector<std::pair<Expr, Expr>> equations;
  std::vector<Bar> bars;
  bool of_text = false;  ///< statements as they are written
  bool after = false;    ///< shown once the page's question is answered, or its task done
  SourceSpan span;
};

/// Asked before its answer is shown.
struct Question {
  std::string ask;
  std::vector<std::string> choices;            ///< empty: a number is typed
  std::string answer;                          ///< one quantity, in braces
  std::map<std::string, std::string> because;  ///< what is wrong with a choice
  std::string then;                            ///< once it is answered
  SourceSpan span;
};

struct SelectValue {
  std::string name;
};
struct TakeChoice {
  std::string site, choice;
};
struct GoToStep {
  std::string step;
};
/// A wrong repair that is foreseen: known by what it computes, however it is spelled, or by the law that it breaks.
struct Mistake {
  std::vector<std::string> write;  ///< examples: each is refuted, and is this mistake
  std::vector<Expr> forms;
  bool breaks_sums = false;  ///< every repair that breaks C2 is this one
  std::string says;
  SourceSpan span;
};
struct WriteRepair {
  std::string consumer;
  std::vector<std::string> right;
  std::vector<Mistake> mistakes;
  std::string otherwise;  ///< of every other wrong one; {moves}, {found} and {wanted} are the counterexample's
};
/// A real action, judged by the state that it leaves.
struct Task {
  std::string ask, then;
  std::variant<SelectValue, TakeChoice, GoToStep, WriteRepair> action;
  SourceSpan span;
};

struct Page {
  std::string title, text;  ///< paragraphs between empty lines; `code` and {quantities} in them
  std::string step;
  std::string look_at;  ///< a name that is selected; may be empty
  std::vector<Drawing> drawings;
  std::optional<Question> question;
  std::optional<Task> task;
  std::vector<std::string> hints;
  SourceSpan span;
};

struct Lesson {
  std::string name, title, summary;
  std::string sample, target;
  std::map<std::string, std::int64_t> dims;
  std::vector<TraceEntry> choices;  ///< that it begins with
  std::vector<std::string> hidden;  ///< indices that formulas leave out
  std::vector<Page> pages;
  SourceSpan span;
};

/// Every mistake of the text: its place, and the field in its message.
[[nodiscard]] Checked<Lesson> parse_lesson(std::string_view text, std::string_view file_name);
/// Compiles its program and walks through its pages: steps exist, quantities can be asked, each right answer is right and each mistake is
/// wrong with its own sentence, each task can be done and was not done before.
[[nodiscard]] Checked<void> check_lesson(const Lesson&);

/// Part of the program itself (samples/lessons); those that do not parse are left out (a test sees to it that there is none).
[[nodiscard]] const std::vector<Lesson>& lessons();
[[nodiscard]] const Lesson* lesson_named(std::string_view name);
/// What it begins with.
[[nodiscard]] Checked<Inputs> inputs_of(const Lesson&);

/// Where a person is.
struct Situation {
  const Compilation* compilation = nullptr;
  std::string step;      ///< id
  std::string selected;  ///< name; empty: nothing
};
[[nodiscard]] bool is_done(const Task&, const Situation&);
/// Does it in the session, where it is something that a session does; the rest is the explorer's.
Checked<void> perform(const Task&, Session&);

/// The statement as a formula: what it defines, and its value, without the hidden indices. Absent where there is no such statement.
struct Formula {
  Expr left, right;
};
[[nodiscard]] std::optional<Formula> formula_of(const Lesson&, const Compilation&, const std::string& step, const std::string& name,
                                                bool of_text);
/// Statements of each loop over the index, in order; empty: no such loop.
[[nodiscard]] std::vector<std::vector<std::string>> passes_over(const Compilation&, const std::string& step, const std::string& index);

/// Do both compute the same, however they are spelled? Asked at a few points, names as numbers.
[[nodiscard]] bool is_same_function(Expr, Expr);
/// What a lesson says to a repair that is refuted.
[[nodiscard]] std::string sentence_for(const WriteRepair&, const OwnRepair&);
/// "p.m = 0 becomes 1": of the law that breaks.
[[nodiscard]] std::string moves_of(const OwnRepair&);

struct Answered {
  bool is_right = false;
  std::string truth;  ///< the answer as it is shown
  std::string says;   ///< to a wrong one
};
[[nodiscard]] Result<Answered> judge_answer(const Question&, const std::string& given, const Compilation&, const std::string& step);

}  // namespace fathom::session
