// Runs in session files. A file may be anybody's: every number is looked at, every text cut to a length that can be drawn.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "session/json_integer.hpp"
#include "trials.hpp"

namespace fathom::ui {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;
constexpr std::size_t most_text = 4000, most_listed = 500;
constexpr int highest_number = 100'000'000;

constexpr std::array result_names = std::to_array<std::pair<RunKind, std::string_view>>({{RunKind::ok, "ok"},
                                                                                         {RunKind::refused, "refused"},
                                                                                         {RunKind::crashed, "crashed"},
                                                                                         {RunKind::timed_out, "timed_out"},
                                                                                         {RunKind::wrong_result, "wrong_result"},
                                                                                         {RunKind::inconclusive, "inconclusive"},
                                                                                         {RunKind::unreadable, "unreadable"},
                                                                                         {RunKind::cancelled, "cancelled"}});

std::string_view name_of_kind(RunKind kind) {
  return std::find_if(result_names.begin(), result_names.end(), [&](const auto& each) { return each.first == kind; })->second;
}

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of(const Trial& trial) {
  const TrialPlan& plan = trial.plan;
  const Outcome& outcome = trial.outcome;
  Json choices = Json::array(), conditions = Json::object();
  for (const session::PlanChoice& each : plan.choices) choices.push_back({each.site, each.words, each.choice});
  for (const auto& [key, value] : outcome.conditions) conditions[key] = value;
  Json json{{"number", trial.number},
            {"text", plan.text},
            {"sizes", plan.sizes},
            {"dims", plan.asked.dims},
            {"target", plan.asked.target},
            {"operator", plan.asked.operator_name},
            {"trace", session::print(plan.asked.trace)},
            {"precision", passes::name(plan.asked.options.precision)},
            {"deterministic_batch", plan.asked.options.deterministic_batch},
            {"unsound", plan.asked.options.unsound},
            {"unfused", trial.is_unfused},
            {"choices", std::move(choices)},
            {"predicted",
             {{"ms", plan.cost.ms},
              {"flops", plan.cost.flops},
              {"bytes", plan.cost.bytes},
              {"exps", plan.cost.exps},
              {"on_chip_bytes", plan.cost.on_chip_bytes},
              {"register_bytes", plan.register_bytes},
              {"roof_ms", plan.roof_ms}}},
            {"result", name_of_kind(outcome.kind)},
            {"says", outcome.says},
            {"max_error", json_of(outcome.max_error)},
            {"bound", json_of(outcome.bound)},
            {"conditions", std::move(conditions)}};
  if (outcome.measured) {
    const Measured& measured = *outcome.measured;
    json["measured"] = {
        {"ms", measured.ms}, {"p20", measured.p20}, {"p80", measured.p80}, {"cold_ms", measured.cold_ms}, {"n", measured.n}};
  }
  return json;
}

Json json_of(const Contest& contest) {
  const session::SpeedRatio& ratio = *contest.outcome.ratio;
  return {{"first", contest.first}, {"second", contest.second}, {"ratio", ratio.ratio},
          {"low", ratio.low},       {"high", ratio.high},       {"pairs", ratio.pairs}};
}

/// Reads throw where the shape is another one; the caller leaves the run out.
std::string text_at(const Json& json, const char* key) {
  std::string text = json.at(key).get<std::string>();
  if (text.size() > most_text) throw std::length_error(key);
  return text;
}

double amount_at(const Json& json, const char* key) {
  const double value = json.at(key).get<double>();
  if (!std::isfinite(value) || value < 0) throw std::domain_error(key);
  return value;
}

int integer_at(const Json& json, const char* key) { return session::integer_in<int>(json.at(key)).value(); }

std::optional<double> optional_amount(const Json& json, const char* key) {
  return json.at(key).is_null() ? std::nullopt : std::optional(amount_at(json, key));
}

std::vector<session::PlanChoice> choices_in(const Json& json) {
  std::vector<session::PlanChoice> choices;
  if (json.size() > most_listed) throw std::length_error("choices");
  for (const Json& each : json) {
    session::PlanChoice choice{each.at(0).get<std::string>(), each.at(1).get<std::string>(), each.at(2).get<std::string>()};
    if (choice.site.size() + choice.words.size() + choice.choice.size() > most_text) throw std::length_error("choice");
    choices.push_back(std::move(choice));
  }
  return choices;
}

Measured measured_at(const Json& json) {
  Measured measured{amount_at(json, "ms"), amount_at(json, "p20"), amount_at(json, "p80"), amount_at(json, "cold_ms"),
                    integer_at(json, "n")};
  if (measured.ms <= 0 || measured.p20 <= 0 || measured.p20 > measured.ms || measured.p80 < measured.ms || measured.n < 1)
    throw std::domain_error("measured");
  return measured;
}

Trial trial_in(const Json& json) {
  Trial trial;
  trial.state = TrialState::done;
  trial.number = integer_at(json, "number");
  if (trial.number < 1 || trial.number > highest_number) throw std::domain_error("number");
  TrialPlan& plan = trial.plan;
  plan.text = text_at(json, "text");
  plan.sizes = text_at(json, "sizes");
  for (const auto& [name, value] : json.at("dims").get_ref<const Json::object_t&>())
    plan.asked.dims[name] = session::integer_in<std::int64_t>(value).value();
  plan.asked.target = text_at(json, "target");
  plan.asked.operator_name = text_at(json, "operator");
  const auto trace = session::parse_trace(json.at("trace").get<std::string>());
  if (!trace || trace->entries.size() > most_listed) throw std::domain_error("trace");
  plan.asked.trace = *trace;
  plan.asked.options.precision = passes::precision_named(text_at(json, "precision")).value();
  plan.asked.options.deterministic_batch = json.at("deterministic_batch").get<bool>();
  plan.asked.options.unsound = json.at("unsound").get<bool>();
  trial.is_unfused = json.at("unfused").get<bool>();
  plan.choices = choices_in(json.at("choices"));
  const Json& predicted = json.at("predicted");
  plan.cost = {amount_at(predicted, "flops"), amount_at(predicted, "bytes"), amount_at(predicted, "exps"),
               amount_at(predicted, "on_chip_bytes"), amount_at(predicted, "ms")};
  plan.register_bytes = amount_at(predicted, "register_bytes");
  plan.roof_ms = amount_at(predicted, "roof_ms");
  const std::string result = text_at(json, "result");
  const auto kind = std::find_if(result_names.begin(), result_names.end(), [&](const auto& each) { return each.second == result; });
  if (kind == result_names.end()) throw std::domain_error("result");
  Outcome& outcome = trial.outcome;
  outcome.kind = kind->first;
  outcome.says = text_at(json, "says");
  outcome.max_error = optional_amount(json, "max_error");
  outcome.bound = optional_amount(json, "bound");
  if (json.at("conditions").size() > most_listed) throw std::length_error("conditions");
  for (const auto& [key, value] : json.at("conditions").items()) {
    outcome.conditions.emplace_back(key, value.get<std::string>());
    if (key.size() + outcome.conditions.back().second.size() > most_text) throw std::length_error("conditions");
  }
  if (json.contains("measured")) outcome.measured = measured_at(json.at("measured"));
  if (outcome.kind == RunKind::ok && !outcome.measured) throw std::domain_error("measured");
  return trial;
}

Contest contest_in(const Json& json) {
  Contest contest;
  contest.first = integer_at(json, "first");
  contest.second = integer_at(json, "second");
  contest.state = TrialState::done;
  contest.outcome.kind = RunKind::ok;
  const session::SpeedRatio ratio{amount_at(json, "ratio"), amount_at(json, "low"), amount_at(json, "high"), integer_at(json, "pairs")};
  if (ratio.low <= 0 || ratio.low > ratio.ratio || ratio.ratio > ratio.high || ratio.pairs < 1) throw std::domain_error("ratio");
  contest.outcome.ratio = ratio;
  return contest;
}

}  // namespace

