#include "session/stage_places.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "session/provenance.hpp"

namespace fathom::session::stage {
namespace {

using Trip = std::vector<std::pair<Symbol, std::int64_t>>;

// ---- statements ----
class StatementPlaces : public Places {
 public:
  StatementPlaces(const math::Program& program, const loop::Program* loops, DimValues dims)
      : program_(program), dims_(std::move(dims)), has_loops_(loops != nullptr) {
    if (loops != nullptr) sites_ = loop::sites_of(*loops), find_splits(loops->root);
  }

  std::optional<Place> of(const interp::Event& event) override {
    const math::Statement* statement = program_.find(event.tensor);
    if (statement == nullptr || statement->axes.size() != event.box.size()) return std::nullopt;
    Place place;
    place.statement = event.tensor.text();
    for (std::size_t k = 0; k < event.box.size(); ++k)
      place.axes.push_back({statement->axes[k].index, event.box[k].first, event.box[k].second});
    place.lanes.assign(place.axes.size(), false);
    DimValues at = dims_;
    const auto site = sites_.find(event.tensor);
    for (const auto& [index, number] : event.trip) {
      if (site == sites_.end()) break;
      const auto& loops = site->second.loops;
      const auto found =
          std::find_if(loops.begin(), loops.end(), [&, name = index](const loop::Loop* each) { return each->index == name; });
      if (found == loops.end()) continue;
      place.nest = *found;
      const auto lo = evaluate_integer((*found)->lo, at), hi = evaluate_integer((*found)->hi, at),
                 tile = evaluate_integer((*found)->tile, at);
      if (!lo || !hi || !tile) continue;
      const std::int64_t first = *lo + number * *tile;
      place.scope[index] = {index, first, std::min(first + *tile, *hi)};
      at[index] = first;
    }
    see_whole_ranges(*statement, place);
    if (const math::Reduction* reduction = statement->reduction(); reduction != nullptr && event.partial)
      place.starts = std::none_of(reduction->over.begin(), reduction->over.end(),
                                  [&](const math::Axis& axis) { return place.scope.count(axis.index) > 0; });
    // a part of a split also ends outside of its fold, and merges are outside of the split
    const auto split = splits_.find(event.tensor);
    if (split != splits_.end()) {
      const bool is_in_split = place.scope.count(split->second) > 0;
      bool& is_running = running_[event.tensor];
      const bool is_outside = place.starts;
      place.starts = is_outside && is_in_split && !is_running;
      is_running = !is_outside;
    }
    return place;
  }

 private:
  /// Before there are loops a reduction visits all that it runs over at once.
  void see_whole_ranges(const math::Statement& statement, Place& place) const {
    const math::Reduction* reduction = statement.reduction();
    if (has_loops_ || reduction == nullptr) return;
    for (const math::Axis& axis : reduction->over) {
      const auto lo = evaluate_integer(axis.lo, dims_), hi = evaluate_integer(axis.hi, dims_);
      if (lo && hi) place.scope[axis.index] = {axis.index, *lo, *hi};
    }
  }

  void find_splits(const loop::NodeRef& node) {
    if (!node) return;
    if (const auto* combine = std::get_if<loop::Combine>(node.get()))
      for (const Symbol name : combine->statements) splits_[name] = combine->split;
    if (const auto* inner = std::get_if<loop::Loop>(node.get())) find_splits(inner->body);
    if (const auto* sequence = std::get_if<loop::Sequence>(node.get()))
      for (const loop::NodeRef& each : sequence->items) find_splits(each);
  }

