#include "layout/layout.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace fathom::layout {

Layout::Layout(std::vector<Digit> digits) {
  std::stable_sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) {
    if (a.level != b.level || a.level == HierarchyLevel::registers) return a.level < b.level;
    return a.step > b.step;
  });
  for (const Digit& digit : digits) {
    if (digit.extent <= 1) continue;
    Digit* slower = digits_.empty() ? nullptr : &digits_.back();
    const bool goes_on =
        slower != nullptr && slower->level == digit.level && slower->part == digit.part && slower->stride == digit.stride * digit.extent;
    if (goes_on && (digit.level == HierarchyLevel::registers || slower->step == digit.step * digit.extent)) {  // one digit of both
      slower->extent *= digit.extent;
      slower->stride = digit.stride;
      slower->step = digit.step;
    } else {
      digits_.push_back(digit);
    }
  }
  std::int64_t step = 1;  // of registers: from the end
  for (std::size_t i = digits_.size(); i-- > 0;) {
    if (digits_[i].level != HierarchyLevel::registers) continue;
    digits_[i].step = step;
    step *= digits_[i].extent;
  }
}

std::vector<Digit> Layout::at(HierarchyLevel level) const {
  std::vector<Digit> found;
  for (const Digit& digit : digits_)
    if (digit.level == level) found.push_back(digit);
  return found;
}

std::int64_t Layout::registers() const {
  std::int64_t count = 1;
  for (const Digit& digit : digits_)
    if (digit.level == HierarchyLevel::registers) count *= digit.extent;
  return count;
}

std::int64_t Layout::coordinate(Symbol part, std::int64_t reg, std::int64_t lane, std::int64_t warp) const {
  std::int64_t sum = 0;
  for (const Digit& digit : digits_) {
    if (digit.part != part) continue;
    const std::int64_t number = digit.level == HierarchyLevel::registers ? reg : digit.level == HierarchyLevel::lane ? lane : warp;
    sum += number / digit.step % digit.extent * digit.stride;
  }
  return sum;
}

Layout Layout::over(const std::vector<Symbol>& parts) const {
  std::vector<Digit> kept;
  for (const Digit& digit : digits_)
    if (std::find(parts.begin(), parts.end(), digit.part) != parts.end()) kept.push_back(digit);
  return Layout(kept);
}

bool Layout::agrees_with(const Layout& other) const {
  std::set<Symbol> mine, both;
  for (const Digit& digit : digits_) mine.insert(digit.part);
  for (const Digit& digit : other.digits_)
    if (mine.count(digit.part) > 0) both.insert(digit.part);
  const auto moved = [&](const Layout& layout) {
    std::vector<Digit> found;
    for (const Digit& digit : layout.digits_)
      if (digit.level != HierarchyLevel::registers && both.count(digit.part) > 0) found.push_back(digit);
    std::sort(found.begin(), found.end(), [](const Digit& a, const Digit& b) {
      return std::tuple(a.level, a.step, a.part, a.stride) < std::tuple(b.level, b.step, b.part, b.stride);
    });
    return found;
  };
  return moved(*this) == moved(other);
}

// ---- conversions ----

std::string_view name(Conversion conversion) {
  switch (conversion) {
    case Conversion::none:
      return "none";
    case Conversion::rename:
      return "rename";
    case Conversion::permute:
      return "permute";
    case Conversion::shuffle:
      return "shuffle";
    case Conversion::exchange:
      return "exchange";
    case Conversion::impossible:
      break;
  }
  return "impossible";
}

namespace {

/// The elements by who holds them.
class Holders {
 public:
  Holders(const Layout& layout, std::vector<Symbol> parts, const Places& places) : parts_(std::move(parts)) {
    for (std::int64_t warp = 0; warp < places.warps; ++warp)
      for (std::int64_t lane = 0; lane < places.lanes; ++lane)
        for (std::int64_t reg = 0; reg < layout.registers(); ++reg)
          by_element_[element(layout, reg, lane, warp)].push_back({reg, lane, warp});
  }
  struct Place {
    std::int64_t reg, lane, warp;
  };
  [[nodiscard]] std::vector<std::int64_t> element(const Layout& layout, std::int64_t reg, std::int64_t lane, std::int64_t warp) const {
    std::vector<std::int64_t> coordinates;
    for (const Symbol part : parts_) coordinates.push_back(layout.coordinate(part, reg, lane, warp));
    return coordinates;
  }
  [[nodiscard]] const std::vector<Place>* of(const std::vector<std::int64_t>& wanted) const {
    const auto at = by_element_.find(wanted);
    return at == by_element_.end() ? nullptr : &at->second;
  }

 private:
  std::vector<Symbol> parts_;
  std::map<std::vector<std::int64_t>, std::vector<Place>> by_element_;
};

std::vector<Symbol> parts_in(const Layout& a, const Layout& b) {
  std::set<Symbol> parts;
  for (const Layout* layout : {&a, &b})
    for (const Digit& digit : layout->digits()) parts.insert(digit.part);
  return {parts.begin(), parts.end()};
}

}  // namespace

