#include "passes/kernel_warps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "passes/kernel_place.hpp"
#include "passes/tile_walk.hpp"
#include "passes/warp_products.hpp"
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
    for (std::size_t i = 0; i < module_.kernels.size(); ++i) warps(i);
    for (kernel::Kernel& k : module_.kernels) stages(k);
    return snapshot();
  }

 private:
  [[nodiscard]] Ir snapshot() const { return make_ir(Level::kernel, module_); }

  std::optional<Refusal> place() {
    std::vector<std::string> results, rings;
    for (std::size_t i = 0; i < module_.kernels.size(); ++i) {
      kernel::Kernel& k = module_.kernels[i];
      expand_states(k, module_.reducers, names_[i]);
      auto one = place_on_warps(k, memory_, kernel::infer_kinds(module_, k), log_.target(), names_[i]);
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
    const std::int64_t extent = rows == nullptr ? 1 : constant_integer(kernel::extent(*rows)).value_or(1);
    Decision d;
    d.site = k.name.text() + "/warps";
    d.kind = "warps";
    for (const std::int64_t count : {8, 4, 2, 1}) {
      const bool divides = extent % (count * p.atom_rows) == 0;
      if (divides && d.choice.empty()) d.choice = std::to_string(count);
      if (divides) d.alternatives.push_back({std::to_string(count), std::nullopt, std::nullopt});
    }
    if (d.choice.empty()) d.choice = "1";
    d.reason = fmt::format("As many warps as the {} rows of a tile keep busy, {} a warp at least.", extent, p.atom_rows);
    d = log_.decide(std::move(d));
    const std::int64_t count = std::stoll(d.choice);
    for (kernel::Role& role : k.roles) role.warps = number(count);
    if (rows != nullptr && count > 1) split_rows(*rows, count, extent, p.results.empty(), names_[which]);
    if (p.results.empty() && k.axes.size() > 1) split_columns(k, names_[which]);
    StepLog::Note note;
    note.id = d.site;
    note.title = fmt::format("Deal out the rows of {}", k.name.text());
    note.says = capital(fmt::format("{} a workgroup.", plural(static_cast<int>(count), "warp")));
    note.decision = std::move(d);
    log_.step(std::move(note), snapshot());
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

  /// Neighbouring lanes take neighbouring vectors of the last axis.
  void split_columns(kernel::Kernel& k, Names& names) {
    kernel::TileAxis& axis = k.axes.back();
    const std::int64_t extent = constant_integer(kernel::extent(axis)).value_or(0), lanes = log_.target().lanes;
    std::int64_t bytes = 1;
    for (const auto& [name, memory] : memory_) bytes = std::max<std::int64_t>(bytes, size_in_bytes(memory.dtype));
    std::int64_t vector = widest_access / bytes;
    while (vector > 1 && extent % (lanes * vector) != 0) vector /= 2;
    if (extent % (lanes * vector) != 0 || extent == 0) return;
    axis.parts = {{names.fresh(axis.name.text() + ".v"), number(extent / (lanes * vector))},
                  {names.fresh(axis.name.text() + ".t"), number(lanes)}};
    if (vector > 1) axis.parts.push_back({names.fresh(axis.name.text() + ".e"), number(vector)});
  }

  void stages(kernel::Kernel& k) {
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
      const bool fits = once + depth * in_loops <= log_.target().shared_bytes;
      if (!fits) continue;
      if (d.choice.empty()) d.choice = std::to_string(depth);
      d.alternatives.push_back({std::to_string(depth), std::nullopt, std::nullopt});
    }
    if (d.choice.empty()) d.choice = "1";
    d.reason = fmt::format("While a trip computes, the loads of the next are on their way: {} a slot of every ring.",
                           bytes_text(static_cast<double>(in_loops)));
    d = log_.decide(std::move(d));
    const std::int64_t depth = std::stoll(d.choice);
    for (kernel::Channel& c : k.channels)
      if (ringed.count(c.name) > 0) c.depth = number(depth);
    for (kernel::For* loop : loops)
      if (depth > 1) ahead(*loop, static_cast<int>(depth) - 1);
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
};

}  // namespace

Result<Ir> lower_to_warps(const Ir& ir, StepLog& log) { return WarpLowering(ir.module(), log).run(); }

}  // namespace fathom::passes
