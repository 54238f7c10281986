// Internal to gpu: expressions of thread programs as C++.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "codegen/gpu/thread_program.hpp"

namespace fathom::gpu {

[[nodiscard]] std::string_view type_word(Type);
/// With the fewest parentheses. Helpers that it calls are added to `used`.
[[nodiscard]] std::string print_expression(Expr, std::set<std::string>& used);

}  // namespace fathom::gpu
