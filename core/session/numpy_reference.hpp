// The operator's mathematics as a Python module on NumPy: what an exported kernel is compared with where Fathom is not installed.
#pragma once

#include <string>

#include "ir/math.hpp"
#include "ir/result.hpp"

namespace fathom::session {

struct ReferenceFacts {
  std::string target;    ///< name of the target that the kernel is for
  double tolerance = 0;  ///< of an element, relative to 1 + |reference|
};
/// Of an opened program (`open-prelude`): names, types and sizes of what the launcher takes, and one function a statement that computes in
/// float64. Refused where an operation has no form there.
[[nodiscard]] Result<std::string> numpy_reference(const math::Program& opened, const ReferenceFacts&);

}  // namespace fathom::session
