// In which arithmetic each statement of an opened program is computed: an integer where its operands are integers, f64 where one is f64,
// else a real number in f32.
#pragma once

#include "ir/kernel_kinds.hpp"
#include "ir/math.hpp"

namespace fathom::math {

/// Kinds of parameters, statements and gauges.
[[nodiscard]] kernel::Kinds value_kinds(const Program&);
/// Of what the statement's expression gives, before it is rounded to a type that the text states.
[[nodiscard]] kernel::Kind computed_kind(const Statement&, const kernel::Kinds&, const std::vector<ReducerRef>& reducers);
/// Does a value of that kind have to be rounded to be of the type? real: no type is stated.
[[nodiscard]] bool is_narrower(DType, kernel::Kind);
/// What memory a statement's values take where no type is declared and no result gives one.
[[nodiscard]] DType stored_type(const Statement&, const kernel::Kinds&);
/// Kinds of the components that the reduction carries: of its reducer, or of the carried values of its repair.
[[nodiscard]] std::vector<kernel::Kind> carried_kinds(const Reduction&, const kernel::Kinds&, const std::vector<ReducerRef>& reducers);

}  // namespace fathom::math
