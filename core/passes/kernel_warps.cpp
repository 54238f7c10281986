#include "passes/kernel_warps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "passes/kernel_place.hpp"
#include "passes/kernel_roles.hpp"
#include "passes/kernel_work.hpp"
#include "passes/registers.hpp"
#include "passes/tile_walk.hpp"
#include "passes/warp_products.hpp"
#include "passes/whole_rows.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

using kernel::Block;
using kernel::Statement;

constexpr std::int64_t widest_access = 16;  // bytes that a lane moves at once

bool is_load(const Statement& s) {
  return std::holds_alternative<kernel::Acquire>(s.op) || std::holds_alternative<kernel::Copy>(s.op) ||
         std::holds_alternative<kernel::Publish>(s.op);
}

/// The loops that fill rings.
void loops_with_loads(Block& block, std::vector<kernel::For*>& found) {
  for (Statement& s : block) {
    auto* loop = std::get_if<kernel::For>(&s.op);
    if (loop == nullptr) continue;
    if (!loop->ranges.empty() && std::any_of(loop->body.begin(), loop->body.end(), is_load)) found.push_back(loop);
    loops_with_loads(loop->body, found);
  }
}

class WarpLowering {
 public:
  WarpLowering(kernel::Module m, StepLog& log) : module_(std::move(m)), memory_(memory_of(module_)), log_(log) {}

  Result<Ir> run() {
    for (const kernel::Kernel& k : module_.kernels) names_.push_back(names_in(module_, k));
    if (const auto no = place()) return tl::unexpected(*no);
    for (std::size_t i = 0; i < module_.kernels.size(); ++i) lanes(i);
    for (std::size_t i = 0; i < module_.kernels.size(); ++i)
      if (!separated_[i]) warps(i);
    for (std::size_t i = 0; i < module_.kernels.size(); ++i) stages(i);
    for (std::size_t i = 0; i < module_.kernels.size(); ++i)
      if (separated_[i]) separate_roles(i);
    for (std::size_t i = 0; i < module_.kernels.size(); ++i)
      if (separated_[i]) source(module_.kernels[i]);
    return snapshot();
  }

 private:
  [[nodiscard]] Ir snapshot() const { return make_ir(Level::kernel, module_); }

  std::optional<Refusal> place() {
    std::vector<std::string> results, rings;
    for (std::size_t i = 0; i < module_.kernels.size(); ++i) {
      kernel::Kernel& k = module_.kernels[i];
      expand_states(k, module_.reducers, names_[i]);
      const kernel::Kinds kinds = kernel::infer_kinds(module_, k);
      separated_.push_back(decide_roles(i, kinds));
      auto one = place_on_warps(k, memory_, kinds, log_.target(), names_[i], separated_[i] ? AtomWidth::warpgroup : AtomWidth::warp);
      if (!one) return one.error();
      results.insert(results.end(), one->results.begin(), one->results.end());
      rings.insert(rings.end(), one->rings.begin(), one->rings.end());
      products_.push_back(std::move(*one));
    }
    require_alignment();
    StepLog::Note note;
    note.id = "lower-to-kernel";
    note.title = "Place values and products";
    note.says = results.empty()
                    ? fmt::format("No products: values stay in the registers of {} lanes a warp.", log_.target().lanes)
                    : capital(fmt::format("{} on {}; {} through rings in shared memory.", listed(results), listed(atoms()), listed(rings)));
    log_.step(std::move(note), snapshot());
    return std::nullopt;
  }

  /// One role that loads and computes, or one that loads for others. Tried on a copy: what cannot be is no alternative.
  std::optional<Decision> decide_roles(std::size_t which, const kernel::Kinds& kinds) {
    kernel::Kernel trial = module_.kernels[which];
    Names names = names_[which];
    const auto placed = place_on_warps(trial, memory_, kinds, log_.target(), names, AtomWidth::warpgroup);
    if (!placed || placed->in_loops == 0 || placed->rows.size() != 1 || !placed->stored.empty()) return std::nullopt;
    if (why_not_separate(trial, memory_, log_.target(), *placed->rows.begin(), placed->atom_rows)) return std::nullopt;
    Decision d;
    d.site = trial.name.text() + "/roles";
    d.kind = "roles";
    d.choice = "producer";
    d.alternatives = {{"producer", std::nullopt, std::nullopt}, {"one", std::nullopt, std::nullopt}};
    d.reason = "The copy engine fills rings by itself, and products run beside the work of the warps that issue them.";
    d = log_.decide(std::move(d));
    return d.choice == "producer" ? std::optional(d) : std::nullopt;
  }

