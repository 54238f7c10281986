// The syntax of a file: what was written, with spans, before any name has a meaning. Produced by `parse_syntax`, which recovers at the
// borders of statements and declarations, so that one run finds several errors.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "lang/parser.hpp"

namespace fathom::lang {

struct NameSyntax {
  Symbol name;
  SourceSpan span;
};

struct DimSyntax {
  NameSyntax name;
  std::int64_t value = 0;
  bool runtime = false;
};

struct ConstSyntax {
  NameSyntax name;
  SyntaxRef value = nullptr;
};

/// `name = expr` after `with`.
struct LocalSyntax {
  NameSyntax name;
  SyntaxRef value = nullptr;
};

struct FnSyntax {
  NameSyntax name;
  std::vector<NameSyntax> indices, parameters;
  SyntaxRef body = nullptr;
  std::vector<LocalSyntax> locals;
};

struct StateSyntax {
  NameSyntax name;
  DType dtype = DType::real;
  SyntaxRef identity = nullptr;
};

struct ReducerSyntax {
  NameSyntax name;
  std::vector<NameSyntax> parameters;
  std::vector<StateSyntax> state;
  std::vector<SyntaxRef> lift, combine;
  SourceSpan lift_span, combine_span;
  std::vector<LocalSyntax> results;
};

struct ParamSyntax {
  NameSyntax name;
  DType dtype = DType::f32;
  std::vector<SyntaxRef> extents;
  std::vector<NameSyntax> stored;
  bool strided = false;
};

/// `gauge g = reference`, `carry name: reducer = term move h`, `project p` of a fused reduction; in texts of a level only.
struct GaugeSyntax {
  NameSyntax name;
  SyntaxRef reference = nullptr;
};
struct CarriedSyntax {
  NameSyntax name;
  NameSyntax reducer;
  SyntaxRef term = nullptr, move = nullptr;
};
struct RepairSyntax {
  std::vector<GaugeSyntax> gauges;
  std::vector<CarriedSyntax> carried;
  SyntaxRef project = nullptr;
};

struct StatementSyntax {
  NameSyntax name;
  SourceSpan span;  ///< of the whole statement
  std::vector<BindSyntax> axes;
  DType dtype = DType::real;
  SourceSpan dtype_span;
  SyntaxRef value = nullptr;
  std::optional<RepairSyntax> repair;
};

struct OperatorSyntax {
  NameSyntax name;
  std::vector<ParamSyntax> params, results;
  std::vector<SyntaxRef> conditions;
  std::vector<StatementSyntax> statements;
  bool broken = false;                   ///< a statement could not be read
  std::vector<NameSyntax> broken_names;  ///< what such statements define: nothing is said about their uses
  SourceSpan close;                      ///< the closing brace
};

struct FileSyntax {
  std::unique_ptr<Parser> parser;  ///< owns the expressions
  std::vector<DimSyntax> dims;
  std::vector<ConstSyntax> consts;
  std::vector<FnSyntax> functions;
  std::vector<ReducerSyntax> reducers;
  std::vector<OperatorSyntax> operators;
  bool broken = false;  ///< a declaration could not be read
};

[[nodiscard]] FileSyntax parse_syntax(std::string_view source, const Mode& mode, std::uint32_t source_id, Sink& sink);

}  // namespace fathom::lang
