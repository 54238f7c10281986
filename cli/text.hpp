// Text for people: aligned tables, line diffs (units: ir/units.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/units.hpp"

namespace fathom::cli {

[[nodiscard]] std::string error(std::optional<double>);  ///< "3.1e-06", or "-"

/// Columns padded to the widest cell (counted in code points); the last one is wrapped at `width`, aligned under itself.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t width = 140);

/// The rows below the first as a JSON document {"LIST": [{…}, …]}, keyed by the first row with '_' for ' '.
[[nodiscard]] std::string json_list(const std::string& list, const std::vector<std::vector<std::string>>& rows);
/// A JSON document of texts.
[[nodiscard]] std::string json_object(const std::vector<std::pair<std::string, std::string>>& members);

/// Lines of `after` against `before`: "  " kept, "- " gone, "+ " new; runs of more than `context` kept lines are folded.
[[nodiscard]] std::string diff(std::string_view before, std::string_view after, std::size_t context = 3);

}  // namespace fathom::cli
