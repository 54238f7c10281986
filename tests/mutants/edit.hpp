// Edits of IR, for mutants: places are found by what they are (a rescale, a mask, a panel's fill), never by an operator's name.
// Every helper visits all places of its kind; an edit that finds nothing leaves the IR as it is.
#pragma once

#include <functional>
#include <string>

#include "ir/record.hpp"

namespace fathom::mutants {

using Edit = std::function<Ir(const Ir&)>;
using Rewrite = std::function<Expr(Expr)>;  ///< of a node whose operands are rewritten already

[[nodiscard]] Edit on_loops(std::function<void(loop::Program&)>);
[[nodiscard]] Edit on_module(std::function<void(kernel::Module&)>);

// ---- Loop level ----
void each_loop(loop::Program&, const std::function<void(loop::Loop&)>&);
void each_combine(loop::Program&, const std::function<void(loop::Combine&)>&);
void each_repair(loop::Program&, const std::function<void(math::Repair&)>&);
/// Rewrites the nodes of elementwise statements.
void each_map(loop::Program&, const Rewrite&);

// ---- Tile and Kernel level ----
/// Every list of statements, outer ones first.
void each_block(kernel::Module&, const std::function<void(kernel::Block&)>&);
void each_value(kernel::Module&, const std::function<void(kernel::Value&)>&);
/// Values inside of a loop that carries something.
void each_carried_value(kernel::Module&, const std::function<void(kernel::Value&)>&);
void each_for(kernel::Module&, const std::function<void(kernel::For&)>&);  ///< but those over the work
void each_let(kernel::Module&, const std::function<void(kernel::Let&)>&);  ///< of kernels and bodies
/// Rewrites the nodes of all right-hand sides.
void rewrite(kernel::Module&, const Rewrite&);
void rewrite(kernel::Value&, const Rewrite&);

// ---- what an expression is ----
[[nodiscard]] bool is_number(Expr, int);
[[nodiscard]] bool is_reduce(Expr, const char* reducer);
/// where(x == -inf, then, …): the guard of an empty prefix.
[[nodiscard]] bool is_guard(Expr, int then);
/// acc * f + sum[…](…): the update of an accumulator that a factor moves.
[[nodiscard]] bool is_rescale(Expr);
/// max(m, max[…](…)): the update of a running maximum.
[[nodiscard]] bool is_running_maximum(Expr);
[[nodiscard]] bool reads_parameter(const kernel::Module&, Expr);
[[nodiscard]] bool is_result(const kernel::Module&, Symbol);
/// p.m~' -> p.m~
[[nodiscard]] Symbol without_prime(Symbol);
[[nodiscard]] bool has_prime(Symbol);

}  // namespace fathom::mutants
