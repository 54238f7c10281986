// The evaluator and the folds of the algebra's tests: written from docs/algebra.md and the fields of Fusion, without the algebra's own
// code.
#include "algebra_test.hpp"

#include <cmath>
#include <functional>
#include <limits>

namespace fathom::algebra {

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();
}  // namespace

math::Program parse(const std::string& text) {
  auto file = lang::parse_file(text);
  if (!file) {
    ADD_FAILURE() << render(file.error(), "test", text) << text;
    return {};
  }
  return file->operators.front();
}

math::Program parse_opened(const std::string& text) { return math::open(parse(text)); }

math::Program program_of(const std::string& body, const std::string& results) {
  return parse_opened(
      "dim T = 8, D = 4\noperator test(s: f32[T], t: f32[T], u: f32[T], v: f32[T], w: f32[T], x: f32[T], keep: bool[T], tau: f32, eps: "
      "f32) -> (" +
      results + ") where tau > 0\n{\n" + body + "\n}\n");
}

namespace {

double operated(Op op, const std::vector<double>& a) {
  switch (op) {
    case Op::neg:
      return -a[0];
    case Op::logical_not:
      return a[0] == 0 ? 1 : 0;
    case Op::add:
      return a[0] + a[1];
    case Op::sub:
      return a[0] - a[1];
    case Op::mul:
      return a[0] * a[1];
    case Op::div:
      return a[0] / a[1];
    case Op::floordiv:
      return std::floor(a[0] / a[1]);
    case Op::mod:
      return a[0] - a[1] * std::floor(a[0] / a[1]);
    case Op::pow:
      return std::pow(a[0], a[1]);
    case Op::eq:
      return a[0] == a[1] ? 1 : 0;
    case Op::ne:
      return a[0] != a[1] ? 1 : 0;
    case Op::lt:
      return a[0] < a[1] ? 1 : 0;
    case Op::le:
      return a[0] <= a[1] ? 1 : 0;
    case Op::gt:
      return a[0] > a[1] ? 1 : 0;
    case Op::ge:
      return a[0] >= a[1] ? 1 : 0;
    case Op::logical_and:
      return a[0] != 0 && a[1] != 0 ? 1 : 0;
    case Op::logical_or:
      return a[0] != 0 || a[1] != 0 ? 1 : 0;
    case Op::min:
      return std::isnan(a[0]) || std::isnan(a[1]) ? nan : std::fmin(a[0], a[1]);
    case Op::max:
      return std::isnan(a[0]) || std::isnan(a[1]) ? nan : std::fmax(a[0], a[1]);
    case Op::abs:
      return std::fabs(a[0]);
    case Op::floor:
      return std::floor(a[0]);
    case Op::exp:
      return std::exp(a[0]);
    case Op::exp2:
      return std::exp2(a[0]);
    case Op::log:
      return std::log(a[0]);
    case Op::log2:
      return std::log2(a[0]);
    case Op::sqrt:
      return std::sqrt(a[0]);
    case Op::rsqrt:
      return 1 / std::sqrt(a[0]);
    case Op::sin:
      return std::sin(a[0]);
    case Op::cos:
      return std::cos(a[0]);
    case Op::tanh:
      return std::tanh(a[0]);
    case Op::erf:
      return std::erf(a[0]);
    case Op::sigmoid:
      return 1 / (1 + std::exp(-a[0]));
    default:
      return nan;
  }
}

std::int64_t integer(Expr e, Scene& scene) { return static_cast<std::int64_t>(std::llround(evaluate(e, scene))); }

double read_value(Expr e, Scene& scene) {
  const auto found = scene.arrays.find(e.name());
  if (found == scene.arrays.end()) return nan;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < e.args().size(); ++i) {
    const std::int64_t k = integer(e.arg(i), scene);
    if (k < 0 || k >= found->second.shape[i]) return nan;
    at = at * found->second.shape[i] + k;
  }
  return found->second.data[static_cast<std::size_t>(at)];
}

using State = std::vector<double>;

State identity_of(const Reducer& reducer, Scene& scene) {
  State state;
  for (const Component& component : reducer.state) state.push_back(evaluate(component.identity, scene));
  return state;
}

