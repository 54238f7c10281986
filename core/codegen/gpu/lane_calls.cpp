// The helper functions as the machine runs them: written from its manual, apart from the layouts that use them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "codegen/gpu/lane_machine.hpp"
#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {
namespace {

constexpr std::size_t warp_size = 32;

std::uint32_t bits_of(Type half, double x) {
  if (x != x) return half == Type::bf16 ? 0x7fc0U : 0x7e00U;
  if (half == Type::bf16) {
    const auto f = static_cast<float>(x);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &f, sizeof bits);
    return bits >> 16U;
  }
  // binary16: x is one exactly
  const std::uint32_t sign = std::signbit(x) ? 0x8000U : 0;
  const double size = std::fabs(x);
  if (size == 0) return sign;
  if (std::isinf(size)) return sign | 0x7c00U;
  int exponent = 0;
  (void)std::frexp(size, &exponent);
  const int biased = exponent - 1 + 15;
  if (biased <= 0) return sign | static_cast<std::uint32_t>(std::ldexp(size, 24));
  return sign | (static_cast<std::uint32_t>(biased) << 10U) | (static_cast<std::uint32_t>(std::ldexp(size, 10 - (exponent - 1))) & 0x3ffU);
}

double number_of(Type half, std::uint32_t bits) {
  if (half == Type::bf16) {
    const std::uint32_t whole = bits << 16U;
    float f = 0;
    std::memcpy(&f, &whole, sizeof f);
    return static_cast<double>(f);
  }
  const std::uint32_t exponent = bits >> 10U & 0x1fU, digits = bits & 0x3ffU;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 0x1f) return digits != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(digits), -24);
  return sign * std::ldexp(static_cast<double>(digits | 0x400U), static_cast<int>(exponent) - 25);
}

double pair_of(Type half, double low, double high) {
  const DType dtype = half == Type::bf16 ? DType::bf16 : DType::f16;
  return static_cast<double>(bits_of(half, round_to(dtype, low)) | bits_of(half, round_to(dtype, high)) << 16U);
}

/// A register that holds nothing yet stays so in both halves.
double half_of(Type half, double pair, bool upper) {
  if (pair != pair) return pair;
  const auto bits = static_cast<std::uint32_t>(pair);
  return number_of(half, upper ? bits >> 16U : bits & 0xffffU);
}

}  // namespace

void LaneMachine::whole_warps(const Mask& mask, const std::string& what) const {
  for (std::size_t first = 0; first < lanes_; first += warp_size) {
    const bool one = std::any_of(mask.begin() + static_cast<std::ptrdiff_t>(first),
                                 mask.begin() + static_cast<std::ptrdiff_t>(first + warp_size), [](bool b) { return b; });
    const bool all = std::all_of(mask.begin() + static_cast<std::ptrdiff_t>(first),
                                 mask.begin() + static_cast<std::ptrdiff_t>(first + warp_size), [](bool b) { return b; });
    if (one != all) fault("`" + what + "` is done by a part of a warp: lanes are missing");
  }
}

