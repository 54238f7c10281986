#include "codegen/gpu/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codegen/gpu/lane_machine.hpp"
#include "ir/overloaded.hpp"

namespace fathom::gpu {

void fault(std::string reason, std::string hint) { throw LaneFault{{std::move(reason), {}, std::move(hint)}}; }

namespace {
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

std::int64_t count(const std::vector<std::int64_t>& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}
}  // namespace

LaneMachine::LaneMachine(const ThreadModule& module, const ThreadKernel& kernel, std::int64_t& steps_left)
    : module_(module), kernel_(kernel), steps_left_(steps_left), lanes_(static_cast<std::size_t>(kernel.threads)), commits_(lanes_, 0) {}

void LaneMachine::run(std::int64_t workgroup) {
  workgroup_ = workgroup;
  waits_ = 0;
  variables_ = globals;
  copies_.clear();
  std::fill(commits_.begin(), commits_.end(), 0);
  const auto shared = [&](Symbol name, Type type, std::int64_t elements, std::vector<std::int64_t> extents) {
    LaneVariable v;
    v.type = type;
    v.extents = std::move(extents);
    v.points_to = std::make_shared<SharedCells>();
    v.points_to->name = name.text();
    v.points_to->type = type;
    v.points_to->cells.assign(static_cast<std::size_t>(elements), nothing);
    v.points_to->uses.resize(static_cast<std::size_t>(elements));
    variables_[name] = std::move(v);
  };
  for (const Variable& v : kernel_.shared) shared(v.name, v.type, count(v.extents), v.extents);
  for (const ThreadKernel::DynamicShared& d : kernel_.dynamic_shared) shared(d.name, d.type, d.elements, {d.elements});
  block(kernel_.setup, Mask(lanes_, true));
  block(kernel_.roles[0].body, Mask(lanes_, true));
  for (const Copy& copy : copies_) fault("nothing waits for a copy to `" + copy.to.memory->name + "`");
}

void LaneMachine::block(const ThreadBlock& body, const Mask& mask) {
  std::vector<std::pair<Symbol, std::optional<LaneVariable>>> hidden;  // what the block declares ends with it
  for (const ThreadStatement& s : body) {
    if (const auto* d = std::get_if<Declare>(&s.op)) {
      const auto at = variables_.find(d->variable.name);
      hidden.emplace_back(d->variable.name, at == variables_.end() ? std::nullopt : std::optional(at->second));
    }
    statement(s, mask);
  }
  for (std::size_t i = hidden.size(); i-- > 0;) {
    if (hidden[i].second) {
      variables_[hidden[i].first] = std::move(*hidden[i].second);
    } else {
      variables_.erase(hidden[i].first);
    }
  }
}

void LaneMachine::statement(const ThreadStatement& s, const Mask& mask) {
  steps_left_ -= static_cast<std::int64_t>(lanes_);
  if (steps_left_ < 0) fault("the run takes more steps than it may");
  std::visit(Overloaded{
                 [&](const Declare& d) { declare(d, mask); },
                 [&](const gpu::Assign& a) { store(place(a.place, mask), value(a.value, mask), mask); },
                 [&](const Loop& l) { loop(l, mask); },
                 [&](const While&) { fault("a loop without a count is not run yet"); },
                 [&](const Branch& b) { branch(b, mask); },
                 [&](const Do& d) { (void)call(d.call, mask); },
                 [&](const Comment&) {},
             },
             s.op);
}

void LaneMachine::declare(const Declare& d, const Mask& mask) {
  LaneVariable v;
  v.type = d.variable.type;
  v.extents = d.variable.extents;
  if (d.pointer) {
    const Place to = place(d.initial.arg(0), mask);
    v.points_to = to.memory;
    v.offset.assign(to.at.begin(), to.at.end());
  } else {
    v.cells.assign(static_cast<std::size_t>(count(v.extents)) * lanes_, nothing);
  }
  if (d.initial && !d.pointer) {
    const Lanes first = converted(value(d.initial, mask), v.type);
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      if (mask[lane]) v.cells[lane] = first.of[lane];
  }
  variables_[d.variable.name] = std::move(v);
}

void LaneMachine::loop(const Loop& l, const Mask& mask) {
  const std::int64_t lo = uniform(l.lo, mask, "the begin of a loop"), hi = uniform(l.hi, mask, "the end of a loop");
  const auto before = variables_.find(l.variable);
  const std::optional<LaneVariable> hidden = before == variables_.end() ? std::nullopt : std::optional(before->second);
  for (std::int64_t i = lo; i < hi; i = l.doubling ? 2 * i : i + 1) {
    LaneVariable v;
    v.type = Type::i32;
    v.cells.assign(lanes_, static_cast<double>(i));
    variables_[l.variable] = std::move(v);
    block(l.body, mask);
  }
  if (hidden) {
    variables_[l.variable] = *hidden;
  } else {
    variables_.erase(l.variable);
  }
}

void LaneMachine::branch(const Branch& b, const Mask& mask) {
  const Lanes holds = value(b.condition, mask);
  Mask then(lanes_), otherwise(lanes_);
  bool any = false, none = false;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    then[lane] = mask[lane] && holds.of[lane] != 0;
    otherwise[lane] = mask[lane] && !then[lane];
    any = any || then[lane];
    none = none || otherwise[lane];
  }
  if (any) block(b.then, then);
  if (none && !b.otherwise.empty()) block(b.otherwise, otherwise);
}

