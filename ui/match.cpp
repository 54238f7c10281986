#include "match.hpp"

#include <algorithm>
#include <cctype>

namespace fathom::ui {
namespace {

bool is_same_letter(char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b)); }

/// Letters and digits of any script make words; all else stands between them.
bool is_in_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80U || std::isalnum(byte) != 0;
}

bool begins_word_at(std::string_view text, std::size_t at) { return at == 0 || !is_in_word(text[at - 1]); }

bool stands_in(std::string_view text, std::string_view part, bool at_begin_of_word) {
  for (auto from = text.begin(); from != text.end(); ++from) {
    from = std::search(from, text.end(), part.begin(), part.end(), is_same_letter);
    if (from == text.end()) return false;
    if (!at_begin_of_word || begins_word_at(text, static_cast<std::size_t>(from - text.begin()))) return true;
  }
  return false;
}

/// The rest of the letters, in order, with others between; all in the word that begins there.
bool is_scattered_in_word(std::string_view text, std::size_t begin, std::string_view letters) {
  std::size_t found = 0;
  for (std::size_t at = begin; at < text.size() && found < letters.size() && is_in_word(text[at]); ++at) {
    if (at == begin && !is_same_letter(text[at], letters[0])) return false;
    if (is_same_letter(text[at], letters[found])) ++found;
  }
  return found == letters.size();
}

bool is_scattered(std::string_view text, std::string_view letters) {
  std::size_t initials = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_in_word(text[at]) || !begins_word_at(text, at)) continue;
    if (is_scattered_in_word(text, at, letters)) return true;
    if (initials < letters.size() && is_same_letter(text[at], letters[initials])) ++initials;
  }
  return initials == letters.size();
}

std::optional<Match> match_of_word(std::string_view title, std::string_view words, std::string_view typed) {
  if (stands_in(title, typed, true)) return Match::word;
  if (stands_in(words, typed, true)) return Match::other_word;
  if (stands_in(title, typed, false) || stands_in(words, typed, false)) return Match::inside;
  return is_scattered(title, typed) ? std::optional(Match::scattered) : std::nullopt;
}

}  // namespace

std::optional<Match> match_of(std::string_view title, std::string_view words, std::string_view query) {
  while (!query.empty() && query.front() == ' ') query.remove_prefix(1);
  while (!query.empty() && query.back() == ' ') query.remove_suffix(1);
  const bool begins = title.size() >= query.size() && std::equal(query.begin(), query.end(), title.begin(), is_same_letter);
  if (begins) return title.size() == query.size() ? Match::equal : Match::title;
  Match worst = Match::equal;
  for (std::size_t at = 0; at < query.size();) {
    const std::size_t end = std::min(query.find(' ', at), query.size());
    if (end > at) {
      const auto match = match_of_word(title, words, query.substr(at, end - at));
      if (!match) return std::nullopt;
      worst = std::max(worst, *match);
    }
    at = end + 1;
  }
  return worst;
}

}  // namespace fathom::ui
