#include "trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "target/target.hpp"

namespace fathom::ui {
namespace {

/// The least time that the target's rates allow for the plan's own work.
double roof_of(const Target& target, const Cost& cost) {
  const double memory = target.rates.memory_bytes > 0 ? cost.bytes / target.rates.memory_bytes : 0;
  const double fastest = std::max(target.rates.matrix_flops, target.rates.vector_flops);
  return std::max(memory, fastest > 0 ? cost.flops / fastest : 0) * 1e3;
}

std::string first_of(const Diagnostics& diagnostics) {
  if (diagnostics.empty()) return "The plan was refused.";
  return diagnostics.front().message + (diagnostics.front().cure.empty() ? "" : " " + diagnostics.front().cure);
}

/// Equal for runs of one plan.
std::string key_of_plan(const TrialPlan& plan) {
  std::string key;
  for (const session::PlanChoice& each : plan.choices) key += each.site + '=' + each.choice + '\n';
  return key;
}

session::SpeedRatio turned(const session::SpeedRatio& ratio) { return {1 / ratio.ratio, 1 / ratio.high, 1 / ratio.low, ratio.pairs}; }

std::string joined_choices(const std::vector<std::string>& parts) {
  constexpr std::size_t most_named = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), most_named); ++i) text += (text.empty() ? "" : " · ") + parts[i];
  return parts.size() > most_named ? fmt::format("{} · {} more", text, parts.size() - most_named) : text;
}

constexpr std::chrono::milliseconds limit_of_a_run{120'000}, limit_of_a_contest{300'000};

}  // namespace

TrialPlan plan_of(const session::Compilation& compilation) {
  const Step& last = compilation.record.steps.back();
  TrialPlan plan;
  plan.text = session::fingerprint(compilation.inputs);
  plan.sizes = session::sizes_of(compilation);
  plan.asked = compilation.inputs;
  plan.asked.source.clear();
  plan.choices = session::choices_of(compilation);
  plan.cost = last.cost;
  plan.register_bytes = session::register_bytes(compilation);
  plan.roof_ms = roof_of(compilation.target, last.cost);
  return plan;
}

bool are_comparable(const TrialPlan& a, const TrialPlan& b) {
  return a.text == b.text && a.sizes == b.sizes && a.asked.target == b.asked.target;
}

const Trial* Trials::find(int number) const {
  // Numbers ascend, with gaps where rows were left out.
  const auto at = std::lower_bound(all_.begin(), all_.end(), number, [](const Trial& trial, int n) { return trial.number < n; });
  return at == all_.end() || at->number != number ? nullptr : &*at;
}

Trial* Trials::row(int number) { return const_cast<Trial*>(find(number)); }

const Contest* Trials::contest(int first, int second) const {
  const auto at = std::find_if(contests_.rbegin(), contests_.rend(), [&](const Contest& each) {
    return (each.first == first && each.second == second) || (each.first == second && each.second == first);
  });
  return at == contests_.rend() ? nullptr : &*at;
}

