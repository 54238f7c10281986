// Work of Math and Loop programs, counted on the tree: trips and elements of every loop, the ragged last tile and skipped tiles included.
// A loop whose index stands in the bounds of a loop below is walked trip by trip (a sample of them where there are many).
#include <algorithm>
#include <utility>

#include "passes/cost.hpp"
#include "passes/nest.hpp"
#include "passes/whole_rows.hpp"

namespace fathom::passes {
namespace {

using loop::Loop;
using loop::NodeRef;
using math::Statement;

/// Trips that stand for all where there are more; under such a loop fewer do.
constexpr std::int64_t most_samples = 32, most_samples_inside = 2;

/// Values of dimensions and loop indices: a handful, found by comparing interned names.
class Values {
 public:
  explicit Values(const DimValues& dims) : all_(dims.begin(), dims.end()) {}
  [[nodiscard]] const std::int64_t* find(Symbol name) const {
    for (const auto& [known, value] : all_)
      if (known == name) return &value;
    return nullptr;
  }
  void set(Symbol name, std::int64_t value) {
    erase(name);
    all_.emplace_back(name, value);
  }
  void erase(Symbol name) {
    all_.erase(std::remove_if(all_.begin(), all_.end(), [&](const auto& each) { return each.first == name; }), all_.end());
  }
  [[nodiscard]] DimValues as_map() const { return {all_.begin(), all_.end()}; }

 private:
  std::vector<std::pair<Symbol, std::int64_t>> all_;
};

/// evaluate_integer for bounds, which are small: thousands of trips ask for them.
std::optional<std::int64_t> bound_at(Expr e, const Values& values) {
  const auto both = [&](auto f) -> std::optional<std::int64_t> {
    const auto a = bound_at(e.arg(0), values), b = bound_at(e.arg(1), values);
    if (!a || !b) return std::nullopt;
    std::int64_t result = 0;
    return f(*a, *b, result) ? std::optional(result) : std::nullopt;
  };
  using I = std::int64_t;
  switch (e.op()) {
    case Op::index:
    case Op::dim: {
      const std::int64_t* found = values.find(e.name());
      return found == nullptr ? std::nullopt : std::optional(*found);
    }
    case Op::add:
      return both([](I a, I b, I& r) { return !__builtin_add_overflow(a, b, &r); });
    case Op::sub:
      return both([](I a, I b, I& r) { return !__builtin_sub_overflow(a, b, &r); });
    case Op::mul:
      return both([](I a, I b, I& r) { return !__builtin_mul_overflow(a, b, &r); });
    case Op::min:
      return both([](I a, I b, I& r) { return r = std::min(a, b), true; });
    case Op::max:
      return both([](I a, I b, I& r) { return r = std::max(a, b), true; });
    case Op::floordiv:
      return both([](I a, I b, I& r) {
        if (b <= 0) return false;
        r = a / b - (a % b < 0 ? 1 : 0);
        return true;
      });
    case Op::number:
      if (e.node().inexact == 0 && e.node().number.is_integer()) return e.node().number.num();
      return std::nullopt;
    default:
      return evaluate_integer(e, values.as_map());
  }
}

double bytes_per_element(const math::Program& program, Symbol name) {
  if (const math::Parameter* param = program.param(name)) return size_in_bytes(param->dtype);
  if (const math::Parameter* result = program.result(name)) return size_in_bytes(result->dtype);
  const Statement* statement = program.find(name);
  return statement != nullptr ? size_in_bytes(statement->dtype) : 4;
}

double extent_at(Expr lo, Expr hi, const Values& values) {
  const auto first = bound_at(lo, values), last = bound_at(hi, values);
  if (first && last) return *last > *first ? static_cast<double>(*last) - static_cast<double>(*first) : 0;
  return static_cast<double>(std::max<std::int64_t>(0, bound_at(hi - lo, values).value_or(1)));
}

double elements_of(const math::Program& program, Symbol tensor, const Values& dims) {
  double elements = 1;
  if (const auto ranges = math::ranges_of(program, tensor)) {
    for (const math::Range& range : *ranges) elements *= extent_at(range.lo, range.hi, dims);
  }
  return elements;
}

/// A loop on the way to the present leaf: how often its body runs, how many elements of its index that covers, and how many it computes.
struct Frame {
  Symbol index;
  double trips = 1, elements = 1, computed = 1, tile = 1;
  bool folds = false;
};

class NestCounter {
 public:
  /// `in_memory`: tensors that nests exchange, and results. `here`: what this nest computes.
  NestCounter(const math::Program& program, const std::set<Symbol>& in_memory, std::set<Symbol> here, const Target& target)
      : program_(&program), in_memory_(&in_memory), here_(std::move(here)), target_(&target), values_(math::default_dims(program)) {
    // Warps keep what they compute beside products in registers (registers.hpp): nothing of it is in shared memory.
    // Where products of a warpgroup are, tiles are those that its atoms like: they were chosen with these values counted.
    const auto of_warpgroup = [&](const MatrixAtom& atom) {
      return atom.asynchronous &&
             std::any_of(program.params.begin(), program.params.end(), [&](const math::Parameter& p) { return p.dtype == atom.a; });
    };
    const bool of_one_warp = has_warps(target) && std::none_of(target.atoms.begin(), target.atoms.end(), of_warpgroup);
    in_registers_ = of_one_warp && std::any_of(here_.begin(), here_.end(), [&](Symbol name) {
                      const Statement* statement = program.find(name);
                      return statement != nullptr && is_matrix_product(*statement);
                    });
  }

