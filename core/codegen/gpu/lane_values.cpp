// Expressions on all lanes: what is masked is neither computed nor loaded.
#include <algorithm>
#include <cmath>

#include "codegen/gpu/lane_process.hpp"
#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {
namespace {

double rounded(Type type, double x) {
  switch (type) {
    case Type::f32:
      return static_cast<double>(static_cast<float>(x));
    case Type::bf16:
      return round_to(DType::bf16, x);
    case Type::f16:
      return round_to(DType::f16, x);
    case Type::boolean:
      return x != 0 ? 1 : 0;
    case Type::i32:
    case Type::i64:
      return std::trunc(x);
    default:
      return x;
  }
}

}  // namespace

Lanes LaneProcess::converted(const Lanes& from, Type to) const {
  if (from.type == to) return from;
  Lanes made{to, from.of};
  for (double& x : made.of) x = rounded(to, x);
  return made;
}

std::int64_t LaneProcess::uniform(Expr e, const Mask& mask, const char* what) {
  const Lanes all = value(e, mask);
  std::optional<double> one;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    if (one && *one != all.of[lane]) fault(std::string(what) + " differs between lanes");
    one = all.of[lane];
  }
  return one ? static_cast<std::int64_t>(*one) : 0;
}

LaneProcess::Place LaneProcess::place(Expr e, const Mask& mask) {
  if (e.is(Op::call) && e.name().text() == "&") return place(e.arg(0), mask);
  const auto at = variables_.find(e.name());
  if (at == variables_.end()) fault("`" + e.name().text() + "` is not declared where it is used");
  LaneVariable& v = at->second;
  Place found;
  found.variable = &v;
  found.memory = v.points_to.get();
  found.at.assign(lanes_, 0);
  const bool flat = v.extents.empty();  // a pointer
  for (std::size_t d = 0; d < e.args().size(); ++d) {
    const Lanes index = value(e.arg(d), mask);
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (!mask[lane]) continue;
      const auto i = static_cast<std::int64_t>(index.of[lane]);
      if (!flat && (i < 0 || i >= v.extents[d]))
        fault("`" + e.name().text() + "` has no element " + std::to_string(i) + " along axis " + std::to_string(d));
      found.at[lane] = found.at[lane] * (flat ? 1 : v.extents[d]) + i;
    }
  }
  if (!v.offset.empty())
    for (std::size_t lane = 0; lane < lanes_; ++lane) found.at[lane] += static_cast<std::int64_t>(v.offset[lane]);
  return found;
}

Lanes LaneProcess::load(const Place& place, const Mask& mask) {
  Lanes made{place.memory != nullptr ? place.memory->type : place.variable->type, std::vector<double>(lanes_, 0)};
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    made.of[lane] = place.memory != nullptr ? read_cell(*place.memory, place.at[lane], lane) : read_register(place, lane);
  }
  return made;
}

Lanes LaneProcess::value(Expr e, const Mask& mask) {
  const auto all = [&](Type type, double x) { return Lanes{type, std::vector<double>(lanes_, x)}; };
  switch (e.op()) {
    case Op::number: {
      const bool whole = e.node().inexact == 0 && e.node().number.is_integer();
      const double x = e.node().inexact != 0 ? e.node().inexact : e.node().number.to_double();
      return whole ? all(Type::i32, x) : all(Type::f32, rounded(Type::f32, x));
    }
    case Op::infinity:
      return all(Type::f32, HUGE_VAL);
    case Op::boolean:
      return all(Type::boolean, e.node().truth ? 1 : 0);
    case Op::symbol:
    case Op::read:
      return load(place(e, mask), mask);
    case Op::cast: {
      const Type to = type_of(e.node().dtype);
      if (e.arg(0).is(Op::number)) {
        const ExprNode& n = e.arg(0).node();
        return all(to, rounded(to, n.inexact != 0 ? n.inexact : n.number.to_double()));
      }
      return converted(value(e.arg(0), mask), to);
    }
    case Op::call: {
      auto made = call(e, mask);
      if (!made) fault("`" + e.name().text() + "` gives no value");
      return std::move(*made);
    }
    case Op::where:
    case Op::logical_and:
    case Op::logical_or: {
      const Lanes first = value(e.arg(0), mask);
      Mask then(lanes_), otherwise(lanes_);
      for (std::size_t lane = 0; lane < lanes_; ++lane) {
        const bool holds = first.of[lane] != 0;
        then[lane] = mask[lane] != 0 && holds;
        otherwise[lane] = mask[lane] != 0 && !holds;
      }
      const bool select = e.is(Op::where);
      Lanes a = select || e.is(Op::logical_and) ? value(e.arg(1), then) : all(Type::boolean, 1);
      const Lanes b = select ? value(e.arg(2), otherwise) : e.is(Op::logical_or) ? value(e.arg(1), otherwise) : all(Type::boolean, 0);
      if (select && a.type != b.type) fault("a choice of two types");
      for (std::size_t lane = 0; lane < lanes_; ++lane)
        if (otherwise[lane]) a.of[lane] = b.of[lane];
      if (!select) a = converted(a, Type::boolean);
      return a;
    }
    default:
      return arithmetic(e, mask);
  }
}

