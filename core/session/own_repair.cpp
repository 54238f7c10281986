// Reads the record's fusions as questions; the judgement itself is the algebra's.
#include "session/own_repair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "algebra/view.hpp"
#include "lang/lang.hpp"
#include "session/short_text.hpp"

namespace fathom::session {
namespace {

constexpr std::string_view accumulator = "acc";

const math::Program& opened(const Compilation& compilation) { return compilation.record.steps.front().after.math(); }

/// The statement of the loops that became of the consumer: its own name, or that with what the normal form put behind it.
bool serves(const std::string& site, const std::string& consumer, std::string_view what) {
  const auto end = site.rfind('/');
  if (end == std::string::npos || std::string_view(site).substr(end + 1) != what) return false;
  const std::string statement = site.substr(0, site.find('/'));
  return statement == consumer || statement.substr(0, statement.rfind('.')) == consumer;
}

const Decision* decision_of(const Record& record, const std::string& consumer, std::string_view what) {
  const auto exact = std::find_if(record.decisions.begin(), record.decisions.end(), [&](const Decision& each) {
    return serves(each.site, consumer, what) && each.site.compare(0, consumer.size() + 1, consumer + "/") == 0;
  });
  if (exact != record.decisions.end()) return &*exact;
  const auto found = std::find_if(record.decisions.begin(), record.decisions.end(),
                                  [&](const Decision& each) { return serves(each.site, consumer, what); });
  return found == record.decisions.end() ? nullptr : &*found;
}

/// For people: statements by their names, references as they are written in a repair, and only the subscripts that run.
class Plain {
 public:
  Plain(const math::Program& opened_program, const Fusion& fusion) : program_(algebra::unify_indices(opened_program)), fusion_(&fusion) {}

  [[nodiscard]] Expr sum(bool next) const {
    const math::Statement* consumer = program_.find(fusion_->consumer);
    const math::Carried& carried = fusion_->repair->carried.front();
    std::vector<Bound> bound;
    std::set<Symbol> running;
    for (const math::Axis& axis : consumer->reduction()->over) {
      bound.push_back({axis.index, {}, {}});
      running.insert(axis.index);
    }
    const Expr term = short_reads(about(named(carried.term), next), running);
    return reduce(carried.reducer->name, {}, bound, {term});
  }

 private:
  [[nodiscard]] Expr named(Expr e) const {
    Substitution names;
    for (const math::Statement& statement : program_.statements) {
      if (statement.map() == nullptr) continue;
      std::vector<Expr> at;
      for (const math::Axis& axis : statement.axes) at.push_back(index(axis.index));
      if (!statement.map()->value.is(Op::read)) names.emplace(statement.map()->value, read(statement.name, std::move(at)));
    }
    return substitute(e, names);
  }

  [[nodiscard]] Expr about(Expr e, bool next) const {
    Substitution references;
    for (const math::Gauge& gauge : fusion_->repair->gauges)
      references.emplace(symbol(gauge.name), transform(gauge.reference, [&](Expr part) {
                           return part.is(Op::read) ? symbol(next ? primed(part.name()) : part.name()) : part;
                         }));
    return substitute(e, references);
  }

  static Expr short_reads(Expr e, const std::set<Symbol>& running) {
    return transform(e, [&](Expr part) {
      if (!part.is(Op::read)) return part;
      std::vector<Expr> at;
      for (const Expr each : part.args()) {
        const std::set<Symbol> indices = free_indices(each);
        if (std::any_of(indices.begin(), indices.end(), [&](Symbol name) { return running.count(name) != 0; })) at.push_back(each);
      }
      return read(part.name(), std::move(at));
    });
  }

