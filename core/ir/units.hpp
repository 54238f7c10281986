// Numbers for people: three significant digits and a unit.
#pragma once

#include <string>

namespace fathom {

[[nodiscard]] std::string bytes_text(double);         ///< "2.00 GiB"
[[nodiscard]] std::string count_text(double);         ///< "275 G"
[[nodiscard]] std::string milliseconds_text(double);  ///< argument in milliseconds: "0.240 ms" is "240 us"

}  // namespace fathom
