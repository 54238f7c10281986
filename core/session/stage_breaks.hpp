// A plan with a part left out; for the files of the stage.
#pragma once

#include "session/stage.hpp"

namespace fathom::session::stage {

struct Variant {
  Compiled compilation;
  std::size_t step = 0;
  Ir ir;
  bool unsound = false;
};
/// The step with these breaks; a Refusal where one of them cannot be had.
[[nodiscard]] Result<Variant> variant_of(const Compiled& blackboard, std::size_t step, const std::vector<std::string>& breaks);

}  // namespace fathom::session::stage
