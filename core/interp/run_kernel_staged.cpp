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
  for (const StagedLoop::Let& let : planned.operation->lets) {
    present(its, planned.iteration, let.reads, *let.step);
    assign_all(*let.step, nullptr);
  }
  present(its, planned.iteration, planned.operation->reads, *planned.operation->step);
}

/// Binds names to the values that the iteration's text has given them in front of the reader.
void Process::present(Iterations& its, std::int64_t iteration, const std::vector<StagedLoop::Read>& reads, const Step& reader) {
  const Iterations::Versions& own = its.values[iteration];
  for (const StagedLoop::Read& r : reads) {
    if (its.code->defined.count(r.slot) == 0 && its.code->carried.count(r.slot) == 0) continue;
    const auto at = own.find(r.slot);
    const auto made = at == own.end() ? std::map<int, Binding>::const_iterator() : at->second.find(r.version);
    if (r.version > 0 && (at == own.end() || made == at->second.end())) {
      const std::string name = frame_.name_of(r.slot).text();
      stop(
          "`" + name + "` has not the value that the text gives it in `" + kernel::print(*reader.from) + "`: it is made later in the trips",
          {name}, "let it run in a later stage, or after what it reads");
    }
    if (r.version > 0) frame_.binding(r.slot) = made->second;
    if (r.version == 0 && its.code->carried.count(r.slot) > 0) frame_.binding(r.slot) = carried_into(its, iteration, r.slot);
  }
}

void Process::after(Activation& loop, const Planned& planned) {
  Iterations::Versions& own = loop.iterations->values[planned.iteration];
  for (const StagedLoop::Read& w : planned.operation->writes) own[w.slot][w.version] = frame_.binding(w.slot);
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
    if (values != its.values.end()) {
      const auto at = values->second.find(slot);
      const auto last = at == values->second.end() ? std::map<int, Binding>::const_iterator() : at->second.find(versions->second);
      if (at != values->second.end() && last != at->second.end()) return last->second;
    }
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
  for (auto& [slot, all] : values->second) {
    if (its.code->carried.count(slot) > 0 && !all.empty()) its.carried[slot] = std::move(all.rbegin()->second);
  }
  its.values.erase(values);
}

}  // namespace fathom::interp::tiles
