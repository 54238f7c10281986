// The helper functions as the machine runs them: which there are, what they compute, loads, stores and copies by lanes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "codegen/gpu/lane_process.hpp"
#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {

void LaneProcess::whole_warps(const Mask& mask, const std::string& what) const {
  for (std::size_t first = 0; first < lanes_; first += warp_lanes_) {
    const bool one = std::any_of(mask.begin() + static_cast<std::ptrdiff_t>(first),
                                 mask.begin() + static_cast<std::ptrdiff_t>(first + warp_lanes_), [](bool b) { return b; });
    const bool all = std::all_of(mask.begin() + static_cast<std::ptrdiff_t>(first),
                                 mask.begin() + static_cast<std::ptrdiff_t>(first + warp_lanes_), [](bool b) { return b; });
    if (one != all) fault("`" + what + "` is done by a part of a warp: lanes are missing");
  }
}

std::optional<Lanes> LaneProcess::call(Expr e, const Mask& mask) {
  const std::string& name = e.name().text();
  const auto own =
      std::find_if(module_.functions.begin(), module_.functions.end(), [&](const ThreadFunction& f) { return f.name == e.name(); });
  if (own != module_.functions.end()) {
    own_function(*own, e, mask);
    return std::nullopt;
  }
  if (act(e, mask)) return std::nullopt;
  if (auto together = cooperation(e, mask)) return *together;
  if (e.args().empty()) {
    auto own_number_of = own_number(name);
    if (!own_number_of) fault("there is no helper function `" + name + "`");
    return own_number_of;
  }
  if (name == "increment_wrapping") return increment_wrapping(e, mask);

  if (auto together = cooperation(e, mask)) return *together;
  std::vector<Lanes> args;
  for (const Expr arg : e.args()) args.push_back(value(arg, mask));
  Lanes made{args[0].type, std::vector<double>(lanes_, 0)};
  const auto each = [&](Type type, auto f) {
    made.type = type;
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (!mask[lane]) continue;
      const double x = f(args[0].of[lane], args.size() > 1 ? args[1].of[lane] : 0.0);
      made.of[lane] = type == Type::f32 ? static_cast<double>(static_cast<float>(x)) : x;
    }
    return made;
  };
  const Type own_type = args[0].type;
  if (name == "shuffle_xor" || name == "any_of_warp") return of_warp(name, args, mask);
  if (name == "swizzled_column") {
    made.type = Type::i32;
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (!mask[lane]) continue;
      const auto at = [&](std::size_t i) { return static_cast<std::int64_t>(args[i].of[lane]); };
      made.of[lane] = static_cast<double>((at(1) / at(2) ^ at(0) / at(3) % at(4)) * at(2) + at(1) % at(2));
    }
    return made;
  }
  if (name == "place_in_panels") {
    made.type = Type::i32;
    for (std::size_t lane = 0; lane < made.of.size(); ++lane) {
      if (!mask[lane]) continue;
      const auto at = [&](std::size_t i) { return static_cast<std::int64_t>(args[i].of[lane]); };
      const std::int64_t row = at(0), column = at(1), rows = at(2), chunk = at(3), width = 8 * chunk;
      const std::int64_t place = column % width;
      made.of[lane] = static_cast<double>((column / width * rows + row) * width + (place / chunk ^ row % 8) * chunk + place % chunk);
    }
    return made;
  }
  if (name == "same_in_warp") {
    whole_warps(mask, name);
    for (std::size_t lane = 0; lane < made.of.size(); ++lane) made.of[lane] = args[0].of[lane / warp_lanes_ * warp_lanes_];
    return made;
  }
  if (name == "again") return args[0];
  if (name == "to_float") return each(Type::f32, [](double a, double) { return a; });
  if (name == "to_bf16") return each(Type::bf16, [](double a, double) { return round_to(DType::bf16, a); });
  if (name == "to_f16") return each(Type::f16, [](double a, double) { return round_to(DType::f16, a); });
  if (name == "pair_bf16") return each(Type::pair_bf16, [](double a, double b) { return pair_of(Type::bf16, a, b); });
  if (name == "pair_f16") return each(Type::pair_f16, [](double a, double b) { return pair_of(Type::f16, a, b); });
  if (name == "join_bf16") return each(Type::pair_bf16, [](double a, double b) { return pair_of(Type::bf16, a, b); });
  if (name == "join_f16") return each(Type::pair_f16, [](double a, double b) { return pair_of(Type::f16, a, b); });
  if (name == "half_of_pair_bf16") return each(Type::f32, [](double a, double b) { return half_of(Type::bf16, a, b != 0); });
  if (name == "half_of_pair_f16") return each(Type::f32, [](double a, double b) { return half_of(Type::f16, a, b != 0); });
  if (name == "maximum") return each(own_type, [](double a, double b) { return a != a || b != b ? a + b : std::max(a, b); });
  if (name == "minimum") return each(own_type, [](double a, double b) { return a != a || b != b ? a + b : std::min(a, b); });
  if (name == "power_of_two") return each(own_type, [](double a, double) { return std::exp2(a); });
  if (name == "exponential") return each(own_type, [](double a, double) { return std::exp(a); });
  if (name == "logarithm") return each(own_type, [](double a, double) { return std::log(a); });
  if (name == "logarithm_2") return each(own_type, [](double a, double) { return std::log2(a); });
  if (name == "square_root") return each(own_type, [](double a, double) { return std::sqrt(a); });
  if (name == "reciprocal_root") return each(own_type, [](double a, double) { return 1 / std::sqrt(a); });
  if (name == "sine") return each(own_type, [](double a, double) { return std::sin(a); });
  if (name == "cosine") return each(own_type, [](double a, double) { return std::cos(a); });
  if (name == "hyperbolic_tangent") return each(own_type, [](double a, double) { return std::tanh(a); });
  if (name == "error_function") return each(own_type, [](double a, double) { return std::erf(a); });
  if (name == "sigmoid") return each(own_type, [](double a, double) { return 1 / (1 + std::exp(-a)); });
  if (name == "power") return each(own_type, [](double a, double b) { return std::pow(a, b); });
  if (name == "absolute" || name == "abs") return each(own_type, [](double a, double) { return std::fabs(a); });
  if (name == "round_down") return each(own_type, [](double a, double) { return std::floor(a); });
  if (name == "floor_div") return each(own_type, [](double a, double b) { return std::floor(a / b); });
  if (name == "floor_mod") return each(own_type, [](double a, double b) { return a - b * std::floor(a / b); });
  fault("there is no helper function `" + name + "`");
}

