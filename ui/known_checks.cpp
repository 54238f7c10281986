#include "known_checks.hpp"

#include <algorithm>
#include <utility>

namespace fathom::ui {
namespace {

constexpr std::size_t most_plans = 12;

std::string text_of(const session::Compilation& compilation) {
  std::string text = compilation.target.name.text() + "\n" + print(compilation.program);
  for (const Step& step : compilation.record.steps) {
    text += "\n# " + step.id + "\n";
    if (step.changed) text += print(step.after);  // else it is that of the step before
  }
  return text;
}

}  // namespace

KnownChecks::OfPlan& KnownChecks::of(const session::Compilation& compilation) {
  std::string text = text_of(compilation);
  const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const Plan& plan) { return plan.text == text; });
  if (known != plans_.end()) {
    std::rotate(plans_.begin(), known, known + 1);
  } else {
    plans_.push_front({std::move(text), OfPlan(compilation.record.steps.size())});
    if (plans_.size() > most_plans) plans_.pop_back();
  }
  return plans_.front().checks;
}

}  // namespace fathom::ui
