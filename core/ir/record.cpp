// Names of the record's enumerations and what is common to IR of all levels.
#include "ir/record.hpp"

#include <array>
#include <cassert>

namespace fathom {
namespace {

template <class Enum, std::size_t n>
std::string_view name_in(const std::array<std::string_view, n>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

constexpr std::array<std::string_view, 5> level_names = {"math", "loop", "tile", "kernel", "code"};
constexpr std::array<std::string_view, 4> origin_names = {"default", "scheduler", "user", "lesson"};
constexpr std::array<std::string_view, 4> fusion_names = {"classic", "factored", "absorbed", "repaired"};
constexpr std::array<std::string_view, 5> check_names = {"passed", "failed", "inconclusive", "pending", "skipped"};

}  // namespace

std::string_view name(Level level) { return name_in(level_names, level); }
std::string_view name(Origin origin) { return name_in(origin_names, origin); }
std::string_view name(FusionKind kind) { return name_in(fusion_names, kind); }
std::string_view name(CheckStatus status) { return name_in(check_names, status); }

std::optional<Level> level_named(std::string_view text) {
  for (std::size_t i = 0; i < level_names.size(); ++i)
    if (level_names[i] == text) return static_cast<Level>(i);
  return std::nullopt;
}

Ir make_ir(math::Program program) { return {Level::math, std::make_shared<const math::Program>(std::move(program))}; }
Ir make_ir(loop::Program program) { return {Level::loop, std::make_shared<const loop::Program>(std::move(program))}; }
Ir make_ir(Level level, kernel::Module module) {
  assert(level == Level::tile || level == Level::kernel);
  return {level, std::make_shared<const kernel::Module>(std::move(module))};
}

std::string print(const Ir& ir) {
  return std::visit([](const auto& program) { return print(*program); }, ir.snapshot);
}

Result<void> verify(const Ir& ir) {
  if (ir.level == Level::tile) return kernel::verify_tile(ir.module());
  return std::visit([](const auto& program) { return verify(*program); }, ir.snapshot);
}

const TraceEntry* Trace::find(std::string_view site) const {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
    if (entry->site == site) return &*entry;
  return nullptr;
}

}  // namespace fathom
