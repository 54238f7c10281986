#include "session_test.hpp"

#include <cmath>

#include "lang/lang.hpp"

namespace fathom::session_tests {

std::string attention_of(const std::string& body, const std::string& more_params, const std::string& condition) {
  return "dim S = 20, T = 40, D = 8\noperator attention(q: f32[S,D], k: f32[T,D], v: f32[T,D], keep: bool[S,T]" + more_params +
         ") -> (o: f32[S,D]) " + condition + "\n{\n" + body + "\n}\n";
}

session::Inputs inputs_of(const std::string& text, const Dims& dims, const Choices& choices, const std::string& target) {
  session::Inputs inputs;
  inputs.file_name = "test.fathom";
  inputs.source = text;
  inputs.dims = dims;
  inputs.target = target;
  inputs.options.verify = true;
  for (const auto& [site, choice] : choices) inputs.trace.entries.push_back({site, choice, false, Origin::by_user});
  return inputs;
}

Compiled compiled(const session::Inputs& inputs) {
  auto result = session::compile(inputs);
  if (result) return *result;
  ADD_FAILURE() << render(result.error(), inputs.file_name, inputs.source);
  return nullptr;
}

Compiled compiled(const std::string& text, const Dims& dims, const Choices& choices, const std::string& target) {
  return compiled(inputs_of(text, dims, choices, target));
}

const Ir* last(const session::Compilation& c, Level level) {
  for (auto step = c.record.steps.rbegin(); step != c.record.steps.rend(); ++step)
    if (step->after.level == level) return &step->after;
  return nullptr;
}

std::string loop_plan(const session::Compilation& c) { return loop::print(loop::canonical(last(c, Level::loop)->loop())); }
std::string kernel_plan(const session::Compilation& c) { return kernel::print(kernel::canonical(c.final_ir().module())); }

std::vector<std::string> explained(const session::Compilation& c, const std::set<std::string>& unused) {
  const Json document = Json::parse(session::explain_json(c));
  std::map<std::string, std::string> names;
  for (const Json& entry : document.at("fusions"))
    if (unused.count(entry.at("consumer")) == 0) names.emplace(entry.at("consumer"), "r" + std::to_string(names.size()));
  std::vector<std::string> lines;
  for (const Json& entry : document.at("fusions")) {
    if (unused.count(entry.at("consumer")) != 0) continue;
    Json kept = entry;
    const Json derivation = entry.at("derivation");
    kept.erase("derivation");
    if (!derivation.empty()) kept["h"] = derivation.back().at("after");
    lines.push_back(renamed(kept.dump(), names));
  }
  for (const Json& refusal : document.at("refusals")) {
    const std::string reason = refusal.at("reason"), consumer = refusal.at("consumer").is_string() ? refusal.at("consumer") : Json("");
    if (unused.count(consumer) == 0 && names.count(consumer) != 0)
      lines.push_back("refused " + names.at(consumer) + " " + reason.substr(0, reason.find(' ')));
  }
  return lines;
}

const Fusion* fusion_of(const session::Compilation& c, const std::string& consumer) {
  for (const Fusion& fusion : c.record.fusions)
    if (fusion.consumer.text() == consumer) return &fusion;
  return nullptr;
}

Choices tiles_of(const session::Compilation& c, const std::string& size) {
  Choices choices;
  for (const Decision& decision : c.record.decisions)
    if (decision.kind == "tile") choices.emplace_back(decision.site, size);
  return choices;
}

Choices all_of(const session::Compilation& c, const std::string& kind, const std::string& choice) {
  Choices choices;
  for (const Decision& decision : c.record.decisions) {
    if (decision.kind != kind) continue;
    for (const Alternative& each : decision.alternatives)
      if (each.choice == choice && !each.refused) choices.emplace_back(decision.site, choice);
  }
  return choices;
}

namespace {

bool has_nan(const interp::Bounded& expected) {
  return std::any_of(expected.value.begin(), expected.value.end(), [](double x) { return std::isnan(x); });
}

}  // namespace

Outcome expect_right(const session::Compilation& c, const interp::Arrays& inputs, const DimValues& dims, bool structured,
                     const std::string& what) {
  Outcome outcome;
  interp::BoundOptions bounds;
  bounds.structured_data = structured;
  bounds.moves = 40;
  const auto expected = interp::reference(c.program, inputs, dims, bounds);
  if (!expected) {
    ADD_FAILURE() << what << ": " << expected.error().reason;
    return outcome;
  }
  interp::RunOptions run;
  run.dims = dims;
  for (const Level level : {Level::loop, Level::tile, Level::kernel}) {
    const Ir* ir = last(c, level);
    if (ir == nullptr) continue;
    const auto actual = interp::run(*ir, inputs, run);
    if (!actual) {
      ADD_FAILURE() << what << " at " << name(level) << ": " << actual.error().reason << "\n" << print(*ir);
      return outcome;
    }
    for (const math::Parameter& result : c.program.results) {
      if (has_nan(expected->at(result.name))) {
        ++outcome.undefined;
        continue;
      }
      const CheckCase one = interp::compare(actual->at(result.name), expected->at(result.name), result.dtype, -1);
      EXPECT_NE(one.status, CheckStatus::failed) << what << " at " << name(level) << ", " << result.name.text() << ": " << one.detail
                                                 << ", error " << one.max_error << ", bound " << one.bound << "\n"
                                                 << print(*ir);
      (one.status == CheckStatus::inconclusive ? outcome.inconclusive : outcome.passed) += 1;
    }
  }
  return outcome;
}

void expect_right_on(const session::Compilation& c, const std::vector<std::string>& families, const Dims& given) {
  DimValues dims = math::default_dims(c.program);
  for (const auto& [name, value] : given) dims[Symbol(name)] = value;
  for (const std::string& family : families)
    expect_right(c, interp::make_inputs(c.program, dims, family, 7), dims, interp::is_structured(family), family);
}

}  // namespace fathom::session_tests
