// The wide reference (docs/checks.md): the Math program as written, statement by statement, with a running bound on what a plan may differ.
// Repairs are not looked at: they belong to plans.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "interp/approx.hpp"
#include "interp/statements.hpp"

namespace fathom::interp {
namespace {

constexpr std::int64_t work_limit = 4'000'000'000;

std::set<Symbol> names_read(const Prepared& statement) {
  std::set<Symbol> names;
  const auto add = [&](Expr e) {
    if (e) names.merge(tensors_read(e));
  };
  add(statement.value);
  for (const Expr value : statement.values) add(value);
  for (const Bound& bound : statement.over) add(bound.lo), add(bound.hi);
  for (const math::Axis& axis : statement.axes) add(axis.lo), add(axis.hi);
  return names;
}

bool is_wanted(const BoundOptions& options, Symbol result) { return options.results.empty() || options.results.contains(result); }

/// For each statement the last one that reads it; the statement itself is absent where nothing needs it.
std::map<Symbol, std::size_t> last_uses(const math::Program& program, const std::vector<Prepared>& statements,
                                        const BoundOptions& options) {
  std::map<Symbol, std::size_t> last;
  for (const math::Parameter& result : program.results)
    if (is_wanted(options, result.name)) last[result.name] = statements.size();
  for (std::size_t k = statements.size(); k-- > 0;) {
    if (!last.contains(statements[k].name)) continue;
    for (const Symbol name : names_read(statements[k])) last.emplace(name, k);
  }
  return last;
}

/// Which elements of each statement the chosen rows of the results need: limits of its own axes. An axis is limited where every reader
/// takes it at a limited index of its own.
class Demand {
 public:
  Demand(const math::Program& program, const std::vector<Prepared>& statements, const BoundOptions& options) {
    if (options.rows.empty()) return;
    for (std::size_t k = statements.size(); k-- > 0;) {
      const bool is_result = program.result(statements[k].name) != nullptr && is_wanted(options, statements[k].name);
      visit_statement(statements, statements[k], is_result ? options.rows : Limits{});
    }
  }
  [[nodiscard]] Limits limits(const Prepared& statement) const {
    Limits limits;
    const auto found = ranges_.find(statement.name);
    for (std::size_t axis = 0; found != ranges_.end() && axis < statement.axes.size(); ++axis)
      if (const auto range = found->second.find(axis); range != found->second.end() && range->second)
        limits[statement.axes[axis].index] = *range->second;
    return limits;
  }

 private:
  using Range = std::optional<std::pair<std::int64_t, std::int64_t>>;  // nullopt: the whole axis

  void visit_statement(const std::vector<Prepared>& statements, const Prepared& statement, const Limits& rows) {
    for (std::size_t axis = 0; axis < statement.axes.size(); ++axis)
      if (const auto row = rows.find(statement.axes[axis].index); row != rows.end())
        widen(statement.name, axis, row->second);
      else if (!rows.empty())
        widen(statement.name, axis, std::nullopt);
    const Limits own = limits(statement);
    const auto follow = [&](Expr root) {
      if (!root) return;
      visit(root, [&](Expr e) {
        if (!e.is(Op::read) ||
            std::none_of(statements.begin(), statements.end(), [&](const Prepared& each) { return each.name == e.name(); }))
          return;
        for (std::size_t axis = 0; axis < e.args().size(); ++axis) {
          const auto limit = e.arg(axis).is(Op::index) ? own.find(e.arg(axis).name()) : own.end();
          widen(e.name(), axis, limit == own.end() ? Range() : Range(limit->second));
        }
      });
    };
    follow(statement.value);
    for (const Expr value : statement.values) follow(value);
    for (const Bound& bound : statement.over) follow(bound.lo), follow(bound.hi);
    for (const math::Axis& axis : statement.axes) follow(axis.lo), follow(axis.hi);
  }

  void widen(Symbol name, std::size_t axis, Range range) {
    auto [at, is_new] = ranges_[name].try_emplace(axis, range);
    if (is_new || !at->second) return;
    at->second = range ? Range(std::pair(std::min(at->second->first, range->first), std::max(at->second->second, range->second))) : Range();
  }

