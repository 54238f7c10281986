// A launch in lane mode: tensors, maps, one workgroup after the other.
#include "codegen/gpu/lanes.hpp"

#include <algorithm>
#include <limits>

#include "codegen/gpu/lane_machine.hpp"

namespace fathom::gpu {

void fault(std::string reason, std::string hint) { throw LaneFault{{std::move(reason), {}, std::move(hint)}}; }

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

std::int64_t elements_in(const std::vector<std::int64_t>& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

/// What the module's names stand for.
struct LaneArguments {
  DimValues dims;
  std::map<Symbol, std::shared_ptr<SharedCells>> tensors;
  std::map<Symbol, double> scalars;
  std::map<Symbol, std::vector<std::int64_t>> shapes;

  void add(Symbol name, DType dtype, const std::vector<Expr>& extents, bool writable, const std::vector<double>* data, double first) {
    std::vector<std::int64_t> shape;
    for (const Expr extent : extents) {
      const auto value = evaluate_integer(extent, dims);
      if (!value || *value < 0) fault("the extents of `" + name.text() + "` are not known");
      shape.push_back(*value);
    }
    auto cells = std::make_shared<SharedCells>();
    cells->name = name.text();
    cells->type = type_of(dtype);
    cells->global = true;
    cells->writable = writable;
    const auto elements = static_cast<std::size_t>(elements_in(shape));
    cells->cells = data != nullptr ? *data : std::vector<double>(elements, first);
    if (cells->cells.size() != elements) fault("the input `" + name.text() + "` has another size than its shape");
    if (writable) cells->stored_by.assign(elements, -1);
    shapes[name] = shape;
    tensors[name] = cells;
  }
};

LaneArguments arguments_of(const kernel::Module& module, const LaneTensors& inputs, const LaneOptions& options) {
  LaneArguments all;
  all.dims = options.dims;
  for (const math::Dimension& d : module.dims)
    if (!d.runtime) all.dims[d.name] = d.value;
  for (const math::Parameter& p : module.params) {
    const auto given = inputs.find(p.name);
    if (given == inputs.end()) fault("the input `" + p.name.text() + "` is missing");
    if (p.extents.empty()) {
      all.scalars[p.name] = given->second.data.at(0);
      all.dims[p.name] = static_cast<std::int64_t>(given->second.data[0]);
    } else {
      all.add(p.name, p.dtype, p.extents, false, &given->second.data, nothing);
    }
  }
  for (const math::Parameter& r : module.results) all.add(r.name, r.dtype, r.extents, true, nullptr, nothing);
  for (const kernel::Workspace& w : module.workspaces) all.add(w.name, w.dtype, w.box, true, nullptr, w.zero ? 0 : nothing);
  return all;
}

BoxMap box_map_of(const TensorMap& map, const LaneArguments& all, const DimValues& dims) {
  const auto tensor = all.tensors.find(map.tensor);
  if (tensor == all.tensors.end()) fault("`" + map.name.text() + "` is a map of a tensor that the module lacks");
  BoxMap made{&map, tensor->second.get(), {}};
  for (const Expr extent : map.extents) {
    const auto value = evaluate_integer(extent, dims);
    if (!value) fault("the extents of `" + map.name.text() + "` are not known");
    made.extents.push_back(*value);
  }
  if (made.extents.empty() || map.box.size() != made.extents.size()) fault("a box of `" + map.name.text() + "` has another rank");
  if (map.type != made.tensor->type) fault("`" + map.name.text() + "` has another type than its tensor");
  if (elements_in(made.extents) != static_cast<std::int64_t>(made.tensor->cells.size()))
    fault("`" + map.name.text() + "` has another size than its tensor");
  constexpr std::int64_t chunk = 16;
  if (made.extents.size() > 1 && made.extents.back() * size_in_bytes(map.type) % chunk != 0)
    fault("rows of `" + map.tensor.text() + "` are no multiple of 16 bytes: the copy engine cannot move them");
  return made;
}

void run_kernel(const ThreadModule& made, const ThreadKernel& k, const LaneArguments& all, const LaneOptions& options, std::int64_t& left) {
  LaneLaunch launch{made, k, left, {}, {}, 1, options.seed};
  DimValues own = all.dims;
  const auto threads = static_cast<std::size_t>(k.threads);
  for (const ThreadParameter& p : k.parameters) {
    LaneVariable v;
    v.name = p.variable.name;
    v.type = p.variable.type;
    if (p.pointer) {
      v.points_to = all.tensors.at(p.original);
      v.offset.assign(threads, 0);
    } else {
      const auto scalar = all.scalars.find(p.original);
      v.cells.assign(threads, scalar != all.scalars.end() ? scalar->second : static_cast<double>(all.dims.at(p.original)));
      own[p.variable.name] = all.dims.count(p.original) > 0 ? all.dims.at(p.original) : 0;
    }
    launch.globals[v.name] = std::move(v);
  }
  for (const TensorMap& map : k.maps) launch.maps[map.name] = box_map_of(map, all, own);
  const auto workgroups = evaluate_integer(k.workgroups, own);
  if (!workgroups) fault("the number of workgroups of `" + k.name.text() + "` is not known");
  launch.workgroups = k.resident_only ? std::min(*workgroups, options.resident) : *workgroups;
  // They do not wait for each other, so that one after the other is an order that the machine may take, too.
  for (std::int64_t w = 0; w < launch.workgroups; ++w) LaneWorkgroup(launch, w).run();
}

}  // namespace

Result<LaneTensors> run_lanes(const ThreadModule& made, const kernel::Module& module, const LaneTensors& inputs,
                              const LaneOptions& options) {
  std::int64_t steps = options.most_steps;
  LaneArguments all;
  try {
    all = arguments_of(module, inputs, options);
    for (std::size_t number = 0; number < made.kernels.size(); ++number) {
      const Expr when = module.kernels[number].when;
      if (!when || launched(when, all.dims)) run_kernel(made, made.kernels[number], all, options, steps);
    }
    for (const kernel::Workspace& w : module.workspaces) {
      for (const double x : all.tensors.at(w.name)->cells)
        if (w.zero && x != 0) fault("the workspace `" + w.name.text() + "` is not 0 again behind the launch");
    }
  } catch (LaneFault& found) {
    return tl::unexpected(std::move(found.why));
  }
  LaneTensors results;
  for (const math::Parameter& r : module.results) results[r.name] = {r.dtype, all.shapes[r.name], all.tensors[r.name]->cells};
  return results;
}

}  // namespace fathom::gpu
