#include "tune_commands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "ir/units.hpp"
#include "session/device_code.hpp"

namespace fathom::ui {
namespace {

std::string default_path(const App& app, const session::ExportKind& kind) {
  std::string file = app.document.inputs().file_name;
  constexpr std::string_view program_ending = ".fathom";
  if (file.size() > program_ending.size() && file.compare(file.size() - program_ending.size(), program_ending.size(), program_ending) == 0)
    file.resize(file.size() - program_ending.size());
  return (file.empty() ? "plan" : file) + std::string(kind.ending);
}

int start_run(App& app, session::Inputs inputs, bool is_unfused) {
  const int number = app.trials.run(std::move(inputs), is_unfused);
  app.view.tune.selected = number;
  app.view.workspace = Workspace::tune;
  return number;
}

}  // namespace

std::string why_no_run(const App& app) {
  if (app.document.shown() == nullptr) return "No program is open that compiles.";
  if (app.trials.runner == nullptr)
    return "Plans run where the program `fathom` stands beside the desktop explorer, and the folder for temporary files can be written.";
  const Target& target = app.document.shown()->compilation().target;
  if (target.runs_here) return {};
  for (const Target& other : targets())
    if (other.runs_here)
      return fmt::format("A plan for {} does not run on this machine. Choose {} as the target in the bar.", target.name.text(),
                         other.name.text());
  return "This machine runs no plans of this build.";
}

void run_plan(App& app) { start_run(app, app.document.shown()->compilation().inputs, false); }

void run_unfused(App& app) {
  session::Inputs inputs = app.document.shown()->compilation().inputs;
  inputs.trace = session::without_fusions(app.document.shown()->compilation());
  start_run(app, std::move(inputs), true);
}

std::string why_no_cancel(const App& app) { return app.trials.is_busy() ? "" : "Nothing runs and nothing waits."; }
void cancel_runs(App& app) { app.trials.cancel(); }

std::string why_no_comparison(const App& app) {
  const std::vector<int>& picked = app.view.tune.picked;
  const Trial *a = picked.size() == 2 ? app.trials.find(picked[0]) : nullptr,
              *b = picked.size() == 2 ? app.trials.find(picked[1]) : nullptr;
  if (a == nullptr || b == nullptr) return "Pick two rows first.";
  if (auto why = why_no_run(app); !why.empty()) return why;
  if (a->plan.choices.empty() || b->plan.choices.empty()) return "One of the two was not compiled yet.";
  if (!are_comparable(a->plan, b->plan)) return "The two runs are of different texts, sizes or targets.";
  if (a->plan.text != app.document.shown()->fingerprint) return "Both runs are of another text than the one that is open.";
  return {};
}

void compare_picked(App& app) {
  app.trials.compare(app.document.shown()->compilation().inputs, app.view.tune.picked[0], app.view.tune.picked[1]);
  app.view.workspace = Workspace::tune;
}

const Trial* selected_trial(const App& app) { return app.trials.find(app.view.tune.selected); }

std::string needs_trial(const App& app) { return selected_trial(app) == nullptr ? "No run is selected." : ""; }

void pick_selected(App& app) {
  std::vector<int>& picked = app.view.tune.picked;
  const int number = app.view.tune.selected;
  if (const auto at = std::find(picked.begin(), picked.end(), number); at != picked.end()) {
    picked.erase(at);
    return;
  }
  if (picked.size() == 2) picked.erase(picked.begin());
  picked.push_back(number);
}

void copy_trial(App& app) {
  if (app.copy) app.copy(row_text(app, *selected_trial(app)));
}

std::string needs_command_line(const App& app) {
  const Trial* trial = selected_trial(app);
  if (trial == nullptr) return needs_trial(app);
  return trial->command.empty() ? "The run has no command line: it was not started, or is of an earlier session." : "";
}

void copy_command_line(App& app) {
  if (app.copy) app.copy(selected_trial(app)->command);
}

std::string why_no_other_plan(const App& app) {
  const Trial* trial = selected_trial(app);
  if (trial == nullptr) return needs_trial(app);
  if (app.document.shown() == nullptr) return "No program is open that compiles.";
  if (trial->plan.text != app.document.shown()->fingerprint) return "The run is of another text than the one that is open.";
  const session::Inputs& now = app.document.shown()->compilation().inputs;
  const session::Inputs& asked = trial->plan.asked;
  const bool is_same = asked.trace.entries == now.trace.entries && asked.dims == now.dims && asked.target == now.target;
  return is_same ? "The run's plan is the one that is open." : "";
}

void go_to_plan(App& app) {
  app.document.change([plan = selected_trial(app)->plan.asked](session::Session& session) { return session.set_plan(plan); });
}

std::string needs_trials(const App& app) { return app.trials.all().empty() ? "There are no runs." : ""; }
void clear_trials(App& app) {
  app.trials.clear();
  app.view.tune.picked.clear();
  app.view.tune.selected = 0;
  app.document.say("The runs are cleared. “Bring the cleared runs back” undoes that.", Said::plain);
}
std::string needs_cleared_trials(const App& app) { return app.trials.can_put_back() ? "" : "No runs were cleared, or new ones are there."; }

std::string why_no_export(const App& app) {
  if (app.document.shown() == nullptr) return "No program is open that compiles.";
  return app.exporter.is_waiting() ? "An export waits for its checks." : "";
}

std::string why_no_cuda_export(const App& app) {
  if (std::string why = why_no_export(app); !why.empty()) return why;
  const session::Compilation& plan = app.document.shown()->compilation();
  if (plan.target.code != "cuda")
    return fmt::format("No CUDA C++ is printed for {}. Choose sm_80 or sm_90a as the target in the bar.", plan.target.name.text());
  return plan.final_ir().level == Level::kernel ? "" : session::why_no_kernel(plan).reason;
}

void ask_for_export(App& app, std::string_view kind) {
  const auto kinds = session::export_kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i].id == kind) app.exporter.kind = i;
  ask(app, Ask::export_to, default_path(app, app.exporter.chosen()));
}

