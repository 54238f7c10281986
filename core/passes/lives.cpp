// Where every tensor lives after a step, and how many bytes of it are alive at once there.
#include <algorithm>

#include "passes/nest.hpp"
#include "passes/passes.hpp"

namespace fathom::passes {
namespace {

constexpr auto argument = "argument", result = "result", declared = "declared", main_memory = "main memory", on_chip = "tile, on chip",
               in_registers = "registers", inlined = "inlined";

double product_of(const std::vector<Expr>& extents, const DimValues& dims) {
  double elements = 1;
  for (const Expr extent : extents) elements *= static_cast<double>(std::max<std::int64_t>(0, evaluate_integer(extent, dims).value_or(1)));
  return elements;
}

std::string shape_text(const std::vector<Expr>& extents) {
  std::string text = "[";
  for (std::size_t i = 0; i < extents.size(); ++i) text += (i > 0 ? ", " : "") + print(extents[i]);
  return text + "]";
}

TensorLife life(Symbol name, const char* place, DType dtype, const std::vector<Expr>& extents, const DimValues& dims) {
  return {name, place, product_of(extents, dims) * size_in_bytes(dtype), shape_text(extents)};
}

void add_parameters(const std::vector<math::Parameter>& list, const char* place, const DimValues& dims, std::vector<TensorLife>& all) {
  for (const math::Parameter& each : list) all.push_back(life(each.name, place, each.dtype, each.extents, dims));
}

std::vector<TensorLife> lives_of(const math::Program& program) {
  const DimValues dims = math::default_dims(program);
  const bool opened = math::is_opened(program);
  std::vector<TensorLife> all;
  add_parameters(program.params, argument, dims, all);
  for (const math::Statement& statement : program.statements) {
    if (is_result(program, statement.name)) continue;
    // As written a tensor is only a name; once opened each statement is a tensor in memory until a loop takes it.
    all.push_back(life(statement.name, opened ? main_memory : declared, statement.dtype, *math::extents_of(program, statement.name), dims));
  }
  add_parameters(program.results, result, dims, all);
  return all;
}

std::vector<TensorLife> lives_of(const loop::Program& program) {
  DimValues dims = math::default_dims(program.math);
  // What is alive in a loop may depend on its index (a scan): its first trip stands for all.
  for (const auto& [name, site] : loop::sites_of(program)) {
    for (const loop::Loop* each : site.loops) dims.try_emplace(each->index, evaluate_integer(each->lo, dims).value_or(0));
  }
  const std::map<Symbol, loop::Placement> places = loop::placements(program);
  std::vector<TensorLife> all;
  add_parameters(program.math.params, argument, dims, all);
  for (const math::Statement& statement : program.math.statements) {
    if (is_result(program.math, statement.name)) continue;
    const loop::Placement& place = places.at(statement.name);
    all.push_back(life(statement.name, place.inside.empty() && !statement.axes.empty() ? main_memory : on_chip, statement.dtype,
                       place.extents, dims));
  }
  add_parameters(program.math.results, result, dims, all);
  return all;
}

/// Values and stores of a block, loops and conditions included.
void each_value(const kernel::Block& block, const std::function<void(const kernel::Value&)>& f) {
  for (const kernel::Statement& statement : block) {
    if (const auto* value = std::get_if<kernel::Value>(&statement.op)) f(*value);
    if (const auto* loop = std::get_if<kernel::For>(&statement.op)) each_value(loop->body, f);
    if (const auto* when = std::get_if<kernel::When>(&statement.op)) each_value(when->body, f);
    if (const auto* condition = std::get_if<kernel::If>(&statement.op)) each_value(condition->body, f);
  }
}

class ModuleLives {
 public:
  ModuleLives(const kernel::Module& module, Level level, DimValues dims) : module_(&module), level_(level), dims_(std::move(dims)) {}

  std::vector<TensorLife> run(const math::Program& written) {
    add_parameters(module_->params, argument, dims_, all_);
    for (const kernel::Workspace& each : module_->workspaces) add(life(each.name, main_memory, each.dtype, each.box, dims_));
    for (const kernel::Kernel& kernel : module_->kernels) of(kernel);
    for (const math::Statement& statement : written.statements) {
      const bool known = std::any_of(all_.begin(), all_.end(), [&](const TensorLife& each) { return each.tensor == statement.name; });
      if (!known && !is_result(written, statement.name)) add({statement.name, inlined, 0, ""});
    }
    add_parameters(module_->results, result, dims_, all_);
    return std::move(all_);
  }

 private:
  void of(const kernel::Kernel& kernel) {
    for (const kernel::Buffer& each : kernel.buffers) add(life(each.name, place_of(each.space), each.dtype, each.box, dims_));
    for (const kernel::Channel& each : kernel.channels) {
      TensorLife channel = life(each.name, on_chip, each.dtype, each.box, dims_);
      channel.bytes *= static_cast<double>(evaluate_integer(each.depth, dims_).value_or(1));
      add(channel);
    }
    for (const kernel::Role& role : kernel.roles) {
      each_value(role.body, [&](const kernel::Value& value) {
        for (const kernel::Access& target : value.targets) of(kernel, target);
      });
    }
  }

  void of(const kernel::Kernel& kernel, const kernel::Access& target) {
    std::vector<Expr> extents;
    for (const Expr subscript : target.subscripts) {
      for (const Symbol name : free_indices(subscript)) {
        if (const kernel::TileAxis* axis = kernel::find_axis(kernel, name)) {
          extents.push_back(kernel::extent(*axis));
        } else {
          for (const kernel::TileAxis& each : kernel.axes) {
            for (const kernel::AxisPart& part : each.parts) {
              if (part.name == name) extents.push_back(part.extent);
            }
          }
        }
      }
    }
    add(life(target.name, level_ == Level::kernel ? in_registers : on_chip, DType::real, extents, dims_));
  }

  [[nodiscard]] static const char* place_of(Symbol space) {
    if (space.text() == "global") return main_memory;
    return space.text() == "register" ? in_registers : on_chip;
  }

  /// A name that stands for several values (a parameter stored to, a value carried) is named once.
  void add(TensorLife life) {
    const bool is_signature = std::any_of(module_->results.begin(), module_->results.end(),
                                          [&](const math::Parameter& each) { return each.name == life.tensor; });
    const bool is_known = std::any_of(all_.begin(), all_.end(), [&](const TensorLife& each) { return each.tensor == life.tensor; });
    if (!is_signature && !is_known) all_.push_back(std::move(life));
  }

  const kernel::Module* module_;
  Level level_;
  DimValues dims_;
  std::vector<TensorLife> all_;
};

}  // namespace

std::vector<TensorLife> lives(const Ir& ir, const math::Program& written) {
  if (ir.level == Level::math) return lives_of(ir.math());
  if (ir.level == Level::loop) return lives_of(ir.loop());
  return ModuleLives(ir.module(), ir.level, math::default_dims(written)).run(written);
}

}  // namespace fathom::passes
