// Helpers of the algebra's tests: programs from text, an evaluator in double that knows nothing of the algebra, folds of Fusions.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "algebra/algebra.hpp"
#include "algebra/open.hpp"
#include "lang/lang.hpp"

namespace fathom::algebra {

math::Program parse(const std::string& text);
math::Program parse_opened(const std::string& text);

/// The operator of a body of statements over s, t, u, v, w, x: f32[T], keep: bool[T], tau, eps: f32 with tau > 0.
math::Program program_of(const std::string& body, const std::string& results = "o: f32");

struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
};

/// What names mean while an expression is evaluated.
struct Scene {
  const math::Program* program = nullptr;
  std::map<Symbol, std::int64_t> dims;
  std::map<Symbol, Array> arrays;
  std::map<Symbol, double> symbols;
  std::map<Symbol, std::int64_t> indices;
};
/// Value of an expression; reductions inside are evaluated over their ranges. NaN for what is not there.
double evaluate(Expr, Scene&);
/// Every statement of an opened program, in order.
void evaluate_all(const math::Program& opened, Scene&);

enum class Fold { rolling, split_k };
/// Every statement, reductions folded as their Fusions say: over tiles (`cuts` in 0..1, ascending), in order or merged by a tree.
void fold_all(const math::Program& unified, const Analysis&, Scene&, Fold, const std::vector<double>& cuts);

}  // namespace fathom::algebra