  Work run(const NodeRef& root) {
    walk(root);
    for (const auto& [tensor, bytes] : loaded_) {
      work_.loaded += bytes;
      const double all = elements_of(*program_, tensor, values_) * bytes_per_element(*program_, tensor);
      work_.read += std::min(bytes, all);
    }
    for (const auto& [tensor, bytes] : tiles_) work_.on_chip += bytes;
    if (elements_ > 0) work_.padding = std::max(1.0, computed_ / elements_);
    return work_;
  }

 private:
  // ---- the tree ----
  void walk(const NodeRef& node) {
    if (const auto* sequence = std::get_if<loop::Sequence>(node.get())) {
      for (const NodeRef& each : sequence->items) walk(each);
    } else if (const auto* loop = std::get_if<Loop>(node.get())) {
      walk(*loop);
    } else if (const auto* combine = std::get_if<loop::Combine>(node.get())) {
      count(*combine);
    } else {
      count(*program_->find(std::get<loop::Leaf>(*node).statement));
    }
  }

  void walk(const Loop& loop) {
    const std::int64_t lo = bound_at(loop.lo, values_).value_or(0), hi = bound_at(loop.hi, values_).value_or(lo);
    const std::int64_t tile = std::max<std::int64_t>(1, bound_at(loop.tile, values_).value_or(1));
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (const loop::TileRange& range : loop.ranges)
      ranges.emplace_back(bound_at(range.lo, values_).value_or(0), bound_at(range.hi, values_).value_or(0));
    if (loop.ranges.empty()) ranges.emplace_back(0, hi > lo ? (hi - lo + tile - 1) / tile : 0);
    if (loop.mark == loop::Mark::parallel && chain_) note_items(ranges);
    const auto [used, is_new] = used_below_.try_emplace(&loop, false);
    if (is_new) used->second = is_used_below(loop);
    if (used->second) {
      chain_ = false;
      for (const auto& [first, last] : ranges) each_trip(loop, lo, hi, tile, first, last);
    } else {
      Frame frame{
          loop.index, 0, 0, 0, static_cast<double>(std::min(tile, std::max<std::int64_t>(hi - lo, 1))), loop.mark != loop::Mark::parallel};
      for (const auto& [first, last] : ranges) {
        if (last <= first) continue;
        frame.trips += static_cast<double>(last - first);
        frame.elements += static_cast<double>(std::min(hi, lo + last * tile) - std::min(hi, lo + first * tile));
        frame.computed += static_cast<double>((last - first) * tile);
      }
      if (frame.trips == 0) return;
      below(loop, frame);
    }
  }

