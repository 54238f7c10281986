// Statements on tiles: loops over the registers of a lane.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {

std::vector<Symbol> KernelLowering::parts_of(const std::vector<Expr>& subscripts) const {
  std::vector<Symbol> names;
  for (const Expr subscript : subscripts)
    for (const layout::Part& part : layouts_.parts_of(subscript)) names.push_back(part.name);
  return names;
}

/// Two neighbours of 16 bits share a register where the fastest digit of the registers goes over neighbours.
bool KernelLowering::pairs(const layout::Layout& layout, Type type) const {
  const std::vector<layout::Digit> digits = layout.at(HierarchyLevel::registers);
  return (type == Type::bf16 || type == Type::f16) && !digits.empty() && digits.back().stride == 1 && digits.back().extent % 2 == 0;
}

void KernelLowering::over_registers(const layout::Layout& layout, const Element& outer, const std::function<void(const Element&)>& body,
                                    std::int64_t leave_fastest) {
  const std::vector<layout::Digit> digits = layout.at(HierarchyLevel::registers);
  Element at = outer;
  if (at.layout.digits().empty()) at.layout = layout;
  std::int64_t trips = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) trips *= i + 1 == digits.size() ? digits[i].extent / leave_fastest : digits[i].extent;
  Loop loop;
  loop.variable = names_.fresh(digits.size() == 1 ? digits[0].part.text() : "reg");
  loop.lo = number(0);
  loop.hi = number(trips);
  loop.unrolled = true;
  not_negative_.insert(loop.variable);
  std::int64_t below = 1;
  std::map<Symbol, std::vector<RegisterDigit>> own;  // fastest first
  for (std::size_t i = digits.size(); i-- > 0;) {
    const std::int64_t left = i + 1 == digits.size() ? leave_fastest : 1, range = digits[i].extent / left;
    RegisterDigit digit{{}, 1, 0, 1, number(0), digits[i].stride, digits[i].extent};
    if (range > 1) {
      digit.count = symbol(loop.variable);
      digit.below = below;
      digit.range = below * range < trips ? range : 0;
      digit.scale = left;
    }
    own[digits[i].part].push_back(digit);
    below *= range;
  }
  for (auto& [part, list] : own) at.registers[part].insert(at.registers[part].end(), list.rbegin(), list.rend());
  if (trips == 1) {
    names_.release(loop.variable);
    return body(at);
  }
  loop.body = inside([&] { body(at); });
  names_.release(loop.variable);
  emit({std::move(loop)});
}

Expr KernelLowering::place_in(const Tile& tile, const Element& at) {
  std::vector<RegisterDigit> places;
  for (const layout::Digit& digit : tile.layout.at(HierarchyLevel::registers)) {
    const std::vector<RegisterDigit>& own = at.registers.at(digit.part);
    const auto same =
        std::find_if(own.begin(), own.end(), [&](const RegisterDigit& d) { return d.stride == digit.stride && d.extent == digit.extent; });
    if (same == own.end()) refused("`" + tile.name.text() + "` has registers that its statement does not go over");
    places.push_back(*same);
  }
  if (tile.pairs) places.back() = places.back().halved();
  return is_array(tile) ? fathom::read(tile.name, {register_index(places)}) : symbol(tile.name);
}

/// One register is a scalar.
bool KernelLowering::is_array(const Tile& tile) { return tile.layout.registers() / (tile.pairs ? 2 : 1) > 1; }

/// What is loaded and nothing else stays as it lies in memory.
Type KernelLowering::type_of_value(Expr value) {
  if (value.is(Op::read) && tiles_.count(value.name()) == 0 && memory(value.name()) != nullptr) return type_of(memory(value.name())->dtype);
  Element nowhere;
  return element(value, nowhere).type;
}

/// The tile of that name; declared where it is first given a value.
Tile& KernelLowering::tile(Symbol name, const layout::Layout& layout, Type type) {
  if (const auto known = tiles_.find(name); known != tiles_.end()) return known->second;
  Tile made{names_.of(name), type, layout, pairs(layout, type)};
  Variable variable;
  variable.name = made.name;
  variable.type = !made.pairs ? type : type == Type::bf16 ? Type::pair_bf16 : Type::pair_f16;
  if (is_array(made)) variable.extents.push_back(layout.registers() / (made.pairs ? 2 : 1));
  emit({Declare{variable, {}}});
  return tiles_.emplace(name, made).first->second;
}

Type KernelLowering::stored_type(Symbol name, Type of_value) const {
  const auto kind = kinds_.find(name);
  if (of_value == Type::bf16 || of_value == Type::f16 || kind == kinds_.end()) return of_value;
  switch (kernel::settled(kind->second)) {
    case kernel::Kind::boolean:
      return Type::boolean;
    case kernel::Kind::f64:
      return Type::f64;
    case kernel::Kind::f32:
      return Type::f32;
    default:
      return Type::i64;
  }
}

