// Work of Tile and Kernel modules, counted on their statements: a node is evaluated over the axes that it varies with, times the trips of
// the loops around it, times the work items (a sample of them where there are many).
#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "passes/cost.hpp"

namespace fathom::passes {
namespace {

using kernel::Access;
using kernel::Kernel;
using kernel::Module;

constexpr std::int64_t most_samples = 32;

class KernelCounter {
 public:
  KernelCounter(const Module& module, const Kernel& kernel, DimValues values, const Target& target)
      : kernel_(&kernel), target_(&target), values_(std::move(values)) {
    const auto memory = [&](Symbol name, DType dtype, const std::vector<Expr>& box) {
      double bytes = size_in_bytes(dtype);
      element_bytes_[name] = bytes;
      for (const Expr extent : box) bytes *= static_cast<double>(at(extent, 1));
      tensor_bytes_[name] = bytes;
    };
    for (const math::Parameter& each : module.params) memory(each.name, each.dtype, each.extents);
    for (const math::Parameter& each : module.results) memory(each.name, each.dtype, each.extents);
    for (const kernel::Workspace& each : module.workspaces) memory(each.name, each.dtype, each.box);
    for (const kernel::TileAxis& axis : kernel.axes) {
      extents_[axis.name] = static_cast<double>(at(kernel::extent(axis), 1));
      for (const kernel::AxisPart& part : axis.parts) {
        if (part.name != axis.name) extents_[part.name] = static_cast<double>(at(part.extent, 1));
      }
    }
  }

  Work run() {
    const std::int64_t lo = at(kernel_->work.lo, 0), hi = at(kernel_->work.hi, 1);
    const std::int64_t items = std::max<std::int64_t>(0, hi - lo), samples = std::min(items, most_samples);
    work_.items = static_cast<double>(std::max<std::int64_t>(1, items));
    for (std::int64_t i = 0; i < samples; ++i) {
      values_[kernel_->work.variable] = lo + (samples == items ? i : (2 * i + 1) * items / (2 * samples));
      for (const kernel::Let& let : kernel_->lets) define(let);
      const double weight = static_cast<double>(items) / static_cast<double>(samples);
      for (const kernel::Role& role : kernel_->roles) block(role.body, weight);
    }
    for (const auto& [tensor, bytes] : read_) {
      work_.loaded += bytes;
      work_.read += std::min(bytes, tensor_bytes_[tensor]);
    }
    for (const auto& [tensor, bytes] : written_) work_.written += std::min(bytes, tensor_bytes_[tensor]);
    measure_space();
    return work_;
  }

 private:
  [[nodiscard]] std::int64_t at(Expr e, std::int64_t otherwise) const {
    return e ? evaluate_integer(e, values_).value_or(otherwise) : otherwise;
  }

  void define(const kernel::Let& let) {
    if (const auto value = evaluate_integer(let.value, values_)) values_[let.name] = *value;
  }

  void block(const kernel::Block& body, double weight) {
    for (const kernel::Statement& statement : body) {
      if (const auto* value = std::get_if<kernel::Value>(&statement.op)) {
        work_.trips += weight;
        for (const Expr each : value->values) expression(each, weight);
        for (const Access& target : value->targets) store(target, weight);
      } else if (const auto* let = std::get_if<kernel::Let>(&statement.op)) {
        define(*let);
      } else if (const auto* loop = std::get_if<kernel::For>(&statement.op)) {
        for_loop(*loop, weight);
      } else if (const auto* when = std::get_if<kernel::When>(&statement.op)) {
        const auto holds = evaluate_integer(when->condition, values_);
        if (!holds || *holds != 0) block(when->body, weight);
      } else if (const auto* condition = std::get_if<kernel::If>(&statement.op)) {
        block(condition->body, weight);
      } else if (const auto* copy = std::get_if<kernel::Copy>(&statement.op)) {
        expression(copy->from, weight);
        store(copy->to, weight);
      } else if (const auto* mma = std::get_if<kernel::Mma>(&statement.op)) {
        product(*mma, weight);
      }
    }
  }