State lift(const Reducer& reducer, const std::vector<double>& values, Scene& scene) {
  Scene inner = {scene.program, scene.dims, {}, {}, {}};
  for (std::size_t i = 0; i < reducer.parameters.size() && i < values.size(); ++i) inner.symbols[reducer.parameters[i]] = values[i];
  State state;
  for (const Component& component : reducer.state) state.push_back(evaluate(component.lift, inner));
  return state;
}

State combine(const Reducer& reducer, const State& a, const State& b) {
  Scene inner;
  for (std::size_t i = 0; i < reducer.state.size(); ++i) {
    inner.symbols[reducer.state[i].name] = a[i];
    inner.symbols[primed(reducer.state[i].name)] = b[i];
  }
  State state;
  for (const Component& component : reducer.state) state.push_back(evaluate(component.combine, inner));
  return state;
}

double result_of(const Reducer& reducer, Symbol which, const State& state) {
  Scene inner;
  for (std::size_t i = 0; i < reducer.state.size(); ++i) inner.symbols[reducer.state[i].name] = state[i];
  for (const ReducerResult& result : reducer.results)
    if (which.empty() || result.name == which) return evaluate(result.value, inner);
  return nan;
}

/// Calls f with the indices set to every point of the box.
void for_each(const std::vector<math::Axis>& axes, std::size_t from, Scene& scene, const std::function<void()>& f) {
  if (from == axes.size()) return f();
  const std::int64_t lo = integer(axes[from].lo, scene);
  const std::int64_t hi = integer(axes[from].hi, scene);
  for (std::int64_t i = lo; i < hi; ++i) {
    scene.indices[axes[from].index] = i;
    for_each(axes, from + 1, scene, f);
  }
  scene.indices.erase(axes[from].index);
}

State reduce_all(const Reducer& reducer, const std::vector<math::Axis>& over, const std::vector<Expr>& values, Scene& scene) {
  State state = identity_of(reducer, scene);
  for_each(over, 0, scene, [&] {
    std::vector<double> lifted;
    for (Expr value : values) lifted.push_back(evaluate(value, scene));
    state = combine(reducer, state, lift(reducer, lifted, scene));
  });
  return state;
}

Array empty_array(const math::Statement& statement, Scene& scene) {
  Array array;
  std::int64_t size = 1;
  for (const math::Axis& axis : statement.axes) {
    array.shape.push_back(integer(axis.hi, scene));
    size *= array.shape.back();
  }
  array.data.assign(static_cast<std::size_t>(size), nan);
  return array;
}

std::size_t place_of(const math::Statement& statement, const Array& array, Scene& scene) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < statement.axes.size(); ++i) at = at * array.shape[i] + scene.indices[statement.axes[i].index];
  return static_cast<std::size_t>(at);
}

}  // namespace

double evaluate(Expr e, Scene& scene) {
  switch (e.op()) {
    case Op::number:
      return e.node().inexact != 0 ? e.node().inexact : e.node().number.to_double();
    case Op::infinity:
      return inf;
    case Op::boolean:
      return e.node().truth ? 1 : 0;
    case Op::index:
      return static_cast<double>(scene.indices.at(e.name()));
    case Op::dim:
      return static_cast<double>(scene.dims.at(e.name()));
    case Op::symbol: {
      const auto found = scene.symbols.find(e.name());
      return found == scene.symbols.end() ? nan : found->second;
    }
    case Op::read:
      return read_value(e, scene);
    case Op::where:
      return evaluate(e.arg(0), scene) != 0 ? evaluate(e.arg(1), scene) : evaluate(e.arg(2), scene);
    case Op::cast:
      return evaluate(e.arg(0), scene);
    case Op::reduce: {
      const ReducerRef reducer = reducer_named(scene.program->reducers, e.name());
      std::vector<math::Axis> over;
      for (const Bound& bound : bounds_of(e)) over.push_back({bound.index, bound.lo, bound.hi});
      return result_of(*reducer, e.node().result, reduce_all(*reducer, over, values_of(e), scene));
    }
    default:
      break;
  }
  std::vector<double> args;
  for (Expr arg : e.args()) args.push_back(evaluate(arg, scene));
  return operated(e.op(), args);
}

