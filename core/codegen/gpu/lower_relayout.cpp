// Values that other lanes hold than need them: computed where their operands are, then moved. What it takes is computed from the two
// layouts: other registers, selects among them, or exchanges between the lanes of a warp.
#include <algorithm>
#include <tuple>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {
namespace {

/// Digits of a part, from the fastest on; empty where they do not follow each other without gaps, as a number's digits do.
std::vector<layout::Digit> digits_of(const layout::Layout& layout, Symbol part) {
  std::vector<layout::Digit> found;
  for (const layout::Digit& digit : layout.digits())
    if (digit.part == part) found.push_back(digit);
  std::sort(found.begin(), found.end(), [](const layout::Digit& a, const layout::Digit& b) { return a.stride < b.stride; });
  std::int64_t below = 1;
  for (const layout::Digit& digit : found) {
    if (digit.stride != below) return {};
    below *= digit.extent;
  }
  return found;
}

/// What registers tell apart but for the fastest digit: parts and strides, in digits of two values where they can be.
std::set<std::tuple<Symbol, std::int64_t, std::int64_t>> bits_of(std::vector<layout::Digit> registers) {
  std::set<std::tuple<Symbol, std::int64_t, std::int64_t>> found;
  registers.pop_back();
  for (layout::Digit digit : registers) {
    for (; digit.extent % 2 == 0; digit.extent /= 2, digit.stride *= 2) found.emplace(digit.part, digit.stride, 2);
    if (digit.extent > 1) found.emplace(digit.part, digit.stride, digit.extent);
  }
  return found;
}

bool varies_by_lane(Expr e) {
  bool found = false;
  visit(e, [&](Expr part) { found = found || (part.is(Op::symbol) && part.name() == Symbol(std::string_view("lane"))); });
  return found;
}

}  // namespace

/// False where the value's operands are where the target is.
bool KernelLowering::define_elsewhere(const kernel::Access& target, Expr value, Expr otherwise) {
  const auto wanted = layouts_.of.find(target.name);
  if (target.subscripts.empty() || wanted == layouts_.of.end()) return false;
  bool agrees = true;
  std::optional<layout::Layout> held;
  visit(value, [&](Expr part) {
    const auto tile = part.is(Op::read) ? tiles_.find(part.name()) : tiles_.end();
    if (tile == tiles_.end()) return;
    agrees = agrees && tile->second.layout.agrees_with(wanted->second);
    if (!held || tile->second.layout.digits().size() > held->digits().size()) held = tile->second.layout;
  });
  if (agrees) return false;
  const layout::Layout from = held->over(parts_of(target.subscripts)), to = wanted->second;
  const layout::Conversion how = layout::conversion(from, to, layouts_.places);
  const std::string& name = target.name.text();
  if (how == layout::Conversion::impossible) return false;  // the reads say why
  if (how == layout::Conversion::exchange)
    refused("`" + name + "` is held by other warps than need it (" + layout::print(from) + ", needed " + layout::print(to) +
                "): moving it through shared memory has no form on this target yet",
            {name}, "store it to a channel or a buffer and read it there");
  const Symbol made(name + " made");
  layouts_.of[made] = from;
  tiles_.erase(made);
  define({made, target.subscripts}, value, otherwise);
  const Tile source = tiles_.at(made), moved = tile(target.name, to, source.type);
  move_registers(source, moved, how);
  return true;
}

