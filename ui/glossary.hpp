// The words of the field that the explorer uses, each in a sentence or two.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace fathom::ui {

struct Term {
  std::string_view word;   ///< as it stands in a text, small letters
  std::string_view forms;  ///< other forms, blanks between; "normal_forms" has a blank where the line is
  std::string_view text;   ///< what it means
};
[[nodiscard]] std::span<const Term> glossary();
/// nullptr: it is no term.
[[nodiscard]] const Term* term_named(std::string_view word);

/// Where a text has a term.
struct Mention {
  std::size_t begin = 0, end = 0;
  std::size_t term = 0;  ///< place in the glossary
};
/// Ascending, without overlap; the longer term wins. Parts of names and paths (`o/j/tile`) are no words.
[[nodiscard]] std::vector<Mention> mentions_in(std::string_view text);

}  // namespace fathom::ui