void KernelLowering::lower_value(const kernel::Value& v) {
  if (load_operand(v)) return;
  fill_ = v.otherwise;
  if (v.values.size() < v.targets.size()) {
    reduce_states(v.targets, v.values[0]);
    fill_ = {};
    return;
  }
  std::vector<Expr> values = v.values;
  for (std::size_t i = 1; i < values.size(); ++i) {  // everything is read before anything is written
    const auto reads = [&](Symbol name) {
      bool found = false;
      visit(values[i], [&](Expr part) { found = found || ((part.is(Op::read) || part.is(Op::symbol)) && part.name() == name); });
      return found;
    };
    for (std::size_t j = 0; j < i; ++j) {
      if (!reads(v.targets[j].name)) continue;
      const Symbol kept(v.targets[i].name.text() + " kept");
      layouts_.of.emplace(kept, layouts_.of[v.targets[i].name]);
      define({kept, v.targets[i].subscripts}, values[i], v.otherwise);
      values[i] = v.targets[i].subscripts.empty() ? symbol(kept) : read(kept, v.targets[i].subscripts);
      break;
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (memory(v.targets[i].name) != nullptr && tiles_.count(v.targets[i].name) == 0) {
      store(v.targets[i], values[i]);
    } else {
      define(v.targets[i], values[i], v.otherwise);
    }
  }
  fill_ = {};
}

/// A new name for a reduction alone: it is reduced where it stays.
bool KernelLowering::define_reduction(const kernel::Access& target, Expr value) {
  if (!value.is(Op::reduce) || tiles_.count(target.name) > 0 || scalars_.count(target.name) > 0) return false;
  const Expr made = reduced(value, target.name.text());
  if (target.subscripts.empty()) {
    scalars_[target.name] = scalars_.at(made.name());
    return true;
  }
  if (made.is(Op::symbol)) {  // the same in all places
    tiles_[target.name] = {scalars_.at(made.name()).expr.name(), scalars_.at(made.name()).type, {}, false};
  } else {
    tiles_[target.name] = tiles_.at(made.name());
  }
  layouts_.of[target.name] = tiles_[target.name].layout;
  return true;
}

void KernelLowering::define(const kernel::Access& target, Expr value, Expr otherwise) {
  if (define_reduction(target, value)) return;
  value = without_reductions(value);
  if (define_elsewhere(target, value, otherwise)) return;
  const layout::Layout layout = layouts_.of[target.name];
  if (target.subscripts.empty()) {
    Element nowhere;
    const Typed made = element(value, nowhere);
    const Type type = stored_type(target.name, made.type);
    if (const auto known = scalars_.find(target.name); known != scalars_.end()) {
      emit({Assign{known->second.expr, converted(made, known->second.type).expr}});
    } else {
      const Symbol name = names_.of(target.name);
      emit({Declare{{name, type, {}}, converted(made, type).expr}});
      scalars_[target.name] = {symbol(name), type};
    }
    return;
  }
  const Tile to = tile(target.name, layout, stored_type(target.name, type_of_value(value)));
  if (load_vectors(to, value, otherwise)) return;
  if (!to.pairs) {
    over_registers(layout, {}, [&](const Element& at) { emit({Assign{place_in(to, at), converted(element(value, at), to.type).expr}}); });
    return;
  }
  over_registers(
      layout, {},
      [&](const Element& at) {
        const Symbol fastest = layout.at(HierarchyLevel::registers).back().part;
        Element next = at;
        RegisterDigit& digit = next.registers[fastest].back();
        digit = digit.shifted(number(1));
        emit({Assign{place_in(to, at), paired(to.type, element(value, at), element(value, next))}});
      },
      2);
}

/// bf16(x) beside bf16(y): one conversion of both.
Expr KernelLowering::paired(Type type, Typed low, Typed high) {
  const auto in_f32 = [&](const Typed& t) {
    const bool rounding = t.type == type && t.expr.is(Op::call) && t.expr.args().size() == 1;
    return rounding ? t.expr.arg(0) : converted(t, Type::f32).expr;
  };
  return call_of(type == Type::bf16 ? "pair_bf16" : "pair_f16", {in_f32(low), in_f32(high)});
}

void KernelLowering::store(const kernel::Access& target, Expr value) {
  value = without_reductions(value);
  const Memory& m = *memory(target.name);
  layout::Layout layout = layout::layout_of(value, layouts_).value_or(layout::Layout());
  std::vector<std::vector<layout::Part>> axes;
  for (const Expr subscript : target.subscripts) {
    visit(subscript, [&](Expr node) {
      if (node.is(Op::index)) axes.push_back(layouts_.parts_of(node));
    });
  }
  if (layout.digits().empty() && !axes.empty()) layout = layout::spread(axes, layouts_.places);
  if (store_vectors(target, value, layout)) return;
  over_registers(layout, {}, [&](const Element& at) {
    Expr condition = inside_of(m, target.subscripts, at);
    if (const Expr one = one_of_equals(layout)) condition = condition ? binary(Op::logical_and, one, condition) : one;
    const Assign assign{fathom::read(m.name, {offset(m, target.subscripts, at)}), converted(element(value, at), type_of(m.dtype)).expr};
    if (condition) {
      emit({Branch{condition, {{assign}}, {}}});
    } else {
      emit({assign});
    }
  });
}

/// Lanes and warps that no digit tells apart hold the same: one of them stores.
Expr KernelLowering::one_of_equals(const layout::Layout& layout) const {
  Expr all;
  const auto add = [&](HierarchyLevel level, std::int64_t places, const char* name) {
    std::int64_t step = 1;
    std::vector<layout::Digit> digits = layout.at(level);
    std::sort(digits.begin(), digits.end(), [](const layout::Digit& a, const layout::Digit& b) { return a.step < b.step; });
    const auto gap = [&](std::int64_t from, std::int64_t to) {  // digits from `from` to `to` are free
      if (to <= from) return;
      Expr digit = symbol(Symbol(std::string_view(name)));
      if (from > 1) digit = binary(Op::floordiv, digit, number(from));
      if (to < places) digit = binary(Op::mod, digit, number(to / from));
      const Expr zero = binary(Op::eq, digit, number(0));
      all = all ? binary(Op::logical_and, all, zero) : zero;
    };
    for (const layout::Digit& digit : digits) {
      gap(step, digit.step);
      step = digit.step * digit.extent;
    }
    gap(step, places);
  };
  add(HierarchyLevel::lane, layouts_.places.lanes, "lane");
  add(HierarchyLevel::warp, layouts_.places.warps, "warp");
  return all;
}

}  // namespace fathom::gpu