  /// Who loads and who computes; rows dealt out to groups; the last product of a trip under the next trip.
  void separate_roles(std::size_t which) {
    kernel::Kernel& k = module_.kernels[which];
    const Symbol rows = *products_[which].rows.begin();
    const std::int64_t extent = constant_integer(kernel::extent(*axis_named(k, rows))).value_or(1);
    const std::int64_t groups = extent / products_[which].atom_rows;
    k = partition(separate(k), memory_, rows, groups, names_[which]);
    const auto registers = split_registers(log_.target(), groups);
    if (registers) {
      k.roles[0].registers = number(registers->producer);
      k.roles[1].registers = number(registers->consumer);
    }
    StepLog::Note note;
    note.id = separated_[which]->site;
    note.title = fmt::format("Give the loads of {} a role", k.name.text());
    note.says = fmt::format(
        "A producer asks for the copies; {} of 64 rows compute.{}", plural(static_cast<int>(groups), "group"),
        registers ? fmt::format(" It leaves them {} registers a thread and keeps {}.", registers->consumer, registers->producer) : "");
    note.decision = separated_[which];
    log_.step(std::move(note), snapshot());
    overlap_products(k);
  }

  /// Sums along the columns of a product: four lanes hold a row of its sums, two neighbours each, eight columns apart.
  void lanes(std::size_t which) {
    kernel::Kernel& k = module_.kernels[which];
    const LaneSplit quad{4, 2};
    for (const LaneSum& sum : lane_sums(k, memory_, quad)) {
      if (products_[which].columns.count(sum.axis) == 0) continue;
      Decision d;
      d.site = fmt::format("{}/{}/lanes", sum.name.text(), sum.axis.text());
      d.kind = "lanes";
      d.choice = "end";
      d.reason = "One partial sum for each of the lanes that share a row needs the addition across lanes only once.";
      d.alternatives = {{"end", std::nullopt, std::nullopt}, {"trip", std::nullopt, std::nullopt}};
      if (!sites_.insert(d.site).second) continue;
      d = log_.decide(std::move(d));
      StepLog::Note note;
      note.id = d.site;
      note.title = fmt::format("Add {} across lanes", sum.name.text());
      note.says = fmt::format("{} is added across lanes in every trip.", sum.name.text());
      if (d.choice == "end") {
        keep_per_lane(k, sum, quad, names_[which]);
        note.says = fmt::format("{} is kept as {} partial sums, added across lanes once after the loop.", sum.name.text(), quad.lanes);
      }
      note.decision = std::move(d);
      log_.step(std::move(note), snapshot());
    }
  }

  /// Where items differ in length the longest begin first. The machine gives a processor that is free the next workgroup of a grid; a
  /// counter spares the workgroups' beginnings and costs more between items (measured on an H200: 272 us by a grid, 293 us by a counter).
  void source(kernel::Kernel& k) {
    if (!is_uneven(k)) return;
    Decision d;
    d.site = k.name.text() + "/work";
    d.kind = "work";
    d.choice = "grid";
    d.reason = "Items differ in length: a processor that is free takes the next, the longest first.";
    d.alternatives = {{"grid", std::nullopt, std::nullopt}, {"dynamic", std::nullopt, std::nullopt}};
    d = log_.decide(std::move(d));
    StepLog::Note note;
    note.id = d.site;
    note.title = fmt::format("Deal out the work of {}", k.name.text());
    const std::string order = longest_first(k, defaults_of(module_)) ? ", the longest first" : "";
    if (d.choice == "dynamic") draw_items(module_, k, names_);
    note.says = capital(fmt::format("{} {}{}.", plural(k.work.hi, "item"),
                                    d.choice == "dynamic" ? "drawn from a counter, one at a time" : "in a grid", order));
    note.decision = std::move(d);
    log_.step(std::move(note), snapshot());
  }
  static DimValues defaults_of(const kernel::Module& m) {
    DimValues dims;
    for (const math::Dimension& d : m.dims) dims[d.name] = d.value;
    return dims;
  }

