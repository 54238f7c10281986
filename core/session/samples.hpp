// The sample programs (samples/*.fathom), part of the program itself.
#pragma once

#include <string>
#include <vector>

namespace fathom::session {

struct Sample {
  std::string name, text, title;  ///< title: the first comment line
};
[[nodiscard]] const std::vector<Sample>& samples();

}  // namespace fathom::session
