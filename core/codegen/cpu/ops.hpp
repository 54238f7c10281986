// Arithmetic on register values, scalar or vector, above the LLVM builder: kinds, conversions, correct rounding of storage types and the
// elementary functions. A value with one lane is uniform and is broadcast only where it meets a vector, so index arithmetic stays scalar.
// Knows expressions' operations, but no tile, loop or memory place.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>

#include "codegen/cpu/kinds.hpp"
#include "ir/expr.hpp"

namespace fathom::cpu {

/// A value in registers. `literal` holds an i64, `real_literal` a double constant; both take the kind of what they meet.
struct Val {
  llvm::Value* v = nullptr;
  Kind kind = Kind::f32;
  int lanes = 1;
  explicit operator bool() const { return v != nullptr; }
};

class Ops {
 public:
  Ops(llvm::IRBuilder<>& builder, llvm::Module& module, int host_lanes) : b(builder), module_(module), host_lanes_(host_lanes) {}

  llvm::IRBuilder<>& b;

  [[nodiscard]] int host_lanes() const { return host_lanes_; }
  [[nodiscard]] llvm::Module& module() { return module_; }

  // ---- types ----
  llvm::Type* element_type(Kind);
  llvm::Type* type(Kind, int lanes);
  llvm::Type* memory_type(DType);

  // ---- constants ----
  llvm::Value* i64(std::int64_t value) { return b.getInt64(static_cast<std::uint64_t>(value)); }
  Val integer(std::int64_t value) { return {i64(value), Kind::integer, 1}; }
  Val real(double value, Kind kind, int lanes = 1);
  Val truth(bool value) { return {b.getInt1(value), Kind::boolean, 1}; }
  Val iota(llvm::Value* first, int lanes);          ///< first, first+1, …
  Val first_lanes(std::int64_t active, int lanes);  ///< a mask with the first `active` lanes set

  // ---- shape and kind ----
  Val splat(Val, int lanes);
  Val convert(Val, Kind);
  Val settled(Val value) { return convert(value, kernel::settled(value.kind)); }
  /// Both operands with the joint kind and lane count.
  Kind unify(Val& left, Val& right);
  /// Rounded to what the storage type can hold; small float types stay in f32 registers.
  Val round_to(Val, DType);
  /// Between a register value and the bits in memory.
  Val from_memory(llvm::Value* bits, DType, int lanes);
  llvm::Value* to_memory(Val, DType, int lanes);

  // ---- operations ----
  Val binary(Op, Val, Val);
  Val unary(Op, Val);
  Val select(Val condition, Val then, Val otherwise);
  Val conjunction(Val, Val);  ///< of masks; an absent one is all true
  Val negation(Val);
  /// Uniform in [0,1): the first word of Philox 4x32-10 with the first argument, a seed, as its key and the others as its counters.
  Val random(const std::vector<Val>& arguments);
  /// A condition of one lane, for a branch.
  llvm::Value* any_lane(Val mask);

 private:
  Val arithmetic(Op, Val, Val, Kind);
  Val floor_division(Op, Val, Val);
  Val comparison(Op, Val, Val);
  void meet_end(const Val& whole, Val& end);
  Val extremum(Op, Val, Val);
  llvm::Value* machine_extremum(bool largest, Val left, Val right);
  Val power(Val, Val);
  Val libm(const char* name, Val, const Val* second = nullptr);
  Val bits_of_bf16(Val);
  Val bits_of_f8(Val, DType);
  Val value_of_f8(llvm::Value* bits, DType, int lanes);
  llvm::Type* word_type(int lanes);  ///< 32 bits a lane
  // functions.cpp: f32 only
  Val fma(Val, Val, Val);
  Val polynomial(Val, std::initializer_list<double> ascending);
  Val scale_by_power(Val value, Val exponent);
  Val clamp(Val, double lo, double hi);
  Val exp2_f32(Val);
  Val exp_f32(Val);
  std::pair<Val, Val> split_logarithm(Val);
  Val finish_logarithm(Val result, Val argument);
  Val log_f32(Val);
  Val log2_f32(Val);
  Val tanh_f32(Val);
  Val erf_f32(Val);
  Val sigmoid_f32(Val);
  Val f32(double value, const Val& like) { return real(value, Kind::f32, like.lanes); }
  Val intrinsic(llvm::Intrinsic::ID, std::initializer_list<Val>);

  llvm::Module& module_;
  int host_lanes_;
};

}  // namespace fathom::cpu