  void each_trip(const Loop& loop, std::int64_t lo, std::int64_t hi, std::int64_t tile, std::int64_t first, std::int64_t last) {
    const std::int64_t trips = last - first, samples = std::min(trips, sampled_ ? most_samples_inside : most_samples);
    const bool outer_sampled = std::exchange(sampled_, sampled_ || trips > 1);
    for (std::int64_t i = 0; i < samples; ++i) {
      const std::int64_t trip = first + (samples == trips ? i : (2 * i + 1) * trips / (2 * samples));
      const double weight = static_cast<double>(trips) / static_cast<double>(samples);
      values_.set(loop.index, lo + trip * tile);
      const auto box = static_cast<double>(std::min(hi, lo + (trip + 1) * tile) - (lo + trip * tile));
      below(loop, {loop.index, weight, weight * box, weight * static_cast<double>(tile), static_cast<double>(tile),
                   loop.mark != loop::Mark::parallel});
    }
    sampled_ = outer_sampled;
    values_.erase(loop.index);
  }

  void below(const Loop& loop, const Frame& frame) {
    const bool chain = chain_;
    chain_ = chain_ && loop.mark == loop::Mark::parallel;
    frames_.push_back(frame);
    walk(loop.body);
    frames_.pop_back();
    chain_ = chain;
  }

  void note_items(const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) {
    double trips = 0;
    for (const auto& [first, last] : ranges) trips += static_cast<double>(std::max<std::int64_t>(0, last - first));
    work_.items *= std::max(1.0, trips);
  }

  static bool is_used_below(const Loop& loop) {
    const auto uses = [&](Expr e) { return e && contains(e, index(loop.index)); };
    const std::function<bool(const NodeRef&)> search = [&](const NodeRef& node) {
      if (const auto* sequence = std::get_if<loop::Sequence>(node.get()))
        return std::any_of(sequence->items.begin(), sequence->items.end(), search);
      const auto* inner = std::get_if<Loop>(node.get());
      if (inner == nullptr) return false;
      if (uses(inner->lo) || uses(inner->hi) || uses(inner->tile)) return true;
      for (const loop::TileRange& range : inner->ranges) {
        if (uses(range.lo) || uses(range.hi)) return true;
      }
      return search(inner->body);
    };
    return search(loop.body);
  }

  // ---- leaves ----
  /// Where something varies: in which of the loops round its statement (the same ones in every trip), and over which axes without a loop.
  struct Variation {
    std::vector<bool> in_frame;
    std::vector<math::Axis> whole;
  };
  Variation variation_of(const std::set<Symbol>& indices, const std::vector<math::Axis>& axes) const {
    Variation variation;
    std::set<Symbol> looped;
    for (const Frame& frame : frames_) {
      variation.in_frame.push_back(indices.contains(frame.index));
      looped.insert(frame.index);
    }
    for (const math::Axis& axis : axes) {
      if (indices.contains(axis.index) && !looped.contains(axis.index)) variation.whole.push_back(axis);
    }
    return variation;
  }

  /// Evaluations of something: elements of the loops in which it varies, trips of the others, whole extents of the axes without a loop.
  struct Count {
    double exact = 1, computed = 1;
  };
  template <class Skip>
  Count evaluations(const Variation& variation, const Skip& skip) {
    Count count;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const Frame& frame = frames_[i];
      if (skip(frame)) continue;
      count.exact *= variation.in_frame[i] ? frame.elements : frame.trips;
      count.computed *= variation.in_frame[i] ? frame.computed : frame.trips;
    }
    for (const math::Axis& axis : variation.whole) {
      const double extent = extent_of(axis);
      count.exact *= extent;
      count.computed *= extent;
    }
    return count;
  }

  /// Extents that no loop index varies are asked for in every trip and computed once.
  double extent_of(const math::Axis& axis) {
    const auto is_fixed = [](Expr e) { return e.node().free != nullptr && e.node().free->empty(); };
    if (!is_fixed(axis.lo) || !is_fixed(axis.hi)) return extent_at(axis.lo, axis.hi, values_);
    const auto [at, is_new] = extents_.try_emplace({&axis.lo.node(), &axis.hi.node()}, 0);
    if (is_new) at->second = extent_at(axis.lo, axis.hi, values_);
    return at->second;
  }