std::optional<Lanes> LaneProcess::own_number(const std::string& name) const {
  const auto each = [&](auto f) {
    Lanes made{Type::i32, std::vector<double>(lanes_)};
    for (std::size_t lane = 0; lane < lanes_; ++lane) made.of[lane] = static_cast<double>(f(first_ + lane));
    return made;
  };
  if (name == "lane_number") return each([&](std::size_t thread) { return thread % warp_lanes_; });
  if (name == "warp_number") return each([&](std::size_t thread) { return thread / warp_lanes_; });
  if (name == "thread_number") return each([](std::size_t thread) { return thread; });
  if (name == "workgroup_number") return each([&](std::size_t) { return workgroup_.number(); });
  if (name == "workgroup_count") return each([&](std::size_t) { return workgroup_.launch().workgroups; });
  return std::nullopt;
}

bool LaneProcess::act(Expr e, const Mask& mask) {
  struct Action {
    void (LaneProcess::*run)(Expr, const Mask&);
    bool others_may_see = false;  ///< somebody else may go on first
  };
  static const auto* actions = new std::map<std::string_view, Action>{
      {"load_vector", {&LaneProcess::load_vector}},
      {"store_vector", {&LaneProcess::store_vector}},
      {"copy_async", {&LaneProcess::copy_async}},
      {"commit_copies", {&LaneProcess::commit_copies}},
      {"wait_for_copies", {&LaneProcess::wait_for_copies}},
      {"load_matrices_2", {&LaneProcess::load_matrices}},
      {"load_matrices_4", {&LaneProcess::load_matrices}},
      {"load_matrices_2_transposed", {&LaneProcess::load_matrices}},
      {"load_matrices_4_transposed", {&LaneProcess::load_matrices}},
      {"mma_m16n8k16_bf16", {&LaneProcess::mma_m16n8k16}},
      {"mma_m16n8k16_f16", {&LaneProcess::mma_m16n8k16}},
      {"mma_m16n8k8_f32", {&LaneProcess::mma_m16n8k8_f32}},
      {"mfma_m16n16k16_bf16", {&LaneProcess::mfma_16x16x16}},
      {"mfma_m16n16k16_f16", {&LaneProcess::mfma_16x16x16}},
      {"mfma_m16n16k16_f32", {&LaneProcess::mfma_16x16x16}},
      {"wmma_m16n16k16_bf16", {&LaneProcess::wmma_16x16x16}},
      {"wmma_m16n16k16_f16", {&LaneProcess::wmma_16x16x16}},
      {"copy_chunk", {&LaneProcess::copy_chunk}},
      {"wait_for_workgroup", {&LaneProcess::wait_for_workgroup}},
      {"wait_for_warp", {&LaneProcess::wait_for_warp}},
      {"wait_for_group", {&LaneProcess::meet, true}},
      {"arrive_at_group", {&LaneProcess::meet, true}},
      {"set_up_barrier", {&LaneProcess::set_up_barrier, true}},
      {"publish_barriers", {&LaneProcess::publish_barriers}},
      {"arrive", {&LaneProcess::arrive, true}},
      {"expect_bytes", {&LaneProcess::expect_bytes, true}},
      {"wait_for_barrier", {&LaneProcess::wait_for_barrier, true}},
      {"load_box_1", {&LaneProcess::load_box, true}},
      {"load_box_2", {&LaneProcess::load_box, true}},
      {"load_box_3", {&LaneProcess::load_box, true}},
      {"load_box_4", {&LaneProcess::load_box, true}},
      {"store_box_1", {&LaneProcess::store_box, true}},
      {"store_box_2", {&LaneProcess::store_box, true}},
      {"store_box_3", {&LaneProcess::store_box, true}},
      {"store_box_4", {&LaneProcess::store_box, true}},
      {"commit_stores", {&LaneProcess::commit_stores}},
      {"wait_for_stores", {&LaneProcess::wait_for_stores}},
      {"wait_for_stores_to_read", {&LaneProcess::wait_for_stores}},
      {"fence_for_copies", {&LaneProcess::fence_for_copies, true}},
      {"fence_device", {&LaneProcess::nothing_to_do}},
      {"landed", {&LaneProcess::nothing_to_do}},
      {"set_registers_up", {&LaneProcess::set_registers}},
      {"set_registers_down", {&LaneProcess::set_registers}},
      {"fence_before_products", {&LaneProcess::fence_before_products}},
      {"commit_products", {&LaneProcess::commit_products}},
      {"wait_for_products", {&LaneProcess::wait_for_products, true}},
  };
  const auto action = actions->find(e.name().text());
  if (action != actions->end()) {
    (this->*action->second.run)(e, mask);
    others_may_see_ = others_may_see_ || action->second.others_may_see;
    return true;
  }
  const auto atom = std::find_if(module_.products.begin(), module_.products.end(), [&](const MatrixAtom& p) { return p.name == e.name(); });
  if (atom == module_.products.end()) return false;
  product(*atom, e, mask);
  return others_may_see_ = true;
}