  void overlap_products(kernel::Kernel& k) {
    const auto changed = overlap(k, log_.target());
    if (!changed) return;
    kernel::Module with_it = module_;
    with_it.kernels[static_cast<std::size_t>(&k - module_.kernels.data())] = *changed;
    if (const auto legal = kernel::verify(with_it, machine_of(log_.target())); !legal) {
      log_.refuse({fmt::format("The products of {} do not overlap: {}", k.name.text(), legal.error().reason), legal.error().nodes, {}});
      return;
    }
    Decision d;
    d.site = k.name.text() + "/overlap";
    d.kind = "overlap";
    d.choice = "on";
    d.alternatives = {{"on", std::nullopt, std::nullopt}, {"off", std::nullopt, std::nullopt}};
    d.reason = "While the last product of a trip runs, the warps work on what the first product of the next trip gave.";
    d = log_.decide(std::move(d));
    if (d.choice == "on") k = *changed;
    StepLog::Note note;
    note.id = d.site;
    note.title = fmt::format("Overlap the products of {}", k.name.text());
    note.says = d.choice == "on" ? "The last product of a trip is awaited in the next one." : "Each product is awaited in its own trip.";
    note.decision = std::move(d);
    log_.step(std::move(note), snapshot());
  }

  std::vector<std::string> atoms() const {
    std::vector<std::string> all;
    for (const WarpProducts& p : products_)
      for (const std::string& atom : p.atoms)
        if (std::find(all.begin(), all.end(), atom) == all.end()) all.push_back(atom);
    return all;
  }

  /// Copies and vectors move 16 bytes at once.
  void require_alignment() {
    Expr all;
    for (const auto* list : {&module_.params, &module_.results}) {
      for (const math::Parameter& p : *list) {
        if (p.extents.empty()) continue;
        const Expr one = binary(Op::eq, binary(Op::mod, read(p.name, {}), number(widest_access)), number(0));
        all = all ? binary(Op::logical_and, all, one) : one;
      }
    }
    if (all) module_.requires_.push_back({all, Symbol("unsupported")});
  }

  void warps(std::size_t which) {
    kernel::Kernel& k = module_.kernels[which];
    const WarpProducts& p = products_[which];
    kernel::TileAxis* rows = p.rows.size() == 1                    ? axis_named(k, *p.rows.begin())
                             : p.rows.empty() && k.axes.size() > 1 ? &k.axes[0]
                                                                   : nullptr;
    const bool one_row = p.results.empty() && k.axes.size() == 1;  // warps share it
    const std::int64_t extent = rows == nullptr ? 1 : constant_integer(kernel::extent(*rows)).value_or(1);
    Decision d = one_row ? row_to_warps(k) : rows_to_warps(extent, p.atom_rows);
    d.site = k.name.text() + "/warps";
    d.kind = "warps";
    d = log_.decide(std::move(d));
    const std::int64_t count = std::stoll(d.choice);
    for (kernel::Role& role : k.roles) role.warps = number(count);
    if (rows != nullptr && count > 1) split_rows(*rows, count, extent, p.results.empty(), names_[which]);
    if (p.results.empty() && !k.axes.empty()) split_columns(k, one_row ? count : 1, names_[which]);
    StepLog::Note note;
    note.id = d.site;
    note.title = fmt::format("Deal out the {} of {}", one_row ? "columns" : "rows", k.name.text());
    note.says = capital(fmt::format("{} a workgroup.", plural(static_cast<int>(count), "warp")));
    note.decision = std::move(d);
    log_.step(std::move(note), snapshot());
  }

