// Layouts from atoms and axes.
#include <algorithm>
#include <numeric>

#include "layout/layout.hpp"

namespace fathom::layout {
namespace {

std::int64_t extent_of(const std::vector<Part>& parts) {
  std::int64_t product = 1;
  for (const Part& part : parts) product *= part.extent;
  return product;
}

std::string shown(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) text += (text.empty() ? "" : ",") + part.name.text() + ":" + std::to_string(part.extent);
  return text;
}

/// A digit of a whole axis, as digits of its parts. False where it does not fall onto whole digits of them.
bool split(Digit digit, const std::vector<Part>& parts, std::vector<Digit>& into) {
  std::int64_t below = 1;  // elements that one step of the part is
  for (std::size_t i = parts.size(); i-- > 0 && digit.extent > 1;) {
    const Part& part = parts[i];
    const std::int64_t above = below * part.extent;
    if (digit.stride >= above) {
      below = above;
      continue;
    }
    if (digit.stride % below != 0 || above % digit.stride != 0) return false;
    const std::int64_t room = above / digit.stride, taken = std::min(room, digit.extent);
    if (digit.extent % taken != 0) return false;
    into.push_back({digit.level, digit.step, taken, part.name, digit.stride / below});
    digit.step *= taken;
    digit.stride *= taken;
    digit.extent /= taken;
    below = above;
  }
  return digit.extent == 1;
}

}  // namespace

Result<std::vector<Part>> parts_of(const kernel::TileAxis& axis) {
  std::vector<Part> parts;
  for (const kernel::AxisPart& part : axis.parts) {
    const auto extent = constant_integer(simplify_integer(part.extent));
    if (!extent || *extent < 1)
      return refuse("axis `" + part.name.text() + "` has an extent that no register can know: " + fathom::print(part.extent),
                    {part.name.text()});
    parts.push_back({part.name, *extent});
  }
  return parts;
}

Result<Layout> repeated(const Fragment& fragment, const MatrixAtom& atom, const Product& product, const Places& places) {
  using Dimension = FragmentDigit::Dimension;
  struct Side {
    Dimension dimension;
    const std::vector<Part>* parts;
    std::int64_t size, count;
    bool used = false;
  };
  std::vector<Side> sides = {
      {Dimension::m, &product.m, atom.m, 1}, {Dimension::n, &product.n, atom.n, 1}, {Dimension::k, &product.k, atom.k, 1}};
  std::int64_t own_warps = 1;  // inside of the atom
  for (const FragmentDigit& digit : fragment) {
    for (Side& side : sides) side.used = side.used || side.dimension == digit.dimension;
    if (digit.level == HierarchyLevel::warp) own_warps *= digit.extent;
  }
  for (Side& side : sides) {
    const std::int64_t extent = extent_of(*side.parts);
    if (!side.used) continue;
    if (extent % side.size != 0)
      return refuse("atom `" + atom.name.text() + "` does tiles of " + std::to_string(side.size) + ", which do not fill the axis " +
                        shown(*side.parts),
                    {atom.name.text()});
    side.count = extent / side.size;
  }
  std::vector<Digit> registers, others;
  const auto add = [&](const Side& side, Digit digit) {
    std::vector<Digit> found;
    if (!split(digit, *side.parts, found)) return false;
    std::reverse(found.begin(), found.end());  // slowest first
    auto& list = digit.level == HierarchyLevel::registers ? registers : others;
    list.insert(list.end(), found.begin(), found.end());
    return true;
  };
  const auto refused = [&](const Side& side) {
    return refuse("the digits of atom `" + atom.name.text() + "` do not fall onto the parts " + shown(*side.parts), {atom.name.text()},
                  "split the axis where the atom does");
  };
  // Whole atoms: warps take the slowest rows, then columns; in the operand that does not have the rows all of these warps hold the same.
  std::int64_t warps = places.warps / own_warps, warp_step = own_warps;
  for (const Dimension dimension : {Dimension::m, Dimension::n}) {
    Side& side = sides[dimension == Dimension::m ? 0 : 1];
    const std::int64_t all = extent_of(*side.parts) / side.size,
                       taken = side.used || dimension == Dimension::m ? std::min(warps, std::max<std::int64_t>(all, 1)) : 1;
    if (taken <= 1) continue;
    if (all % taken != 0)
      return refuse(
          std::to_string(places.warps) + " warps cannot share the " + std::to_string(all) + " tiles of the axis " + shown(*side.parts),
          {atom.name.text()});
    if (side.used) {
      side.count = all / taken;
      if (!add(side, {HierarchyLevel::warp, warp_step, taken, Symbol(), side.size * side.count})) return refused(side);
    }
    warps /= taken;
    warp_step *= taken;
  }
  if (warps > 1 && sides[0].used && sides[1].used)
    return refuse("atom `" + atom.name.text() + "` has fewer tiles than the group has warps", {atom.name.text()},
                  "take fewer warps or a larger tile");
  const std::vector<Dimension> order =
      sides[2].used ? std::vector{sides[0].used ? Dimension::m : Dimension::n, Dimension::k} : std::vector{Dimension::m, Dimension::n};
  for (const Dimension dimension : order) {
    const Side& side = sides[static_cast<std::size_t>(dimension)];
    if (side.used && side.count > 1 && !add(side, {HierarchyLevel::registers, 1, side.count, Symbol(), side.size})) return refused(side);
  }
  for (const FragmentDigit& digit : fragment) {
    const Side& side = sides[static_cast<std::size_t>(digit.dimension)];
    if (!add(side, {digit.level, digit.step, digit.extent, Symbol(), digit.stride})) return refused(side);
  }
  registers.insert(registers.end(), others.begin(), others.end());
  return Layout(registers);
}

