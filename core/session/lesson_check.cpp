// Proves a lesson: walks through its pages as a person does who does everything right, and asks the record for all that it claims.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/overloaded.hpp"
#include "session/lesson.hpp"
#include "session/own_repair.hpp"
#include "session/provenance.hpp"
#include "session/samples.hpp"

namespace fathom::session {
namespace {

class Walk {
 public:
  explicit Walk(const Lesson& lesson) : lesson_(&lesson) {}

  Diagnostics run() {
    const auto inputs = inputs_of(*lesson_);
    if (!inputs) return inputs.error();
    auto session = Session::open(*inputs);
    if (!session) {
      for (const Diagnostic& each : session.error()) error(lesson_->span, "the program does not compile: " + each.message, each.cure);
      return diagnostics_;
    }
    session_.emplace(*std::move(session));
    for (const Refusal& refusal : now().record.refusals) error(lesson_->span, "choices: " + refusal.reason, refusal.hint);
    for (std::size_t i = 0; i < lesson_->pages.size(); ++i) {
      where_ = fmt::format("page {}: ", i + 1);
      page(lesson_->pages[i]);
    }
    return diagnostics_;
  }

 private:
  [[nodiscard]] const Compilation& now() const { return session_->now(); }

  void error(SourceSpan at, const std::string& message, std::string cure = {}) {
    diagnostics_.push_back({Severity::error, at, where_ + message, std::move(cure), {}});
  }

  [[nodiscard]] const Step* step_named(const std::string& id) const {
    for (const Step& step : now().record.steps)
      if (step.id == id) return &step;
    return nullptr;
  }

  /// The text as it is shown; empty where a quantity cannot be asked.
  std::string shown(SourceSpan at, const std::string& field, const std::string& text) {
    const auto full = filled(text, now(), step_);
    if (full) return *full;
    error(at, fmt::format("{}: {}", field, full.error().reason), full.error().hint);
    return {};
  }

  void page(const Page& page) {
    step_ = page.step;
    const Step* step = step_named(page.step);
    if (step == nullptr) return error(page.span, fmt::format("step: there is no step `{}`", page.step), "`fathom steps` lists them.");
    shown(page.span, "text", page.text);
    if (!page.look_at.empty() && !has_name(*step, page.look_at))
      error(page.span, fmt::format("look_at: the program after {} has no name `{}`", page.step, page.look_at));
    for (const Drawing& each : page.drawings) drawing(each);
    for (const std::string& hint : page.hints) shown(page.span, "hints", hint);
    if ((page.question || page.task) && page.hints.empty())
      error(page.span, "hints: who is asked something can have a hint", "Write hints = [\"…\"].");
    if (page.question) question(*page.question);
    if (page.task) task(*page.task);
  }

  static bool has_name(const Step& step, const std::string& name) {
    const std::string text = print(step.after);
    for (std::size_t at = 0; at < text.size();) {
      const auto end = std::min(text.find('\n', at), text.size());
      const std::string_view line = std::string_view(text).substr(at, end - at);
      for (const Word& word : words_of(line))
        if (word.kind == WordKind::name && text_of(line, word) == name) return true;
      at = end + 1;
    }
    return false;
  }

  void drawing(const Drawing& drawing) {
    switch (drawing.kind) {
      case Drawing::Kind::statements:
        for (const std::string& name : drawing.names)
          if (!formula_of(*lesson_, now(), step_, name, drawing.of_text))
            error(drawing.span, fmt::format("figure: the program after {} has no statement `{}`", step_, name));
        return;
      case Drawing::Kind::equations:
        for (const auto& [left, right] : drawing.equations)
          if (!is_same_function(left, right)) error(drawing.span, fmt::format("figure: {} = {} does not hold", print(left), print(right)));
        return;
      case Drawing::Kind::passes:
        if (passes_over(now(), step_, drawing.names.front()).empty())
          error(drawing.span, fmt::format("figure: after {} there is no loop over `{}`", step_, drawing.names.front()));
        return;
      case Drawing::Kind::bars:
        for (const Bar& bar : drawing.bars) shown(drawing.span, "figure", "{" + bar.quantity + "}");
        return;
      case Drawing::Kind::check:
        if (step_named(drawing.names.front()) == nullptr)
          error(drawing.span, fmt::format("figure: there is no step `{}`", drawing.names.front()));
        return;
      case Drawing::Kind::guard:
        if (const auto asked = repair_question(now(), Symbol(drawing.names.front())); !asked || asked->guard.empty())
          error(drawing.span, fmt::format("figure: `{}` has no guard", drawing.names.front()));
        return;
    }
  }

  void question(const Question& question) {
    shown(question.span, "question.ask", question.ask);
    shown(question.span, "question.then", question.then);
    const std::string answer = shown(question.span, "question.answer", question.answer);
    if (answer.empty()) return;
    std::set<std::string> choices(question.choices.begin(), question.choices.end());
    if (choices.size() != question.choices.size()) error(question.span, "question.choices: two are the same");
    if (!choices.empty() && choices.count(answer) == 0)
      error(question.span, fmt::format("question.choices: the answer is {}, which is none of them", answer));
    if (choices.size() == 1) error(question.span, "question.choices: one choice is no question");
    for (const auto& [choice, says] : question.because) {
      shown(question.span, "question.because", says);
      if (choice == answer) error(question.span, fmt::format("question.because: {} is right", choice));
      if (choice != "*" && !choices.empty() && choices.count(choice) == 0)
        error(question.span, fmt::format("question.because: {} is no choice", choice));
    }
    for (const std::string& choice : question.choices)
      if (choice != answer && question.because.count(choice) == 0 && question.because.count("*") == 0)
        error(question.span, fmt::format("question.because: nothing is said to who takes {}", choice));
    if (question.choices.empty() && question.because.count("*") == 0)
      error(question.span, "question.because: nothing is said to a wrong number", "\"*\" = \"…\" is for all of them.");
  }

