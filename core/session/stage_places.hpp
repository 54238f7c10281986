// Where an event lies: which elements of which indices its values are, and what the loops around it stand at.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/stage.hpp"

namespace fathom::session::stage {

struct Place {
  std::string statement;
  std::vector<IndexRange> axes;
  std::vector<bool> lanes;
  std::map<Symbol, IndexRange> scope;  ///< indices that the loops around limit
  const void* nest = nullptr;          ///< the innermost loop around: equal trips of other loops are other frames
  bool starts = false;
};

/// Reads a step's program, which must outlive it. Events come in the order of the run.
class Places {
 public:
  virtual ~Places() = default;
  /// nullopt: nothing that holds values (an offset, a counter).
  virtual std::optional<Place> of(const interp::Event&) = 0;
};
[[nodiscard]] std::unique_ptr<Places> places_of(const Ir&, const math::Program& statements, const DimValues&);

}  // namespace fathom::session::stage
