#include "session/stage_repairs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fathom::session::stage {
namespace {

/// The move as a program of its own: carrier and gauge, before and after, are its arguments, one element each row.
Result<std::vector<double>> evaluate(Expr move, Symbol carrier, Symbol gauge, double of_carrier, const std::vector<double>& before,
                                     const std::vector<double>& now, const DimValues& dims, const interp::Arrays& scalars) {
  const Symbol row("row"), count("rows.of.the.gauge"), result("moved");
  math::Program program;
  program.name = Symbol("move");
  const auto n = static_cast<std::int64_t>(before.size());
  program.dims.push_back({count, n, false, {}});
  for (const auto& [name, value] : dims)
    if (!(name == count)) program.dims.push_back({name, value, false, {}});
  interp::Arrays inputs;
  const auto argument = [&](Symbol name, std::vector<double> values) {
    math::Parameter parameter;
    parameter.name = name;
    parameter.extents = {dim(count)};
    program.params.push_back(parameter);
    inputs[name] = {DType::f32, {n}, std::move(values)};
    return read(name, {index(row)});
  };
  Substitution names;
  names[symbol(gauge)] = argument(Symbol("before"), before);
  names[symbol(primed(gauge))] = argument(Symbol("now"), now);
  names[symbol(carrier)] = argument(Symbol("carrier"), std::vector<double>(before.size(), of_carrier));
  const Expr value = substitute(move, names);
  for (const Symbol name : tensors_read(value)) {
    if (inputs.count(name) > 0) continue;
    const auto scalar = scalars.find(name);
    if (scalar == scalars.end() || !scalar->second.shape.empty()) return refuse("The move reads more than scalars.");
    math::Parameter parameter;
    parameter.name = name;
    parameter.dtype = scalar->second.dtype;
    program.params.push_back(parameter);
    inputs[name] = scalar->second;
  }
  math::Parameter moved;
  moved.name = result;
  moved.extents = {dim(count)};
  program.results.push_back(moved);
  program.statements.push_back({result, {{row, number(0), dim(count)}}, DType::f32, math::Map{value}, {}});
  interp::RunOptions options;
  for (const math::Dimension& each : program.dims) options.dims[each.name] = each.value;
  auto arrays = interp::run(make_ir(std::move(program)), inputs, options);
  if (!arrays) return tl::unexpected<Refusal>(arrays.error());
  return std::move(arrays->at(result).data);
}

bool same(double a, double b) {
  constexpr double tolerance = 1e-5;
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

}  // namespace

Repairs::Repairs(const loop::Program* loops, const Errors& errors, const DimValues& dims, const interp::Arrays& inputs)
    : loops_(loops), errors_(errors), dims_(dims), inputs_(inputs) {}

void Repairs::see(const Write& write, Frame& frame) {
  if (loops_ == nullptr || write.statement.empty() || !write.partial) return;
  const double unit = errors_.unit_of(write.statement);
  if (std::isnan(unit)) return;
  const bool is_state = write.tensor == write.statement;
  const auto in_unit = [&](std::vector<double> values) {
    for (double& value : values) value /= unit;
    return values;
  };
  if (is_state || write.tensor == write.statement + "'") {
    // modules write the next value first, under its own name: then the carried one only takes it over
    Moved& moved = references_[write.statement];
    const bool takes_over = is_state && moved.has_next;
    moved.has_next = moved.has_next || !is_state;
    if (write.starts || moved.axes != write.axes) {
      moved.axes = write.axes;
      moved.before.clear();
      moved.now = in_unit(write.values);
    } else if (!takes_over) {
      moved.before = std::exchange(moved.now, in_unit(write.values));
    }
  }
  if (!is_state || write.starts) return;
  const math::Statement* statement = loops_->math.find(Symbol(write.statement));
  const math::Reduction* reduction = statement == nullptr ? nullptr : statement->reduction();
  if (reduction == nullptr || !reduction->repair || reduction->repair->carried.size() != 1 || reduction->repair->gauges.size() != 1) return;
  const math::Gauge& gauge = reduction->repair->gauges.front();
  const math::Carried& carried = reduction->repair->carried.front();
  if (!gauge.reference.is(Op::read) || carried.move == symbol(carried.name)) return;  // what is left as it is, is not repaired
  const auto found = references_.find(gauge.reference.name().text());
  if (found == references_.end() || found->second.before.size() != found->second.now.size()) return;
  const Moved& moved = found->second;
  // an unset reference moves nothing
  std::vector<double> before = moved.before, now = moved.now;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!std::isfinite(now[i])) now[i] = 0;
    if (!std::isfinite(before[i])) before[i] = now[i];
  }
  std::vector<std::vector<double>> at;  // what carriers of 0, 1 and 2 become
  for (const double carrier : {0.0, 1.0, 2.0}) {
    auto values = evaluate(carried.move, carried.name, gauge.name, carrier, before, now, dims_, inputs_);
    if (!values) return;
    at.push_back(*std::move(values));
  }
  bool is_factor = true, is_shift = true;
  for (std::size_t i = 0; i < before.size(); ++i) {
    is_factor = is_factor && at[0][i] == 0 && same(at[2][i], 2 * at[1][i]);
    is_shift = is_shift && same(at[1][i] - at[0][i], 1) && same(at[2][i] - at[0][i], 2);
  }
  if (!is_factor && !is_shift) return;
  frame.repairs.push_back({write.tensor, !is_factor, moved.axes, is_factor ? at[1] : at[0]});
}

}  // namespace fathom::session::stage
