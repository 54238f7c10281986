// Tile -> Kernel for targets whose matrix atoms are one thread's and whose operands lie in a cache: atoms, panels, buffers, lanes, work
// source. Targets with warps go another way (kernel_warps.cpp); what that refuses stays a Tile module, with its cost record.
#include <fmt/format.h>

#include <algorithm>

#include "passes/kernel_place.hpp"
#include "passes/kernel_warps.hpp"
#include "passes/kernel_work.hpp"
#include "passes/lowering.hpp"
#include "passes/tile_walk.hpp"
#include "passes/whole_rows.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

std::string sentence(const AtomSummary& sum, const Target& target) {
  if (sum.products == 0)
    return fmt::format("No product fits an atom of {}; every value stays a statement on vectors of {} lanes.", target.name.text(),
                       target.lanes);
  std::vector<std::string> atoms;
  for (const AtomChoice& each : sum.choices) {
    const std::string atom = each.candidates.front().first.text();
    if (std::find(atoms.begin(), atoms.end(), atom) == atoms.end()) atoms.push_back(atom);
  }
  std::string out = capital(fmt::format("{} on {}", plural(sum.products, "product"), listed(atoms)));
  if (!sum.panels.empty()) out += fmt::format("; {} packed into {}", listed(sum.panels), sum.panels.size() == 1 ? "a panel" : "panels");
  if (!sum.buffers.empty()) out += fmt::format("; {} in the cache", listed(sum.buffers));
  return out + fmt::format("; {} in all.", bytes_text(static_cast<double>(sum.bytes)));
}

/// The module while it is lowered, with the log.
class KernelLowering {
 public:
  KernelLowering(kernel::Module m, StepLog& log) : module_(std::move(m)), memory_(memory_of(module_)), log_(log) {}

  Ir run() {
    for (const kernel::Kernel& k : module_.kernels) names_.push_back(names_in(module_, k));
    place();
    for (std::size_t i = 0; i < module_.kernels.size(); ++i) atoms(i);
    for (std::size_t i = 0; i < module_.kernels.size(); ++i) lanes(i);
    for (kernel::Kernel& k : module_.kernels) source(k);
    return snapshot();
  }

 private:
  [[nodiscard]] Ir snapshot() const { return make_ir(Level::kernel, module_); }

  void place() {
    AtomSummary all;
    for (std::size_t i = 0; i < module_.kernels.size(); ++i) {
      kernel::Kernel& k = module_.kernels[i];
      expand_states(k, module_.reducers, names_[i]);
      const AtomSummary one = place_atoms(k, memory_, kernel::infer_kinds(module_, k), log_.target(), names_[i]);
      all.products += one.products;
      all.choices.insert(all.choices.end(), one.choices.begin(), one.choices.end());
      choices_.push_back(one.choices);
      all.bytes += one.bytes;
      all.panels.insert(all.panels.end(), one.panels.begin(), one.panels.end());
      all.buffers.insert(all.buffers.end(), one.buffers.begin(), one.buffers.end());
      all.came_from.insert(one.came_from.begin(), one.came_from.end());
      all.refusals.insert(all.refusals.end(), one.refusals.begin(), one.refusals.end());
    }
    StepLog::Note note;
    note.id = "lower-to-kernel";
    note.title = "Place values and products";
    note.says = sentence(all, log_.target());
    note.refusals = all.refusals;
    note.node_map = all.came_from;
    log_.step(std::move(note), snapshot());
  }