  const math::Program& program_;
  DimValues dims_;
  bool has_loops_;
  std::map<Symbol, loop::Site> sites_;
  std::map<Symbol, Symbol> splits_;  ///< reduction in parts -> the index of the loop over them
  std::map<Symbol, bool> running_;   ///< its last event was inside its fold
};

// ---- modules ----

/// The longest beginning of the name, at dots, that is a statement: `mean.sum` of `mean.sum.t`. A gauge stands at 0 where it is unset: it
/// is not the state that it follows.
std::string statement_of(const math::Program& program, Symbol tensor) {
  if (tensor.text().find('~') != std::string::npos) return {};
  std::string name = bare_name(tensor.text());
  while (program.find(Symbol(name)) == nullptr) {
    const auto dot = name.rfind('.');
    if (dot == std::string::npos) return {};
    name.resize(dot);
  }
  return name;
}

/// offset + axis; nullopt for what is no plain position along one axis.
struct Position {
  Symbol axis;
  Expr offset;  ///< absent: 0
};

class KernelPlaces {
 public:
  KernelPlaces(const kernel::Kernel& kernel, const std::set<Symbol>& in_memory) : kernel_(kernel), in_memory_(in_memory) {
    for (const kernel::Let& each : kernel.lets) lets_.emplace(each.name, each.value);
    for (const kernel::TileAxis& axis : kernel.axes) {
      for (const kernel::AxisPart& part : axis.parts)
        if (!(part.name == axis.name)) parts_[part.name] = axis.name;
      names_.insert(axis.name);
    }
    for (const kernel::Role& role : kernel.roles) walk(role.body, {});
  }

  /// The places in the order of the text at which the tensor is written inside these loops.
  [[nodiscard]] const std::vector<std::size_t>* orders(Symbol tensor, const Trip& trip) const {
    std::vector<Symbol> loops;
    for (const auto& each : trip) loops.push_back(each.first);
    const auto found = orders_.find({tensor, loops});
    return found == orders_.end() ? nullptr : &found->second;
  }
  /// A tile of what stands in main memory: no state, even where it has the name of one.
  [[nodiscard]] bool is_load(Symbol tensor) const { return loads_.count(tensor) > 0; }
  [[nodiscard]] bool is_offset(Symbol tensor) const { return lets_.count(tensor) > 0; }
  [[nodiscard]] bool starts(Symbol tensor, const Trip& trip) const {
    const auto found = carried_.find(tensor);
    return found != carried_.end() && std::none_of(trip.begin(), trip.end(), [&](const auto& each) { return each.first == found->second; });
  }
  [[nodiscard]] Symbol work() const { return kernel_.work.variable; }

  /// What the axes with an offset stand at, as far as the loops around say.
  [[nodiscard]] std::map<Symbol, IndexRange> scope(const Trip& trip, const DimValues& dims) const {
    DimValues at = dims;
    for (const auto& [name, number] : trip) at[name] = number;
    for (bool more = true; more;) {  // lets stand on lets
      more = false;
      for (const auto& [name, value] : lets_)
        if (at.count(name) == 0)
          if (const auto known = evaluate_integer(value, at)) at[name] = *known, more = true;
    }
    std::map<Symbol, IndexRange> ranges;
    for (const auto& [axis, offset] : offsets_) {
      const auto first = evaluate_integer(offset, at);
      if (first) ranges[axis] = {axis, *first, *first + extent(axis, at)};
    }
    return ranges;
  }

  [[nodiscard]] std::int64_t extent(Symbol axis, const DimValues& dims) const {
    const kernel::TileAxis* found = kernel::find_axis(kernel_, axis);
    return found == nullptr ? 1 : evaluate_integer(kernel::extent(*found), dims).value_or(1);
  }

