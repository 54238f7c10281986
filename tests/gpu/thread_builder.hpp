// Thread programs written by hand, in as few words as may be.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "codegen/gpu/lanes.hpp"

namespace fathom::by_hand {

using gpu::LaneTensor;
using gpu::LaneTensors;
using gpu::ThreadBlock;
using gpu::ThreadStatement;
using gpu::Type;

inline Symbol sym(const std::string& text) { return Symbol(std::string_view(text)); }
inline Expr n(std::int64_t value) { return number(Rational(value)); }
inline Expr var(const std::string& name) { return symbol(sym(name)); }
inline Expr at(const std::string& name, Expr index) { return read(sym(name), {index}); }
inline Expr at(const std::string& name, std::int64_t index) { return at(name, n(index)); }
inline Expr call(const std::string& function, std::vector<Expr> args = {}) { return fathom::call(sym(function), {}, std::move(args)); }
inline Expr ref(Expr place) { return call("&", {place}); }
inline Expr over(Expr a, std::int64_t b) { return binary(Op::floordiv, a, n(b)); }
inline Expr rest(Expr a, std::int64_t b) { return binary(Op::mod, a, n(b)); }
inline Expr less(Expr a, Expr b) { return binary(Op::lt, a, b); }
inline Expr same(Expr a, Expr b) { return binary(Op::eq, a, b); }
inline Expr lane() { return call("lane_number"); }
inline Expr warp() { return call("warp_number"); }
inline Expr thread() { return call("thread_number"); }

inline ThreadStatement act(const std::string& function, std::vector<Expr> args = {}) {
  return {gpu::Do{call(function, std::move(args))}, nullptr};
}
inline ThreadStatement declare(const std::string& name, Type type, Expr initial) {
  return {gpu::Declare{{sym(name), type, {}}, initial}, nullptr};
}
inline ThreadStatement registers(const std::string& name, Type type, std::int64_t count) {
  return {gpu::Declare{{sym(name), type, {count}}, {}}, nullptr};
}
inline ThreadStatement set(Expr place, Expr value) { return {gpu::Assign{place, value}, nullptr}; }
inline ThreadStatement loop(const std::string& variable, Expr hi, ThreadBlock body) {
  return {gpu::Loop{sym(variable), n(0), hi, false, false, std::move(body)}, nullptr};
}
inline ThreadStatement loop(const std::string& variable, std::int64_t hi, ThreadBlock body) {
  return loop(variable, n(hi), std::move(body));
}
inline ThreadStatement repeat(Expr condition, ThreadBlock body) { return {gpu::While{condition, std::move(body)}, nullptr}; }
inline ThreadStatement when(Expr condition, ThreadBlock body) { return {gpu::Branch{condition, std::move(body), {}}, nullptr}; }
inline ThreadStatement no_statement() { return {gpu::Comment{"left out"}, nullptr}; }

/// A kernel, the tensors that it sees, and what its result has to be.
struct Program {
  kernel::Module module;
  gpu::ThreadModule made;
  LaneTensors in;
  std::string result = "y";
  std::vector<double> expected;

  Program() { made.kernels.emplace_back(); }
  [[nodiscard]] gpu::ThreadKernel& kernel() { return made.kernels[0]; }

  void tensor(const std::string& name, DType dtype, const std::vector<std::int64_t>& shape, std::vector<double> data = {}) {
    math::Parameter p;
    p.name = sym(name);
    p.dtype = dtype;
    for (const std::int64_t extent : shape) p.extents.push_back(n(extent));
    (data.empty() ? module.results : module.params).push_back(p);
    if (!data.empty()) in[p.name] = {dtype, shape, std::move(data)};
    pointer(name, dtype);
  }
  void pointer(const std::string& name, DType dtype) {
    kernel().parameters.push_back({sym(name), {sym(name), gpu::type_of(dtype), {}}, true, false});
  }
  void counter(const std::string& name) {
    module.workspaces.push_back({sym(name), DType::i32, {n(1)}, true});
    pointer(name, DType::i32);
  }
  void map(const std::string& name, const std::string& tensor, DType dtype, const std::vector<std::int64_t>& shape,
           const std::vector<std::int64_t>& box) {
    gpu::TensorMap m{sym(name), sym(tensor), gpu::type_of(dtype), {}, box};
    for (const std::int64_t extent : shape) m.extents.push_back(n(extent));
    kernel().maps.push_back(m);
  }
  void shared(const std::string& name, Type type, std::int64_t count) { kernel().shared.push_back({sym(name), type, {count}}); }
  void panel(const std::string& name, Type type, std::int64_t elements, const std::string& alias = "") {
    kernel().dynamic_shared.push_back({sym(name), type, elements, 1024, sym(alias)});
  }
  void role(const std::string& name, std::int64_t first_warp, std::int64_t groups, std::int64_t warps, ThreadBlock body) {
    kernel().roles.push_back({sym(name), first_warp, groups, warps, std::move(body)});
  }
  void launch(std::int64_t threads, std::int64_t workgroups) {
    kernel().name = sym("by_hand");
    kernel().threads = threads;
    kernel().workgroups = n(workgroups);
    module.kernels.resize(made.kernels.size());
  }
};

/// "" or what is wrong.
inline std::string fault_of(const Program& p, std::uint64_t seed, std::int64_t resident = 2) {
  gpu::LaneOptions options;
  options.seed = seed;
  options.resident = resident;
  const auto out = gpu::run_lanes(p.made, p.module, p.in, options);
  if (!out) return out.error().reason;
  const std::vector<double>& actual = out->at(sym(p.result)).data;
  if (actual.size() != p.expected.size()) return "another size";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] != p.expected[i])
      return "element " + std::to_string(i) + " is " + std::to_string(actual[i]) + " instead of " + std::to_string(p.expected[i]);
  }
  return "";
}

/// A planted fault, and what is said about it: one of these, whoever goes on first.
struct Planted {
  std::string what;
  std::vector<std::string> said;
};

inline constexpr std::uint64_t seeds = 8;

/// The program without a fault is right under all seeds, and every planted fault is found under all of them.
inline void find_all(const std::function<Program(const std::string& planted)>& made, const std::vector<Planted>& faults) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    EXPECT_EQ(fault_of(made(""), seed), "") << "seed " << seed;
    for (const Planted& f : faults) {
      const std::string found = fault_of(made(f.what), seed);
      bool said = false;
      for (const std::string& words : f.said) said = said || found.find(words) != std::string::npos;
      EXPECT_TRUE(said) << f.what << ", seed " << seed << ": " << found;
    }
  }
}

/// Small whole numbers, so that products of many of them are exact, without a pattern that a wrong index would keep.
inline std::vector<double> whole_numbers(std::int64_t count, std::uint64_t seed, int most) {
  std::vector<double> numbers;
  std::uint64_t state = seed * 2654435761ULL + 99;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    numbers.push_back(static_cast<double>(static_cast<int>((state >> 33U) % static_cast<std::uint64_t>(2 * most + 1)) - most));
  }
  return numbers;
}

}  // namespace fathom::by_hand