  static Decision rows_to_warps(std::int64_t extent, std::int64_t atom_rows) {
    Decision d;
    for (const std::int64_t count : {8, 4, 2, 1}) {
      if (extent % (count * atom_rows) == 0) d.alternatives.push_back({std::to_string(count), std::nullopt, std::nullopt});
    }
    d.choice = std::to_string(warps_of_rows(extent, atom_rows));
    d.reason = fmt::format("As many warps as the {} rows of a tile keep busy, {} a warp at least.", extent, atom_rows);
    return d;
  }

  /// As whole_rows.hpp deals a row out; fewer and more where they divide it.
  [[nodiscard]] Decision row_to_warps(const kernel::Kernel& k) const {
    const std::int64_t extent = constant_integer(kernel::extent(k.axes.front())).value_or(1), lanes = log_.target().lanes;
    const RowSplit split = row_split(extent, bytes_along(k, k.axes.front().name), log_.target());
    Decision d;
    d.choice = std::to_string(split.extent == extent ? split.warps : 1);
    for (std::int64_t count = most_warps_of_a_row; count > 0; count /= 2)
      if (count == 1 || extent % (lanes * split.vector * count) == 0)
        d.alternatives.push_back({std::to_string(count), std::nullopt, std::nullopt});
    d.reason = fmt::format("One row of {} elements: each of {} lanes has {} of them.", extent, std::stoll(d.choice) * lanes,
                           (extent + std::stoll(d.choice) * lanes - 1) / (std::stoll(d.choice) * lanes));
    return d;
  }

  /// Of the widest element that is loaded or stored along the axis.
  [[nodiscard]] std::int64_t bytes_along(const kernel::Kernel& k, Symbol axis) const {
    std::int64_t bytes = 1;
    const auto along = [&](Symbol name, const auto& subscripts) {
      const auto at = memory_.find(name);
      if (at == memory_.end() || subscripts.empty() || !contains(subscripts.back(), index(axis))) return;
      bytes = std::max<std::int64_t>(bytes, size_in_bytes(at->second.dtype));
    };
    for (const kernel::Role& role : k.roles) {
      for_each_value(role.body, [&](const kernel::Value& v) {
        for (const kernel::Access& target : v.targets) along(target.name, target.subscripts);
        for (const Expr value : v.values) {
          visit(value, [&](Expr e) {
            if (e.is(Op::read)) along(e.name(), e.args());
          });
        }
      });
    }
    return bytes;
  }

  static kernel::TileAxis* axis_named(kernel::Kernel& k, Symbol name) {
    const auto at = std::find_if(k.axes.begin(), k.axes.end(), [name](const kernel::TileAxis& a) { return a.name == name; });
    return at == k.axes.end() ? nullptr : &*at;
  }

  /// Warps are the slowest part where atoms take blocks of rows, the fastest where rows are dealt out one by one.
  static void split_rows(kernel::TileAxis& axis, std::int64_t count, std::int64_t extent, bool one_by_one, Names& names) {
    const kernel::AxisPart warps{names.fresh(axis.name.text() + ".w"), number(count)},
        rest{names.fresh(axis.name.text() + ".u"), number(extent / count)};
    axis.parts = one_by_one ? std::vector{rest, warps} : std::vector{warps, rest};
  }

  /// Neighbouring lanes take neighbouring vectors of the last axis, neighbouring warps neighbouring runs of these.
  void split_columns(kernel::Kernel& k, std::int64_t warps, Names& names) {
    kernel::TileAxis& axis = k.axes.back();
    const std::int64_t extent = constant_integer(kernel::extent(axis)).value_or(0), lanes = log_.target().lanes;
    std::int64_t vector = widest_access / bytes_along(k, axis.name);
    while (vector > 1 && extent % (lanes * warps * vector) != 0) vector /= 2;
    if (extent % (lanes * warps * vector) != 0 || extent == 0) return;
    axis.parts = {{names.fresh(axis.name.text() + ".v"), number(extent / (lanes * warps * vector))}};
    if (warps > 1) axis.parts.push_back({names.fresh(axis.name.text() + ".w"), number(warps)});
    axis.parts.push_back({names.fresh(axis.name.text() + ".t"), number(lanes)});
    if (vector > 1) axis.parts.push_back({names.fresh(axis.name.text() + ".e"), number(vector)});
  }

