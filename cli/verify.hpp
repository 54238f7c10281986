// Whether a result that was computed at full size is right: parts of it against the wide reference.
#pragma once

#include "device.hpp"
#include "session/session.hpp"

namespace fathom::cli {

struct Verdict {
  CheckStatus status = CheckStatus::passed;
  interp::Worst worst;
  std::int64_t elements = 0;      ///< compared
  std::int64_t undetermined = 0;  ///< those of them of which the reference cannot say what is right
  std::int64_t rows = 0, of = 0;  ///< compared, and all that there are (a row runs along the last axis of a result)
  std::string detail;             ///< of a failed or inconclusive part
};

/// `arguments` hold the parameters, then the results, after a launch. Rows are taken until the reference has used up a fixed number of
/// operations, so that the same rows are compared on every machine: first, last and those at borders of tiles before others, another head
/// for each; 64 rows of each head at most.
[[nodiscard]] Result<Verdict> verify(const session::Compilation&, const interp::Arrays& inputs, const DimValues& dims,
                                     const LaunchArguments& arguments);

}  // namespace fathom::cli