std::string needs_export(const App& app) { return app.exporter.is_waiting() ? "" : "No export waits."; }

std::string apartness(const App& app, const TrialPlan& plan) {
  if (app.document.shown() == nullptr || plan.choices.empty()) return {};
  if (plan.text != app.document.shown()->fingerprint) return "another text";
  if (plan.asked.target != app.document.shown()->compilation().inputs.target) return fmt::format("for {}", plan.asked.target);
  return plan.sizes == app.document.shown()->sizes ? "" : "other sizes";
}

bool has_shared_memory(const Target& target) {
  return std::any_of(target.spaces.begin(), target.spaces.end(), [](Symbol space) { return space.text() == "shared"; });
}

std::string machine_of(const Target& target) {
  const char* unit = has_shared_memory(target) ? "workgroup" : "core";
  return fmt::format("{} {}{} of {} lanes", target.workgroups, unit, target.workgroups == 1 ? "" : "s", target.lanes);
}

std::string rates_of(const Target& target) {
  const Rates& rates = target.rates;
  std::string text = fmt::format("As {} is described: {} at once", target.name.text(), machine_of(target));
  const auto add = [&](const char* what, double rate, const std::string& words) {
    if (rate > 0) text += fmt::format("\n{} {}/s", what, words);
  };
  add("products", rates.matrix_flops, count_text(rates.matrix_flops) + "FLOP");
  add("other arithmetic", rates.vector_flops, count_text(rates.vector_flops) + "FLOP");
  add("exponentials", rates.exps, count_text(rates.exps));
  add("main memory", rates.memory_bytes, bytes_text(rates.memory_bytes));
  return text;
}

std::string row_text(const App& app, const Trial& trial) {
  const Outcome& outcome = trial.outcome;
  const Trial* reference = app.trials.find(app.tune.reference);
  std::string text = fmt::format("run {}: {}", trial.number, word_of(trial));
  if (outcome.measured)
    text += fmt::format(", {} (20th to 80th percentile {} to {}, {} launches)", milliseconds_text(outcome.measured->ms),
                        milliseconds_text(outcome.measured->p20), milliseconds_text(outcome.measured->p80), outcome.measured->n);
  text += fmt::format(", predicted {}", milliseconds_text(trial.plan.cost.ms));
  if (outcome.max_error) text += fmt::format(", max error {:.1e}", *outcome.max_error);
  if (outcome.bound) text += fmt::format(" of {:.1e} allowed", *outcome.bound);
  if (!outcome.says.empty()) text += ". " + outcome.says;
  text += fmt::format("\n{} on {}", trial.plan.sizes, trial.plan.asked.target);
  if (reference != nullptr && reference->number != trial.number && are_comparable(trial.plan, reference->plan))
    text += fmt::format("\nagainst run {}: {}", reference->number, difference_text(trial.plan, reference->plan));
  text += "\n" + session::print(trial.plan.asked.trace);
  return trial.command.empty() ? text : text + trial.command + "\n";
}

}  // namespace fathom::ui
