// Runs loops with stages in the order of their trips. Every iteration has its own values of the names that the body gives one; an operation
// that would find another value than the text's is a fault of the stages and orders, and is said so.
#include <algorithm>

#include "interp/run_kernel_process.hpp"

namespace fathom::interp::tiles {

void Process::begin_iterations(Activation& loop) {
  loop.iterations = std::make_unique<Iterations>();
  loop.begun = true;
  Iterations& its = *loop.iterations;
  its.code = loop.owner->staged.get();
  its.ranges = loop.ranges;
  for (const auto& [lo, hi] : its.ranges) its.count += std::max<std::int64_t>(hi - lo, 0);
  for (const int slot : its.code->carried) its.carried[slot] = frame_.binding(slot);
  its.trip = -1;
}

/// The range that an iteration is of, and its number there.
static std::pair<std::size_t, std::int64_t> place_of(const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges, std::int64_t i) {
  for (std::size_t range = 0; range < ranges.size(); ++range) {
    const std::int64_t count = std::max<std::int64_t>(ranges[range].second - ranges[range].first, 0);
    if (i < count) return {range, ranges[range].first + i};
    i -= count;
  }
  return {0, 0};
}

bool Process::next_staged_trip(Activation& loop) {
  Iterations& its = *loop.iterations;
  if (its.trip >= its.code->last_stage) retire(its, its.trip - its.code->last_stage);
  ++its.trip;
  if (its.trip >= its.count + its.code->last_stage || its.count == 0) {
    for (const auto& [slot, binding] : its.carried) frame_.binding(slot) = binding;
    return false;
  }
  frame_.budget().spend(1);
  loop.planned.clear();
  loop.next = 0;
  for (int stage = its.code->last_stage; stage >= 0; --stage) {  // of equal orders the older iteration's first
    const std::int64_t iteration = its.trip - stage;
    if (iteration < 0 || iteration >= its.count) continue;
    for (const StagedLoop::Operation& op : its.code->bodies[place_of(its.ranges, iteration).first].operations) {
      if (op.stage == stage) loop.planned.push_back({&op, iteration});
    }
  }
  std::stable_sort(loop.planned.begin(), loop.planned.end(),
                   [](const Planned& a, const Planned& b) { return a.operation->order < b.operation->order; });
  return true;
}

/// What the names that an operation reads stand for in its iteration.
void Process::before(Activation& loop, const Planned& planned) {
  Iterations& its = *loop.iterations;
  if (its.present != planned.iteration) {
    const auto [range, number] = place_of(its.ranges, planned.iteration);
    bind_tags(*loop.owner, range);
    trips_.back().second = number;
    frame_.bind(trips_.back().first, scalar(Kind::integer, static_cast<double>(number)));
    its.present = planned.iteration;
  }
  std::map<int, Iterations::Value>& own = its.values[planned.iteration];
  for (const StagedLoop::Read& r : planned.operation->reads) {
    if (its.code->defined.count(r.slot) == 0 && its.code->carried.count(r.slot) == 0) continue;
    const auto at = own.find(r.slot);
    const int version = at == own.end() ? 0 : at->second.version;
    if (version != r.version) {
      const std::string name = frame_.name_of(r.slot).text();
      stop("`" + name + "` has not the value that the text gives it in `" + kernel::print(*planned.operation->step->from) +
               "`: " + (version < r.version ? "it is made later in the trips" : "it was replaced before"),
           {name}, "let it run in a later stage, or after what it reads");
    }
    if (version > 0) frame_.binding(r.slot) = at->second.binding;
    if (version == 0 && its.code->carried.count(r.slot) > 0) frame_.binding(r.slot) = carried_into(its, planned.iteration, r.slot);
  }
}

void Process::after(Activation& loop, const Planned& planned) {
  std::map<int, Iterations::Value>& own = loop.iterations->values[planned.iteration];
  for (const int slot : planned.operation->writes) {
    Iterations::Value& value = own[slot];
    value.binding = frame_.binding(slot);
    ++value.version;
  }
}

/// The last value that an earlier iteration gives the name.
Binding Process::carried_into(Iterations& its, std::int64_t iteration, int slot) {
  for (std::int64_t earlier = iteration - 1; earlier >= 0; --earlier) {
    const auto values = its.values.find(earlier);
    if (values == its.values.end()) {
      if (earlier < its.trip - its.code->last_stage) break;  // retired
    }
    const StagedLoop::Body& body = its.code->bodies[place_of(its.ranges, earlier).first];
    const auto versions = body.versions.find(slot);
    if (versions == body.versions.end()) continue;
    const auto at = values == its.values.end() ? std::map<int, Iterations::Value>::iterator() : values->second.find(slot);
    const bool made = values != its.values.end() && at != values->second.end() && at->second.version == versions->second;
    if (made) return at->second.binding;
    const std::string name = frame_.name_of(slot).text();
    stop("`" + name + "` is read in a trip before the iteration in front has made it", {name},
         "a value that goes from one iteration to the next is made in the same trip and before, or in an earlier one");
  }
  return its.carried[slot];
}

/// Every operation of the iteration has run.
void Process::retire(Iterations& its, std::int64_t iteration) {
  const auto values = its.values.find(iteration);
  if (values == its.values.end()) return;
  for (auto& [slot, value] : values->second) {
    if (its.code->carried.count(slot) > 0) its.carried[slot] = std::move(value.binding);
  }
  its.values.erase(values);
}

}  // namespace fathom::interp::tiles