  /// Axes of the tensor's values as the kernel writes them; `is_global`: positions are those of the whole tensor.
  void fill(Place& place, const interp::Event& event, bool is_global, const DimValues& dims) const {
    const std::vector<Expr>& subscripts = targets_.at(event.tensor);
    for (std::size_t k = 0; k < event.box.size() && k < subscripts.size(); ++k) {
      const auto [lo, hi] = event.box[k];
      const Expr subscript = subscripts[k];
      const std::optional<Position> position = position_of(subscript);
      Symbol axis = position ? position->axis : Symbol("#" + std::to_string(k));
      const auto part = parts_.find(axis);
      if (part != parts_.end()) {
        place.axes.push_back({axis, lo, hi});
        place.lanes.push_back(true);
        continue;
      }
      const auto range = place.scope.find(axis);
      const std::int64_t first = is_global || range == place.scope.end() ? 0 : range->second.lo;
      place.axes.push_back({axis, first + lo, first + hi});
      place.lanes.push_back(false);
      if (range == place.scope.end() && offsets_.count(axis) == 0) place.scope[axis] = {axis, 0, extent(axis, dims)};
    }
  }

 private:
  [[nodiscard]] std::optional<Position> position_of(Expr subscript) const {
    if (subscript.is(Op::index)) return Position{subscript.name(), {}};
    if (subscript.is(Op::tuple)) {  // all parts of one axis
      const auto first = subscript.args().empty() ? parts_.end() : parts_.find(subscript.arg(0).name());
      return first == parts_.end() ? std::nullopt : std::optional(Position{first->second, {}});
    }
    if (!subscript.is(Op::add)) return std::nullopt;
    for (std::size_t k = 0; k < 2; ++k)
      if (const auto inner = position_of(subscript.arg(k)); inner && free_indices(subscript.arg(1 - k)).empty())
        return Position{inner->axis, inner->offset ? inner->offset + subscript.arg(1 - k) : subscript.arg(1 - k)};
    return std::nullopt;
  }

  void see(Expr e) {
    if (!e) return;
    visit(e, [&](Expr part) {
      if (part.is(Op::read))
        for (const Expr subscript : part.args()) see_subscript(subscript);
    });
  }
  void see_subscript(Expr subscript) {
    const auto position = position_of(subscript);
    if (position && position->offset && names_.count(position->axis) > 0) offsets_.emplace(position->axis, position->offset);
  }
  void target(const kernel::Access& access, const std::vector<Symbol>& loops) {
    for (const Expr subscript : access.subscripts) see_subscript(subscript);
    targets_.emplace(access.name, access.subscripts);
    orders_[{access.name, loops}].push_back(count_++);
  }

  void walk(const kernel::Block& block, std::vector<Symbol> loops) {
    for (const kernel::Statement& statement : block) {
      if (const auto* value = std::get_if<kernel::Value>(&statement.op)) {
        for (const kernel::Access& each : value->targets) target(each, loops);
        for (const Expr each : value->values) see(each);
        const Expr only = value->values.size() != 1 ? Expr() : value->values[0].is(Op::cast) ? value->values[0].arg(0) : value->values[0];
        if (only.is(Op::read) && in_memory_.count(only.name()) > 0) loads_.insert(value->targets.front().name);
      } else if (const auto* let = std::get_if<kernel::Let>(&statement.op)) {
        lets_.emplace(let->name, let->value);
        orders_[{let->name, loops}].push_back(count_++);
      } else if (const auto* mma = std::get_if<kernel::Mma>(&statement.op)) {
        accumulators_[mma->token] = mma->acc;
      } else if (const auto* await = std::get_if<kernel::Await>(&statement.op)) {
        if (const auto issued = accumulators_.find(await->token); issued != accumulators_.end()) target(issued->second, loops);
      } else if (const auto* copy = std::get_if<kernel::Copy>(&statement.op)) {
        see(copy->from);
      } else if (const auto* loop = std::get_if<kernel::For>(&statement.op)) {
        for (const kernel::Carry& each : loop->carry) {
          target(each.value, loops);
          carried_.emplace(each.value.name, loop->variable);
        }
        loops.push_back(loop->variable);
        walk(loop->body, loops);
        loops.pop_back();
      } else if (const auto* when = std::get_if<kernel::When>(&statement.op)) {
        walk(when->body, loops);
      } else if (const auto* part = std::get_if<kernel::If>(&statement.op)) {
        walk(part->body, loops);
      }
    }
  }

