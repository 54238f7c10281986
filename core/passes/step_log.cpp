// What a compilation knows and collects: decisions against the trace, steps, refusals. A choice of the trace is taken, or refused in words.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "passes/pass.hpp"

namespace fathom::passes {
namespace {

constexpr std::string_view any_choice = "any";

std::optional<double> number_in(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size()) return std::nullopt;
  return value;
}

/// `64..256`.
struct Range {
  double lo, hi;
  [[nodiscard]] bool holds(std::string_view choice) const {
    const auto value = number_in(choice);
    return value && *value >= lo && *value <= hi;
  }
};

std::optional<Range> range_in(std::string_view choice) {
  const auto dots = choice.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto lo = number_in(choice.substr(0, dots)), hi = number_in(choice.substr(dots + 2));
  if (!lo || !hi || *lo > *hi) return std::nullopt;
  return Range{*lo, *hi};
}

const Alternative* alternative(const Decision& decision, std::string_view choice) {
  for (const Alternative& each : decision.alternatives) {
    if (each.choice == choice) return &each;
  }
  return nullptr;
}

std::string choices_text(const Decision& decision) {
  std::string text;
  for (const Alternative& each : decision.alternatives) {
    if (!each.refused) text += (text.empty() ? "" : ", ") + each.choice;
  }
  return text;
}

/// Whether the site may take this choice: the listed alternatives first, then the judge, who knows choices that no list can hold.
Result<void> may_take(const Decision& proposal, std::string_view choice, const std::function<Result<void>(std::string_view)>& judge) {
  if (const Alternative* known = alternative(proposal, choice)) {
    if (known->refused) return tl::unexpected<Refusal>(*known->refused);
    return {};
  }
  if (choice == proposal.choice) return {};
  if (judge) return judge(choice);
  return refuse(fmt::format("`{}` is not a choice at {}.", choice, proposal.site), {proposal.site},
                fmt::format("The choices are: {}.", choices_text(proposal)));
}

/// The default if it lies in the range, else the legal alternative in it with the least predicted time (the first of equals).
std::optional<std::string> choice_within(const Decision& proposal, const Range& range) {
  if (range.holds(proposal.choice)) return proposal.choice;
  const Alternative* best = nullptr;
  for (const Alternative& each : proposal.alternatives) {
    if (each.refused || !range.holds(each.choice)) continue;
    if (best == nullptr || (each.predicted_ms && (!best->predicted_ms || *each.predicted_ms < *best->predicted_ms))) best = &each;
  }
  if (best == nullptr) return std::nullopt;
  return best->choice;
}

}  // namespace

StepLog::StepLog(const math::Program& written, const Target& target, const Trace& trace, const Options& options)
    : written_(&written), target_(&target), trace_(&trace), options_(options), used_(trace.entries.size(), false) {}

void StepLog::set_analysis(algebra::Analysis analysis) {
  analysis_ = std::move(analysis);
  record_.fusions = analysis_.fusions;
}

void StepLog::set_normalised(math::Program program) {
  normalised_ = std::move(program);
  normalised_analysis_ = algebra::analyse_normal_form(normalised_, analysis_);
}

void StepLog::refuse(Refusal refusal) {
  if (std::find(record_.refusals.begin(), record_.refusals.end(), refusal) == record_.refusals.end())
    record_.refusals.push_back(std::move(refusal));
}

StepLog::Known& StepLog::known(const Ir& ir) {
  for (Known& each : known_)
    if (each.ir.level == ir.level && each.ir.snapshot == ir.snapshot) return each;
  return known_.emplace_back(Known{ir, std::nullopt, std::nullopt});
}

Cost StepLog::cost_of(const Ir& ir) {
  Known& about = known(ir);
  if (!about.cost) about.cost = predict(ir, *written_, *target_);
  return *about.cost;
}

std::vector<TensorLife> StepLog::lives_of(const Ir& ir) {
  Known& about = known(ir);
  if (!about.lives) about.lives = lives(ir, *written_);
  return *about.lives;
}

void StepLog::begin_pass(std::string pass_id) { pass_ = std::move(pass_id); }

Decision StepLog::decide(Decision proposal, const std::function<Result<void>(std::string_view)>& judge) {
  const TraceEntry* entry = nullptr;
  for (std::size_t i = 0; i < trace_->entries.size(); ++i) {
    if (trace_->entries[i].site != proposal.site) continue;
    entry = &trace_->entries[i];
    used_[i] = true;
  }
  if (entry != nullptr) apply(*entry, proposal, judge);
  if (const Alternative* taken = alternative(proposal, proposal.choice); taken != nullptr && taken->predicted_ms)
    proposal.predicted_ms = taken->predicted_ms;
  record_.decisions.push_back(proposal);
  return proposal;
}

void StepLog::apply(const TraceEntry& entry, Decision& proposal, const std::function<Result<void>(std::string_view)>& judge) {
  std::string wanted = entry.choice;
  if (wanted == any_choice) return;  // a search constraint that excludes nothing
  const std::optional<Range> range = range_in(wanted);
  if (range && alternative(proposal, wanted) == nullptr) {
    const auto within = choice_within(proposal, *range);
    if (!within) {
      refuse(Refusal{fmt::format("No choice at {} lies in {}; {} stands.", entry.site, wanted, proposal.choice),
                     {entry.site},
                     fmt::format("The choices are: {}.", choices_text(proposal))});
      return;
    }
    wanted = *within;
  }
  if (const Result<void> legal = may_take(proposal, wanted, judge); !legal) {
    Refusal refusal = legal.error();
    refusal.reason = fmt::format("{} = {} is not taken, {} stands: {}", entry.site, wanted, proposal.choice, refusal.reason);
    refuse(std::move(refusal));
    return;
  }
  const bool as_proposed = wanted == proposal.choice;
  if (!as_proposed) proposal.reason = fmt::format("Asked for. By default it would be {}: {}", proposal.choice, proposal.reason);
  proposal.choice = std::move(wanted);
  proposal.locked = entry.locked;
  // A constraint that the default meets leaves the default its origin.
  if (!(range && as_proposed)) proposal.origin = entry.origin;
}

void StepLog::step(Note note, const Ir& after) {
  Step step;
  step.id = std::move(note.id);
  step.pass = pass_;
  step.title = std::move(note.title);
  step.says = std::move(note.says);
  step.rule = std::move(note.rule);
  step.level = after.level;
  step.decision = std::move(note.decision);
  step.refusals = std::move(note.refusals);
  step.fusions = std::move(note.fusions);
  step.node_map = std::move(note.node_map);
  step.after = after;
  record_.steps.push_back(std::move(step));
}

Record StepLog::take() {
  for (const Decision& decision : record_.decisions)
    record_.trace.entries.push_back({decision.site, decision.choice, decision.locked, decision.origin});
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) continue;
    const TraceEntry& entry = trace_->entries[i];
    if (entry.locked) {
      // Kept: the site may come back with the next edit of the text.
      record_.trace.entries.push_back(entry);
      refuse(Refusal{fmt::format("{} is locked to {}, but this program has no such site; the lock is kept.", entry.site, entry.choice),
                     {entry.site},
                     "Remove the lock, or bring back the statement that it belongs to."});
    } else {
      refuse(Refusal{
          fmt::format("There is no decision at {} in this program.", entry.site), {entry.site}, "`fathom decisions` lists the sites."});
    }
  }
  return std::move(record_);
}

}  // namespace fathom::passes
