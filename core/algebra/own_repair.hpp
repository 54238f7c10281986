// A person's repair judged with its numbers: what judge_repair says (algebra.hpp), and for a refuted one the array, the split and the law
// that breaks, as data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algebra/algebra.hpp"

namespace fathom::algebra {

/// A law of docs/algebra.md, tried on the moves of one small array. C1: what one element contributes moves to what it contributes about
/// the next reference. C2: a sum moves as its parts do.
struct LawTrial {
  struct Name {
    std::string name;
    double before = 0, after = 0;  ///< running values of the prefix, and with the next tile
  };
  bool holds = true;
  int tried = 0;
  // The first numbers that break it; empty where none did.
  std::vector<Name> names;
  std::vector<double> moved;  ///< C1: what is moved. C2: the two parts of the sum
  double found = 0;           ///< what the repair makes of it
  double wanted = 0;
};

struct Refutation {
  struct Array {
    std::string name;
    std::vector<std::int64_t> shape;  ///< empty: a scalar
    std::vector<double> values;
  };
  std::vector<Array> arrays;        ///< inputs that the consumer needs
  std::vector<std::int64_t> tiles;  ///< lengths
  double found = 0, wanted = 0;     ///< the consumer's value: folded with the repair, and by the text
  LawTrial element, sum;            ///< C1, C2
};

struct JudgedRepair {
  Judgement judgement;
  std::optional<Refutation> refutation;  ///< of a refuted one
};
[[nodiscard]] JudgedRepair judge_repair_with_numbers(const math::Program& opened, const Analysis&, Symbol consumer, Expr written);

/// Names that a repair of the consumer may use, primed or not: what runs in its loop, in the program's order.
[[nodiscard]] std::vector<Symbol> names_in_repair(const math::Program& opened, const Analysis&, Symbol consumer);

}  // namespace fathom::algebra
