// Laws of reducers, tested on sampled states.
#pragma once

#include <string>
#include <vector>

#include "ir/reducer.hpp"
#include "lang/types.hpp"

namespace fathom::lang {

/// A sampled violation of identity or associativity in words, or nothing. Sets what the samples say about order and repetition.
struct Laws {
  bool commutative = true, idempotent = true;
  std::string violation;  ///< empty: none found
};
[[nodiscard]] Laws test_laws(const Reducer&, const std::vector<Kind>& parameter_kinds);
/// Whether the laws hold to the letter beside elements of that value (NaN, an infinity): if not, what a fold of it gives depends on the
/// grouping, and so the text gives no value.
[[nodiscard]] bool laws_hold_with(const Reducer&, double special);

}  // namespace fathom::lang