Standing Trials::standing(const TrialPlan& plan) const {
  std::map<std::string, const Trial*> fastest;  // run of each plan
  for (const Trial& each : all_) {
    if (!each.is_ok() || !are_comparable(each.plan, plan)) continue;
    const Trial*& kept = fastest[key_of_plan(each.plan)];
    if (kept == nullptr || each.outcome.measured->ms < kept->outcome.measured->ms) kept = &each;
  }
  if (fastest.empty()) return {};
  // How many times as fast the second plan is as the first: what they gave in turn, the newest answer.
  std::map<std::pair<std::string, std::string>, session::SpeedRatio> in_turn;
  for (const Contest& each : contests_) {
    const Trial *a = find(each.first), *b = find(each.second);
    if (a == nullptr || b == nullptr || each.state != TrialState::done || !each.outcome.ratio) continue;
    in_turn[{key_of_plan(a->plan), key_of_plan(b->plan)}] = *each.outcome.ratio;
    in_turn[{key_of_plan(b->plan), key_of_plan(a->plan)}] = turned(*each.outcome.ratio);
  }
  const auto ratio = [&](const std::string& of, const std::string& to) {
    const auto found = in_turn.find({to, of});
    return found == in_turn.end() ? std::nullopt : std::optional(found->second);
  };
  auto best = std::min_element(fastest.begin(), fastest.end(), [](const auto& a, const auto& b) {
    return a.second->outcome.measured->ms < b.second->outcome.measured->ms;
  });
  for (std::size_t moves = 0; moves < fastest.size(); ++moves) {  // comparisons may go round in a circle
    const auto faster = std::find_if(fastest.begin(), fastest.end(), [&](const auto& each) {
      const auto seen = ratio(each.first, best->first);
      return seen && seen->low > 1;
    });
    if (faster == fastest.end()) break;
    best = faster;
  }
  Standing standing;
  standing.best = best->second->number;
  const Trial* rival = nullptr;
  for (const auto& [key, each] : fastest) {
    const auto seen = key == best->first ? std::nullopt : ratio(key, best->first);
    const bool is_near = each->outcome.measured->p20 <= best->second->outcome.measured->p80;
    if (key == best->first || (seen ? seen->high < 1 : !is_near)) continue;
    // One that was not compared yet comes first: there is something to do.
    const bool comes_first = rival == nullptr || (standing.is_tied && !seen) ||
                             (standing.is_tied == seen.has_value() && each->outcome.measured->ms < rival->outcome.measured->ms);
    if (!comes_first) continue;
    rival = each;
    standing.is_tied = seen.has_value();
  }
  standing.rival = rival == nullptr ? 0 : rival->number;
  return standing;
}

void Trials::changed(bool is_kept) {
  ++version_;
  if (is_kept) ++kept_version_;
}

int Trials::run(session::Inputs inputs, bool is_unfused) {
  Trial trial;
  trial.number = ++last_number_;
  trial.is_unfused = is_unfused;
  trial.plan.text = session::fingerprint(inputs);
  trial.plan.asked = inputs;
  trial.plan.asked.source.clear();
  all_.push_back(std::move(trial));
  waiting_.push_back({last_number_, 0, {std::move(inputs), std::nullopt, limit_of_a_run}});
  changed(false);
  return last_number_;
}

void Trials::compare(const session::Inputs& source, int first, int second) {
  const Trial *a = find(first), *b = find(second);
  if (a == nullptr || b == nullptr) return;
  RunOrder order{a->plan.asked, b->plan.asked.trace, limit_of_a_contest};
  order.inputs.source = source.source;
  contests_.push_back({first, second, TrialState::queued, {}, {}});
  waiting_.push_back({0, contests_.size() - 1, std::move(order)});
  changed(false);
}

void Trials::cancel() {
  lane_.cancel();
  if (is_running_) waiting_.push_front(std::move(current_));
  is_running_ = false;
  Outcome outcome = outcome_of({RunEnd::cancelled, 0, {}, {}, {}}, {});
  for (const Job& job : waiting_) {
    if (job.trial == 0) {
      contests_[job.contest].state = TrialState::done;
      contests_[job.contest].outcome = outcome;
    } else if (Trial* trial = row(job.trial)) {
      trial->state = TrialState::done;
      trial->outcome = outcome;
    }
  }
  waiting_.clear();
  changed(true);
}

void Trials::clear() {
  cancel();
  cleared_ = std::move(all_);
  cleared_contests_ = std::move(contests_);
  all_.clear();
  contests_.clear();
  changed(true);
}

void Trials::put_back() {
  all_ = std::move(cleared_);
  contests_ = std::move(cleared_contests_);
  cleared_.clear();
  cleared_contests_.clear();
  changed(true);
}

