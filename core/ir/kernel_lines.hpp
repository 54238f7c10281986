// Where each statement of a Tile or Kernel module stands in its printed text: what ties generated code to the text that people read.
#pragma once

#include <map>

#include "ir/kernel.hpp"

namespace fathom::kernel {

/// Line of print(module), counted from 1, on which the statement begins. The module must outlive the map.
using StatementLines = std::map<const Statement*, int>;
[[nodiscard]] StatementLines lines_of(const Module&);

}  // namespace fathom::kernel
