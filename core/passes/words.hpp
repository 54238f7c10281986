// Words for `says` and `reason`: small numbers spelled, plurals, lists. Quantities with units: ir/units.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.hpp"
#include "ir/units.hpp"

namespace fathom::passes {

[[nodiscard]] std::string number_word(std::int64_t n);                    ///< one … twelve, then digits
[[nodiscard]] std::string capital(std::string text);                      ///< its first letter in upper case
[[nodiscard]] std::string plural(std::int64_t n, std::string_view noun);  ///< "one loop", "3 loops"
[[nodiscard]] std::string plural(Expr n, std::string_view noun);          ///< "one item", "B * 2 items"
[[nodiscard]] std::string listed(const std::vector<std::string>& names);  ///< a, b and c

}  // namespace fathom::passes