  void stages(std::size_t which) {
    kernel::Kernel& k = module_.kernels[which];
    const bool separated = separated_[which].has_value();
    const std::vector<std::string>& stored = products_[which].stored;
    std::vector<kernel::For*> loops;
    for (kernel::Role& role : k.roles) loops_with_loads(role.body, loops);
    if (loops.empty()) return;
    std::int64_t once = 0, in_loops = 0;
    std::set<Symbol> ringed;
    for (const kernel::For* loop : loops)
      for (const Statement& s : loop->body)
        if (const auto* a = std::get_if<kernel::Acquire>(&s.op)) ringed.insert(a->channel.name);
    for (const kernel::Channel& c : k.channels) {
      std::int64_t bytes = size_in_bytes(c.dtype);
      for (const Expr extent : c.box) bytes *= constant_integer(extent).value_or(1);
      (ringed.count(c.name) > 0 ? in_loops : once) += bytes;
    }
    Decision d;
    d.site = k.name.text() + "/stages";
    d.kind = "stages";
    for (const std::int64_t depth : {2, 3, 4, 1}) {
      const bool fits = once + depth * in_loops <= log_.target().shared_bytes && (stored.empty() || depth == 1);
      if (!fits) continue;
      if (d.choice.empty()) d.choice = std::to_string(depth);
      d.alternatives.push_back({std::to_string(depth), std::nullopt, std::nullopt});
    }
    if (d.choice.empty()) d.choice = "1";
    d.reason = fmt::format("While a trip computes, the loads of the next are on their way: {} a slot of every ring.",
                           bytes_text(static_cast<double>(in_loops)));
    if (!stored.empty())
      d.reason =
          fmt::format("Rows of {} are no multiples of 16 bytes: no copy brings them ahead, they are loaded and stored.", listed(stored));
    d = log_.decide(std::move(d));
    const std::int64_t depth = std::stoll(d.choice);
    for (kernel::Channel& c : k.channels)
      if (ringed.count(c.name) > 0) c.depth = number(depth);
    for (kernel::For* loop : loops)
      if (depth > 1 && !separated) ahead(*loop, static_cast<int>(depth) - 1);
    StepLog::Note note;
    note.id = d.site;
    note.title = fmt::format("Load ahead in {}", k.name.text());
    note.says = depth > 1 ? capital(fmt::format("{} ahead, in rings of {} slots.", plural(static_cast<int>(depth) - 1, "trip"), depth))
                          : "Each trip loads what it needs.";
    note.decision = std::move(d);
    log_.step(std::move(note), snapshot());
  }

  /// Loads run `distance` trips before what needs them, behind the first wait of the trip: then nobody reads the slots that they fill.
  static void ahead(kernel::For& loop, int distance) {
    int order = 1, behind_first_wait = 0;
    for (Statement& s : loop.body) {
      if (is_load(s) || std::holds_alternative<kernel::Let>(s.op)) continue;
      s.at = kernel::At{distance, order};
      if (behind_first_wait == 0 && std::holds_alternative<kernel::Receive>(s.op)) behind_first_wait = order + 1;
      order += 2;
    }
    for (Statement& s : loop.body)
      if (is_load(s)) s.at = kernel::At{0, behind_first_wait};
  }

  kernel::Module module_;
  Memory memory_;
  StepLog& log_;
  std::vector<Names> names_;
  std::vector<WarpProducts> products_;
  std::set<std::string> sites_;                     ///< of sums whose lanes are decided
  std::vector<std::optional<Decision>> separated_;  ///< the choice of a role that loads, by kernel
};

}  // namespace

Result<Ir> lower_to_warps(const Ir& ir, StepLog& log) { return WarpLowering(ir.module(), log).run(); }

}  // namespace fathom::passes
