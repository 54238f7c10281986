// IR as JSON and back: expressions are trees {"op":"add","args":[…]}, so that a reader needs no parser of the notation.
// docs of the form: core/ir/json_fields.hpp lists every field once, for both directions. What is read back is not verified: call verify.
#pragma once

#include <string>
#include <string_view>

#include "ir/record.hpp"

namespace fathom {

[[nodiscard]] std::string to_json(Expr);
[[nodiscard]] std::string to_json(const math::Program&);
[[nodiscard]] std::string to_json(const loop::Program&);
[[nodiscard]] std::string to_json(const kernel::Module&);
[[nodiscard]] std::string to_json(const Ir&);

/// The Refusal names the place: "statements[3].map.args[0]: there is no operation named foo".
[[nodiscard]] Result<Expr> expr_from_json(std::string_view);
[[nodiscard]] Result<math::Program> math_from_json(std::string_view);
[[nodiscard]] Result<loop::Program> loop_from_json(std::string_view);
[[nodiscard]] Result<kernel::Module> module_from_json(std::string_view);

}  // namespace fathom