  void task(const Task& task) {
    shown(task.span, "task.ask", task.ask);
    if (const auto* write = std::get_if<WriteRepair>(&task.action)) repair(task, *write);
    if (const auto* take = std::get_if<TakeChoice>(&task.action); take != nullptr && !has_choice(*take))
      return error(task.span, fmt::format("task.take: {} cannot be {} in this plan", take->site, take->choice),
                   "`fathom decisions` lists them.");
    if (const auto* select = std::get_if<SelectValue>(&task.action); select != nullptr && !has_name(*step_named(step_), select->name))
      return error(task.span, fmt::format("task.select: the program after {} has no name `{}`", step_, select->name));
    if (const auto* go = std::get_if<GoToStep>(&task.action); go != nullptr && (step_named(go->step) == nullptr || go->step == step_))
      return error(task.span, fmt::format("task.step: `{}` is no other step", go->step));
    Situation before{&now(), step_, {}};
    if (is_done(task, before)) return error(task.span, "task: it is done before anyone does it");
    if (const auto done = perform(task, *session_); !done)
      return error(task.span, "task: it cannot be done: " + done.error().front().message, done.error().front().cure);
    const auto* select = std::get_if<SelectValue>(&task.action);
    const auto* go = std::get_if<GoToStep>(&task.action);
    const Situation after{&now(), go != nullptr ? go->step : step_, select != nullptr ? select->name : std::string()};
    if (!is_done(task, after)) error(task.span, "task: what “Show me” does leaves it undone");
    shown(task.span, "task.then", task.then);
  }

  [[nodiscard]] bool has_choice(const TakeChoice& take) const {
    for (const Decision& decision : now().record.decisions) {
      if (decision.site != take.site) continue;
      return std::any_of(decision.alternatives.begin(), decision.alternatives.end(),
                         [&](const Alternative& each) { return each.choice == take.choice && !each.refused; });
    }
    return false;
  }

  void repair(const Task& task, const WriteRepair& write) {
    if (!repair_question(now(), Symbol(write.consumer)))
      return error(task.span, fmt::format("task.repair: `{}` is not repaired in this program", write.consumer));
    const auto judged = [&](const std::string& text) { return judge_own_repair(now(), Symbol(write.consumer), text); };
    for (const std::string& text : write.right)
      if (const OwnRepair own = judged(text); !own.is_right())
        error(task.span,
              fmt::format("task.right: {} is not derived: {}", text, own.mistake ? own.mistake->message : own.judged.judgement.says));
    for (std::size_t i = 0; i < write.mistakes.size(); ++i)
      for (const std::string& text : write.mistakes[i].write) mistake(write, i, text, judged(text));
    if (write.otherwise.find("{found}") == std::string::npos || write.otherwise.find("{wanted}") == std::string::npos)
      error(task.span, "task.otherwise: it tells no numbers", "Put {found} and {wanted} into it.");
  }

  void mistake(const WriteRepair& write, std::size_t number, const std::string& text, const OwnRepair& own) {
    const Mistake& mistake = write.mistakes[number];
    const std::string field = fmt::format("task.mistake {}: {} ", number + 1, text);
    if (own.mistake) return error(mistake.span, field + "is no expression: " + own.mistake->message);
    if (!own.is_refuted()) return error(mistake.span, field + "is not refuted: " + own.judged.judgement.says);
    WriteRepair only = write;
    only.mistakes = {mistake};
    only.otherwise.clear();
    const std::string own_sentence = sentence_for(only, own);
    if (own_sentence.empty() || sentence_for(write, own) != own_sentence)
      error(mistake.span, field + "gets the sentence of another mistake");
    if (own_sentence.find('{') != std::string::npos) error(mistake.span, field + "says something in braces that is not filled in");
  }

  const Lesson* lesson_;
  std::optional<Session> session_;
  std::string step_, where_;
  Diagnostics diagnostics_;
};

}  // namespace

Checked<Inputs> inputs_of(const Lesson& lesson) {
  const auto fail = [&](std::string message, std::string cure) -> tl::unexpected<Diagnostics> {
    return tl::unexpected<Diagnostics>({Diagnostic{Severity::error, lesson.span, std::move(message), std::move(cure), {}}});
  };
  const auto& all = samples();
  const auto sample = std::find_if(all.begin(), all.end(), [&](const Sample& each) { return each.name == lesson.sample; });
  if (sample == all.end()) return fail(fmt::format("program: there is no sample `{}`", lesson.sample), "`fathom samples` lists them.");
  if (!target_named(lesson.target))
    return fail(fmt::format("target: there is no target `{}`", lesson.target), "`fathom targets` lists them.");
  Inputs inputs;
  inputs.file_name = sample->name + ".fathom";
  inputs.source = sample->text;
  inputs.dims = lesson.dims;
  inputs.target = lesson.target;
  inputs.trace.entries = lesson.choices;
  return inputs;
}

Checked<void> check_lesson(const Lesson& lesson) {
  Diagnostics found = Walk(lesson).run();
  if (!found.empty()) return tl::unexpected<Diagnostics>(std::move(found));
  return {};
}

}  // namespace fathom::session
