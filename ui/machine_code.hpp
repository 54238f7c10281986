// What a back end makes of the last Kernel module: made beside the frames, when somebody looks at it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.hpp"
#include "ir/result.hpp"
#include "target/target.hpp"
#include "tasks.hpp"

namespace fathom::ui {

struct CodeText {
  std::string maker;  ///< "LLVM 19 for znver3, 16 lanes": who made it, for which machine
  struct Listing {
    std::string text;
    std::vector<int> lines;  ///< for each line the one of the Kernel program, counted from 1; 0: of none
  };
  Listing assembly, llvm_ir;  ///< of this machine's back end
  Listing source = {};        ///< of another machine's: C++; the others are empty then
};

class MachineCode {
 public:
  using Generate = std::function<Result<CodeText>(const kernel::Module&)>;
  MachineCode(std::function<void()> wake, std::function<void()> give_way) : lane_(std::move(wake), std::move(give_way)) {}

  /// The platform's back end for its own machine; without one requests for that are refused.
  Generate generate;

  /// Asks for the code of a module once a version; true where the answer is there.
  bool request(std::uint64_t version, const kernel::Module&, const Target&);
  /// The last answer, or why there is none. Only after `request` said true.
  [[nodiscard]] const Result<CodeText>& answer() const { return *answer_; }
  bool collect() { return lane_.collect(); }
  [[nodiscard]] bool is_busy() const { return lane_.is_busy(); }

 private:
  std::optional<std::uint64_t> asked_;
  std::optional<Result<CodeText>> answer_;
  Lane lane_;
};

}  // namespace fathom::ui