  const kernel::Kernel& kernel_;
  std::set<Symbol> in_memory_, names_, loads_;
  std::map<Symbol, Symbol> parts_;         ///< part of a split axis -> the axis
  std::map<Symbol, Expr> lets_, offsets_;  ///< by axis: where its tile begins
  std::map<Symbol, std::vector<Expr>> targets_;
  std::map<Symbol, Symbol> carried_;               ///< value -> variable of the loop that carries it
  std::map<Symbol, kernel::Access> accumulators_;  ///< by token
  std::map<std::pair<Symbol, std::vector<Symbol>>, std::vector<std::size_t>> orders_;
  std::size_t count_ = 0;
};

class ModulePlaces : public Places {
 public:
  ModulePlaces(const kernel::Module& module, const math::Program& program, DimValues dims) : program_(program), dims_(std::move(dims)) {
    for (const math::Parameter& each : module.results) whole_.insert(each.name);
    for (const kernel::Workspace& each : module.workspaces) whole_.insert(each.name);
    std::set<Symbol> in_memory = whole_;
    for (const math::Parameter& each : module.params) in_memory.insert(each.name);
    for (const kernel::Kernel& kernel : module.kernels) kernels_.emplace_back(kernel, in_memory);
  }

  std::optional<Place> of(const interp::Event& event) override {
    if (kernels_.empty()) return std::nullopt;
    follow(event);
    const KernelPlaces& kernel = kernels_[at_];
    if (kernel.orders(event.tensor, event.trip) == nullptr || kernel.is_offset(event.tensor)) return std::nullopt;
    Place place;
    if (!kernel.is_load(event.tensor)) place.statement = statement_of(program_, event.tensor);
    place.scope = kernel.scope(event.trip, dims_);
    place.nest = &kernel;
    place.starts = kernel.starts(event.tensor, event.trip);
    kernel.fill(place, event, whole_.count(event.tensor) > 0, dims_);
    return place;
  }

 private:
  /// Kernels run one after another: the next one begins where the item, or the text within a trip, falls back, or with what this one does
  /// not write there.
  void follow(const interp::Event& event) {
    const std::int64_t item = event.trip.empty() ? 0 : event.trip.front().second;
    const std::vector<std::size_t>* orders = kernels_[at_].orders(event.tensor, event.trip);
    const bool falls_back = orders != nullptr && event.trip == trip_ && orders->back() < order_;
    if (orders == nullptr || item < item_ || falls_back) {
      std::size_t next = at_ + 1;
      while (next < kernels_.size() && kernels_[next].orders(event.tensor, event.trip) == nullptr) ++next;
      if (next < kernels_.size()) at_ = next, order_ = 0, orders = kernels_[at_].orders(event.tensor, event.trip);
    }
    if (!(event.trip == trip_)) order_ = 0;
    item_ = item;
    trip_ = event.trip;
    if (orders == nullptr) return;
    const auto after = std::lower_bound(orders->begin(), orders->end(), order_);
    order_ = after == orders->end() ? orders->back() : *after;
  }

  const math::Program& program_;
  DimValues dims_;
  std::vector<KernelPlaces> kernels_;
  std::set<Symbol> whole_;  ///< tensors in main memory
  std::size_t at_ = 0, order_ = 0;
  std::int64_t item_ = 0;
  Trip trip_;
};

}  // namespace

std::unique_ptr<Places> places_of(const Ir& ir, const math::Program& statements, const DimValues& dims) {
  if (ir.level == Level::math) return std::make_unique<StatementPlaces>(ir.math(), nullptr, dims);
  if (ir.level == Level::loop) return std::make_unique<StatementPlaces>(ir.loop().math, &ir.loop(), dims);
  return std::make_unique<ModulePlaces>(ir.module(), statements, dims);
}

}  // namespace fathom::session::stage
