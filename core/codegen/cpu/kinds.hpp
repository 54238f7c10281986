// What a value is while it is in registers (ir/kernel_kinds.hpp), and who reads it: the facts about a kernel's names that code generation
// needs before it starts. LLVM-free.
#pragma once

#include <map>
#include <set>

#include "ir/kernel_kinds.hpp"

namespace fathom::cpu {

using kernel::infer_kinds;
using kernel::is_float_kind;
using kernel::join;
using kernel::Kind;
using kernel::kind_of;
using kernel::Kinds;
using kernel::settled;
using kernel::storage_of;

[[nodiscard]] inline Kind kind_of(Expr e, const Kinds& kinds, const kernel::Module& module) {
  return kernel::kind_of(e, kinds, module.reducers);
}

/// How often each name is read in the block (nested blocks included).
void count_reads(const kernel::Block&, std::map<Symbol, int>& counts);
void count_reads(Expr, std::map<Symbol, int>& counts);

}  // namespace fathom::cpu
