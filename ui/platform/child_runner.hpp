// Runs plans by the `fathom` program beside this one, in a process group of its own.
#pragma once

#include <memory>
#include <string>

#include "runner.hpp"

namespace fathom::ui {

/// The program beside the running one; empty where there is none.
[[nodiscard]] std::string sibling_program(const std::string& name);

/// Texts and traces lie in a private folder that is removed with the runner. Null where the folder cannot be made.
[[nodiscard]] std::shared_ptr<Runner> make_child_runner(const std::string& program);

}  // namespace fathom::ui