/// A digit of an element's coordinate, made of those digits of the element's own layout that reach into it: none of them carries.
Expr KernelLowering::digit_at(const layout::Digit& wanted, const Element& at) const {
  const auto divided = [](Expr e, std::int64_t by) { return by > 1 ? binary(Op::floordiv, e, number(by)) : e; };
  const auto below = [](Expr e, std::int64_t extent, std::int64_t bound) { return extent > bound ? binary(Op::mod, e, number(bound)) : e; };
  const std::int64_t above = wanted.stride * wanted.extent;
  Expr sum;
  for (const layout::Digit& own : at.layout.digits()) {
    if (own.part != wanted.part || own.stride * own.extent <= wanted.stride || own.stride >= above) continue;
    Expr value;
    if (own.level == HierarchyLevel::registers) {
      for (const RegisterDigit& digit : at.registers.at(own.part))
        if (digit.stride == own.stride && digit.extent == own.extent) value = digit.value();
    } else {
      const bool lane = own.level == HierarchyLevel::lane;
      const std::int64_t all = lane ? layouts_.places.lanes : layouts_.places.warps;
      value = below(divided(symbol(Symbol(std::string_view(lane ? "lane" : "warp"))), own.step), all / own.step, own.extent);
    }
    const bool inside = own.stride % wanted.stride == 0 && above % own.stride == 0;
    if (!value || (!inside && (wanted.stride % own.stride != 0 || own.extent % (wanted.stride / own.stride) != 0)))
      refused("digits of " + layout::print(at.layout) + " do not fall onto those that hold `" + wanted.part.text() + "`",
              {wanted.part.text()});
    const std::int64_t skipped = inside ? 1 : wanted.stride / own.stride;
    Expr term = below(divided(value, skipped), own.extent / skipped, inside ? above / own.stride : wanted.extent);
    if (inside && own.stride > wanted.stride) term = term * number(own.stride / wanted.stride);
    sum = sum ? sum + term : term;
  }
  return sum ? simplify_integer(sum) : number(0);
}

/// Matrices of 8 x 8 pairs whose rows and columns change places: lane 4r + c holds (r, 2c) and (r, 2c + 1) before and behind. All other
/// registers stay.
bool KernelLowering::transposes_pairs(const Tile& from, const Tile& to) {
  constexpr std::int64_t rows = 8, columns = 4;
  if (!from.pairs || !to.pairs || from.type != to.type) return false;
  const auto row_and_column = [](const Tile& tile) -> std::pair<Symbol, Symbol> {
    const std::vector<layout::Digit> lanes = tile.layout.at(HierarchyLevel::lane), registers = tile.layout.at(HierarchyLevel::registers);
    const layout::Digit& pair = registers.back();
    if (lanes.size() != 2 || pair.extent != 2) return {};
    const bool is_matrix = lanes[0].step == columns && lanes[0].extent == rows && lanes[0].stride == 1 && lanes[1].step == 1 &&
                           lanes[1].extent == columns && lanes[1].stride == 2 && lanes[1].part == pair.part;
    return is_matrix ? std::pair(lanes[0].part, pair.part) : std::pair<Symbol, Symbol>();
  };
  const auto before = row_and_column(from), behind = row_and_column(to);
  if (before.first.empty() || before.first != behind.second || before.second != behind.first) return false;
  if (from.layout.at(HierarchyLevel::warp) != to.layout.at(HierarchyLevel::warp)) return false;
  return bits_of(from.layout.at(HierarchyLevel::registers)) == bits_of(to.layout.at(HierarchyLevel::registers));
}

