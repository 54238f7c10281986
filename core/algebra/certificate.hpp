// The certificate of a derivation (docs/algebra.md): the laws of what was derived, tested without the rules that derived it. Exactly, at
// random points with two residues, where every operation has laws there; and on small adversarial arrays, in the wide range of doubles and
// in the range of single precision. What no test could decide is undecided, and counts as little as what failed.
#pragma once

#include <string>
#include <vector>

#include "algebra/view.hpp"
#include "ir/record.hpp"

namespace fathom::algebra {

struct Certificate {
  enum class Outcome : std::uint8_t { passed, failed, undecided };
  Outcome outcome = Outcome::undecided;
  std::string says;  ///< one sentence: what was tested and how, or which law failed where
};

/// The arrays are the dear part. Of a normal form, whose opened program passed all tests, they are run once, and only where nothing is
/// exact.
enum class Tests : std::uint8_t { all, arrays_where_nothing_is_exact };

/// Of a fusion that is factored, absorbed or repaired; `fusions`: all of the program, in its order.
[[nodiscard]] Certificate certify(const ProgramView&, const std::vector<Fusion>& fusions, const Fusion&, Tests = Tests::all);

/// Gives every derived fusion its certificate. One that does not pass is refused, and what shares its loop on the strength of it with it.
void certify_all(const ProgramView&, std::vector<Fusion>&, Tests);

}  // namespace fathom::algebra