Lanes LaneProcess::of_warp(const std::string& name, const std::vector<Lanes>& args, const Mask& mask) {
  whole_warps(mask, name);
  Lanes made{args[0].type, std::vector<double>(lanes_, 0)};
  const bool any = name == "any_of_warp";
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    const std::size_t first = lane / warp_lanes_ * warp_lanes_;
    if (any) {
      for (std::size_t other = first; other < first + warp_lanes_; ++other) made.of[lane] = std::max(made.of[lane], args[0].of[other]);
    } else {
      made.of[lane] = args[0].of[first + ((lane % warp_lanes_) ^ static_cast<std::size_t>(args[1].of[lane]))];
    }
  }
  return made;
}

std::size_t LaneProcess::only_lane(const Mask& mask, const std::string& what, const char* why) const {
  const auto first = std::find(mask.begin(), mask.end(), 1);
  if (std::find(first + 1, mask.end(), 1) != mask.end()) fault("`" + what + "` is done by several lanes: " + why);
  return static_cast<std::size_t>(first - mask.begin());
}

void LaneProcess::own_function(const ThreadFunction& f, Expr e, const Mask& mask) {
  std::vector<Place> states;
  std::vector<Lanes> given;
  for (std::size_t i = 0; i < e.args().size(); ++i) {
    if (i < f.states.size()) states.push_back(place(e.arg(i), mask));
    given.push_back(value(e.arg(i), mask));
  }
  const auto bind = [&](const Variable& v, const Lanes& x) {
    LaneVariable own;
    own.name = v.name;
    own.type = v.type;
    own.cells = converted(x, v.type).of;
    return own;
  };
  LaneVariables inner = globals_;
  for (std::size_t i = 0; i < f.states.size(); ++i) inner[f.states[i].name] = bind(f.states[i], given[i]);
  for (std::size_t i = 0; i < f.others.size(); ++i) inner[f.others[i].name] = bind(f.others[i], given[f.states.size() + i]);
  variables_.swap(inner);  // places point into nodes, which stay where they are
  run_inside(f.body, mask);
  variables_.swap(inner);
  for (std::size_t i = 0; i < f.states.size(); ++i) {
    const LaneVariable& changed = inner.at(f.states[i].name);
    store(states[i], {changed.type, changed.cells}, mask);
  }
}

