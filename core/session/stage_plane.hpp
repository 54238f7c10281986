// The plane of a program and the sizes at which a person can watch it; for the files of the stage.
#pragma once

#include <set>
#include <string>

#include "session/stage.hpp"

namespace fathom::session::stage {

/// The last Math program up to the step: what Loop programs and modules are made of, without repairs.
[[nodiscard]] const math::Program& math_at(const Compilation&, std::size_t step);
/// The last Loop program up to the step; nullptr before it.
[[nodiscard]] const loop::Program* loops_at(const Compilation&, std::size_t step);

/// Reductions that run in parts, which are merged afterwards.
[[nodiscard]] std::set<std::string> merged_statements(const loop::Program&);

struct PlaneIndices {
  std::optional<Symbol> row;
  Symbol column;
  std::string tensor;
};
[[nodiscard]] std::optional<PlaneIndices> find_plane(const math::Program&, const DimValues&);
/// Elements of the index; nullopt where no statement has it or its range follows others.
[[nodiscard]] std::optional<std::int64_t> extent_of(const math::Program&, Symbol index, const DimValues&);
/// The plane with its tiles, none of them visited yet: kinds are by the mask alone.
[[nodiscard]] std::optional<Plane> make_plane(const Compilation&, std::size_t step, const interp::Arrays& inputs);

}  // namespace fathom::session::stage