void Trials::reset() {
  cancel();
  all_.clear();
  cleared_.clear();
  contests_.clear();
  cleared_contests_.clear();
  last_number_ = 0;
  changed(true);
  saved();
}

void Trials::collect(bool may_start) {
  lane_.collect();
  if (is_running_ || waiting_.empty() || !may_start) return;
  Job next = std::move(waiting_.front());
  waiting_.pop_front();
  start(std::move(next));
}

void Trials::start(Job job) {
  is_running_ = true;
  current_ = job;
  if (Trial* trial = row(job.trial)) {
    trial->state = TrialState::running;
    trial->started = std::chrono::steady_clock::now();
  } else {
    contests_[job.contest].state = TrialState::running;
  }
  changed(false);
  lane_.start({}, [this, job = std::move(job), with = runner](const Cancel& cancel, const auto& deliver) {
    const auto finish = [&, this](Outcome outcome) {
      deliver([this, job, outcome = std::move(outcome)] {
        is_running_ = false;
        if (Trial* trial = row(job.trial)) {
          trial->state = TrialState::done;
          trial->outcome = outcome;
        } else if (job.trial == 0) {
          contests_[job.contest].state = TrialState::done;
          contests_[job.contest].outcome = outcome;
        }
        changed(true);
      });
    };
    const auto refuse_it = [&](std::string why) {
      Outcome outcome;
      outcome.kind = RunKind::refused;
      outcome.says = std::move(why);
      finish(std::move(outcome));
    };
    const auto compilation = session::compile(job.order.inputs);
    if (!compilation) return refuse_it(first_of(compilation.error()));
    if (with == nullptr) return refuse_it("Nothing runs plans here.");
    deliver([this, job, plan = plan_of(**compilation), command = shell_text(with->command(job.order))] {
      if (Trial* trial = row(job.trial)) {
        trial->plan = plan;
        trial->command = command;
      } else if (job.trial == 0) {
        contests_[job.contest].command = command;
      }
      changed(false);
    });
    Outcome outcome = outcome_of(with->run(job.order, cancel), job.order.at_most);
    if (job.order.against && outcome.kind == RunKind::ok && !outcome.ratio) {
      outcome.kind = RunKind::unreadable;
      outcome.says = "The run's answer has no comparison in it.";
    }
    finish(std::move(outcome));
  });
}

std::string word_of(const Trial& trial) {
  if (trial.state == TrialState::queued) return "queued";
  if (trial.state == TrialState::running) return "running";
  switch (trial.outcome.kind) {
    case RunKind::ok:
      return "ok";
    case RunKind::refused:
      return "refused";
    case RunKind::crashed:
      return "crash";
    case RunKind::timed_out:
      return "time-out";
    case RunKind::wrong_result:
      return "wrong result";
    case RunKind::inconclusive:
      return "inconclusive";
    case RunKind::unreadable:
      return "unreadable";
    case RunKind::cancelled:
      return "cancelled";
  }
  return {};
}

std::string difference_text(const TrialPlan& plan, const TrialPlan& other) {
  if (plan.choices.empty()) return "not compiled yet";
  const auto different = session::difference(plan.choices, other.choices);
  if (different.empty()) return session::difference(other.choices, plan.choices).empty() ? "the same plan" : "fewer decisions";
  std::vector<std::string> parts;
  parts.reserve(different.size());
  for (const session::PlanChoice& each : different) parts.push_back(each.words + " " + each.choice);
  return joined_choices(parts);
}

std::string own_choices_text(const Trial& trial) {
  if (trial.is_unfused) return "nothing fused";
  std::vector<std::string> parts;
  for (const session::PlanChoice& each : trial.plan.choices)
    if (const TraceEntry* asked = trial.plan.asked.trace.find(each.site); asked != nullptr && asked->origin == Origin::by_user)
      parts.push_back(each.words + " " + each.choice);
  return parts.empty() ? "as the scheduler chooses" : joined_choices(parts);
}

}  // namespace fathom::ui
