#include "session/plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace fathom::session {
namespace {

/// The parts of CONSUMER/INDEX/WHAT, or of CONSUMER/WHAT.
struct SiteParts {
  std::string_view consumer, index, what;
};
SiteParts parts_of(std::string_view site) {
  const auto first = site.find('/'), last = site.rfind('/');
  if (first == std::string_view::npos) return {site, {}, {}};
  return {site.substr(0, first), first == last ? std::string_view() : site.substr(first + 1, last - first - 1), site.substr(last + 1)};
}

/// Is it the loop that is decided about, whatever runs in it?
bool is_about_a_loop(const SiteParts& parts) {
  return !parts.index.empty() && (parts.what == "tile" || parts.what == "bound" || parts.what == "fold" || parts.what == "splits");
}

}  // namespace

std::string words_of_site(const Record& record, std::string_view site) {
  const SiteParts parts = parts_of(site);
  if (parts.what.empty()) return std::string(site);
  if (!is_about_a_loop(parts)) return fmt::format("{} {}", parts.what, parts.consumer);
  const auto same = std::count_if(record.decisions.begin(), record.decisions.end(), [&](const Decision& other) {
    const SiteParts others = parts_of(other.site);
    return others.index == parts.index && others.what == parts.what;
  });
  return same <= 1 ? fmt::format("{} {}", parts.what, parts.index) : fmt::format("{} {} of {}", parts.what, parts.index, parts.consumer);
}

std::string lost_effect(const Record& record, const Decision& decision) {
  if (decision.kind != "store" || decision.choice != "store") return {};
  const std::string_view tensor = parts_of(decision.site).consumer;
  const auto is_stored = [&](const Step& step) {
    return std::any_of(step.lives.begin(), step.lives.end(),
                       [&](const TensorLife& life) { return life.tensor.text() == tensor && life.place == "main memory"; });
  };
  if (record.steps.empty() || is_stored(record.steps.back())) return {};
  const auto last = std::find_if(record.steps.rbegin(), record.steps.rend(), is_stored);
  if (last == record.steps.rend()) return {};  // no step stored it: nothing was lost
  const auto ending = last.base();             // the step that did away with it
  return ending->decision && ending->decision->kind == "fuse" ? "no longer stored: fused" : "no longer stored";
}

std::vector<PlanChoice> choices_of(const Compilation& compilation) {
  std::vector<PlanChoice> choices;
  for (const Decision& decision : compilation.record.decisions)
    choices.push_back({decision.site, words_of_site(compilation.record, decision.site), decision.choice});
  return choices;
}

std::vector<PlanChoice> difference(const std::vector<PlanChoice>& plan, const std::vector<PlanChoice>& other) {
  std::vector<PlanChoice> different;
  for (const PlanChoice& each : plan) {
    const auto same = [&](const PlanChoice& one) { return one.site == each.site && one.choice == each.choice; };
    if (std::none_of(other.begin(), other.end(), same)) different.push_back(each);
  }
  return different;
}

Trace without_fusions(const Compilation& compilation) {
  Trace trace = compilation.inputs.trace;
  for (const Decision& decision : compilation.record.decisions)
    if (decision.kind == "fuse") trace.entries.push_back({decision.site, "no", false, Origin::by_user});
  return trace;
}

double register_bytes(const Compilation& compilation) {
  const Target& target = compilation.target;
  double most = 0;
  for (const Decision& decision : compilation.record.decisions)
    for (const MatrixAtom& atom : target.atoms) {
      if (atom.name.text() != decision.choice || atom.accumulator_home != Home::registers || atom.issuing_lanes != 1) continue;
      most = std::max(most, static_cast<double>((atom.m * atom.n + atom.n + target.lanes) * size_in_bytes(atom.accumulator)));
    }
  return most;
}

std::string sizes_of(const Compilation& compilation) {
  std::string sizes;
  for (const math::Dimension& each : compilation.program.dims)
    sizes += fmt::format("{}{}={}", sizes.empty() ? "" : " ", each.name.text(), each.value);
  return sizes;
}

std::string fingerprint(const Inputs& inputs) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::string& text : {inputs.operator_name, std::string(1, '\n'), inputs.source})
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return fmt::format("{:016x}", hash);
}

}  // namespace fathom::session
