// Races of memory that roles, groups or work items share.
#pragma once

#include <optional>

#include "ir/kernel.hpp"

namespace fathom::kernel {

/// What is stored and read (or stored twice) by processes that nothing orders, or nothing. Sound but for what is said at each rule:
/// - a buffer without `each` that several roles use is stored between acquire and publish, and read between receive and release, of one
///   channel of depth 1 between the two roles;
/// - between the groups of a role, a reduction over the groups or an atomic stands between the store and the read or the next store, unless
///   both name the group's own part;
/// - between work items, what one of them stores another reads behind an atomic with `release acquire`, under a condition on its result.
[[nodiscard]] std::optional<Refusal> find_race(const Module&, const Kernel&);

}  // namespace fathom::kernel
