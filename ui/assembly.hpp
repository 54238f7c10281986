// What can be read off a listing of machine code: where its hot loop is and what that is made of.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace fathom::ui {

struct HotLoop {
  std::size_t first = 0, last = 0;  ///< lines, from 0
  std::size_t instructions = 0;
  std::size_t vector = 0;      ///< of them: on vector registers
  std::size_t arithmetic = 0;  ///< of these: compute with floating-point numbers
  std::size_t stack = 0;       ///< of all: read or write the stack
};
/// The innermost loop with the most floating-point arithmetic, and of equal ones that with the most vector instructions: one that only
/// moves data about is none. nullopt: no jump leads back.
[[nodiscard]] std::optional<HotLoop> hot_loop(std::string_view assembly);

}  // namespace fathom::ui
