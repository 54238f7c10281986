// Runs modules: checks the arguments and the launch contract, reserves results and workspaces, runs the kernels in order.
#include "interp/run_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/run_kernel_body.hpp"

namespace fathom::interp {
namespace {

using tiles::Data;
using tiles::Kind;
using tiles::Memory;

class ModuleRun {
 public:
  ModuleRun(const kernel::Module& module, const Arrays& inputs, const RunOptions& options)
      : module_(module), inputs_(inputs), options_(options), budget_(options.work_limit) {}

  Arrays run() {
    bind_parameters();
    reserve();
    check_contract();
    for (const kernel::Kernel& k : module_.kernels) run_kernel(k);
    check_counters();
    Arrays results;
    for (const math::Parameter& r : module_.results) {
      Memory& memory = memories_[r.name];
      results[r.name] = Array{r.dtype, memory.shape, std::move(memory.own)};
    }
    return results;
  }

 private:
  tiles::TileRef uniform(tiles::Frame& frame, Expr expr) {
    tiles::Formula formula;
    tiles::FormulaBuilder(frame, formula).root(expr);
    return tiles::Evaluation(frame, formula).value(formula.roots[0]);
  }

  std::vector<std::int64_t> shape_of(tiles::Frame& frame, const std::vector<Expr>& box, Symbol name) {
    std::vector<std::int64_t> shape;
    for (const Expr extent : box) {
      const std::int64_t value = tiles::uniform_integer(uniform(frame, extent), "an extent of `" + name.text() + "`");
      if (value < 0) tiles::stop("`" + name.text() + "` has a negative extent", {name.text()});
      shape.push_back(value);
    }
    return shape;
  }

  /// Dimensions, tensors and the module's lets, by name.
  void fill(tiles::Frame& frame) {
    for (const math::Dimension& d : module_.dims) frame.bind(d.name, tiles::scalar(Kind::integer, static_cast<double>(d.value)));
    for (const auto& [name, value] : shapes_) frame.bind(name, tiles::scalar(Kind::integer, static_cast<double>(value)));
    for (const auto& [name, value] : options_.dims) frame.bind(name, tiles::scalar(Kind::integer, static_cast<double>(value)));
    for (auto& [name, memory] : memories_) {
      frame.memories.insert(name);
      frame.bind(name, &memory);
    }
    if (!reserved_) return;
    for (const kernel::Let& l : module_.lets) frame.bind(l.name, uniform(frame, l.value));
  }

  /// A dimension of run time, which the shape of an input tells.
  [[nodiscard]] bool runs_with(Expr extent) const {
    if (!extent.is(Op::dim)) return false;
    const auto same = [&](const math::Dimension& d) { return d.name == extent.name() && d.runtime; };
    return std::any_of(module_.dims.begin(), module_.dims.end(), same);
  }

  void bind_parameters() {
    for (const math::Parameter& p : module_.params) {
      const auto given = inputs_.find(p.name);
      if (given == inputs_.end()) tiles::stop("the input `" + p.name.text() + "` is missing", {p.name.text()});
      if (given->second.dtype != p.dtype) {
        tiles::stop("`" + p.name.text() + "` is declared " + std::string(name(p.dtype)) + ", but the input is " +
                        std::string(name(given->second.dtype)),
                    {p.name.text()});
      }
      for (std::size_t d = 0; d < p.extents.size() && d < given->second.shape.size(); ++d) {
        if (runs_with(p.extents[d])) shapes_.emplace(p.extents[d].name(), given->second.shape[d]);
      }
      Memory memory{p.dtype, given->second.shape, {}, &given->second.data, {}};
      if (tiles::count(memory.shape) != given->second.size())
        tiles::stop("the input `" + p.name.text() + "` has another size than its shape");
      memories_[p.name] = std::move(memory);
    }
  }

  void reserve() {
    tiles::Frame frame(module_, budget_);
    fill(frame);
    for (const math::Parameter& p : module_.params) {
      if (shape_of(frame, p.extents, p.name) == memories_[p.name].shape) continue;
      tiles::stop("the input `" + p.name.text() + "` has not the declared shape", {p.name.text()});
    }
    reserved_ = true;
    for (const kernel::Let& l : module_.lets) frame.bind(l.name, uniform(frame, l.value));
    const double poison = options_.poison ? std::numeric_limits<double>::quiet_NaN() : 0.0;
    std::map<Symbol, Memory> more;
    const auto add = [&](Symbol name, DType dtype, const std::vector<Expr>& box, double value) {
      Memory memory{dtype, shape_of(frame, box, name), {}, nullptr, {}};
      const std::int64_t size = tiles::count(memory.shape);
      budget_.spend(size);
      memory.own.assign(static_cast<std::size_t>(size), value);
      more[name] = std::move(memory);
    };
    for (const math::Parameter& r : module_.results) {
      add(r.name, r.dtype, r.extents, poison);
      more[r.name].stored.assign(more[r.name].own.size(), false);
    }
    for (const kernel::Workspace& w : module_.workspaces) add(w.name, w.dtype, w.box, w.zero ? 0.0 : poison);
    memories_.merge(more);
  }

  /// A tensor that stands in a condition by itself means its address: arrays of the interpreter are aligned to anything.
  void check_contract() {
    tiles::Frame frame(module_, budget_);
    fill(frame);
    for (const auto* list : {&module_.params, &module_.results}) {
      for (const math::Parameter& p : *list) {
        if (!p.extents.empty()) addresses_[read(p.name, {})] = number(0);
      }
    }
    for (const kernel::Require& r : module_.requires_) {
      if (tiles::any_true(*uniform(frame, substitute(r.condition, addresses_)))) continue;
      tiles::stop("the launch contract does not hold: " + print(r.condition), {r.otherwise.text()},
                  "the plan `" + r.otherwise.text() + "` serves then");
    }
  }

  /// The next launch finds its counters at 0.
  void check_counters() {
    for (const kernel::Workspace& w : module_.workspaces) {
      const Data& cells = memories_[w.name].own;
      const auto left = std::find_if(cells.begin(), cells.end(), [](double cell) { return cell != 0; });
      if (!w.zero || left == cells.end()) continue;
      tiles::stop("workspace `" + w.name.text() + "` does not hold 0 after the launch: element " + std::to_string(left - cells.begin()) +
                      " is " + std::to_string(static_cast<std::int64_t>(*left)),
                  {w.name.text()}, "each cell is incremented as often as its wrap says");
    }
  }

  void run_kernel(const kernel::Kernel& k) {
    tiles::Frame frame(module_, budget_);
    fill(frame);
    if (k.when && !tiles::any_true(*uniform(frame, k.when))) return;
    tiles::KernelRun(frame, module_, k, options_).run();
  }

  const kernel::Module& module_;
  const Arrays& inputs_;
  const RunOptions& options_;
  tiles::Budget budget_;
  std::map<Symbol, Memory> memories_;
  Substitution addresses_;
  DimValues shapes_;
  bool reserved_ = false;
};

}  // namespace

Result<Arrays> run_module(const kernel::Module& module, Level level, const Arrays& inputs, const RunOptions& options) {
  const Result<void> sound = level == Level::tile ? kernel::verify_tile(module) : kernel::verify(module);
  if (!sound) return tl::unexpected(sound.error());
  try {
    return ModuleRun(module, inputs, options).run();
  } catch (tiles::Stop& stopped) {
    return tl::unexpected(std::move(stopped.why));
  }
}

}  // namespace fathom::interp