namespace {

void evaluate_statement(const math::Statement& statement, Scene& scene) {
  Array array = empty_array(statement, scene);
  for_each(statement.axes, 0, scene, [&] {
    double& at = array.data[place_of(statement, array, scene)];
    if (const math::Map* map = statement.map())
      at = evaluate(map->value, scene);
    else if (const math::Reduction* r = statement.reduction())
      at = result_of(*r->reducer, r->result, reduce_all(*r->reducer, r->over, r->values, scene));
  });
  scene.arrays[statement.name] = std::move(array);
}

/// The state of a fused reduction at one point: what is carried, and its gauges.
struct Riding {
  std::vector<State> carried;
  std::map<Symbol, double> gauges;
  bool set = false;
};

/// Where a node of the fold comes from: a tile added to `left` (-1: the empty prefix), or two prefixes merged.
struct Node {
  int left = -1;
  int right = -1;
  int tile = -1;
};

std::vector<Node> nodes_of(Fold fold, int tiles) {
  std::vector<Node> nodes;
  for (int t = 0; t < tiles; ++t) nodes.push_back({fold == Fold::rolling ? t - 1 : -1, -1, t});
  if (fold == Fold::rolling) return nodes;
  std::vector<int> parts;
  for (int t = 0; t < tiles; ++t) parts.push_back(t);
  while (parts.size() > 1) {  // an uneven tree
    const std::size_t at = parts.size() / 2 - 1;
    nodes.push_back({parts[at], parts[at + 1], -1});
    parts[at] = static_cast<int>(nodes.size()) - 1;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return nodes;
}

class Folder {
 public:
  Folder(const math::Program& program, const Analysis& analysis, Scene& scene, Fold fold, const std::vector<double>& cuts)
      : program_(program), analysis_(analysis), scene_(scene), cuts_(cuts), nodes_(nodes_of(fold, static_cast<int>(cuts.size()) + 1)) {}

  void run() {
    for (const math::Statement& statement : program_.statements)
      if (statement.map() != nullptr)
        evaluate_statement(statement, scene_);
      else
        fold(statement);
  }

 private:
  struct Form {
    std::vector<math::Gauge> gauges;
    std::vector<math::Carried> carried;
    Expr project;
  };

  Form form_of(const math::Statement& statement, const Fusion& fusion) const {
    if (fusion.repair) return {fusion.repair->gauges, fusion.repair->carried, fusion.repair->project};
    if (!fusion.factored.empty()) return {{}, fusion.factored, fusion.project};
    (void)statement;
    return {};
  }

  void fold(const math::Statement& statement) {
    const math::Reduction& reduction = *statement.reduction();
    const Fusion& fusion = *analysis_.find(statement.name);
    const Form form = form_of(statement, fusion);
    std::vector<Array>& running = running_[statement.name];
    running.assign(nodes_.size(), empty_array(statement, scene_));
    std::map<std::size_t, std::vector<Riding>> states;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      Scene at = scene_;
      for (Symbol producer : fusion.producers)
        if (const Fusion* its = analysis_.find(producer); its != nullptr && its->pass == fusion.pass && running_.count(producer) != 0)
          at.arrays[producer] = running_[producer][k];
      for_each(statement.axes, 0, at, [&] {
        const std::size_t point = place_of(statement, running[k], at);
        std::vector<Riding>& here = states[point];
        here.resize(nodes_.size());
        here[k] = form.carried.empty() ? plain(reduction, here, nodes_[k], at) : riding(reduction, form, here, nodes_[k], at);
        running[k].data[point] =
            form.carried.empty() ? result_of(*reduction.reducer, reduction.result, here[k].carried[0]) : projected(form, here[k], at);
      });
    }
    scene_.arrays[statement.name] = running.back();
  }

  std::vector<math::Axis> tile(const math::Reduction& reduction, int t, Scene& at) const {
    std::vector<math::Axis> over = reduction.over;
    const std::int64_t lo = integer(over[0].lo, at);
    const std::int64_t hi = integer(over[0].hi, at);
    const auto cut = [&](int i) {
      if (i < 0) return lo;
      if (i >= static_cast<int>(cuts_.size())) return hi;
      return lo + static_cast<std::int64_t>(std::floor(cuts_[static_cast<std::size_t>(i)] * static_cast<double>(hi - lo) + 1e-9));
    };
    over[0].lo = number(cut(t - 1));
    over[0].hi = number(cut(t));
    return over;
  }

  Riding plain(const math::Reduction& reduction, const std::vector<Riding>& here, const Node& node, Scene& at) const {
    const Reducer& reducer = *reduction.reducer;
    const State left = node.left < 0 ? identity_of(reducer, at) : here[static_cast<std::size_t>(node.left)].carried[0];
    const State right = node.tile >= 0 ? reduce_all(reducer, tile(reduction, node.tile, at), reduction.values, at)
                                       : here[static_cast<std::size_t>(node.right)].carried[0];
    return {{combine(reducer, left, right)}, {}, false};
  }

  /// The gauges at this node; unset ones stand at 0.
  static bool set_gauges(const Form& form, Riding& riding, Scene& at) {
    bool set = true;
    for (const math::Gauge& gauge : form.gauges) {
      const double reference = evaluate(gauge.reference, at);
      set = set && std::isfinite(reference);
      riding.gauges[gauge.name] = std::isfinite(reference) ? reference : 0;
    }
    return set;
  }

  static std::vector<State> moved(const Form& form, const Riding& from, const Riding& to, Scene& at) {
    Scene inner = at;
    for (const auto& [name, value] : from.gauges) inner.symbols[name] = value;
    for (const auto& [name, value] : to.gauges) inner.symbols[primed(name)] = value;
    for (std::size_t i = 0; i < form.carried.size(); ++i) inner.symbols[form.carried[i].name] = from.carried[i][0];
    std::vector<State> result = from.carried;
    for (std::size_t i = 0; i < form.carried.size(); ++i) {
      const State identity = identity_of(*form.carried[i].reducer, at);
      if (from.set && from.carried[i] != identity && !form.gauges.empty()) result[i] = {evaluate(form.carried[i].move, inner)};
    }
    return result;
  }

  Riding riding(const math::Reduction& reduction, const Form& form, const std::vector<Riding>& here, const Node& node, Scene& at) const {
    Riding next;
    next.set = set_gauges(form, next, at);
    for (const math::Carried& carried : form.carried) next.carried.push_back(identity_of(*carried.reducer, at));
    for (const int from : {node.left, node.right}) {
      if (from < 0) continue;
      const std::vector<State> part = moved(form, here[static_cast<std::size_t>(from)], next, at);
      for (std::size_t i = 0; i < part.size(); ++i) next.carried[i] = combine(*form.carried[i].reducer, next.carried[i], part[i]);
    }
    if (node.tile < 0) return next;
    Scene inner = at;
    for (const auto& [name, value] : next.gauges) inner.symbols[name] = value;
    for (std::size_t i = 0; i < form.carried.size(); ++i) {
      const State added = reduce_all(*form.carried[i].reducer, tile(reduction, node.tile, inner), {form.carried[i].term}, inner);
      next.carried[i] = combine(*form.carried[i].reducer, next.carried[i], added);
    }
    return next;
  }

  static double projected(const Form& form, const Riding& riding, Scene& at) {
    Scene inner = at;
    for (const auto& [name, value] : riding.gauges) inner.symbols[name] = value;
    for (std::size_t i = 0; i < form.carried.size(); ++i) inner.symbols[form.carried[i].name] = riding.carried[i][0];
    return evaluate(form.project, inner);
  }

  const math::Program& program_;
  const Analysis& analysis_;
  Scene& scene_;
  std::vector<double> cuts_;
  std::vector<Node> nodes_;
  std::map<Symbol, std::vector<Array>> running_;
};

}  // namespace

void evaluate_all(const math::Program& opened, Scene& scene) {
  scene.program = &opened;
  for (const math::Statement& statement : opened.statements) evaluate_statement(statement, scene);
}

void fold_all(const math::Program& unified, const Analysis& analysis, Scene& scene, Fold fold, const std::vector<double>& cuts) {
  scene.program = &unified;
  Folder(unified, analysis, scene, fold, cuts).run();
}

}  // namespace fathom::algebra