Lanes LaneProcess::arithmetic(Expr e, const Mask& mask) {
  std::vector<Lanes> args;
  Type type = Type::boolean;
  for (const Expr arg : e.args()) {
    args.push_back(value(arg, mask));
    type = std::max(type, args.back().type);
  }
  if (type > Type::f64) fault("arithmetic on numbers of 16 bits: `" + fathom::print(e) + "`");
  const bool compares = e.op() >= Op::eq && e.op() <= Op::ge;
  Lanes made{compares || e.is(Op::logical_not) ? Type::boolean : std::max(type, Type::i32), std::vector<double>(lanes_, 0)};
  const auto run = [&](auto f) {
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      if (mask[lane]) made.of[lane] = rounded(made.type, f(args[0].of[lane], args.size() > 1 ? args[1].of[lane] : 0.0));
  };
  const bool whole = !is_float(type);
  switch (e.op()) {
    case Op::neg:
      run([](double a, double) { return -a; });
      break;
    case Op::logical_not:
      run([](double a, double) { return a == 0 ? 1.0 : 0.0; });
      break;
    case Op::add:
      run([](double a, double b) { return a + b; });
      break;
    case Op::sub:
      run([](double a, double b) { return a - b; });
      break;
    case Op::mul:
      run([](double a, double b) { return a * b; });
      break;
    case Op::div:
      if (whole) fault("a division of reals on whole numbers");
      run([](double a, double b) { return a / b; });
      break;
    case Op::floordiv:
    case Op::mod:
      if (!whole) fault("a division of whole numbers on reals");
      for (std::size_t lane = 0; lane < lanes_; ++lane)
        if (mask[lane] && (args[0].of[lane] < 0 || args[1].of[lane] <= 0))
          fault("`" + fathom::print(e) + "` divides numbers below zero as if they were none");
      if (e.is(Op::mod)) {
        run([](double a, double b) { return std::fmod(a, b); });
      } else {
        run([](double a, double b) { return std::trunc(a / b); });
      }
      break;
    case Op::min:
      run([](double a, double b) { return std::min(a, b); });
      break;
    case Op::max:
      run([](double a, double b) { return std::max(a, b); });
      break;
    case Op::eq:
      run([](double a, double b) { return a == b ? 1.0 : 0.0; });
      break;
    case Op::ne:
      run([](double a, double b) { return a != b ? 1.0 : 0.0; });
      break;
    case Op::lt:
      run([](double a, double b) { return a < b ? 1.0 : 0.0; });
      break;
    case Op::le:
      run([](double a, double b) { return a <= b ? 1.0 : 0.0; });
      break;
    case Op::gt:
      run([](double a, double b) { return a > b ? 1.0 : 0.0; });
      break;
    case Op::ge:
      run([](double a, double b) { return a >= b ? 1.0 : 0.0; });
      break;
    default:
      fault("`" + fathom::print(e) + "` is no operation of a thread");
  }
  return made;
}

}  // namespace fathom::gpu
