// Layouts of all values of a role, by propagation from the atoms that make and take them.
#pragma once

#include "layout/layout.hpp"

namespace fathom::layout {

/// Of the tile values of one role, by name; what does not vary with an axis has the empty layout.
struct Assignment {
  std::map<Symbol, Layout> of;
  std::map<Symbol, std::vector<Part>> parts;  ///< of every axis of the kernel, and of every part by itself
  Places places;
  [[nodiscard]] std::vector<Part> parts_of(Expr subscript) const;  ///< an axis, a part or a tuple of parts
};

/// Refused where a value has no layout, with the axis to split.
[[nodiscard]] Result<Assignment> assign(const kernel::Kernel&, const kernel::Role&, const Target&);

/// The axes of a product, from its statement.
[[nodiscard]] Product product_of(const kernel::Mma&, const Assignment&);
/// The row of the target's table behind an atom of the kernel.
[[nodiscard]] const MatrixAtom* atom_of(const kernel::Kernel&, Symbol name, const Target&);
/// The layout of the elements that an expression gives: that of its largest operand, without what it reduces. Nothing where no operand has
/// one.
[[nodiscard]] std::optional<Layout> layout_of(Expr, const Assignment&);

}  // namespace fathom::layout
