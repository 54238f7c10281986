// The JSON documents of the command line's contract (docs/command-line.md): one function a command, all read from the record.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ir/units.hpp"
#include "session/session.hpp"

namespace fathom::session {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json of(const Cost& cost) {
  return {{"flops", cost.flops}, {"bytes", cost.bytes}, {"exps", cost.exps}, {"on_chip_bytes", cost.on_chip_bytes}};
}
Json of(const Refusal& refusal) { return {{"reason", refusal.reason}, {"nodes", refusal.nodes}, {"hint", refusal.hint}}; }
Json of(const Check& check) {
  return {{"status", name(check.status)},
          {"max_error", or_null(check.max_error)},
          {"bound", or_null(check.bound)},
          {"reason", text_or_null(check.reason)}};
}
Json of(const DerivationLine& line) {
  return {{"rule", line.rule},
          {"equation", line.equation},
          {"before", line.before ? print(line.before) : ""},
          {"after", line.after ? print(line.after) : ""}};
}
Json names(const std::vector<Symbol>& symbols) {
  Json array = Json::array();
  for (const Symbol symbol : symbols) array.push_back(symbol.text());
  return array;
}

Json of(const TensorLife& life) {
  return {{"tensor", life.tensor.text()}, {"place", life.place}, {"bytes", life.bytes}, {"shape", life.shape}};
}

Json of(const Step& step) {
  Json lives = Json::array();
  for (const TensorLife& life : step.lives) lives.push_back(of(life));
  Json refusals = Json::array();
  for (const Refusal& refusal : step.refusals) refusals.push_back(of(refusal));
  Json decision = nullptr;
  if (step.decision) decision = {{"site", step.decision->site}, {"choice", step.decision->choice}, {"origin", name(step.decision->origin)}};
  return {{"id", step.id},
          {"pass", step.pass},
          {"level", name(step.level)},
          {"title", step.title},
          {"changed", step.changed},
          {"decision", decision},
          {"says", step.says},
          {"check", of(step.check)},
          {"cost", of(step.cost)},
          {"rule", text_or_null(step.rule)},
          {"lives", lives},
          {"refusals", refusals},
          {"node_map", step.node_map},
          {"ms", step.ms}};
}

Json of(const Fusion& fusion) {
  Json derivation = Json::array();
  for (const DerivationLine& line : fusion.derivation) derivation.push_back(of(line));
  return {{"consumer", fusion.consumer.text()},
          {"producers", names(fusion.producers)},
          {"kind", name(fusion.kind)},
          {"rank", fusion.rank ? Json(*fusion.rank) : Json(nullptr)},
          {"folds", fusion.folds},
          {"fold", fusion.folds.empty() ? Json(nullptr) : Json(fusion.folds.size() > 1 ? "both" : fusion.folds.front())},
          {"repair", text_or_null(fusion.repair_text)},
          {"delayed", text_or_null(fusion.delayed)},
          {"guard", text_or_null(fusion.guard)},
          {"certificate", text_or_null(fusion.certificate)},
          {"pass", fusion.pass},
          {"derivation", derivation}};
}

std::string document(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

double stored_bytes(const Step& step) {
  double total = 0;
  for (const TensorLife& life : step.lives)
    if (life.place == "main memory") total += life.bytes;
  return total;
}

std::string facts_of(const TensorLife& life) {
  std::string text = life.place;
  if (!life.shape.empty()) text += ", " + life.shape;
  if (life.bytes > 0) text += ", " + bytes_text(life.bytes);
  return text;
}

std::string steps_json(const Compilation& compilation) {
  Json steps = Json::array();
  for (const Step& step : compilation.record.steps) steps.push_back(of(step));
  return document({{"program", compilation.program.name.text()}, {"target", compilation.target.name.text()}, {"steps", steps}});
}

std::string explain_json(const Compilation& compilation) {
  Json fusions = Json::array(), refusals = Json::array();
  for (const Fusion& fusion : compilation.record.fusions) {
    if (!fusion.refusal) {
      fusions.push_back(of(fusion));
      for (const Refusal& refusal : fusion.not_taken) {
        Json simpler = of(refusal);
        simpler.emplace("consumer", fusion.consumer.text());
        simpler.emplace("instead", name(fusion.kind));
        refusals.push_back(simpler);
      }
      continue;
    }
    Json refused = of(*fusion.refusal);
    refused.emplace("consumer", fusion.consumer.text());
    refused.emplace("producers", names(fusion.producers));
    refused.emplace("rank", fusion.rank ? Json(*fusion.rank) : Json(nullptr));
    refused.emplace("pass", fusion.pass);
    refusals.push_back(refused);
  }
  for (const Refusal& refusal : compilation.record.refusals) {
    Json other = of(refusal);
    other.emplace("consumer", refusal.nodes.empty() ? Json(nullptr) : Json(refusal.nodes.front()));
    refusals.push_back(other);
  }
  return document({{"program", compilation.program.name.text()}, {"fusions", fusions}, {"refusals", refusals}});
}

std::string decisions_json(const Compilation& compilation) {
  Json decisions = Json::array();
  for (const Decision& decision : compilation.record.decisions) {
    Json alternatives = Json::array();
    for (const Alternative& alternative : decision.alternatives) {
      if (alternative.refused) {
        alternatives.push_back({{"choice", alternative.choice}, {"refused", alternative.refused->reason}});
      } else {
        alternatives.push_back({{"choice", alternative.choice}, {"predicted_ms", or_null(alternative.predicted_ms)}});
      }
    }
    decisions.push_back({{"site", decision.site},
                         {"kind", decision.kind},
                         {"choice", decision.choice},
                         {"origin", name(decision.origin)},
                         {"locked", decision.locked},
                         {"unsound", decision.unsound},
                         {"predicted_ms", or_null(decision.predicted_ms)},
                         {"reason", decision.reason},
                         {"alternatives", alternatives}});
  }
  return document({{"program", compilation.program.name.text()}, {"target", compilation.target.name.text()}, {"decisions", decisions}});
}

std::string checks_json(const Compilation& compilation) {
  Json checks = Json::array();
  int failed = 0, inconclusive = 0;
  for (const Step& step : compilation.record.steps) {
    for (const CheckCase& each : step.check.cases) {
      Json shape = Json::object();
      for (const auto& [dimension, value] : each.shape) shape.emplace(dimension.text(), value);
      checks.push_back({{"step", each.step},
                        {"level", name(each.level)},
                        {"shape", shape},
                        {"dtype", name(each.dtype)},
                        {"family", each.family},
                        {"max_error", each.max_error},
                        {"bound", each.bound},
                        {"status", name(each.status)},
                        {"detail", text_or_null(each.detail)}});
      failed += each.status == CheckStatus::failed ? 1 : 0;
      inconclusive += each.status == CheckStatus::inconclusive ? 1 : 0;
    }
  }
  return document({{"program", compilation.program.name.text()}, {"checks", checks}, {"failed", failed}, {"inconclusive", inconclusive}});
}

}  // namespace fathom::session