Layout spread(const std::vector<std::vector<Part>>& axes, const Places& places) {
  std::vector<Digit> digits;
  std::vector<Part> all;
  for (const std::vector<Part>& axis : axes) all.insert(all.end(), axis.begin(), axis.end());
  // The part of the lanes is the last that fits. That of the warps is one of an axis in front, where rows are dealt out; else the
  // neighbour of the lanes' part, else the last other one that fits.
  std::size_t lane = all.size(), warp = all.size();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].extent == places.lanes) lane = i;
  std::size_t in_front = 0;  // parts of axes before the one of the lanes
  for (const std::vector<Part>& axis : axes) {
    if (in_front + axis.size() > lane) break;
    in_front += axis.size();
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool settled = warp < all.size() && (warp + 1 == lane || warp < in_front);
    if (i != lane && all[i].extent == places.warps && (i < in_front || !settled)) warp = i;
  }
  if (lane < all.size() && (places.warps == 1 || warp < all.size())) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_warp = places.warps > 1 && i == warp;
      digits.push_back({i == lane ? HierarchyLevel::lane
                        : is_warp ? HierarchyLevel::warp
                                  : HierarchyLevel::registers,
                        1, all[i].extent, all[i].name, 1});
    }
    return Layout(digits);
  }
  std::int64_t lanes = places.lanes, warps = places.warps, lane_step = 1, warp_step = 1;
  std::vector<Digit> registers;
  for (std::size_t i = all.size(); i-- > 0;) {
    std::int64_t left = all[i].extent, stride = 1;
    const auto take = [&](std::int64_t& of, std::int64_t& step, HierarchyLevel level) {
      const std::int64_t taken = std::gcd(left, of);
      digits.push_back({level, step, taken, all[i].name, stride});
      left /= taken;
      of /= taken;
      stride *= taken;
      step *= taken;
    };
    take(lanes, lane_step, HierarchyLevel::lane);
    take(warps, warp_step, HierarchyLevel::warp);
    registers.insert(registers.begin(), {HierarchyLevel::registers, 1, left, all[i].name, stride});
  }
  registers.insert(registers.end(), digits.begin(), digits.end());
  return Layout(registers);
}

}  // namespace fathom::layout
