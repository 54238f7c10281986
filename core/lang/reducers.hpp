// User-declared reducers: checked like functions, and their laws tested on sampled states before anything relies on them.
#pragma once

#include "lang/functions.hpp"

namespace fathom::lang {

/// The reducer, or nullptr after an error. `commutative` and `idempotent` are what the tests found.
[[nodiscard]] ReducerRef check_reducer(const ReducerSyntax&, const Declared&, Sink&);

}  // namespace fathom::lang
