// How well a line of a list answers what is typed.
#pragma once

#include <optional>
#include <string_view>

namespace fathom::ui {

/// From the best on. Each word of the query counts, and the one that is answered worst decides.
enum class Match : unsigned char {
  equal,       ///< the title itself
  title,       ///< the title begins so
  word,        ///< words of the title begin so
  other_word,  ///< words that the line is looked for by, too, begin so
  inside,      ///< it stands inside a word
  scattered    ///< its letters stand in order in one word of the title, or begin its words: counts only where nothing else is found
};
/// nullopt: it does not answer. Nothing typed is answered by everything.
[[nodiscard]] std::optional<Match> match_of(std::string_view title, std::string_view words, std::string_view query);

}  // namespace fathom::ui
