#include "notation.hpp"

#include <array>

namespace fathom::ui {
namespace {

constexpr std::array all_parts = std::to_array<NotationPart>({
    {"comment", "# words to the end of the line", "A comment. Line ends carry no other meaning.", "comment remark"},
    {"dim", "dim S = 64, T = runtime 128",
     "Dimensions. S is fixed when the program is compiled and can be set above the program; T is left to each launch, and 128 is its "
     "default.",
     "size extent shape"},
    {"const", "const scale = 0.125", "A name for a value made of numbers, dimensions and functions.", "constant number"},
    {"operator", "operator f(x: f32[S, T]) -> (y: f32[S])",
     "What is computed: parameters with their element types and extents, then the results. No extents: a scalar.",
     "kernel parameter argument result signature"},
    {"types", "f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i8 bool",
     "Element types. A cast, i32(x), rounds to the nearest; where a type is stated, y[i]: f16 = …, the values are rounded to it.",
     "dtype float integer cast"},
    {"facts", "where S % 2 == 0, S <= T",
     "Behind the results: facts about dimensions and scalars, which the compiler may use and each launch tests.", "condition"},
    {"stored", "k: f16[B, H, T, D] stored(B, T, H, D)", "The storage order of the axes; “strided” leaves the strides to the caller.",
     "layout stride transpose"},
    {"statement", "y[i,j] = x[i,j] * 2",
     "A statement defines one tensor, element by element. Its names come before they are used, and each is defined once.", "equation"},
    {"index", "s[j in 0:T]",
     "An index ranges over the dimensions that it subscripts. Where nothing says which, the range is written, without its end.",
     "subscript range loop"},
    {"reduction", "sum[j](x[i,j] * v[j])",
     "One value of all along the index: sum prod max min any all, and argmax argmin, which give the lowest place.", "sum maximum fold"},
    {"scan", "sum[k in 0:j+1](x[k])", "A reduction whose range grows with an index of the statement.", "prefix cumulative"},
    {"select", "where(j <= i, s[i,j], -inf)",
     "One of two values; the other is neither computed nor loaded. -inf leaves an element out of a maximum.", "mask condition if causal"},
    {"operations", "+ - * / // % ^   == != < <= > >=   and or not",
     "/ divides reals; // and % are of integers and round down. ^ binds tightest, and comparisons do not chain.", "arithmetic precedence"},
    {"functions", "exp log sqrt rsqrt tanh sigmoid abs floor min max …",
     "Also exp2 log2 sin cos erf; size(j) is the extent of an index, random(seed, i) is a number from 0 to 1.", "maths builtin"},
    {"prelude", "variance[j](x[i,j])",
     "A function of the prelude, which is written in the notation itself: mean, logsumexp, gelu, silu, clamp and more. The first step "
     "opens it.",
     "library normalisation activation"},
    {"fn", "fn centred[j](x) = x - mu with mu = sum[j](x) / size(j)",
     "A function of your own, which is put in where it is used; its locals follow behind “with”.", "function define"},
    {"reducer", "reducer r(x) { state a = 0 lift (x) combine (a + a') }",
     "A reduction of your own: state with its identity, what one element is, how two states become one. Its laws are tested.",
     "monoid define combine"},
});

constexpr std::string_view first_program = R"(# A program to begin with. Type into it: every state that compiles is lowered at once.
# "Show the notation" in the list of commands (Ctrl+K) explains each part.

dim R = 256, C = 1024                       # dimensions: the sizes, which can be set above the text, too

# operator name(parameters) -> (results), with their element types and extents
operator weighted(x: f32[R, C], g: f32[C]) -> (y: f32[R])
{
  m[i] = max[j](x[i,j])                     # a reduction: one value of all along the index j
  p[i,j] = exp(x[i,j] - m[i])               # a statement defines one tensor, element by element
  y[i] = sum[j](p[i,j] * g[j]) / sum[j](p[i,j])
}
)";

}  // namespace

std::span<const NotationPart> notation_parts() { return all_parts; }

std::string_view new_program() { return first_program; }

}  // namespace fathom::ui