std::optional<Lanes> LaneMachine::call(Expr e, const Mask& mask) {
  const std::string& name = e.name().text();
  const auto own =
      std::find_if(module_.functions.begin(), module_.functions.end(), [&](const ThreadFunction& f) { return f.name == e.name(); });
  if (own != module_.functions.end()) {
    own_function(*own, e, mask);
    return std::nullopt;
  }
  const auto number_of_each = [&](auto f) {
    Lanes made{Type::i32, std::vector<double>(lanes_)};
    for (std::size_t lane = 0; lane < lanes_; ++lane) made.of[lane] = static_cast<double>(f(lane));
    return made;
  };
  if (name == "lane_number") return number_of_each([](std::size_t lane) { return lane % warp_size; });
  if (name == "warp_number") return number_of_each([](std::size_t lane) { return lane / warp_size; });
  if (name == "thread_number") return number_of_each([](std::size_t lane) { return lane; });
  if (name == "workgroup_number") return number_of_each([&](std::size_t) { return workgroup_; });
  if (name == "wait_for_workgroup") {
    if (!std::all_of(mask.begin(), mask.end(), [](bool b) { return b; })) fault("some threads do not come to a wait of all threads");
    ++waits_;
    return std::nullopt;
  }
  if (name == "load_vector") return load_vector(e, mask), std::nullopt;
  if (name == "store_vector") return store_vector(e, mask), std::nullopt;
  if (name == "copy_async") return copy_async(e, mask), std::nullopt;
  if (name == "commit_copies") {
    for (std::size_t lane = 0; lane < lanes_; ++lane) commits_[lane] += mask[lane] ? 1 : 0;
    return std::nullopt;
  }
  if (name == "wait_for_copies") return land(uniform(e.arg(0), mask, "the number of copies"), mask), std::nullopt;
  if (name.rfind("load_matrices_", 0) == 0) return load_matrices(e, name[14] - '0', name.size() > 15, mask), std::nullopt;
  if (name == "mma_m16n8k16_bf16") return mma_m16n8k16(e, Type::bf16, mask), std::nullopt;
  if (name == "mma_m16n8k16_f16") return mma_m16n8k16(e, Type::f16, mask), std::nullopt;
  if (name == "mma_m16n8k8_f32") return mma_m16n8k8_f32(e, mask), std::nullopt;

  if (auto together = cooperation(e, mask)) return *together;
  std::vector<Lanes> args;
  for (const Expr arg : e.args()) args.push_back(value(arg, mask));
  if (args.empty()) fault("there is no helper function `" + name + "`");
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
  if (name == "shuffle_xor" || name == "any_of_warp") {
    whole_warps(mask, name);
    const bool any = name == "any_of_warp";
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      const std::size_t first = lane / warp_size * warp_size;
      if (any) {
        for (std::size_t other = first; other < first + warp_size; ++other) made.of[lane] = std::max(made.of[lane], args[0].of[other]);
      } else {
        made.of[lane] = args[0].of[first + ((lane % warp_size) ^ static_cast<std::size_t>(args[1].of[lane]))];
      }
    }
    return made;
  }
  if (name == "swizzled_column") {
    made.type = Type::i32;
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (!mask[lane]) continue;
      const auto at = [&](std::size_t i) { return static_cast<std::int64_t>(args[i].of[lane]); };
      made.of[lane] = static_cast<double>((at(1) / at(2) ^ at(0) / at(3) % at(4)) * at(2) + at(1) % at(2));
    }
    return made;
  }
  if (name == "to_float") return each(Type::f32, [](double a, double) { return a; });
  if (name == "to_bf16") return each(Type::bf16, [](double a, double) { return round_to(DType::bf16, a); });
  if (name == "to_f16") return each(Type::f16, [](double a, double) { return round_to(DType::f16, a); });
  if (name == "pair_bf16") return each(Type::pair_bf16, [](double a, double b) { return pair_of(Type::bf16, a, b); });
  if (name == "pair_f16") return each(Type::pair_f16, [](double a, double b) { return pair_of(Type::f16, a, b); });
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

void LaneMachine::own_function(const ThreadFunction& f, Expr e, const Mask& mask) {
  std::vector<Place> states;
  std::vector<Lanes> given;
  for (std::size_t i = 0; i < e.args().size(); ++i) {
    if (i < f.states.size()) states.push_back(place(e.arg(i), mask));
    given.push_back(value(e.arg(i), mask));
  }
  const auto bind = [&](const Variable& v, const Lanes& x) {
    LaneVariable own;
    own.type = v.type;
    own.cells = converted(x, v.type).of;
    return own;
  };
  std::map<Symbol, LaneVariable> inner = globals;
  for (std::size_t i = 0; i < f.states.size(); ++i) inner[f.states[i].name] = bind(f.states[i], given[i]);
  for (std::size_t i = 0; i < f.others.size(); ++i) inner[f.others[i].name] = bind(f.others[i], given[f.states.size() + i]);
  variables_.swap(inner);  // places point into nodes, which stay where they are
  block(f.body, mask);
  variables_.swap(inner);
  for (std::size_t i = 0; i < f.states.size(); ++i) {
    const LaneVariable& changed = inner.at(f.states[i].name);
    store(states[i], {changed.type, changed.cells}, mask);
  }
}

// ---- memory ----

void LaneMachine::load_vector(Expr e, const Mask& mask) {
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
      register_at(to, lane, halves ? i / 2 : i) = halves ? pair_of(type, low, high) : low;
    }
  }
}

void LaneMachine::store_vector(Expr e, const Mask& mask) {
  const Place to = place(e.arg(0), mask), from = place(e.arg(1), mask);
  const Type type = to.memory->type;
  const std::int64_t elements = uniform(e.arg(2), mask, "the bytes of an access") / gpu::size_in_bytes(type);
  const bool halves = type == Type::bf16 || type == Type::f16;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    if (to.at[lane] % elements != 0)
      fault("a wide access of `" + to.memory->name + "` that is not aligned, at element " + std::to_string(to.at[lane]));
    for (std::int64_t i = 0; i < elements; ++i) {
      const double word = register_at(from, lane, halves ? i / 2 : i);
      write_cell(*to.memory, to.at[lane] + i, lane, halves ? half_of(type, word, i % 2 == 1) : word);
    }
  }
}

