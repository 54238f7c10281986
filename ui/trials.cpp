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

const Trial* Trials::best(const TrialPlan& plan) const {
  const Trial* best = nullptr;
  for (const Trial& each : all_)
    if (each.is_ok() && are_comparable(each.plan, plan) && (best == nullptr || each.outcome.measured->ms < best->outcome.measured->ms))
      best = &each;
  return best;
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
  all_.clear();
  contests_.clear();
  changed(true);
}

void Trials::put_back() {
  all_ = std::move(cleared_);
  cleared_.clear();
  changed(true);
}

void Trials::reset() {
  cancel();
  all_.clear();
  cleared_.clear();
  contests_.clear();
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
  constexpr std::size_t most_named = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(different.size(), most_named); ++i)
    text += fmt::format("{}{} {}", text.empty() ? "" : " · ", different[i].words, different[i].choice);
  return different.size() > most_named ? fmt::format("{} · {} more", text, different.size() - most_named) : text;
}

}  // namespace fathom::ui
