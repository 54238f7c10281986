// Which tensor a name of some step came from, by the steps' node maps, and a printed program as words that know it: what lets a click in
// one text light up the same thing in all others.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "session/session.hpp"

namespace fathom::session {

using Names = std::set<std::string>;
constexpr std::size_t entity_colours = 8;

/// Reads a compilation, which must outlive it.
class Provenance {
 public:
  explicit Provenance(const Compilation&);

  /// Tensors of the source behind a name that stands in the program after the step.
  [[nodiscard]] Names origin(std::size_t step, const std::string& name) const;
  /// Names in the program after the earlier step `at` that the name after `step` came from; the name itself where nothing changed it.
  [[nodiscard]] Names ancestors(std::size_t step, const std::string& name, std::size_t at) const;
  /// Do the two names, each after its step, stand for the same thing or one for a part of the other? A tensor of the source stands for all
  /// that came from it, at every step.
  [[nodiscard]] bool are_counterparts(std::size_t step, const std::string& name, std::size_t other_step, const std::string& other) const;
  /// What the algebra concluded about the reduction that the step decides to fuse or to repair; empty where it decides about none.
  [[nodiscard]] std::vector<const Fusion*> fusions_decided(std::size_t step) const;
  /// Colour number of the first of these source tensors, below `entity_colours`.
  [[nodiscard]] std::optional<std::size_t> colour(const Names& origins) const;

 private:
  [[nodiscard]] bool is_of_source(const std::string& name) const { return colour_.count(name) > 0; }
  void collect(int step, const std::string& name, int until, Names& found) const;
  [[nodiscard]] std::string source_name(std::string name) const;

  const Compilation* compilation_;
  std::map<std::string, std::size_t> colour_;
};

enum class WordKind : std::uint8_t { other, name, keyword, number, comment };
/// A stretch of one line; words follow each other without gaps.
struct Word {
  std::size_t begin = 0, end = 0;
  WordKind kind = WordKind::other;
};
[[nodiscard]] std::vector<Word> words_of(std::string_view line);
[[nodiscard]] inline std::string_view text_of(std::string_view line, const Word& word) {
  return line.substr(word.begin, word.end - word.begin);
}
/// Names that the line defines: left of its ` = `, outside of brackets.
[[nodiscard]] std::vector<std::string> defined_in(std::string_view line);
/// The name without the marks of its state: `p.m` of `p.m~'`.
[[nodiscard]] std::string bare_name(std::string_view name);

}  // namespace fathom::session
