// What runs and references share: statements in elaborated form, tensors of an arithmetic, inputs and results as arrays, the contract.
#pragma once

#include <map>

#include "interp/evaluator.hpp"
#include "interp/interp.hpp"

namespace fathom::interp {

/// A statement whose expressions are elaborated.
struct Prepared {
  Symbol name;
  std::vector<math::Axis> axes;
  DType dtype = DType::real;  ///< of the statement, or of the result parameter of its name
  Expr value;                 ///< elementwise; absent for a reduction
  ReducerRef reducer;
  Symbol result;
  std::vector<Bound> over;
  std::vector<Expr> values;
  std::optional<math::Repair> repair;
};
[[nodiscard]] Result<std::vector<Prepared>> prepare(const math::Program&);

/// All dimensions: those given, else the program's defaults. Negative ones are refused.
[[nodiscard]] Result<DimValues> complete_dims(const math::Program&, const DimValues& given);

template <class D>
using Tensors = std::map<Symbol, Tensor<typename D::Value>>;

/// Inputs of the right shape and type, as tensors that borrow their values: `inputs` must outlive them.
template <class D>
[[nodiscard]] Result<Tensors<D>> load_inputs(const D& domain, const math::Program& program, const DimValues& dims, const Arrays& inputs);

/// Refuses inputs that break the operator's conditions.
template <class D>
[[nodiscard]] Result<void> check_conditions(const D& domain, const math::Program& program, const DimValues& dims,
                                            const Tensors<D>& tensors);

/// A part of a tensor: lo and hi for each axis.
using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;
using Limits = std::map<Symbol, std::pair<std::int64_t, std::int64_t>>;  ///< of indices, by the loops around a statement

/// Adds a slot for each axis, limited by the loops around; returns the box. Empty ranges give empty boxes.
template <class D>
Box open_axes(Evaluator<D>& evaluator, const std::vector<math::Axis>& axes, const Limits& limits);

/// The column on the box of the first slots, with an element for each point.
template <class D>
[[nodiscard]] typename Evaluator<D>::Ref spread(Evaluator<D>& evaluator, const typename Evaluator<D>::Ref& column, std::size_t axes);
/// Writes a spread column to the box of the tensor; the tensor takes the larger kind.
template <class D>
void write(Evaluator<D>& evaluator, Tensor<typename D::Value>& tensor, const Box& box, const typename Evaluator<D>::Ref& column);
/// The box of the tensor as a column over the first slots.
template <class D>
[[nodiscard]] typename Evaluator<D>::Ref view(Evaluator<D>& evaluator, const Tensor<typename D::Value>& tensor, const Box& box);
/// A tensor of that box, poisoned (NaN, or `invalid` where there is no NaN).
template <class D>
[[nodiscard]] Tensor<typename D::Value> make_tensor(const D& domain, const Box& box, Kind kind, bool poison = true);

/// "[2,0,5]" of a position in a box.
[[nodiscard]] std::string place_text(const std::vector<std::int64_t>& extents, std::size_t position);

}  // namespace fathom::interp
