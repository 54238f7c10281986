// A file: declarations in order, then each operator. Also the prelude, which is such a file without operators, and the texts of Math
// programs that passes print.
#include <algorithm>

#include "lang/check_operator.hpp"
#include "lang/lang.hpp"
#include "lang/reducers.hpp"

namespace fathom::lang {
namespace {

// Bounds on what one file may hold, so that checking takes bounded time.
constexpr std::size_t most_dims = 256;
constexpr std::size_t most_functions = 1000;
constexpr std::size_t most_reducers = 64;
constexpr std::size_t most_operators = 256;
constexpr std::size_t most_parameters = 64;
constexpr std::size_t largest_constant = 1000;
constexpr std::int64_t largest_dim = std::int64_t{1} << 40U;

std::string quoted(Symbol name) { return "`" + name.text() + "`"; }

class FileChecker {
 public:
  FileChecker(const FileSyntax& syntax, std::string_view source, Sink& sink) : syntax_(syntax), source_(source), sink_(sink) {}

  void declarations(const std::map<std::string, std::int64_t>& overrides, const Functions* prelude) {
    if (!small_enough()) return;
    if (prelude != nullptr) functions_ = *prelude;
    dims(overrides);
    consts();
    for (const FnSyntax& fn : syntax_.functions) functions_.later.insert(fn.name.name);
    for (const ReducerSyntax& one : syntax_.reducers) functions_.later.insert(one.name.name);
    for (const FnSyntax& fn : syntax_.functions) function(fn);
    for (const ReducerSyntax& one : syntax_.reducers) reducer(one);
  }

  File operators(bool is_level_text) {
    File file;
    if (too_large_) return file;
    functions_.later.clear();
    const FileScope scope{source_, broken_values_, dims_, consts_, functions_, reducers_, is_level_text, broken_ || syntax_.broken};
    std::map<Symbol, SourceSpan> names;
    for (const OperatorSyntax& op : syntax_.operators) {
      const auto [known, inserted] = names.emplace(op.name.name, op.name.span);
      if (!inserted) twice(op.name, "operator", known->second);
      if (auto program = check_operator(op, scope, sink_)) file.operators.push_back(std::move(*program));
    }
    return file;
  }
  [[nodiscard]] const Functions& functions() const { return functions_; }

 private:
  bool small_enough() {
    const auto limit = [&](std::size_t count, std::size_t most, const std::string& what) {
      if (count <= most) return;
      sink_.error({0, 0, 0}, "the file has " + std::to_string(count) + " " + what, "at most " + std::to_string(most) + " are allowed");
      too_large_ = true;
    };
    limit(syntax_.dims.size() + syntax_.consts.size(), most_dims, "dimensions and constants");
    limit(syntax_.functions.size(), most_functions, "functions");
    limit(syntax_.reducers.size(), most_reducers, "reducers");
    limit(syntax_.operators.size(), most_operators, "operators");
    for (const FnSyntax& fn : syntax_.functions)
      limit(fn.parameters.size() + fn.indices.size() + fn.locals.size(), most_parameters, "names in " + quoted(fn.name.name));
    return !too_large_;
  }

  void twice(const NameSyntax& name, const std::string& what, SourceSpan first) {
    sink_.error(name.span, "the " + what + " " + quoted(name.name) + " is declared twice", "take another name",
                {{Severity::note, first, "first declared here", {}, {}}});
    broken_ = true;
  }
  /// One name space for dimensions and constants, one for functions and reducers.
  bool is_new(const NameSyntax& name, const std::string& what, std::map<Symbol, SourceSpan>& names) {
    const auto [known, inserted] = names.emplace(name.name, name.span);
    if (!inserted) twice(name, what, known->second);
    return inserted;
  }

  void dims(const std::map<std::string, std::int64_t>& overrides) {
    for (const DimSyntax& syntax : syntax_.dims) {
      if (!is_new(syntax.name, "dimension", values_)) continue;
      math::Dimension dimension{syntax.name.name, syntax.value, syntax.runtime, syntax.name.span};
      const auto given = overrides.find(syntax.name.name.text());
      if (given != overrides.end()) dimension.value = given->second;
      if (dimension.value < 0 || dimension.value > largest_dim) {
        sink_.error(syntax.name.span, "dimension " + quoted(dimension.name) + " is " + std::to_string(dimension.value),
                    "a dimension is between 0 and 2^40");
        broken_ = true;
        dimension.value = std::clamp<std::int64_t>(dimension.value, 0, 1);
      }
      dims_.push_back(dimension);
    }
    for (const auto& [name, value] : overrides) {
      if (values_.count(Symbol(name)) != 0) continue;  // declared, whether the operator has it or not
      std::vector<std::string> known;
      std::string all;
      for (const math::Dimension& dimension : dims_) {
        known.push_back(dimension.name.text());
        all += (all.empty() ? "the dimensions are " : ", ") + known.back();
      }
      const std::string near = suggest(name, known);
      sink_.error(outside_of_text, "there is no dimension `" + name + "` to set to " + std::to_string(value), near.empty() ? all : near);
    }
  }