Json Trials::to_json() const {
  std::vector<const Trial*> kept;
  for (auto each = all_.rbegin(); each != all_.rend() && kept.size() < most_kept; ++each)
    if (each->state == TrialState::done) kept.push_back(&*each);
  Json runs = Json::array();
  for (auto each = kept.rbegin(); each != kept.rend(); ++each) runs.push_back(json_of(**each));
  Json comparisons = Json::array();
  const std::size_t first = contests_.size() > most_kept ? contests_.size() - most_kept : 0;
  for (std::size_t i = first; i < contests_.size(); ++i)
    if (contests_[i].state == TrialState::done && contests_[i].outcome.ratio) comparisons.push_back(json_of(contests_[i]));
  return {{"version", format_version}, {"runs", std::move(runs)}, {"comparisons", std::move(comparisons)}};
}

std::optional<std::string> Trials::take_json(const Json& json) {
  reset();
  if (!json.is_object() || !json.contains("version") || !json.contains("runs") || !json.at("runs").is_array())
    return "The runs in the session file are damaged; the rest of it is open.";
  if (json.at("version") != format_version)
    return "The runs in the session file are of another version of Fathom; the rest of it is open. Saving would drop them: save under "
           "another name.";
  const Json& runs = json.at("runs");
  const std::size_t first = runs.size() > most_kept ? runs.size() - most_kept : 0;
  std::size_t dropped = first;
  for (std::size_t i = first; i < runs.size(); ++i) {
    try {
      Trial trial = trial_in(runs[i]);
      if (trial.number <= last_number_) throw std::domain_error("number");  // ascending: rows are found by it
      last_number_ = trial.number;
      all_.push_back(std::move(trial));
    } catch (const std::exception&) {
      ++dropped;
    }
  }
  // Files of before have no comparisons. One of a run that is not here says nothing.
  const Json none = Json::array();
  const auto kept = json.find("comparisons");
  const Json& comparisons = kept == json.end() ? none : *kept;
  bool is_whole = comparisons.is_array() && comparisons.size() <= most_kept;
  for (std::size_t i = 0; is_whole && i < comparisons.size(); ++i) {
    try {
      Contest contest = contest_in(comparisons[i]);
      if (find(contest.first) != nullptr && find(contest.second) != nullptr) contests_.push_back(std::move(contest));
    } catch (const std::exception&) {
      is_whole = false;
    }
  }
  changed(true);
  saved();
  if (dropped > 0) return fmt::format("{} of the {} runs in the session file could not be read and are left out.", dropped, runs.size());
  if (!is_whole) return "Comparisons of runs in the session file could not be read and are left out.";
  return std::nullopt;
}

}  // namespace fathom::ui
