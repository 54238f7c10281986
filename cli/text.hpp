// Text for people: units with three significant digits, aligned tables, line diffs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::cli {

[[nodiscard]] std::string bytes(double);                 ///< "2.00 GiB"
[[nodiscard]] std::string count(double);                 ///< "275 G"
[[nodiscard]] std::string milliseconds(double);          ///< "0.240 ms", "1.20 s"
[[nodiscard]] std::string error(std::optional<double>);  ///< "3.1e-06", or "-"

/// Columns padded to the widest cell (counted in code points); the last one is wrapped at `width`, aligned under itself.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t width = 140);

/// Lines of `after` against `before`: "  " kept, "- " gone, "+ " new; runs of more than `context` kept lines are folded.
[[nodiscard]] std::string diff(std::string_view before, std::string_view after, std::size_t context = 3);

}  // namespace fathom::cli