  std::map<Symbol, std::map<std::size_t, Range>> ranges_;
};

void determine(Bounded& bounded, std::size_t first, std::size_t last, double size) {
  constexpr double small_share = 0x1p-10;
  for (std::size_t i = first; i < last; ++i)
    if (bounded.bound[i] <= small_share * size) bounded.undetermined[i] = false;
}

/// A value of 0 has no relative bound: each is seen against the largest of its row.
void determine_by_rows(Bounded& bounded) {
  const std::size_t n = bounded.value.size();
  const std::size_t row = bounded.shape.empty() ? n : static_cast<std::size_t>(bounded.shape.back());
  for (std::size_t start = 0; start < n; start += row) {
    double largest = 0;
    for (std::size_t i = start; i < start + row; ++i)
      if (std::isfinite(bounded.value[i])) largest = std::max(largest, std::abs(bounded.value[i]));
    determine(bounded, start, start + row, largest);
  }
}

/// One evaluation of the statements. Inputs are looked at, never copied.
class Reference {
 public:
  Reference(const math::Program& program, const DimValues& dims, const Tensors<Bounding>& inputs, const BoundOptions& options)
      : program_(program), dims_(dims), inputs_(inputs), domain_{options, {}} {}

  Result<References::Part> run(const std::vector<Prepared>& statements) {
    const std::map<Symbol, std::size_t> last = last_uses(program_, statements, domain_.options);
    const Demand demand(program_, statements, domain_.options);
    for (std::size_t k = 0; k < statements.size(); ++k) {
      if (!last.contains(statements[k].name)) continue;
      if (auto done = evaluate(statements[k], demand.limits(statements[k])); !done) return tl::unexpected(done.error());
      for (const auto& [name, use] : last)
        if (use == k) tensors_.erase(name);
    }
    References::Part part;
    for (const math::Parameter& result : program_.results) {
      if (!is_wanted(domain_.options, result.name)) continue;
      auto bounded = bounded_of(result);
      if (!bounded) return tl::unexpected(bounded.error());
      part.results.emplace(result.name, std::move(*bounded));
    }
    part.work = work_limit - work_left_;
    return part;
  }

 private:
  Result<void> evaluate(const Prepared& statement, const Limits& limits) {
    const auto lookup = [this](Symbol name) -> const Tensor<Approx>* {
      if (const auto found = tensors_.find(name); found != tensors_.end()) return &found->second;
      const auto input = inputs_.find(name);
      return input == inputs_.end() ? nullptr : &input->second;
    };
    domain_.statement = statement.name;
    Evaluator<Bounding> evaluator(domain_, program_, dims_, lookup, work_left_);
    const Box box = open_axes<Bounding>(evaluator, statement.axes, limits);
    auto column = statement.value ? evaluator.evaluate(statement.value)
                                  : project<Bounding>(evaluator, *statement.reducer, statement.result,
                                                      fold<Bounding>(evaluator, statement.over, *statement.reducer, statement.values));
    if (statement.dtype != DType::real) column = evaluator.cast_to(statement.dtype, column);
    column = spread<Bounding>(evaluator, column, box.size());
    if (!evaluator.failure()) {
      Tensor<Approx> tensor = make_tensor<Bounding>(domain_, box, column->kind);
      write<Bounding>(evaluator, tensor, box, column);
      tensors_[statement.name] = std::move(tensor);
    }
    if (!evaluator.failure()) return {};
    Refusal refusal = *evaluator.failure();
    refusal.nodes.push_back(statement.name.text());
    return tl::unexpected(std::move(refusal));
  }

  /// What other results need of a result may be more than what was asked for.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> asked_for(const math::Statement& statement, std::size_t axis,
                                                                std::pair<std::int64_t, std::int64_t> evaluated) const {
    const auto row = domain_.options.rows.find(statement.axes[axis].index);
    if (row == domain_.options.rows.end()) return evaluated;
    const std::int64_t lo = std::clamp(row->second.first, evaluated.first, evaluated.second);
    return {lo, std::clamp(row->second.second, lo, evaluated.second)};
  }

