#include "assembly.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "session/text_diff.hpp"

namespace fathom::ui {
namespace {

std::string_view code_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const std::size_t begin = line.find_first_not_of(" \t"), end = line.find_last_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : line.substr(begin, end - begin + 1);
}

bool is_label(std::string_view code) { return !code.empty() && code.back() == ':'; }
bool is_instruction(std::string_view code) { return !code.empty() && !is_label(code) && code.front() != '.'; }

/// Where it jumps to; empty: it does not.
std::string_view target_of(std::string_view code) {
  const std::size_t blank = code.find_first_of(" \t");
  if (code.empty() || code.front() != 'j' || blank == std::string_view::npos) return {};
  return code_of(code.substr(blank));
}

bool has(std::string_view code, std::string_view part) { return code.find(part) != std::string_view::npos; }

/// Of packed floating-point numbers: vfmadd231ps, vmulps, vmaxpd, addps.
bool is_arithmetic(std::string_view code) {
  std::string_view name = code.substr(0, code.find_first_of(" \t"));
  if (!name.empty() && name.front() == 'v') name.remove_prefix(1);
  const bool is_packed = name.ends_with("ps") || name.ends_with("pd") || name.ends_with("ph");
  constexpr std::string_view operations[]{"fmadd", "fmsub", "fnmadd", "fnmsub", "mul", "add", "sub", "div", "max", "min", "sqrt"};
  return is_packed && std::any_of(std::begin(operations), std::end(operations), [&](auto each) { return name.starts_with(each); });
}

HotLoop counted(const std::vector<std::string_view>& lines, std::size_t first, std::size_t last) {
  HotLoop loop{first, last};
  for (std::size_t i = first; i <= last; ++i) {
    const std::string_view code = code_of(lines[i]);
    if (!is_instruction(code)) continue;
    ++loop.instructions;
    loop.vector += has(code, "xmm") || has(code, "ymm") || has(code, "zmm") ? 1U : 0U;
    loop.arithmetic += is_arithmetic(code) ? 1U : 0U;
    loop.stack += has(code, "rsp") || has(code, "rbp") ? 1U : 0U;
  }
  return loop;
}

}  // namespace

std::optional<HotLoop> hot_loop(std::string_view assembly) {
  const std::vector<std::string_view> lines = session::lines_of(assembly);
  std::map<std::string_view, std::size_t> labels;
  std::vector<HotLoop> loops;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view code = code_of(lines[i]);
    if (is_label(code)) labels[code.substr(0, code.size() - 1)] = i;
    const auto back = labels.find(target_of(code));
    if (back != labels.end()) loops.push_back(counted(lines, back->second, i));
  }
  std::optional<HotLoop> best;
  for (const HotLoop& loop : loops) {
    const bool is_innermost =
        std::none_of(loops.begin(), loops.end(), [&](const HotLoop& other) { return other.first > loop.first && other.last < loop.last; });
    if (is_innermost && (!best || std::pair(loop.arithmetic, loop.vector) > std::pair(best->arithmetic, best->vector))) best = loop;
  }
  return best;
}

}  // namespace fathom::ui
