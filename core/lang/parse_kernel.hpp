// Internal to lang: the parser of Tile and Kernel texts (grammar: docs/kernel.md). parse_kernel.cpp reads modules and declarations,
// parse_kernel_body.cpp the statements of a role. Names are classified by their latest declaration in the kernel: an axis, its parts and
// a subscript that a left side introduces are indices; lets, tags, loop and work variables are symbols; a value without subscripts is a
// read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.hpp"
#include "lang/parser.hpp"

namespace fathom::lang {

class KernelParser {
 public:
  KernelParser(std::string_view source, Sink& sink);
  std::optional<kernel::Module> module();

 private:
  using Names = std::map<Symbol, Expr>;  ///< what a bare name means

  // module
  bool dims(kernel::Module& m);
  bool module_item(kernel::Module& m);
  bool parameters(std::vector<math::Parameter>& list);
  std::optional<math::Parameter> parameter();
  bool stored_names(std::vector<Symbol>& names);
  bool require(kernel::Module& m);
  bool workspace(kernel::Module& m);
  bool reducer(kernel::Module& m);
  bool components(Reducer& r);
  bool component_expressions(Reducer& r, const Names& scope, std::string_view keyword, Expr Component::* field);
  bool results(Reducer& r, const Names& scope);
  std::optional<kernel::Let> let();
  // kernel
  bool kernel(kernel::Module& m);
  bool kernel_head(kernel::Kernel& k);
  bool kernel_name(Symbol& to);
  bool work(kernel::Work& w);
  bool kernel_item(kernel::Kernel& k);
  bool axis(kernel::Kernel& k);
  bool atom(kernel::Kernel& k);
  bool buffer(kernel::Kernel& k);
  bool channel(kernel::Kernel& k);
  bool turn(kernel::Kernel& k);
  bool role(kernel::Kernel& k);
  bool role_head(kernel::Role& r);
  // statements
  bool block(kernel::Block& body);
  std::optional<kernel::Statement> statement();
  bool assignment(kernel::Statement& s);
  bool value(kernel::Statement& s, std::vector<kernel::Access> targets);
  bool value_suffix(kernel::Value& v);
  bool copy(kernel::Statement& s, Symbol token);
  bool mma(kernel::Statement& s, Symbol token);
  bool await(kernel::Statement& s, std::optional<kernel::Access> acc);
  bool atomic(kernel::Statement& s, Symbol result);
  bool loop(kernel::Statement& s);
  bool loop_ranges(kernel::For& f);
  bool when(kernel::Statement& s);
  bool condition_block(kernel::Statement& s);
  bool carry(std::vector<kernel::Carry>& list, bool with_initial);
  bool via(std::vector<Symbol>& paths);
  bool at_stage(kernel::Statement& s);
  bool token_uses(std::vector<kernel::TokenUse>& list);
  template <class Op>
  bool slot_op(kernel::Statement& s, Symbol slot);
  template <class Op>
  bool hand_over(kernel::Statement& s);
  template <class Op>
  bool turn_op(kernel::Statement& s);

  // shared
  std::optional<kernel::Access> access(bool introduces_indices);
  bool element_type(DType& dtype, std::vector<Expr>& box);
  Expr expression();
  bool range(Expr& lo, Expr& hi);
  bool name_into(Symbol& to, std::string_view what);
  bool optional_name(std::string_view keyword, Symbol& to, std::string_view what);
  bool optional_expression(std::string_view keyword, Expr& to);
  [[nodiscard]] bool keyword(std::string_view word) const;  ///< here, and not the left side of an assignment
  [[nodiscard]] bool on_this_line() const;                  ///< the next token stands on the line of the last one
  [[nodiscard]] Scope scope();
  [[nodiscard]] Expr bare(Symbol name);
  void define(Symbol name, Expr meaning) { names_[name] = meaning; }
  void define_target(const kernel::Access& target);

  Sink& sink_;
  Parser in_;
  Names names_;
  std::vector<ReducerRef> reducers_;
  bool introduces_indices_ = false;
  bool introduces_dims_ = false;
};

}  // namespace fathom::lang