  /// The body once a range, with the middle trip standing for all.
  void for_loop(const kernel::For& loop, double weight) {
    for (const kernel::Carry& carry : loop.carry) expression(carry.initial, weight);
    if (loop.ranges.empty()) return block(loop.body, weight);
    std::set<Symbol> tags;
    for (const kernel::TaggedRange& range : loop.ranges) tags.insert(range.tag);
    for (const kernel::TaggedRange& range : loop.ranges) {
      const std::int64_t lo = at(range.lo, 0), hi = at(range.hi, lo + 1);
      if (hi <= lo) continue;
      values_[loop.variable] = lo + (hi - lo) / 2;
      for (const Symbol tag : tags) values_[tag] = tag == range.tag ? 1 : 0;
      block(loop.body, weight * static_cast<double>(hi - lo));
    }
    values_.erase(loop.variable);
    for (const Symbol tag : tags) values_.erase(tag);
  }

  [[nodiscard]] double domain(const std::set<Symbol>& indices) const {
    double elements = 1;
    for (const Symbol each : indices) {
      if (const auto extent = extents_.find(each); extent != extents_.end()) elements *= extent->second;
    }
    return elements;
  }

  /// What one evaluation of an expression over its axes does: the same in every trip.
  struct Amount {
    double flops = 0, matrix_flops = 0, fill = 0, exps = 0;
    std::map<Symbol, double> read;
  };

  void expression(Expr root, double weight) {
    if (!root) return;
    const auto [at, is_new] = amounts_.try_emplace(&root.node());
    if (is_new) at->second = amount_of(root);
    const Amount& once = at->second;
    work_.flops += weight * once.flops;
    work_.matrix_flops += weight * once.matrix_flops;
    work_.fill += weight * once.fill;
    work_.exps += weight * once.exps;
    for (const auto& [tensor, bytes] : once.read) read_[tensor] += weight * bytes;
  }

  /// Each distinct node over the axes that it varies with; subscripts are free.
  Amount amount_of(Expr root) {
    Amount once;
    NodeFacts facts;
    std::set<Expr> seen;
    const std::function<void(Expr)> walk = [&](Expr e) {
      if (!e || !seen.insert(e).second) return;
      if (e.is(Op::read)) {
        if (tensor_bytes_.contains(e.name())) once.read[e.name()] += domain(free_indices(e)) * element_bytes_[e.name()];
        return;
      }
      if (e.is(Op::reduce)) {
        std::set<Symbol> inside;
        for (const Expr value : fathom::values_of(e)) {
          walk(value);
          inside.merge(free_indices(value));
        }
        const double elements = domain(inside);
        once.flops += elements;
        if (is_product(e)) multiply(once, elements, domain(std::set<Symbol>(e.node().bound.begin(), e.node().bound.end())));
        return;
      }
      for (const Expr arg : e.args()) walk(arg);
      // This node alone: an operation whose operands are opaque.
      if (facts.computes(e)) {
        if (is_transcendental(e.op())) {
          once.exps += domain(free_indices(e));
        } else if (kind(e.op()) == OpKind::infix || kind(e.op()) == OpKind::prefix || kind(e.op()) == OpKind::function) {
          once.flops += domain(free_indices(e));
        }
      }
    };
    walk(root);
    return once;
  }

  /// sum over products of two values that each have an axis of the result to themselves.
  static bool is_product(Expr reduce) {
    const std::vector<Expr> values = fathom::values_of(reduce);
    if (values.size() != 1 || !values.front().is(Op::mul) || reduce.name().text() != "sum") return false;
    const std::set<Symbol>& bound = free_indices(values.front());
    const std::set<Symbol> a = free_indices(values.front().arg(0)), b = free_indices(values.front().arg(1));
    const std::vector<Symbol>& over = reduce.node().bound;
    const auto is_private = [&](const std::set<Symbol>& mine, const std::set<Symbol>& other) {
      return std::any_of(bound.begin(), bound.end(), [&](Symbol name) {
        return mine.contains(name) && !other.contains(name) && std::find(over.begin(), over.end(), name) == over.end();
      });
    };
    return is_private(a, b) && is_private(b, a);
  }

