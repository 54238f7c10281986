// Numbering of a module's tensors and dimensions.
#include "codegen/cpu/launch.hpp"

#include <set>

namespace fathom::cpu {
namespace {

/// The axis whose elements lie next to each other: the last one, or the last of the declared storage order.
int contiguous_axis(const math::Parameter& p) {
  if (p.strided || p.extents.empty()) return -1;
  if (p.stored.empty()) return static_cast<int>(p.extents.size()) - 1;
  for (std::size_t i = 0; i < p.extents.size(); ++i)
    if ((p.extents[i].is(Op::dim) || p.extents[i].is(Op::symbol)) && p.extents[i].name() == p.stored.back()) return static_cast<int>(i);
  return -1;
}

}  // namespace

LaunchLayout launch_layout(const kernel::Module& module) {
  LaunchLayout layout;
  const auto add = [&](LaunchTensor tensor) {
    tensor.first_axis = layout.axes;
    layout.axes += tensor.extents.size();
    layout.tensors.push_back(std::move(tensor));
  };
  for (const auto* list : {&module.params, &module.results})
    for (const math::Parameter& p : *list) add({p.name, p.dtype, p.extents, contiguous_axis(p), 0});
  layout.arguments = layout.tensors.size();
  for (const kernel::Workspace& w : module.workspaces) add({w.name, w.dtype, w.box, static_cast<int>(w.box.size()) - 1, 0});
  for (const math::Dimension& dimension : module.dims) {
    if (dimension.runtime)
      layout.runtime_dims.push_back(dimension.name);
    else
      layout.fixed_dims[dimension.name] = dimension.value;
  }
  // A dimension that only shapes name is known from the arguments.
  std::set<Symbol> known;
  for (const math::Dimension& dimension : module.dims) known.insert(dimension.name);
  for (const LaunchTensor& tensor : layout.tensors)
    for (Expr extent : tensor.extents)
      visit(extent, [&](Expr node) {
        if (node.is(Op::dim) && known.insert(node.name()).second) layout.runtime_dims.push_back(node.name());
      });
  return layout;
}

}  // namespace fathom::cpu