void LaneMachine::copy_async(Expr e, const Mask& mask) {
  const Lanes inside = value(e.arg(2), mask);
  Mask reads(lanes_);
  for (std::size_t lane = 0; lane < lanes_; ++lane) reads[lane] = mask[lane] && inside.of[lane] != 0;
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

/// Groups that are older than the `younger` last ones.
void LaneMachine::land(std::int64_t younger, const Mask& mask) {
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

// ---- matrices ----

/// ldmatrix (PTX ISA): lane 8 q + r gives the address of row r of matrix q; each lane gets two neighbours of row lane / 4, of column lane /
/// 4 where it is transposed.
void LaneMachine::load_matrices(Expr e, int count, bool transposed, const Mask& mask) {
  whole_warps(mask, e.name().text());
  const Place to = place(e.arg(0), mask), row = place(e.arg(1), mask);
  const Type half = row.memory->type;
  for (std::size_t first = 0; first < lanes_; first += warp_size) {
    if (!mask[first]) continue;
    for (int q = 0; q < count; ++q) {
      double matrix[8][8];
      for (std::size_t r = 0; r < 8; ++r) {
        const std::size_t lane = first + static_cast<std::size_t>(q) * 8 + r;
        if (row.at[lane] % 8 != 0) fault("a row of a matrix in `" + row.memory->name + "` that is not aligned");
        for (std::int64_t c = 0; c < 8; ++c) matrix[r][c] = read_cell(*row.memory, row.at[lane] + c, lane);
      }
      for (std::size_t l = 0; l < warp_size; ++l) {
        const std::size_t r = l / 4, c = l % 4 * 2;
        const double low = transposed ? matrix[c][r] : matrix[r][c], high = transposed ? matrix[c + 1][r] : matrix[r][c + 1];
        register_at(to, first + l, q) = pair_of(half, low, high);
      }
    }
  }
}

/// mma.m16n8k16 (PTX ISA): a0 … a7, b0 … b3 and c0 … c3 of a lane by the formulas of the manual.
void LaneMachine::mma_m16n8k16(Expr e, Type half, const Mask& mask) {
  whole_warps(mask, e.name().text());
  const Place c = place(e.arg(0), mask), a = place(e.arg(1), mask), b = place(e.arg(2), mask);
  for (std::size_t first = 0; first < lanes_; first += warp_size) {
    if (!mask[first]) continue;
    double left[16][16], right[16][8];
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
      const std::size_t group = lane / 4, thread = lane % 4;
      for (std::size_t i = 0; i < 8; ++i) {
        const std::size_t row = i < 2 || (i >= 4 && i < 6) ? group : group + 8, column = thread * 2 + (i & 1U) + (i >= 4 ? 8 : 0);
        left[row][column] = half_of(half, register_at(a, first + lane, static_cast<std::int64_t>(i / 2)), i % 2 == 1);
      }
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t row = thread * 2 + (i & 1U) + (i >= 2 ? 8 : 0);
        right[row][group] = half_of(half, register_at(b, first + lane, static_cast<std::int64_t>(i / 2)), i % 2 == 1);
      }
    }
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t row = i < 2 ? lane / 4 : lane / 4 + 8, column = lane % 4 * 2 + (i & 1U);
        double& sum = register_at(c, first + lane, static_cast<std::int64_t>(i));
        double total = sum;
        for (std::size_t k = 0; k < 16; ++k) total += left[row][k] * right[k][column];
        sum = static_cast<double>(static_cast<float>(total));
      }
    }
  }
}

/// The helper of that name: places of the instruction (PTX ISA, mma.m16n8k8 with tf32) taken by steps 2t and 2t + 1.
void LaneMachine::mma_m16n8k8_f32(Expr e, const Mask& mask) {
  whole_warps(mask, e.name().text());
  const Place c = place(e.arg(0), mask), a = place(e.arg(1), mask), b = place(e.arg(2), mask);
  for (std::size_t first = 0; first < lanes_; first += warp_size) {
    if (!mask[first]) continue;
    double left[16][8], right[8][8];
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
      const std::size_t group = lane / 4, thread = lane % 4;
      for (std::size_t i = 0; i < 4; ++i)
        left[group + (i >= 2 ? 8 : 0)][2 * thread + (i & 1U)] = register_at(a, first + lane, static_cast<std::int64_t>(i));
      for (std::size_t i = 0; i < 2; ++i) right[2 * thread + i][group] = register_at(b, first + lane, static_cast<std::int64_t>(i));
    }
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + (i & 1U);
        double& sum = register_at(c, first + lane, static_cast<std::int64_t>(i));
        double total = sum;
        for (std::size_t k = 0; k < 8; ++k) total += left[row][k] * right[k][column];
        sum = static_cast<double>(static_cast<float>(total));
      }
    }
  }
}

}  // namespace fathom::gpu
