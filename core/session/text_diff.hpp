// Line differences of two texts, for the command line, the report and the explorer.
#pragma once

#include <string_view>
#include <vector>

namespace fathom::session {

struct DiffLine {
  char mark = ' ';        ///< ' ' in both, '-' only before, '+' only after
  std::string_view text;  ///< into the texts that were given
};

/// By longest common subsequence of lines; removed lines stand before added ones.
[[nodiscard]] std::vector<DiffLine> diff_lines(std::string_view before, std::string_view after);
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace fathom::session
