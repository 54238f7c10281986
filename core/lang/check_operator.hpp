// Checks an operator against the declarations of its file and makes its Math program.
#pragma once

#include "lang/functions.hpp"
#include "lang/syntax.hpp"

namespace fathom::lang {

/// What an operator sees of its file.
struct FileScope {
  std::string_view source;
  const std::set<Symbol>& broken_values;  ///< constants with errors: nothing is said about their uses
  const std::vector<math::Dimension>& dims;
  const std::map<Symbol, Expr>& consts;
  const Functions& functions;
  const std::vector<ReducerRef>& reducers;
  bool is_level_text = false;  ///< a program that a pass printed: ranges and types were judged before, and guards may have moved
  bool is_broken = false;      ///< a declaration of the file failed: names that are missing may be its
};

[[nodiscard]] std::optional<math::Program> check_operator(const OperatorSyntax&, const FileScope&, Sink&);

}  // namespace fathom::lang