void KernelLowering::move_registers(const Tile& from, const Tile& to, layout::Conversion how) {
  if (transposes_pairs(from, to)) {
    return over_registers(
        to.layout, {},
        [&](const Element& at) {
          Element there;  // the fastest digit of one side is within the pair of a register
          for (const layout::Digit& digit : from.layout.at(HierarchyLevel::registers))
            there.registers[digit.part].push_back(digit_of(digit_at(digit, at), digit.stride, digit.extent));
          const layout::Digit pair = from.layout.at(HierarchyLevel::registers).back();
          there.registers[pair.part].back() = digit_of(number(0), pair.stride, pair.extent);
          emit({Assign{place_in(to, at), call_of("transposed_matrix", {place_in(from, there)})}});
        },
        2);
  }
  const bool shuffles = how == layout::Conversion::shuffle;
  /// The element of `from` that a register needs: its register, by digits that are known or differ by lane, and the lane that holds it.
  const auto moved = [&](const Element& at) -> Expr {
    const Symbol value = names_.fresh(to.name.text() + "_moved");
    Expr lane;
    Element there;
    there.layout = from.layout;
    std::vector<std::pair<layout::Digit, Expr>> by_lane;
    for (const layout::Digit& digit : from.layout.digits()) {
      if (digits_of(from.layout, digit.part).empty())
        refused("`" + to.name.text() + "` comes from a layout that is no number's digits: " + layout::print(from.layout), {to.name.text()});
      const Expr wanted = digit_at(digit, at);
      if (digit.level == HierarchyLevel::lane) {
        const Expr term = digit.step > 1 ? wanted * number(digit.step) : wanted;
        lane = lane ? lane + term : term;
      } else if (digit.level == HierarchyLevel::registers) {
        if (varies_by_lane(wanted)) {
          by_lane.emplace_back(digit, wanted);
        } else {
          there.registers[digit.part].push_back(digit_of(wanted, digit.stride, digit.extent));
        }
      }
    }
    const Type type = from.type == Type::bf16 || from.type == Type::f16 ? Type::f32 : from.type;
    const auto held = [&](const Element& place) {
      const Expr element = converted(register_of(from, place), type).expr;
      return shuffles ? call_of("shuffle_from", {element, lane ? lane : symbol(Symbol(std::string_view("lane")))}) : element;
    };
    if (by_lane.empty()) {
      emit({Declare{{value, type, {}}, held(there)}});
      return symbol(value);
    }
    emit({Declare{{value, type, {}}, {}}});
    const std::function<void(std::size_t, Element, Expr)> candidates = [&](std::size_t d, Element place, Expr is_wanted) {
      if (d == by_lane.size()) {  // every lane exchanges, whatever it needs
        const Symbol candidate = names_.fresh("candidate");
        emit({Declare{{candidate, type, {}}, held(place)}});
        emit({Branch{is_wanted, {{Assign{symbol(value), symbol(candidate)}}}, {}}});
        names_.release(candidate);
        return;
      }
      const layout::Digit& digit = by_lane[d].first;
      Loop loop;
      loop.variable = names_.fresh("c");
      loop.lo = number(0);
      loop.hi = number(digit.extent);
      loop.unrolled = true;
      not_negative_.insert(loop.variable);
      place.registers[digit.part].push_back(digit_of(symbol(loop.variable), digit.stride, digit.extent));
      const Expr equal = binary(Op::eq, by_lane[d].second, symbol(loop.variable));
      loop.body = inside([&] { candidates(d + 1, place, is_wanted ? binary(Op::logical_and, is_wanted, equal) : equal); });
      names_.release(loop.variable);
      emit({loop});
    };
    candidates(0, there, {});
    return symbol(value);
  };
  if (!to.pairs) {
    over_registers(to.layout, {}, [&](const Element& at) {
      const Expr value = moved(at);
      const Type type = from.type == Type::bf16 || from.type == Type::f16 ? Type::f32 : from.type;
      emit({Assign{place_in(to, at), converted({value, type}, to.type).expr}});
      names_.release(value.name());
    });
    return;
  }
  over_registers(
      to.layout, {},
      [&](const Element& at) {
        const Symbol fastest = to.layout.at(HierarchyLevel::registers).back().part;
        Element next = at;
        next.registers[fastest].back() = next.registers[fastest].back().shifted(number(1));
        const Expr low = moved(at), high = moved(next);
        emit({Assign{place_in(to, at), paired(to.type, {low, Type::f32}, {high, Type::f32})}});
        for (const Expr value : {low, high}) names_.release(value.name());
      },
      2);
}

/// The element of a tile whose register's digits are all given.
Typed KernelLowering::register_of(const Tile& tile, const Element& at) {
  if (!tile.pairs) return {place_in(tile, at), tile.type};
  Expr half;
  const layout::Digit pair = tile.layout.at(HierarchyLevel::registers).back();
  for (const RegisterDigit& own : at.registers.at(pair.part))
    if (own.stride == pair.stride && own.extent == pair.extent) half = simplify_integer(binary(Op::mod, own.value(), number(2)));
  return {call_of(tile.type == Type::bf16 ? "half_of_pair_bf16" : "half_of_pair_f16", {place_in(tile, at), half}), Type::f32};
}

}  // namespace fathom::gpu