void LaneMachine::store(const Place& place, const Lanes& from, const Mask& mask) {
  const Lanes made = converted(from, place.memory ? place.memory->type : place.variable->type);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    if (place.memory) {
      write_cell(*place.memory, place.at[lane], lane, made.of[lane]);
    } else {
      register_at(place, lane) = made.of[lane];
    }
  }
}

double& LaneMachine::register_at(const Place& place, std::size_t lane, std::int64_t more) {
  const auto at = static_cast<std::size_t>(place.at[lane] + more) * lanes_ + lane;
  if (place.at[lane] + more < 0 || at >= place.variable->cells.size()) fault("a register outside of its array");
  return place.variable->cells[at];
}

double LaneMachine::read_cell(SharedCells& memory, std::int64_t at, std::size_t lane) {
  if (at < 0 || at >= static_cast<std::int64_t>(memory.cells.size()))
    fault("`" + memory.name + "` is read outside of its extents, at element " + std::to_string(at) + " of " +
          std::to_string(memory.cells.size()));
  if (!memory.uses.empty()) {
    SharedCells::Use& use = memory.uses[static_cast<std::size_t>(at)];
    const int warp = static_cast<int>(lane / 32);
    if (use.written == waits_ && use.writer != warp)
      fault("`" + memory.name + "` is read by a warp while another has written it, and no wait of all threads stands between them");
    use.reader = use.read == waits_ && use.reader != warp ? -2 : warp;
    use.read = waits_;
  }
  return memory.cells[static_cast<std::size_t>(at)];
}

void LaneMachine::write_cell(SharedCells& memory, std::int64_t at, std::size_t lane, double value) {
  if (at < 0 || at >= static_cast<std::int64_t>(memory.cells.size()))
    fault("`" + memory.name + "` is written outside of its extents, at element " + std::to_string(at) + " of " +
          std::to_string(memory.cells.size()));
  if (memory.global && !memory.writable) fault("`" + memory.name + "` is written, but may only be read");
  const auto place = static_cast<std::size_t>(at);
  if (!memory.stored_by.empty()) {
    const int by = static_cast<int>(workgroup_ * static_cast<std::int64_t>(lanes_) + static_cast<std::int64_t>(lane));
    if (memory.stored_by[place] >= 0 && memory.stored_by[place] != by) fault("an element of `" + memory.name + "` is stored by two lanes");
    memory.stored_by[place] = by;
  }
  if (!memory.uses.empty()) {
    SharedCells::Use& use = memory.uses[place];
    const int warp = static_cast<int>(lane / 32);
    const bool written = use.written == waits_ && use.writer != warp, read = use.read == waits_ && use.reader != warp;
    if (written || read)
      fault("`" + memory.name + "` is written by a warp while another " + (read ? "reads" : "writes") +
            " it, and no wait of all threads stands between them");
    use.writer = warp;
    use.written = waits_;
  }
  memory.cells[place] = value;
}