  [[nodiscard]] Scope scope() const {
    Scope names;
    names.bare = [this](Symbol name) -> Expr {
      const auto found = consts_.find(name);
      if (found != consts_.end()) return found->second;
      const bool is_dim = std::any_of(dims_.begin(), dims_.end(), [&](const math::Dimension& dimension) { return dimension.name == name; });
      return is_dim ? dim(name) : Expr{};
    };
    names.reducer = [this](Symbol name) -> ReducerRef {
      for (const ReducerRef& reducer : reducers_) {
        if (reducer->name == name) return reducer;
      }
      return builtin_reducer(name);
    };
    names.fixed_value = [this](Expr e) {
      DimValues fixed;
      for (const math::Dimension& dimension : dims_)
        if (!dimension.runtime) fixed[dimension.name] = dimension.value;
      return evaluate_integer(e, fixed);
    };
    names.candidates = [this] {
      std::vector<std::string> all;
      for (const auto& [name, span] : values_) all.push_back(name.text());
      return all;
    };
    return names;
  }

  void consts() {
    for (const ConstSyntax& syntax : syntax_.consts) {
      if (!is_new(syntax.name, "name", values_)) continue;
      const Expr value = constant(*syntax.value) ? lower(syntax.value, scope(), sink_) : Expr{};
      const auto type = value ? symbolic_type(value, {}) : Typed<Type>(Type{});
      if (!type) sink_.error(syntax.value->span, type.error().message, type.error().cure);
      if (value && inlined_cost(value, functions_).size > largest_constant)
        sink_.error(syntax.value->span, "the constant " + quoted(syntax.name.name) + " is too large",
                    "at most " + std::to_string(largest_constant) + " operations");
      const bool ok = value && type && inlined_cost(value, functions_).size <= largest_constant;
      broken_ = broken_ || !ok;
      if (!ok) broken_values_.insert(syntax.name.name);
      if (ok) consts_[syntax.name.name] = value;
    }
  }
  bool constant(const Syntax& s) {
    const bool calls = s.kind == SyntaxKind::call && !function_named(s.name.text());
    if (s.kind == SyntaxKind::subscripted || s.kind == SyntaxKind::indexed || calls) {
      sink_.error(s.span, "a constant is made of numbers, dimensions and built-in functions");
      return false;
    }
    return std::all_of(s.args.begin(), s.args.end(), [&](SyntaxRef arg) { return constant(*arg); });
  }

  bool is_free(const NameSyntax& name, const std::string& what) {
    if (function_named(name.name.text()) || builtin_reducer(name.name)) {
      sink_.error(name.span, quoted(name.name) + " is built in", "take another name");
      broken_ = true;
      return false;
    }
    return is_new(name, what, functions_and_reducers_);
  }
  void function(const FnSyntax& syntax) {
    if (!is_free(syntax.name, "function")) return;
    if (auto checked = check_function(syntax, {functions_, scope()}, sink_)) {
      functions_.add(std::move(*checked));
    } else {
      functions_.broken.insert(syntax.name.name);
      broken_ = true;
    }
  }
  void reducer(const ReducerSyntax& syntax) {
    if (!is_free(syntax.name, "reducer")) return;
    if (ReducerRef checked = check_reducer(syntax, {functions_, scope()}, sink_)) {
      reducers_.push_back(std::move(checked));
    } else {
      functions_.broken.insert(syntax.name.name);
      broken_ = true;
    }
  }

  const FileSyntax& syntax_;
  std::string_view source_;
  Sink& sink_;
  std::vector<math::Dimension> dims_;
  std::map<Symbol, Expr> consts_;
  Functions functions_;
  std::vector<ReducerRef> reducers_;
  std::map<Symbol, SourceSpan> values_, functions_and_reducers_;
  std::set<Symbol> broken_values_;
  bool broken_ = false, too_large_ = false;
};

Checked<File> check(std::string_view source, const Mode& mode, const std::map<std::string, std::int64_t>& overrides) {
  Sink sink;
  const FileSyntax syntax = parse_syntax(source, mode, 0, sink);
  FileChecker checker(syntax, source, sink);
  checker.declarations(overrides, &prelude_functions());
  File file = checker.operators(mode.dotted_names);
  if (syntax.operators.empty() && sink.ok())
    sink.error({0, 0, 0}, "the text has no operator", "write `operator name(x: f32[N]) -> (y: f32[N]) { … }`");
  if (!sink.ok()) return tl::unexpected<Diagnostics>(sink.take());
  return file;
}

}  // namespace

const Functions& prelude_functions() {
  static const Functions* all = [] {
    Sink sink;
    const FileSyntax syntax = parse_syntax(prelude(), notation_mode, 1, sink);
    FileChecker checker(syntax, prelude(), sink);
    checker.declarations({}, nullptr);
    return new Functions(checker.functions());  // a test holds that the prelude has no errors
  }();
  return *all;
}

const math::Program* File::find(std::string_view operator_name) const {
  for (const math::Program& program : operators) {
    if (program.name.text() == operator_name) return &program;
  }
  return nullptr;
}

Checked<File> parse_file(std::string_view source, const std::map<std::string, std::int64_t>& dim_overrides) {
  return check(source, notation_mode, dim_overrides);
}

Checked<math::Program> parse_math(std::string_view source) {
  auto file = check(source, level_mode, {});
  if (!file) return tl::unexpected<Diagnostics>(file.error());
  if (file->operators.size() == 1) return std::move(file->operators[0]);
  return tl::unexpected<Diagnostics>({Diagnostic{
      Severity::error, {}, "the text has " + std::to_string(file->operators.size()) + " operators", "the text of a program has one", {}}});
}

}  // namespace fathom::lang