  static std::vector<math::Axis> axes_of(const Statement& statement) {
    std::vector<math::Axis> axes = statement.axes;
    if (const auto* reduction = statement.reduction()) axes.insert(axes.end(), reduction->over.begin(), reduction->over.end());
    return axes;
  }
  static std::set<Symbol> names_of(const std::vector<math::Axis>& axes) {
    std::set<Symbol> names;
    for (const math::Axis& axis : axes) names.insert(axis.index);
    return names;
  }

  /// What does not depend on the trip, found once a statement.
  struct Facts {
    struct Read {
      Expr expr;
      double element_bytes;
      Variation variation;
      std::size_t depth;  ///< of the innermost loop in which it varies; those further in reuse the tile
    };
    std::vector<math::Axis> axes;  ///< of the result, then those reduced
    std::set<Symbol> result_names, gauge_indices;
    Variation all, result, gauges, none;
    Operations each;
    std::vector<Read> reads;       ///< of main memory, for which this statement pays
    std::vector<Expr> moved_exps;  ///< of the repair, for which this statement pays
    double move_flops = 0;
    bool is_product = false, is_written = false, folds_lanes = false;
  };

  const Facts& facts_of(const Statement& statement) {
    const auto [at, is_new] = facts_.try_emplace(statement.name);
    if (!is_new) return at->second;
    Facts& facts = at->second;
    facts.axes = axes_of(statement);
    facts.result_names = names_of(statement.axes);
    facts.all = variation_of(names_of(facts.axes), facts.axes);
    facts.result = variation_of(facts.result_names, statement.axes);
    facts.none = variation_of({}, {});
    facts.is_written = in_memory_->contains(statement.name);
    for (const Expr value : values_of(statement)) {
      const Operations found = operations_in(value);
      facts.each.flops += found.flops;
      facts.each.exps += found.exps;
      find_reads(value, facts);
    }
    if (const auto* reduction = statement.reduction()) {
      const Operations combine = operations_of_combine(*reduction->reducer);
      facts.each.flops += combine.flops;
      facts.each.exps += combine.exps;
      facts.is_product = is_matrix_product(statement);
      facts.folds_lanes = !facts.is_product && along_lanes(statement);
      if (reduction->repair) find_moves(*reduction->repair, facts);
      facts.gauges = variation_of(facts.gauge_indices, statement.axes);
    }
    if (!in_registers_ && !takes_place_of_operand(statement, facts.result_names))
      count_tile(read(statement.name, {}), facts.result_names, statement.axes, bytes_per_element(*program_, statement.name));
    return facts;
  }

  /// An elementwise value over the axes of a tile that it reads is written over it.
  bool takes_place_of_operand(const Statement& statement, const std::set<Symbol>& indices) const {
    if (statement.map() == nullptr) return false;
    bool found = false;
    visit(statement.map()->value, [&](Expr e) {
      found = found || (e.is(Op::read) && here_.contains(e.name()) && e.name() != statement.name && free_indices(e) == indices);
    });
    return found;
  }

  /// Does the fold run over what lies contiguous in an operand, so that lanes hold parts of one result?
  static bool along_lanes(const Statement& statement) {
    const math::Reduction& reduction = *statement.reduction();
    bool found = false;
    for (const Expr value : values_of(statement))
      visit(value, [&](Expr e) {
        if (!e.is(Op::read) || e.args().empty()) return;
        for (const math::Axis& axis : reduction.over) found = found || e.args().back() == index(axis.index);
      });
    return found;
  }
  [[nodiscard]] double lane_halvings() const {
    double halvings = 0;
    for (int lanes = target_->lanes; lanes > 1; lanes /= 2) halvings += 1;
    return halvings;
  }

  /// Elements of the contracted axes that a trip takes: as many steps an accumulator stays in registers.
  double depth_of(const math::Reduction& reduction) {
    double depth = 1;
    for (const math::Axis& axis : reduction.over) depth *= box_of(axis.index, reduction.over);
    return std::max(depth, 1.0);
  }

