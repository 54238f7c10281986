#include "memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "ir/units.hpp"

namespace fathom::cli {
namespace {

/// Doubles: a product of extents may be more than 64 bits hold.
double elements(const std::vector<Expr>& extents, const DimValues& dims) {
  double product = 1;
  for (const Expr extent : extents) product *= static_cast<double>(std::max<std::int64_t>(evaluate_integer(extent, dims).value_or(0), 0));
  return product;
}

struct Needed {
  double arrays = 0;     ///< inputs and outputs as the kernel reads and writes them
  double reference = 0;  ///< the inputs' values in full width, which the result is checked with
  double between = 0;    ///< workspaces of the kernels
  [[nodiscard]] double sum() const { return arrays + reference + between; }
};

Needed needed_by(const math::Program& program, const kernel::Module& module, const DimValues& dims) {
  Needed needed;
  for (const auto* list : {&program.params, &program.results})
    for (const math::Parameter& each : *list) needed.arrays += elements(each.extents, dims) * size_in_bytes(each.dtype);
  for (const math::Parameter& each : program.params) {
    const double copies = is_float(each.dtype) ? 1 : 2;  // the reference reads reals where they are, whole numbers converted
    needed.reference += copies * elements(each.extents, dims) * static_cast<double>(sizeof(double));
  }
  for (const kernel::Workspace& each : module.workspaces) needed.between += elements(each.box, dims) * size_in_bytes(each.dtype);
  return needed;
}

/// What can be allocated without pushing anything out; nothing where the system does not say.
std::optional<double> available_bytes() {
  std::ifstream lines("/proc/meminfo");
  for (std::string word; lines >> word;) {
    double kibibytes = 0;
    if (word == "MemAvailable:" && lines >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

/// The largest dimension of an input or output, and a power of two at which the whole fits with room to spare.
std::string smaller(const math::Program& program, const DimValues& dims, double share) {
  std::optional<Symbol> largest;
  for (const auto* list : {&program.params, &program.results})
    for (const math::Parameter& each : *list)
      for (const Expr extent : each.extents)
        visit(extent, [&](Expr e) {
          if (e.is(Op::dim) && (!largest || dims.at(e.name()) > dims.at(*largest))) largest = e.name();
        });
  if (!largest) return "Make the inputs and outputs smaller.";
  std::int64_t size = 1;
  while (static_cast<double>(size) * 4 < static_cast<double>(dims.at(*largest)) * share) size *= 2;
  return fmt::format("Give a smaller size, for example --dim {}={}.", largest->text(), size);
}

}  // namespace

Result<void> fits_in_memory(const math::Program& program, const kernel::Module& module, const DimValues& dims) {
  const Needed needed = needed_by(program, module, dims);
  const std::optional<double> available = available_bytes();
  if (!available || needed.sum() <= *available) return {};
  std::string text = fmt::format("The inputs and outputs need {}", bytes_text(needed.arrays));
  if (needed.between > needed.arrays / 100) text += fmt::format(", what lies between the kernels {}", bytes_text(needed.between));
  text += fmt::format(" and the reference that checks them {}; this machine has {} available.", bytes_text(needed.reference),
                      bytes_text(*available));
  return refuse(std::move(text), {resource_limit}, smaller(program, dims, *available / needed.sum()));
}

}  // namespace fathom::cli
