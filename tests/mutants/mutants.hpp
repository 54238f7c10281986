// The standing set of mutants (docs/checks.md): wrong programs that a compiler with one fault would make. Each must be caught.
#pragma once

#include <vector>

#include "edit.hpp"

namespace fathom::mutants {

/// A sample and the choices that are overridden.
struct Plan {
  const char* sample;
  const char* site = nullptr;
  const char* choice = nullptr;
  friend auto operator<=>(const Plan&, const Plan&) = default;
};

inline constexpr Plan attention{"attention_nomask"}, half{"attention"}, causal{"attention_dynamic"}, softmax{"softmax"};
inline constexpr Plan split{"attention_nomask", "o/j/fold", "split-k"};
inline constexpr Plan logsumexp{"logsumexp"}, rmsnorm{"rmsnorm"}, cross_entropy{"cross_entropy"}, matmul{"matmul_bias_gelu"};

struct Mutant {
  const char* name;
  const char* what;  ///< what is wrong, in a few words
  Plan plan;
  Level level;
  Edit edit;
};

[[nodiscard]] std::vector<Mutant> loop_mutants();
[[nodiscard]] std::vector<Mutant> tile_mutants();
[[nodiscard]] std::vector<Mutant> kernel_mutants();

}  // namespace fathom::mutants
