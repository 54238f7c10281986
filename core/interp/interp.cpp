// run(): the level decides which interpreter works; inputs, dimensions and the launch contract are judged the same way for all.
#include "interp/interp.hpp"

#include "interp/machine.hpp"
#include "interp/run_kernel.hpp"

namespace fathom::interp {
namespace {

Result<Arrays> run_statements(const math::Program& program, const loop::NodeRef& root, const Arrays& inputs, const RunOptions& options) {
  const Result<DimValues> dims = complete_dims(program, options.dims);
  if (!dims) return tl::unexpected(dims.error());
  const Single domain;
  Result<Tensors<Single>> tensors = load_inputs<Single>(domain, program, *dims, inputs);
  if (!tensors) return tl::unexpected(tensors.error());
  if (auto met = check_conditions<Single>(domain, program, *dims, *tensors); !met) return tl::unexpected(met.error());
  Result<std::vector<Prepared>> statements = prepare(program);
  if (!statements) return tl::unexpected(statements.error());
  Machine machine(program, *dims, std::move(*statements), std::move(*tensors), options);
  if (auto done = root ? machine.run_tree(root) : machine.run_math(); !done) return tl::unexpected(done.error());
  return machine.results();
}

}  // namespace

Result<Arrays> run(const Ir& ir, const Arrays& inputs, const RunOptions& options) {
  switch (ir.level) {
    case Level::math:
      return run_statements(ir.math(), nullptr, inputs, options);
    case Level::loop:
      if (!ir.loop().root) return refuse("The Loop program has no tree.");
      return run_statements(ir.loop().math, ir.loop().root, inputs, options);
    case Level::tile:
    case Level::kernel:
      return run_module(ir.module(), ir.level, inputs, options);
    case Level::code:
      break;
  }
  return refuse("Code is run by a back end, not by the interpreter.");
}

}  // namespace fathom::interp