  /// Where several register tiles can do a product.
  void atoms(std::size_t which) {
    for (const AtomChoice& each : choices_[which]) {
      Decision d;
      d.site = each.result.text() + "/atom";
      if (each.candidates.size() < 2 || !sites_.insert(d.site).second) continue;
      d.kind = "atom";
      d.choice = each.candidates.front().first.text();
      for (const auto& [atom, price] : each.candidates) d.alternatives.push_back({atom.text(), std::nullopt, std::nullopt});
      const double more = each.candidates[1].second / each.candidates[0].second - 1;
      d.reason = fmt::format("On {} the {}x{} tile over {} takes {:.1f} % longer: edges, and accumulators to fill and drain.",
                             each.candidates[1].first.text(), each.rows, each.columns, each.depth, 100 * more);
      d = log_.decide(std::move(d));
      choose_atom(module_.kernels[which], each.token, Symbol(d.choice), names_[which]);
      StepLog::Note note;
      note.id = d.site;
      note.title = fmt::format("Choose a register tile for {}", each.result.text());
      note.says = fmt::format("{} is computed on {}.", each.result.text(), d.choice);
      note.decision = std::move(d);
      log_.step(std::move(note), snapshot());
    }
  }

  void lanes(std::size_t which) {
    kernel::Kernel& k = module_.kernels[which];
    for (const LaneSum& sum : lane_sums(k, memory_, LaneSplit{log_.target().lanes, 1})) {
      Decision d;
      d.site = fmt::format("{}/{}/lanes", sum.name.text(), sum.axis.text());
      d.kind = "lanes";
      d.choice = "end";
      d.reason = fmt::format("One partial sum for each of {} lanes needs the addition across lanes only once.", log_.target().lanes);
      d.alternatives = {{"end", std::nullopt, std::nullopt}, {"trip", std::nullopt, std::nullopt}};
      if (!sites_.insert(d.site).second) continue;
      d = log_.decide(std::move(d));
      StepLog::Note note;
      note.id = d.site;
      note.title = fmt::format("Add {} across lanes", sum.name.text());
      note.says = fmt::format("{} is added across lanes in every trip.", sum.name.text());
      if (d.choice == "end") {
        keep_per_lane(k, sum, LaneSplit{log_.target().lanes, 1}, names_[which]);
        note.says =
            fmt::format("{} is kept as {} partial sums, added across lanes once after the loop.", sum.name.text(), log_.target().lanes);
      }
      note.decision = std::move(d);
      log_.step(std::move(note), snapshot());
    }
  }

  void source(kernel::Kernel& k) {
    const bool uneven = is_uneven(k);
    Decision d;
    d.site = k.name.text() + "/work";
    d.kind = "work";
    d.choice = uneven ? "dynamic" : "grid";
    d.reason =
        uneven ? "Items differ in length: whoever is free takes the next." : "Items are equally long: they are dealt out beforehand.";
    d.alternatives = {{"grid", std::nullopt, std::nullopt}, {"dynamic", std::nullopt, std::nullopt}};
    d = log_.decide(std::move(d));
    StepLog::Note note;
    note.id = d.site;
    note.title = fmt::format("Deal out the work of {}", k.name.text());
    note.says = capital(fmt::format("{} in a grid.", plural(k.work.hi, "item")));
    if (d.choice == "dynamic") {
      draw_items(module_, k, names_);
      note.says = capital(fmt::format("{} drawn from a counter, one at a time.", plural(k.work.hi, "item")));
    }
    note.decision = std::move(d);
    log_.step(std::move(note), snapshot());
  }

  kernel::Module module_;
  Memory memory_;
  StepLog& log_;
  std::vector<Names> names_;
  std::vector<std::vector<AtomChoice>> choices_;  ///< of each kernel
  std::set<std::string> sites_;
};

}  // namespace

Result<Ir> lower_to_kernel(const Ir& ir, StepLog& log) {
  if (!has_warps(log.target())) return KernelLowering(ir.module(), log).run();
  auto lowered = lower_to_warps(ir, log);
  if (lowered) return lowered;
  const Refusal refusal = lowered.error();
  StepLog::Note note;
  note.id = "lower-to-kernel";
  note.title = "Place values and products";
  note.says = refusal.reason;
  note.refusals = {refusal};
  log.refuse(refusal);
  log.step(std::move(note), ir);
  return ir;
}

}  // namespace fathom::passes