  Result<Bounded> bounded_of(const math::Parameter& result) const {
    const auto found = tensors_.find(result.name);
    if (found == tensors_.end()) return refuse(fmt::format("Result `{}` has no statement.", result.name.text()), {result.name.text()});
    const Tensor<Approx>& tensor = found->second;
    Bounded bounded;
    std::vector<std::size_t> places = {0};  // in the tensor, of the elements that were asked for
    for (std::size_t axis = 0; axis < tensor.extent.size(); ++axis) {
      const auto [lo, hi] = asked_for(*program_.find(result.name), axis, {tensor.lo[axis], tensor.lo[axis] + tensor.extent[axis]});
      bounded.first.push_back(lo);
      bounded.shape.push_back(hi - lo);
      std::vector<std::size_t> longer;
      for (const std::size_t place : places)
        for (std::int64_t at = lo; at < hi; ++at)
          longer.push_back(place * static_cast<std::size_t>(tensor.extent[axis]) + static_cast<std::size_t>(at - tensor.lo[axis]));
      places = std::move(longer);
    }
    for (const std::size_t i : places) {
      const std::uint8_t flags = tensor.flags.empty() ? std::uint8_t{0} : tensor.flags[i];
      if ((flags & invalid) != 0)
        return refuse(fmt::format("`{}`{} needs an element outside a tensor.", result.name.text(), place_text(tensor.extent, i)),
                      {result.name.text()}, "Guard the read with `where`.");
      const Approx x = is_discrete(tensor.kind) ? Approx{Wide(static_cast<double>(tensor.whole[i])), {}} : tensor.real[i];
      bounded.value.push_back(x.value.to_double());
      const bool open = (flags & undetermined) != 0;
      bounded.bound.push_back(open ? std::numeric_limits<double>::infinity() : x.error.to_double());
      bounded.undetermined.push_back(open || x.error > abs(x.value));
    }
    determine_by_rows(bounded);
    return bounded;
  }

  const math::Program& program_;
  const DimValues& dims_;
  const Tensors<Bounding>& inputs_;
  Tensors<Bounding> tensors_;  ///< computed
  Bounding domain_;
  std::int64_t work_left_ = work_limit;
};

}  // namespace

void determine_small_elements(Bounded& bounded, double size) { determine(bounded, 0, bounded.value.size(), size); }

struct References::Loaded {
  const math::Program* program;
  DimValues dims;
  Tensors<Bounding> inputs;
  std::vector<Prepared> statements;
};

Result<References> References::of(const math::Program& program, const Arrays& inputs, const DimValues& given) {
  Result<DimValues> dims = complete_dims(program, given);
  if (!dims) return tl::unexpected(dims.error());
  const Bounding domain{};
  Result<Tensors<Bounding>> tensors = load_inputs<Bounding>(domain, program, *dims, inputs);
  if (!tensors) return tl::unexpected(tensors.error());
  if (auto met = check_conditions<Bounding>(domain, program, *dims, *tensors); !met) return tl::unexpected(met.error());
  Result<std::vector<Prepared>> statements = prepare(program);
  if (!statements) return tl::unexpected(statements.error());
  References references;
  references.loaded_ = std::make_shared<const Loaded>(Loaded{&program, *std::move(dims), *std::move(tensors), *std::move(statements)});
  return references;
}

Result<References::Part> References::at(const BoundOptions& options) const {
  return Reference(*loaded_->program, loaded_->dims, loaded_->inputs, options).run(loaded_->statements);
}

Result<std::map<Symbol, Bounded>> reference(const math::Program& program, const Arrays& inputs, const DimValues& dims,
                                            const BoundOptions& options) {
  const Result<References> references = References::of(program, inputs, dims);
  if (!references) return tl::unexpected(references.error());
  Result<References::Part> part = references->at(options);
  if (!part) return tl::unexpected(part.error());
  return std::move(part->results);
}

}  // namespace fathom::interp
