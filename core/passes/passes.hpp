// The functions behind the rows of the pipeline table. Each is pure: IR and what the log knows in, IR out; it reports its steps to the log.
#pragma once

#include "passes/pass.hpp"

namespace fathom::passes {

// ---- Math ----
[[nodiscard]] Result<Ir> open_prelude(const Ir&, StepLog&);      ///< open_prelude.cpp
[[nodiscard]] Result<Ir> derive(const Ir&, StepLog&);            ///< derive.cpp
[[nodiscard]] Result<Ir> move_factors_out(const Ir&, StepLog&);  ///< move_factors_out.cpp
[[nodiscard]] Result<Ir> name_apart(const Ir&, StepLog&);        ///< name_apart.cpp
// ---- Loop ----
[[nodiscard]] Result<Ir> make_loops(const Ir&, StepLog&);     ///< make_loops.cpp
[[nodiscard]] Result<Ir> tile(const Ir&, StepLog&);           ///< tile.cpp
[[nodiscard]] Result<Ir> bound_by_mask(const Ir&, StepLog&);  ///< bound_by_mask.cpp
[[nodiscard]] Result<Ir> fuse(const Ir&, StepLog&);           ///< fuse.cpp
[[nodiscard]] Result<Ir> fold(const Ir&, StepLog&);           ///< fold.cpp

/// Level of the IR, and whether the IR of that level is well formed: the verifier that replay runs after every pass in debug builds and
/// tests.
[[nodiscard]] Result<void> verify_step(const Step&);

}  // namespace fathom::passes
