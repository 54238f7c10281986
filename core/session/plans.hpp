// A plan as people speak of it: which choices it is made of, what sets it apart from another, what it uses of its machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/session.hpp"

namespace fathom::session {

/// A decision of a plan in words that stand alone: "tile j".
struct PlanChoice {
  std::string site, words, choice;
  friend bool operator==(const PlanChoice&, const PlanChoice&) = default;
};

/// The site in words: a loop by its index, all else by the statement that it serves; loops of one index are told apart by that, too.
[[nodiscard]] std::string words_of_site(const Record&, std::string_view site);
/// A decision to store a tensor that a later step no longer stores: "no longer stored: fused". Empty: the plan does as it says.
[[nodiscard]] std::string lost_effect(const Record&, const Decision&);
/// Every decision, in the order in which they were asked.
[[nodiscard]] std::vector<PlanChoice> choices_of(const Compilation&);
/// Choices of `plan` that `other` has otherwise or not at all.
[[nodiscard]] std::vector<PlanChoice> difference(const std::vector<PlanChoice>& plan, const std::vector<PlanChoice>& other);

/// What was asked of the plan, and every fusion declined: what a library of single operators would do.
[[nodiscard]] Trace without_fusions(const Compilation&);

/// Bytes of registers that the largest register tile of the plan fills: accumulators, a row of B and a vector of A. 0: it has none, or the
/// target's products are issued by several lanes together.
[[nodiscard]] double register_bytes(const Compilation&);

/// Of all dimensions: "B=1 S=4096".
[[nodiscard]] std::string sizes_of(const Compilation&);
/// Names the text of a program and which of its operators is meant: equal for equal texts, on every platform.
[[nodiscard]] std::string fingerprint(const Inputs&);

}  // namespace fathom::session