  math::Program program_;
  const Fusion* fusion_;
};

RepairQuestion question_of(const Compilation& compilation, const Fusion& fusion) {
  const Record& record = compilation.record;
  const std::string consumer = fusion.consumer.text();
  RepairQuestion question;
  question.consumer = fusion.consumer;
  if (const Decision* fuse = decision_of(record, consumer, "fuse")) {
    question.fuse_site = fuse->site;
    question.site = fuse->site.substr(0, fuse->site.rfind('/')) + "/repair";
    question.is_taken = fuse->choice == "fuse";
    for (const Alternative& each : fuse->alternatives)
      if (each.choice == "fuse" && each.refused) question.blocked = each.refused->reason;
  }
  if (const Decision* repair = decision_of(record, consumer, "repair")) {
    if (repair->origin == Origin::by_user || repair->origin == Origin::by_lesson) question.written = repair->choice;
    question.is_unsound = repair->unsound;
  }
  const Plain plain(opened(compilation), fusion);
  question.kept = plain.sum(false);
  question.wanted = plain.sum(true);
  question.names.emplace_back(accumulator);
  for (const Symbol name : algebra::names_in_repair(opened(compilation), {record.fusions}, fusion.consumer)) {
    question.names.push_back(name.text());
    question.names.push_back(primed(name).text());
  }
  question.answer = fusion.repair_text;
  question.guard = fusion.guard;
  return question;
}

bool is_asked(const Fusion& fusion) {
  return !fusion.refusal && fusion.kind == FusionKind::repaired && fusion.repair && fusion.repair->carried.size() == 1;
}

/// Signs that formulas on the screen have, as the notation writes them.
std::string in_notation(std::string_view text) {
  constexpr std::array signs =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"′", "'"}, {"−", "-"}, {"·", "*"}, {"⋅", "*"}});
  std::string out(text);
  for (const auto& [sign, with] : signs) out = replaced(std::move(out), sign, with);
  return out;
}

/// The one name that ends so: m is p.m where no other can be meant.
Expr in_full(Expr e, const std::vector<std::string>& names) {
  return transform(e, [&](Expr part) {
    if (!part.is(Op::symbol)) return part;
    const std::string& text = part.name().text();
    if (std::find(names.begin(), names.end(), text) != names.end()) return part;
    const std::string end = "." + text;
    const auto fits = [&](const std::string& name) {
      return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
    };
    const auto found = std::find_if(names.begin(), names.end(), fits);
    const bool is_one = found != names.end() && std::none_of(std::next(found), names.end(), fits);
    return is_one ? symbol(Symbol(*found)) : part;
  });
}

/// Names that cannot be read where what is kept moves: neither what runs there, nor a scalar, nor a size.
std::vector<std::string> names_not_at_hand(Expr e, const std::vector<std::string>& names, const math::Program& program) {
  std::vector<std::string> found;
  visit(e, [&](Expr part) {
    const bool is_name = part.is(Op::symbol) || part.is(Op::index) || part.is(Op::dim) || part.is(Op::read) || part.is(Op::call);
    const bool runs_over_terms = part.is(Op::reduce) || part.is(Op::random) || part.is(Op::extent) || part.is(Op::tuple);
    if (!is_name && !runs_over_terms) return;
    const std::string text = part.name().empty() ? std::string(spelling(part.op())) : part.name().text();
    const math::Parameter* parameter = program.param(part.name());
    const bool is_known = std::find(names.begin(), names.end(), text) != names.end() || program.dimension(part.name()) != nullptr ||
                          (parameter != nullptr && parameter->extents.empty());
    if (runs_over_terms || !part.args().empty() || !is_known) found.push_back(text);
  });
  return found;
}

/// Where the name stands in the text as a word of its own.
std::size_t place_of(std::string_view text, std::string_view name) {
  const auto belongs = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '\''; };
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !belongs(text[at - 1])) && (end == text.size() || !belongs(text[end]))) return at;
  }
  return 0;
}

/// Of the first of them.
Diagnostic not_at_hand(std::string_view text, const std::vector<std::string>& unknown, const std::vector<std::string>& names) {
  std::string known;
  for (const std::string& each : names) known += (known.empty() ? "" : ", ") + each;
  const std::string& name = *std::min_element(
      unknown.begin(), unknown.end(), [&](const std::string& a, const std::string& b) { return place_of(text, a) < place_of(text, b); });
  const auto at = static_cast<std::uint32_t>(place_of(text, name));
  std::string cure = name == "e" ? "Write exp(x) for e to the x." : fmt::format("Names are {}, scalars and sizes.", known);
  return {Severity::error, {0, at, at + static_cast<std::uint32_t>(name.size())}, fmt::format("`{}` is not at hand here", name), cure, {}};
}

/// Without the choice that stands instead: in a lesson it is the answer.
std::string_view why_only(std::string_view reason) {
  constexpr std::string_view stands = " stands: ";
  const auto at = reason.find(stands);
  return at == std::string_view::npos ? reason : reason.substr(at + stands.size());
}