// ---- a launch ----

Result<LaneTensors> run_lanes(const ThreadModule& made, const kernel::Module& module, const LaneTensors& inputs,
                              const LaneOptions& options) {
  std::int64_t steps = options.most_steps;
  DimValues dims = options.dims;
  for (const math::Dimension& d : module.dims)
    if (!d.runtime) dims[d.name] = d.value;
  std::map<Symbol, std::shared_ptr<SharedCells>> tensors;
  std::map<Symbol, double> scalars;
  std::map<Symbol, std::vector<std::int64_t>> shapes;
  try {
    const auto add = [&](Symbol name, DType dtype, const std::vector<Expr>& extents, bool writable, const LaneTensor* input) {
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
      const auto elements = static_cast<std::size_t>(count(shape));
      cells->cells = input != nullptr ? input->data : std::vector<double>(elements, nothing);
      if (cells->cells.size() != elements) fault("the input `" + name.text() + "` has another size than its shape");
      if (writable) cells->stored_by.assign(elements, -1);
      shapes[name] = shape;
      tensors[name] = cells;
    };
    for (const math::Parameter& p : module.params) {
      const auto given = inputs.find(p.name);
      if (given == inputs.end()) fault("the input `" + p.name.text() + "` is missing");
      if (p.extents.empty()) {
        scalars[p.name] = given->second.data.at(0);
        dims[p.name] = static_cast<std::int64_t>(given->second.data[0]);
      } else {
        add(p.name, p.dtype, p.extents, false, &given->second);
      }
    }
    for (const math::Parameter& r : module.results) add(r.name, r.dtype, r.extents, true, nullptr);
    for (const kernel::Workspace& w : module.workspaces) {
      add(w.name, w.dtype, w.box, true, nullptr);
      if (w.zero) std::fill(tensors.at(w.name)->cells.begin(), tensors.at(w.name)->cells.end(), 0);
    }
    for (std::size_t number = 0; number < made.kernels.size(); ++number) {
      const ThreadKernel& k = made.kernels[number];
      LaneMachine machine(made, k, steps);
      DimValues own = dims;
      for (const ThreadParameter& p : k.parameters) {
        LaneVariable v;
        v.type = p.variable.type;
        if (p.pointer) {
          v.points_to = tensors.at(p.original);
          v.offset.assign(static_cast<std::size_t>(k.threads), 0);
        } else {
          const double value = scalars.count(p.original) > 0 ? scalars[p.original] : static_cast<double>(dims.at(p.original));
          v.cells.assign(static_cast<std::size_t>(k.threads), value);
          own[p.variable.name] = dims.count(p.original) > 0 ? dims[p.original] : 0;
        }
        machine.globals[p.variable.name] = std::move(v);
      }
      if (const Expr when = module.kernels[number].when; when && !launched(when, dims)) continue;
      const auto workgroups = evaluate_integer(k.workgroups, own);
      if (!workgroups) fault("the number of workgroups of `" + k.name.text() + "` is not known");
      for (std::int64_t w = 0; w < *workgroups; ++w) machine.run(w);
    }
  } catch (LaneFault& found) {
    return tl::unexpected(std::move(found.why));
  }
  LaneTensors results;
  for (const math::Parameter& r : module.results) results[r.name] = {r.dtype, shapes[r.name], tensors[r.name]->cells};
  return results;
}

}  // namespace fathom::gpu
