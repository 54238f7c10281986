// Walks over the statements of a role: shared by the passes on Tile modules. Order is text order, blocks of loops and conditions included.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "ir/kernel.hpp"
#include "passes/came_from.hpp"

namespace fathom::passes {

struct MemoryShape;

/// Every value statement with the block that holds it. The callee may change the statement, not the block.
void for_each_value(kernel::Block&, const std::function<void(kernel::Value&, kernel::Block&)>&);
void for_each_value(const kernel::Block&, const std::function<void(const kernel::Value&)>&);
/// How often each name is read in the block: values, carried initial values, conditions. A carried name counts as read by its loop.
[[nodiscard]] std::map<Symbol, int> count_reads(const kernel::Block&);
/// Removes the value statements that `dead` names, and conditions that then hold nothing. True if one was removed.
bool remove_values(kernel::Block&, const std::function<bool(const kernel::Value&)>& dead);
/// `x[i,j] = y[i,j]` where only the copy reads y and y is defined in the same block: y's definition gets the name x.
bool merge_copies(kernel::Block&, const std::map<Symbol, int>& counts, const std::map<Symbol, MemoryShape>& memory, CameFrom&);
void insert_before(kernel::Block&, const kernel::Value* statement, kernel::Statement);
/// Replaces expressions everywhere in the block: values, lets, fills, conditions, ranges, initial values.
void rewrite_expressions(kernel::Block&, const std::function<Expr(Expr)>&);
/// Renames a tile value everywhere in the block.
void rename_value(kernel::Block&, Symbol from, Symbol to);
/// Axes (indices) that occur, in the order of first occurrence, those bound by a reduction excluded.
[[nodiscard]] std::vector<Symbol> axes_in_order(Expr);

}  // namespace fathom::passes
