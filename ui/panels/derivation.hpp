// Why one reduction may ride in a loop with what it reads: its law, the lines that lead there, what guards and certifies it, or why not.
#pragma once

#include <string>

#include "app.hpp"
#include "ir/record.hpp"

namespace fathom::ui::panels {

/// Fills the width that is left in the window; the cursor goes on below.
void derivation(App&, const Fusion&, DerivationState&);
/// The law and the lines as one aligned LaTeX formula; of a refusal nothing.
[[nodiscard]] std::string derivation_latex(const Fusion&, bool all_lines);

}  // namespace fathom::ui::panels
