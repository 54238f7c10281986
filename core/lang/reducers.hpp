// User-declared reducers: checked like functions, and their laws tested on sampled states before anything relies on them.
#pragma once

#include "lang/functions.hpp"

namespace fathom::lang {

/// The reducer, or nullptr after an error. `commutative` and `idempotent` are what the tests found.
[[nodiscard]] ReducerRef check_reducer(const ReducerSyntax&, const Declared&, Sink&);

/// A sampled violation of identity or associativity in words, or nothing. Sets what the samples say about order and repetition.
struct Laws {
  bool commutative = true, idempotent = true;
  std::string violation;  ///< empty: none found
};
[[nodiscard]] Laws test_laws(const Reducer&, const std::vector<Kind>& parameter_kinds);

}  // namespace fathom::lang
