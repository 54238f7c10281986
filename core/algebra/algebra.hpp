// The algebra of reduction fusion (docs/algebra.md): from an opened Math program, what each consumer reduction may share a loop with, and
// how its accumulator is repaired. Deterministic; equal spellings give equal conclusions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/math.hpp"
#include "ir/record.hpp"
#include "ir/result.hpp"

namespace fathom::algebra {

/// Everything that the algebra concluded: one Fusion for each reduction of the program, in program order.
struct Analysis {
  std::vector<Fusion> fusions;
  [[nodiscard]] const Fusion* find(Symbol consumer) const;
};

/// `opened` must satisfy math::is_opened. Elementwise statements between reductions are looked through.
[[nodiscard]] Analysis analyse(const math::Program& opened);

/// Rewrites every reduction into the form in which its analysis fused it: r-free factors behind the reduction, terms in normal form,
/// shared elementwise parts (a masked score) as statements of their own, dead statements dropped. Equal spellings give equal programs.
/// Names: a statement of the text keeps its name where its value survives; the carried sum of statement o is o.sum.
struct NormalForm {
  math::Program program;
  std::map<std::string, std::vector<std::string>> node_map;
  std::vector<DerivationLine> lines;  ///< what was rewritten, for the step's record
};
[[nodiscard]] NormalForm normalise(const math::Program& opened, const Analysis&);

/// What `analyse` concludes of a normal form, whose fusions are the ones carried out. What was refused of the opened program stays refused,
/// in the words of the text.
[[nodiscard]] Analysis analyse_normal_form(const math::Program& normalised, const Analysis& of_opened);

/// The repair that lets `consumer` of the normalised program ride in one loop with its producers; a Refusal where its own analysis refused.
[[nodiscard]] Result<math::Repair> repair_for(const math::Program& normalised, const Analysis&, Symbol consumer);

/// A person's repair (docs/algebra.md): an expression over `acc`, the producers and their primed names ("acc * exp(m - m')").
enum class Verdict : std::uint8_t { derived, refuted, undecided };
struct Judgement {
  Verdict verdict = Verdict::undecided;
  std::string says;                        ///< one sentence
  std::vector<DerivationLine> derivation;  ///< derived: from the repair found to the one written
  std::string counterexample;              ///< refuted: the smallest array and split, both values
};
[[nodiscard]] Judgement judge_repair(const math::Program& opened, const Analysis&, Symbol consumer, Expr written);

/// A named, directed rule: what people see in a derivation, and what docs/algebra.md lists.
struct RuleInfo {
  std::string name;
  std::string equation;
  std::string condition;
  std::string theme;
};
[[nodiscard]] std::vector<RuleInfo> rules();

}  // namespace fathom::algebra
