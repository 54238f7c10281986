// The notation (docs/language.md): text -> Math program as written, and the texts of the other levels back into IR.
// No input, however malformed or large, crashes or hangs: sizes and nesting are bounded, and the bounds are in the diagnostics.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.hpp"
#include "ir/loop.hpp"
#include "ir/math.hpp"
#include "ir/result.hpp"

namespace fathom::lang {

/// A parsed and checked file. Every operator of it is checked; the prelude's functions are in scope of each.
struct File {
  std::vector<math::Program> operators;
  [[nodiscard]] const math::Program* find(std::string_view operator_name) const;
};

/// Parses and checks. `dim_overrides` replace declared dimension values (`--dim S=512`), before shapes are checked.
/// On failure: all errors found, in source order. At most 50 are reported.
[[nodiscard]] Checked<File> parse_file(std::string_view source, const std::map<std::string, std::int64_t>& dim_overrides = {});

/// The prelude's text: softmax, logsumexp, rmsnorm, layernorm, gelu, silu, relu, … in the notation itself.
[[nodiscard]] std::string_view prelude();

/// One expression over free names (dims, scalars and tensors of `scope`, and any further name as a symbol when `scope` is null).
[[nodiscard]] Checked<Expr> parse_expression(std::string_view source, const math::Program* scope = nullptr);

/// Inverses of the printers of the levels.
[[nodiscard]] Checked<math::Program> parse_math(std::string_view source);
[[nodiscard]] Checked<loop::Program> parse_loop(std::string_view source);
[[nodiscard]] Checked<kernel::Module> parse_kernel(std::string_view source);

}  // namespace fathom::lang