// ---- memory ----

void LaneProcess::load_vector(Expr e, const Mask& mask) {
  const Place to = place(e.arg(0), mask), from = place(e.arg(1), mask);
  const Type type = from.memory->type;
  const std::int64_t elements = uniform(e.arg(2), mask, "the bytes of an access") / gpu::size_in_bytes(type);
  const bool halves = type == Type::bf16 || type == Type::f16;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    if (from.at[lane] % elements != 0)
      fault("a wide access of `" + from.memory->name + "` that is not aligned, at element " + std::to_string(from.at[lane]));
    for (std::int64_t i = 0; i < elements; i += halves ? 2 : 1) {
      const double low = read_cell(*from.memory, from.at[lane] + i, lane);
      const double high = halves ? read_cell(*from.memory, from.at[lane] + i + 1, lane) : 0;
      write_register(to, lane, halves ? i / 2 : i, halves ? pair_of(type, low, high) : low);
    }
  }
}

void LaneProcess::store_vector(Expr e, const Mask& mask) {
  const Place to = place(e.arg(0), mask), from = place(e.arg(1), mask);
  const Type type = to.memory->type;
  const std::int64_t elements = uniform(e.arg(2), mask, "the bytes of an access") / gpu::size_in_bytes(type);
  const bool halves = type == Type::bf16 || type == Type::f16;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    if (to.at[lane] % elements != 0)
      fault("a wide access of `" + to.memory->name + "` that is not aligned, at element " + std::to_string(to.at[lane]));
    for (std::int64_t i = 0; i < elements; ++i) {
      const double word = read_register(from, lane, halves ? i / 2 : i);
      write_cell(*to.memory, to.at[lane] + i, lane, halves ? half_of(type, word, i % 2 == 1) : word);
    }
  }
}

void LaneProcess::copy_async(Expr e, const Mask& mask) {
  const Lanes inside = value(e.arg(2), mask);
  Mask reads(lanes_);
  for (std::size_t lane = 0; lane < lanes_; ++lane) reads[lane] = mask[lane] != 0 && inside.of[lane] != 0;
  Copy copy{place(e.arg(0), mask), place(e.arg(1), mask), 0, reads, 0, mask};
  copy.elements = 16 / gpu::size_in_bytes(copy.to.memory->type);
  copy.group = *std::max_element(commits_.begin(), commits_.end());
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    if (copy.to.at[lane] % copy.elements != 0 || (reads[lane] && copy.from.at[lane] % copy.elements != 0))
      fault("a copy of 16 bytes to `" + copy.to.memory->name + "` that is not aligned");
    for (std::int64_t i = 0; i < copy.elements; ++i)
      write_cell(*copy.to.memory, copy.to.at[lane] + i, lane, std::numeric_limits<double>::quiet_NaN());
  }
  copies_.push_back(std::move(copy));
}

void LaneProcess::commit_copies(Expr, const Mask& mask) {
  for (std::size_t lane = 0; lane < lanes_; ++lane) commits_[lane] += mask[lane];
}

/// Groups that are older than the `younger` last ones land.
void LaneProcess::wait_for_copies(Expr e, const Mask& mask) {
  const std::int64_t younger = uniform(e.arg(0), mask, "the number of copies");
  whole_warps(mask, "wait_for_copies");
  const std::int64_t commits = *std::max_element(commits_.begin(), commits_.end());
  const auto landed = [&](const Copy& copy) {
    if (copy.group >= commits - younger) return false;
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (!copy.mask[lane]) continue;
      for (std::int64_t i = 0; i < copy.elements; ++i)
        write_cell(*copy.to.memory, copy.to.at[lane] + i, lane,
                   copy.inside[lane] ? read_cell(*copy.from.memory, copy.from.at[lane] + i, lane) : 0);
    }
    return true;
  };
  copies_.erase(std::remove_if(copies_.begin(), copies_.end(), landed), copies_.end());
}

}  // namespace fathom::gpu