tl::unexpected<Diagnostics> fail(std::string message, std::string cure = {}) {
  return tl::unexpected<Diagnostics>({Diagnostic{Severity::error, {0, 0, 0}, std::move(message), std::move(cure), {}}});
}

}  // namespace

std::vector<RepairQuestion> repair_questions(const Compilation& compilation) {
  std::vector<RepairQuestion> all;
  for (const Fusion& fusion : compilation.record.fusions)
    if (is_asked(fusion)) all.push_back(question_of(compilation, fusion));
  return all;
}

std::optional<RepairQuestion> repair_question(const Compilation& compilation, Symbol consumer) {
  for (const Fusion& fusion : compilation.record.fusions)
    if (fusion.consumer == consumer && is_asked(fusion)) return question_of(compilation, fusion);
  return std::nullopt;
}

OwnRepair judge_own_repair(const Compilation& compilation, Symbol consumer, std::string_view text) {
  OwnRepair own;
  own.text = std::string(text);
  const auto parsed = lang::parse_expression(in_notation(text));
  if (!parsed) {
    own.mistake = parsed.error().front();
    return own;
  }
  const math::Program& program = opened(compilation);
  const algebra::Analysis analysis{compilation.record.fusions};
  std::vector<std::string> names = {std::string(accumulator)};
  for (const Symbol name : algebra::names_in_repair(program, analysis, consumer)) {
    names.push_back(name.text());
    names.push_back(primed(name).text());
  }
  const Expr written = in_full(*parsed, names);
  if (const auto unknown = names_not_at_hand(written, names, program); !unknown.empty()) {
    own.mistake = not_at_hand(in_notation(text), unknown, names);
    return own;
  }
  own.written = written;
  own.judged = algebra::judge_repair_with_numbers(program, analysis, consumer, own.written);
  if (own.is_right()) return own;
  // What is derived may name all that runs in the loop; what is kept moves with its references alone.
  std::vector<std::string> moving = {std::string(accumulator)};
  if (const Fusion* fusion = analysis.find(consumer); fusion != nullptr && fusion->repair)
    for (const math::Gauge& gauge : fusion->repair->gauges)
      if (gauge.reference.is(Op::read)) {
        moving.push_back(gauge.reference.name().text());
        moving.push_back(primed(gauge.reference.name()).text());
      }
  if (const auto beyond = names_not_at_hand(own.written, moving, program); !beyond.empty())
    own.not_run = fmt::format("No plan runs it: `{}` is not at hand where {} moves.", beyond.front(), consumer.text());
  return own;
}

Checked<void> take_own_repair(Session& session, Symbol consumer, std::string_view text, bool even_unsound) {
  const auto question = repair_question(session.now(), consumer);
  if (!question || question->site.empty())
    return fail(fmt::format("{} has no repair in this plan.", consumer.text()), "A repair belongs to a reduction that shares a loop.");
  const OwnRepair own = judge_own_repair(session.now(), consumer, text);
  if (own.mistake) return tl::unexpected<Diagnostics>({*own.mistake});
  if (!own.not_run.empty() && even_unsound) return fail(own.not_run);
  if (!own.is_right() && !even_unsound) return fail(own.judged.judgement.says + " " + own.judged.judgement.counterexample);
  std::vector<TraceEntry> choices = {{question->site, print(own.written), false, Origin::by_user}};
  if (!question->is_taken) choices.insert(choices.begin(), {question->fuse_site, "fuse", false, Origin::by_user});
  const auto& decisions = session.now().record.decisions;
  const bool others_are_unsound =
      std::any_of(decisions.begin(), decisions.end(), [&](const Decision& each) { return each.unsound && each.site != question->site; });
  Session next = session;
  if (auto changed = next.choose(choices, !own.is_right() || others_are_unsound); !changed) return changed;
  const auto taken = repair_question(next.now(), consumer);
  if (!taken || taken->written != print(own.written)) {
    for (const Refusal& refusal : next.now().record.refusals)
      if (refusal.reason.compare(0, question->fuse_site.size(), question->fuse_site) == 0 ||
          refusal.reason.compare(0, question->site.size(), question->site) == 0)
        return fail(fmt::format("{} is not taken: {}", question->fuse_site, why_only(refusal.reason)), refusal.hint);
    return fail(fmt::format("{} keeps a loop of its own in this plan, so that nothing is repaired.", consumer.text()));
  }
  session = std::move(next);
  return {};
}

}  // namespace fathom::session