Conversion conversion(const Layout& from, const Layout& to, const Places& places) {
  if (from == to) return Conversion::none;
  const Holders holders(from, parts_in(from, to), places);
  Conversion worst = Conversion::rename;
  std::map<std::int64_t, std::int64_t> renamed;  // registers of `to`, alike in all lanes so far
  for (std::int64_t warp = 0; warp < places.warps; ++warp) {
    for (std::int64_t lane = 0; lane < places.lanes; ++lane) {
      for (std::int64_t reg = 0; reg < to.registers(); ++reg) {
        const auto* held = holders.of(holders.element(to, reg, lane, warp));
        if (held == nullptr) return Conversion::impossible;
        const auto here = std::find_if(held->begin(), held->end(), [&](const auto& p) { return p.lane == lane && p.warp == warp; });
        if (here != held->end()) {
          const std::int64_t source = renamed.emplace(reg, here->reg).first->second;
          const bool alike =
              std::any_of(held->begin(), held->end(), [&](const auto& p) { return p.lane == lane && p.warp == warp && p.reg == source; });
          if (!alike) worst = std::max(worst, Conversion::permute);
          continue;
        }
        const bool same_warp = std::any_of(held->begin(), held->end(), [&](const auto& p) { return p.warp == warp; });
        worst = std::max(worst, same_warp ? Conversion::shuffle : Conversion::exchange);
      }
    }
  }
  return worst;
}

// ---- text ----

std::string print(const Layout& layout, std::int64_t lanes) {
  std::vector<Symbol> parts;
  for (const Digit& digit : layout.digits())
    if (std::find(parts.begin(), parts.end(), digit.part) == parts.end()) parts.push_back(digit.part);
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const Symbol part : parts) {
    std::vector<Digit> digits;
    for (const Digit& digit : layout.digits())
      if (digit.part == part) digits.push_back(digit);
    std::stable_sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
    text += (text.empty() ? "" : ", ") + part.text() + " = ";
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const Digit& d = digits[i];
      const std::vector<Digit> level = layout.at(d.level);
      const bool slowest = std::none_of(level.begin(), level.end(), [&](const Digit& other) { return other.step > d.step; }) &&
                           (d.level != HierarchyLevel::lane || d.step * d.extent >= lanes);
      std::string digit = d.level == HierarchyLevel::registers ? "reg" : d.level == HierarchyLevel::lane ? "lane" : "warp";
      if (d.step > 1) digit += "/" + std::to_string(d.step);
      if (!slowest) digit += "%" + std::to_string(d.extent);
      text += (i > 0 ? " + " : "") +
              (d.stride > 1 ? std::to_string(d.stride) + "*" + (d.step > 1 || !slowest ? "(" + digit + ")" : digit) : digit);
    }
  }
  return text;
}

std::string picture(const Layout& layout, const std::vector<Part>& rows, const std::vector<Part>& columns, const Places& places) {
  std::vector<Symbol> parts;
  std::int64_t height = 1, width = 1;
  for (const Part& part : rows) parts.push_back(part.name), height *= part.extent;
  for (const Part& part : columns) parts.push_back(part.name), width *= part.extent;
  const Layout kept = layout.over(parts);
  const Holders holders(kept, parts, places);
  const auto digits = [](std::int64_t number, const std::vector<Part>& of, std::vector<std::int64_t>& to) {
    std::vector<std::int64_t> found(of.size());
    for (std::size_t i = of.size(); i-- > 0;) {
      found[i] = number % of[i].extent;
      number /= of[i].extent;
    }
    to.insert(to.end(), found.begin(), found.end());
  };
  std::vector<std::string> cells;
  std::size_t widest = 0;
  for (std::int64_t row = 0; row < height; ++row) {
    for (std::int64_t column = 0; column < width; ++column) {
      std::vector<std::int64_t> element;
      digits(row, rows, element);
      digits(column, columns, element);
      const auto* held = holders.of(element);
      std::string cell = "-";
      if (held != nullptr) {
        const auto& first = held->front();
        cell = std::to_string(first.lane) + ":" + std::to_string(first.reg);
        if (places.warps > 1) cell.insert(0, std::to_string(first.warp) + "/");
      }
      widest = std::max(widest, cell.size());
      cells.push_back(cell);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool last = (static_cast<std::int64_t>(i) + 1) % width == 0;
    text += std::string(widest - cells[i].size(), ' ') + cells[i] + (last ? "\n" : " ");
  }
  return text;
}

// ---- shared memory ----

Swizzle swizzle_of(std::int64_t bytes_of_a_row) {
  constexpr std::int64_t chunk = 16, line = 128, rows = 8;
  Swizzle swizzle;
  swizzle.chunks = std::max<std::int64_t>(bytes_of_a_row / chunk, 1);
  const bool power_of_two = (swizzle.chunks & (swizzle.chunks - 1)) == 0;
  if (bytes_of_a_row % chunk != 0 || !power_of_two) return swizzle;  // chunks would leave their row
  swizzle.period = std::min(rows, swizzle.chunks);
  swizzle.repeat = std::max<std::int64_t>(line / bytes_of_a_row, 1);
  return swizzle;
}

int bank_passes(const std::vector<std::int64_t>& addresses, std::int64_t bytes) {
  constexpr std::int64_t word = 4, banks = 32;
  const std::size_t together =
      std::max<std::size_t>(addresses.size() / static_cast<std::size_t>(std::max<std::int64_t>(bytes / word, 1)), 1);
  int passes = 0;
  for (std::size_t begin = 0; begin < addresses.size(); begin += together) {
    std::map<std::int64_t, std::set<std::int64_t>> words;  // of each bank
    for (std::size_t i = begin; i < std::min(begin + together, addresses.size()); ++i)
      for (std::int64_t at = addresses[i]; at < addresses[i] + bytes; at += word) words[at / word % banks].insert(at / word);
    std::size_t most = 0;
    for (const auto& [bank, used] : words) most = std::max(most, used.size());
    passes = std::max(passes, static_cast<int>(most));
  }
  return passes;
}

}  // namespace fathom::layout