  /// One tile serves all statements of the nest that read it: the first pays.
  void find_reads(Expr value, Facts& facts) {
    visit(value, [&](Expr e) {
      const bool from_memory = e.is(Op::read) && (program_->param(e.name()) != nullptr || in_memory_->contains(e.name()));
      if (!from_memory || here_.contains(e.name()) || !paid_.insert(e).second) return;
      const std::set<Symbol> indices = free_indices(e);
      const double element_bytes = bytes_per_element(*program_, e.name());
      Variation variation = variation_of(indices, facts.axes);
      const auto last = std::find(variation.in_frame.rbegin(), variation.in_frame.rend(), true);
      const auto depth = static_cast<std::size_t>(variation.in_frame.rend() - last);
      facts.reads.push_back({e, element_bytes, std::move(variation), depth});
      count_tile(e, indices, facts.axes, element_bytes);
    });
  }

  void find_moves(const math::Repair& repair, Facts& facts) {
    for (const math::Gauge& gauge : repair.gauges) facts.gauge_indices.merge(free_indices(gauge.reference));
    for (const math::Carried& carried : repair.carried) {
      facts.move_flops += operations_in(carried.move).flops;
      visit(carried.move, [&](Expr e) {
        if (is_transcendental(e.op()) && paid_.insert(e).second) facts.moved_exps.push_back(e);
      });
    }
  }

  void count(const Statement& statement) {
    const Facts& facts = facts_of(statement);
    const auto none = [](const Frame&) { return false; };
    const Count n = evaluations(facts.all, none);
    work_.trips += evaluations(facts.none, none).exact;
    work_.flops += facts.each.flops * n.exact;
    work_.exps += facts.each.exps * n.exact;
    if (facts.is_product) {
      work_.matrix_flops += 2 * n.exact;
      if (!target_->atoms.empty()) work_.fill += 2 * n.exact * target_->atoms.front().fill / depth_of(*statement.reduction());
    } else if (facts.folds_lanes) {  // once a trip a row's lanes are combined: a shuffle and an operation on vectors a halving
      work_.flops += 2 * target_->lanes * lane_halvings() * evaluations(facts.result, none).exact;
    }
    elements_ += n.exact * (facts.each.flops + facts.each.exps);
    computed_ += n.computed * (facts.each.flops + facts.each.exps);
    // Once a trip every carrier is moved, and every factor computed once for all carriers that use it.
    if (facts.move_flops > 0) work_.flops += facts.move_flops * evaluations(facts.result, none).exact;
    if (!facts.moved_exps.empty()) work_.exps += static_cast<double>(facts.moved_exps.size()) * evaluations(facts.gauges, none).exact;
    for (const Facts::Read& each : facts.reads) count_read(each);
    if (facts.is_written) {
      const auto folds = [&](const Frame& frame) { return frame.folds && !facts.result_names.contains(frame.index); };
      work_.written += evaluations(facts.result, folds).exact * bytes_per_element(*program_, statement.name);
    }
  }

  void count_read(const Facts::Read& each) {
    const Frame* end = frames_.data() + each.depth;
    const auto deeper = [&](const Frame& frame) { return &frame >= end; };
    loaded_[each.expr.name()] += evaluations(each.variation, deeper).exact * each.element_bytes;
  }

  void count_tile(Expr tile, const std::set<Symbol>& indices, const std::vector<math::Axis>& axes, double element_bytes) {
    double elements = 1;
    for (const Symbol each : indices) elements *= box_of(each, axes);
    double& bytes = tiles_[tile];
    bytes = std::max(bytes, elements * element_bytes);
  }
  double box_of(Symbol name, const std::vector<math::Axis>& axes) {
    for (const Frame& frame : frames_) {
      if (frame.index == name) return frame.tile;
    }
    for (const math::Axis& axis : axes) {
      if (axis.index == name) return extent_at(axis.lo, axis.hi, values_);
    }
    return 1;
  }