  static std::set<Symbol> indices_of(const Access& access) {
    std::set<Symbol> indices;
    for (const Expr each : access.subscripts) indices.merge(free_indices(each));
    return indices;
  }

  void store(const Access& target, double weight) {
    const auto [at, is_new] = stored_elements_.try_emplace(&target, 0);
    if (is_new) at->second = domain(indices_of(target));
    const double elements = at->second;
    if (tensor_bytes_.contains(target.name)) {
      written_[target.name] += weight * elements * element_bytes_[target.name];
    } else {
      tiles_[target.name] = std::max(tiles_[target.name], elements * 4);
    }
  }

  void product(const kernel::Mma& mma, double weight) {
    std::set<Symbol> indices = indices_of(mma.a), contracted;
    const std::set<Symbol> right = indices_of(mma.b);
    std::set_intersection(indices.begin(), indices.end(), right.begin(), right.end(), std::inserter(contracted, contracted.end()));
    indices.insert(right.begin(), right.end());
    const double products = weight * domain(indices);
    work_.flops += 2 * products;
    multiply(work_, products, domain(contracted));
  }

  /// Into an Amount or a Work.
  template <class Sum>
  void multiply(Sum& sum, double products, double depth) const {
    sum.matrix_flops += 2 * products;
    if (!target_->atoms.empty()) sum.fill += 2 * products * target_->atoms.front().fill / std::max(1.0, depth);
  }

  void measure_space() {
    const auto add = [&](const std::vector<Expr>& box, DType dtype, std::int64_t depth) {
      double bytes = size_in_bytes(dtype) * static_cast<double>(depth);
      for (const Expr extent : box) bytes *= static_cast<double>(at(extent, 1));
      work_.on_chip += bytes;
    };
    for (const kernel::Buffer& each : kernel_->buffers) {
      if (each.space.text() != "global") add(each.box, each.dtype, 1);
    }
    for (const kernel::Channel& each : kernel_->channels) add(each.box, each.dtype, at(each.depth, 1));
    std::set<Symbol> declared;
    for (const kernel::Buffer& each : kernel_->buffers) declared.insert(each.name);
    for (const kernel::Channel& each : kernel_->channels) declared.insert(each.name);
    for (const auto& [name, bytes] : tiles_) work_.on_chip += declared.contains(name) ? 0 : bytes;
  }

  const Kernel* kernel_;
  const Target* target_;
  DimValues values_;
  /// What every item and trip asks for again, found once. Looked up, never walked: the order of addresses is not seen.
  std::unordered_map<const ExprNode*, Amount> amounts_;
  std::unordered_map<const Access*, double> stored_elements_;
  std::map<Symbol, double> extents_, element_bytes_, tensor_bytes_, read_, written_, tiles_;
  Work work_;
};

}  // namespace

std::vector<Work> work_of(const kernel::Module& module, const DimValues& dims, const Target& target) {
  DimValues values = dims;
  for (const math::Dimension& each : module.dims) values.try_emplace(each.name, each.value);
  for (const kernel::Let& let : module.lets) {
    if (const auto value = evaluate_integer(let.value, values)) values[let.name] = *value;
  }
  std::vector<Work> all;
  for (const Kernel& each : module.kernels) {
    const auto launched = each.when ? evaluate_integer(each.when, values) : std::nullopt;
    if (!launched || *launched != 0) all.push_back(KernelCounter(module, each, values, target).run());
  }
  return all;
}

}  // namespace fathom::passes
