// Loop programs as text, for tests of the level itself: written by hand, not printed by the compiler.
#pragma once

#include "files.hpp"
#include "lang/lang.hpp"

namespace fathom::test {

inline constexpr auto fused_attention = R"(dim B = 1, H = 2, S = 5, T = 7, D = 4

loops attention(q: f32[B, H, S, D], k: f32[B, H, T, D], v: f32[B, H, T, D]) -> (o: f32[B, H, S, D])
{
  parallel b in 0:B by 1 {
    parallel h in 0:H by 1 {
      parallel i in 0:S by 2 {
        fold j in 0:T by 2 [open 0:T // 2, mixed T // 2:(T + 1) // 2] {
          s.sum[b,h,i,j] = sum[d](q[b,h,i,d] * k[b,h,j,d])
          s[b,h,i,j] = s.sum[b,h,i,j] / sqrt(D)
          p.m[b,h,i] = max[j](s[b,h,i,j])
          p.e[b,h,i,j] = exp(s[b,h,i,j] - p.m~[b,h,i])
          p.sum[b,h,i] = sum[j](p.e[b,h,i,j]) with repair {
            gauge p.m~ = p.m[b,h,i]
            carry p.sum: sum term exp(s[b,h,i,j] - p.m~) move p.sum * exp(p.m~ - p.m~')
            project p.sum
          }
          o.sum[b,h,i,d.o] = sum[j](p.e[b,h,i,j] * v[b,h,j,d.o]) with repair {
            gauge p.m~ = p.m[b,h,i]
            carry o.sum: sum term exp(s[b,h,i,j] - p.m~) * v[b,h,j,d.o] move o.sum * exp(p.m~ - p.m~')
            project o.sum
          }
        }
        o[b,h,i,d.o] = where(p.m[b,h,i] == -inf, 0, o.sum[b,h,i,d.o] / p.sum[b,h,i])
      }
    }
  }
}
)";

inline constexpr auto split_sum = R"(dim T = 10

loops total(x: f32[T]) -> (o: f32)
{
  parallel j.split in 0:2 by 1 {
    fold j in min(j.split * 8, T):min((j.split + 1) * 8, T) by 4 {
      o = sum[j](x[j])
    }
  }
  combine j.split of 2 { o }
}
)";

inline loop::Program parsed_loop(const std::string& text) {
  const auto program = lang::parse_loop(text);
  EXPECT_TRUE(program) << render(program.error(), "test.loop", text);
  return program ? *program : loop::Program{};
}

}  // namespace fathom::test
