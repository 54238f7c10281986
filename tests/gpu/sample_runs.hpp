// Samples for targets with warps: compiled, lowered and run lane by lane against the wide reference of their text.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "codegen/gpu/lanes.hpp"
#include "codegen/gpu/lower.hpp"
#include "files.hpp"
#include "interp/interp.hpp"
#include "session/check_narrowings.hpp"
#include "session/session.hpp"

namespace fathom::test {

struct Sample {
  const char* name;
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, std::string> types;  ///< replaced in the text
};

inline std::shared_ptr<const session::Compilation> compiled(const Sample& s, const std::string& target, const Trace& trace = {}) {
  session::Inputs inputs;
  inputs.file_name = s.name;
  inputs.source = test::read_sample(s.name);
  for (const auto& [from, to] : s.types) {
    for (std::size_t at = 0; (at = inputs.source.find(from, at)) != std::string::npos; at += to.size())
      inputs.source.replace(at, from.size(), to);
  }
  inputs.dims = s.dims;
  inputs.target = target;
  inputs.trace = trace;
  const auto made = session::compile(inputs);
  if (made) return *made;
  ADD_FAILURE() << s.name << ": " << render(made.error(), s.name, inputs.source);
  return nullptr;
}

/// "" or what is wrong with these thread programs of the plan on data of this family.
inline std::string fault_of(const session::Compilation& c, const gpu::ThreadModule& made, const std::string& family) {
  const kernel::Module& module = c.final_ir().module();
  DimValues dims = math::default_dims(c.program);
  const interp::Arrays inputs = interp::make_inputs(c.program, dims, family, 1);
  gpu::LaneTensors in;
  for (const auto& [name, array] : inputs) in[name] = {array.dtype, array.shape, array.data};
  gpu::LaneOptions options;
  options.dims = dims;
  options.most_steps = 4'000'000'000;
  const auto out = gpu::run_lanes(made, module, in, options);
  if (!out) return out.error().reason;
  interp::BoundOptions bounds;
  bounds.structured_data = interp::is_structured(family);
  bounds.moves = 16;  // tiles of the shapes below
  bounds.narrowed = session::narrowings_after(c.record).back();
  const auto expected = interp::reference(c.program, inputs, dims, bounds);
  if (!expected) return expected.error().reason;
  for (const math::Parameter& r : c.program.results) {
    const gpu::LaneTensor& actual = out->at(r.name);
    const CheckCase one = interp::compare({actual.dtype, actual.shape, actual.data}, expected->at(r.name), r.dtype, -1);
    if (one.status == CheckStatus::failed)
      return r.name.text() + ": error " + std::to_string(one.max_error) + ", bound " + std::to_string(one.bound);
  }
  return "";
}

/// Lowered for the plan's target, or for one that differs from it.
inline std::string fault_of(const session::Compilation& c, const std::string& family, const Target* other = nullptr) {
  const Ir& last = c.final_ir();
  if (last.level != Level::kernel) return c.record.refusals.empty() ? "no Kernel level" : c.record.refusals.back().reason;
  const auto made = gpu::lower(last.module(), other != nullptr ? *other : c.target);
  if (!made) return made.error().reason + " " + made.error().hint;
  return fault_of(c, *made, family);
}

}  // namespace fathom::test
