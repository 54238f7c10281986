// Functions of a file and of the prelude, as the checker knows them: their IR, and what inlining them would cost and need.
#pragma once

#include <map>
#include <vector>

#include "ir/math.hpp"
#include "lang/syntax.hpp"
#include "lang/types.hpp"

namespace fathom::lang {

inline constexpr int deepest_call = 32;                    ///< of functions that call functions
inline constexpr std::size_t largest_expression = 100000;  ///< nodes of a statement after inlining
inline constexpr std::size_t deepest_expression = 2000;    ///< of a statement after inlining

/// Size and depth of an expression after inlining.
struct Cost {
  std::size_t size = 1, depth = 1;
};

struct Function {
  math::Function ir;
  int call_depth = 1;
  Cost cost;                           ///< with parameters of size 0
  std::map<Symbol, std::size_t> uses;  ///< how often each parameter stands in the inlined body
};

/// What is in scope of an operator. Later declarations hide the prelude's of the same name.
class Functions {
 public:
  void add(Function function);
  [[nodiscard]] const Function* find(Symbol) const;
  [[nodiscard]] const std::vector<Function>& all() const { return all_; }
  /// Names of the file that are no functions yet: of declarations with errors (nothing more is said), and of those further down.
  std::set<Symbol> broken, later;
  /// Those that an expression calls, directly or not, in order of declaration.
  [[nodiscard]] std::vector<math::Function> reached_from(const std::vector<Expr>&) const;

 private:
  std::vector<Function> all_;
  std::map<Symbol, std::size_t> by_name_;
};

/// Size and depth of `e` with its calls inlined; saturates.
[[nodiscard]] Cost inlined_cost(Expr e, const Functions&);
/// The call's body with the arguments put in; reductions over the function's indices get the ranges of `bounds` (same order), or stay open.
/// Calls inside are inlined too. Precondition: the call was checked.
[[nodiscard]] Expr inline_call(Expr call, const std::vector<Bound>& bounds, const Functions&);
/// The indices that vary the value of `e`: calls over an index hide it where every use of the argument is reduced over it.
[[nodiscard]] std::set<Symbol> varies_with(Expr e, const Functions&);

/// What calls need to be typed: the caller's tensors and reducers.
struct TypeScope {
  std::function<Type(Symbol tensor)> tensor;
  std::function<ReducerRef(Symbol)> reducer;
};
/// Type of an expression with calls and reductions, symbols typed by `symbols`.
[[nodiscard]] Typed<Type> inlined_type(Expr e, const std::map<Symbol, Type>& symbols, const Functions&, const TypeScope&);

/// The function that a call names, if it exists and is given as many indices and arguments as it takes; reported otherwise.
[[nodiscard]] const Function* callee(const Syntax& call, const Functions&, Sink&);

/// Checks a declaration against what was declared before it; nullopt after an error.
struct Declared {
  const Functions& functions;
  Scope names;  ///< dims and constants; reducers
};
[[nodiscard]] std::optional<Function> check_function(const FnSyntax&, const Declared&, Sink&);

/// The prelude's functions, checked once.
[[nodiscard]] const Functions& prelude_functions();

}  // namespace fathom::lang