  void count(const loop::Combine& combine) {
    const double parts = static_cast<double>(bound_at(combine.count, values_).value_or(1));
    for (const Symbol name : combine.statements) {
      const Statement& statement = *program_->find(name);
      const auto none = [](const Frame&) { return false; };
      const double states = parts * evaluations(variation_of(names_of(statement.axes), statement.axes), none).exact;
      work_.flops += 2 * states;
      work_.written += 4 * states;
      work_.read += 4 * states;
    }
  }

  const math::Program* program_;
  const std::set<Symbol>* in_memory_;
  std::set<Symbol> here_;
  const Target* target_;
  Values values_;
  Work work_;
  std::vector<Frame> frames_;
  bool chain_ = true, in_registers_ = false;
  double elements_ = 0, computed_ = 0;
  std::map<Symbol, Facts> facts_;
  std::map<const Loop*, bool> used_below_;  ///< looked up, never walked in this order; so is the next
  std::map<std::pair<const ExprNode*, const ExprNode*>, double> extents_;
  std::set<Expr> paid_;  ///< reads and factors that a statement of the nest pays for already
  bool sampled_ = false;
  std::map<Symbol, double> loaded_;
  std::map<Expr, double> tiles_;  ///< bytes of what is read, or computed (as a read without subscripts)
};

void statements_under(const NodeRef& node, std::set<Symbol>& names) {
  if (const auto* sequence = std::get_if<loop::Sequence>(node.get())) {
    for (const NodeRef& each : sequence->items) statements_under(each, names);
  } else if (const auto* loop = std::get_if<Loop>(node.get())) {
    statements_under(loop->body, names);
  } else if (const auto* leaf = std::get_if<loop::Leaf>(node.get())) {
    names.insert(leaf->statement);
  }
}

/// The root's items: nests of their own, or one nest.
std::vector<NodeRef> roots_of(const loop::Program& program) {
  const auto* sequence = std::get_if<loop::Sequence>(program.root.get());
  const bool is_list = sequence != nullptr && std::none_of(sequence->items.begin(), sequence->items.end(), [](const NodeRef& each) {
                         const auto* loop = std::get_if<Loop>(each.get());
                         return std::holds_alternative<loop::Leaf>(*each) || std::holds_alternative<loop::Combine>(*each) ||
                                (loop != nullptr && loop->mark != loop::Mark::parallel);
                       });
  if (is_list) return sequence->items;
  return {program.root};
}

}  // namespace

std::vector<Work> work_of(const loop::Program& program, const Target& target) {
  const std::vector<NodeRef> roots = roots_of(program);
  std::vector<std::set<Symbol>> computed(roots.size());
  std::map<Symbol, std::size_t> home;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    statements_under(roots[i], computed[i]);
    for (const Symbol each : computed[i]) home[each] = i;
  }
  std::set<Symbol> in_memory;
  for (const math::Parameter& result : program.math.results) in_memory.insert(result.name);
  for (const Statement& reader : program.math.statements) {
    for (const Symbol name : reads_of(reader)) {
      const auto there = home.find(name), here = home.find(reader.name);
      if (there != home.end() && here != home.end() && there->second != here->second) in_memory.insert(name);
    }
  }
  std::vector<Work> all;
  for (std::size_t i = 0; i < roots.size(); ++i) all.push_back(NestCounter(program.math, in_memory, computed[i], target).run(roots[i]));
  return all;
}

std::vector<Work> work_of(const math::Program& opened, const Target& target) {
  std::set<Symbol> in_memory;
  for (const Statement& statement : opened.statements) in_memory.insert(statement.name);
  std::vector<Work> all;
  for (const Statement& statement : opened.statements) {
    const auto leaf = std::make_shared<const loop::Node>(loop::Leaf{statement.name});
    Work work = NestCounter(opened, in_memory, {statement.name}, target).run(leaf);
    // No loops yet: nothing is tiled, nothing is on chip, and no axis is known to be parallel.
    work.on_chip = 0;
    work.loaded = work.read;
    all.push_back(work);
  }
  return all;
}

}  // namespace fathom::passes
