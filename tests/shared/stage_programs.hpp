// What the stage is tested with, from the inside and on the screen.
#pragma once

#include <string>
#include <vector>

#include "files.hpp"
#include "renamed.hpp"

namespace fathom::test {

struct NamedProgram {
  std::string name, text;
};

inline const char* const user_reducer =
    "reducer spread(x) { state n = 0, s = 0, h = -inf\n lift (1, x, x)\n combine (n + n', s + s', max(h, h'))\n result above = h - s / "
    "max(n, 1) }\n"
    "dim R = 64, C = 256\noperator spreads(x: f32[R,C]) -> (y: f32[R]) { y[i] = spread[j](x[i,j]) }\n";

/// Attention under names that mean nothing.
inline std::string renamed_attention() {
  return renamed(read_sample("attention"), {{"q", "alpha"},
                                            {"k", "beta"},
                                            {"v", "gamma"},
                                            {"o", "omega"},
                                            {"s", "u1"},
                                            {"c", "u2"},
                                            {"p", "u3"},
                                            {"i", "a"},
                                            {"j", "z"},
                                            {"d", "e"}});
}

inline std::vector<NamedProgram> five_programs() {
  return {{"attention", read_sample("attention")},
          {"renamed", renamed_attention()},
          {"rmsnorm", read_sample("rmsnorm")},
          {"layernorm", read_sample("layernorm")},
          {"reducer", user_reducer}};
}

}  // namespace fathom::test
