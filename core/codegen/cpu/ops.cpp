// Ops: conversions, arithmetic and comparisons on register values.
#include "codegen/cpu/ops.hpp"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <limits>

namespace fathom::cpu {

using llvm::Intrinsic::ID;

// ---- types and constants ----

llvm::Type* Ops::element_type(Kind kind) {
  switch (kind) {
    case Kind::boolean:
      return b.getInt1Ty();
    case Kind::literal:
    case Kind::integer:
      return b.getInt64Ty();
    case Kind::f32:
      return b.getFloatTy();
    case Kind::real_literal:
    case Kind::f64:
      return b.getDoubleTy();
  }
  return b.getFloatTy();
}

llvm::Type* Ops::type(Kind kind, int lanes) {
  llvm::Type* element = element_type(kind);
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

llvm::Type* Ops::memory_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return b.getDoubleTy();
    case DType::f16:
      return b.getHalfTy();
    case DType::bf16:
      return b.getInt16Ty();
    case DType::i64:
      return b.getInt64Ty();
    case DType::i32:
      return b.getInt32Ty();
    case DType::i8:
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::boolean:
      return b.getInt8Ty();
    case DType::real:
    case DType::f32:
      return b.getFloatTy();
  }
  return b.getFloatTy();
}

llvm::Type* Ops::word_type(int lanes) {
  return lanes == 1 ? static_cast<llvm::Type*>(b.getInt32Ty()) : llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(lanes));
}

Val Ops::real(double value, Kind kind, int lanes) { return {llvm::ConstantFP::get(type(kind, lanes), value), kind, lanes}; }

Val Ops::iota(llvm::Value* first, int lanes) {
  if (lanes == 1) return {first, Kind::integer, 1};
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(b.getInt64(static_cast<std::uint64_t>(i)));
  return {b.CreateAdd(b.CreateVectorSplat(static_cast<unsigned>(lanes), first), llvm::ConstantVector::get(numbers)), Kind::integer, lanes};
}

Val Ops::first_lanes(std::int64_t active, int lanes) {
  std::vector<llvm::Constant*> bits;
  for (int i = 0; i < lanes; ++i) bits.push_back(b.getInt1(i < active));
  return lanes == 1 ? truth(active > 0) : Val{llvm::ConstantVector::get(bits), Kind::boolean, lanes};
}

// ---- shape and kind ----

Val Ops::splat(Val value, int lanes) {
  if (value.lanes == lanes || lanes == 1) return value;
  return {b.CreateVectorSplat(static_cast<unsigned>(lanes), value.v), value.kind, lanes};
}

Val Ops::convert(Val value, Kind kind) {
  if (value.kind == kind) return value;
  llvm::Type* to = type(kind, value.lanes);
  const bool from_float = is_float_kind(value.kind);
  if (kind == Kind::boolean)
    return {from_float ? b.CreateFCmpUNE(value.v, llvm::Constant::getNullValue(value.v->getType()))
                       : b.CreateICmpNE(value.v, llvm::Constant::getNullValue(value.v->getType())),
            kind, value.lanes};
  if (value.kind == Kind::boolean) {
    llvm::Value* wide = b.CreateZExt(value.v, type(Kind::integer, value.lanes));
    return is_float_kind(kind) ? Val{b.CreateSIToFP(wide, to), kind, value.lanes} : Val{wide, kind, value.lanes};
  }
  if (!from_float) return is_float_kind(kind) ? Val{b.CreateSIToFP(value.v, to), kind, value.lanes} : Val{value.v, kind, value.lanes};
  if (!is_float_kind(kind)) {  // to the nearest integer, saturating; NaN gives 0: what the reference's rounding does
    llvm::Value* rounded = b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, value.v);
    return {b.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {to, rounded->getType()}, {rounded}), kind, value.lanes};
  }
  if (value.v->getType() == to) return {value.v, kind, value.lanes};
  return {b.CreateFPCast(value.v, to), kind, value.lanes};
}

Kind Ops::unify(Val& left, Val& right) {
  const Kind kind = join(left.kind, right.kind);
  left = convert(left, kind);
  right = convert(right, kind);
  const int lanes = std::max(left.lanes, right.lanes);
  left = splat(left, lanes);
  right = splat(right, lanes);
  return kind;
}

// Adding 0x7fff plus the lowest kept bit carries exactly where round-to-nearest-even rounds up; a NaN must not carry into infinity.
Val Ops::bits_of_bf16(Val value) {
  llvm::Type* wide = word_type(value.lanes);
  const auto constant = [&](std::uint64_t bits) { return llvm::ConstantInt::get(wide, bits); };
  llvm::Value* bits = b.CreateBitCast(value.v, wide);
  llvm::Value* kept = b.CreateAnd(b.CreateLShr(bits, constant(16)), constant(1));
  llvm::Value* rounded = b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(kept, constant(0x7fff))), constant(16));
  llvm::Value* quiet = b.CreateOr(b.CreateLShr(bits, constant(16)), constant(0x40));
  return {b.CreateSelect(b.CreateFCmpUNO(value.v, value.v), quiet, rounded), Kind::integer, value.lanes};
}

Val Ops::round_to(Val value, DType dtype) {
  value = convert(value, kind_of(dtype));
  if (dtype == DType::i32 || dtype == DType::i8) {
    const auto limit = [&](std::int64_t x) { return splat(integer(x), value.lanes); };
    const std::int64_t hi = dtype == DType::i32 ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int8_t>::max();
    value = binary(Op::min, binary(Op::max, value, limit(-hi - 1)), limit(hi));
  } else if (is_float(dtype) && size_in_bytes(dtype) < 4) {
    value = from_memory(to_memory(value, dtype, value.lanes), dtype, value.lanes);
  }
  return value;
}

Val Ops::from_memory(llvm::Value* bits, DType dtype, int lanes) {
  const Kind kind = kind_of(dtype);
  llvm::Type* to = type(kind, lanes);
  switch (dtype) {
    case DType::boolean:
      return {b.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())), kind, lanes};
    case DType::i8:
    case DType::i32:
      return {b.CreateSExt(bits, to), kind, lanes};
    case DType::f16:
      return {b.CreateFPExt(bits, to), kind, lanes};
    case DType::f8e4m3:
    case DType::f8e5m2:
      return value_of_f8(bits, dtype, lanes);
    case DType::bf16: {
      llvm::Type* wide = word_type(lanes);
      return {b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, wide), llvm::ConstantInt::get(wide, 16)), to), kind, lanes};
    }
    default:
      return {bits, kind, lanes};
  }
}

llvm::Value* Ops::to_memory(Val value, DType dtype, int lanes) {
  llvm::Type* element = memory_type(dtype);
  llvm::Type* to = lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  value = splat(dtype == DType::i32 || dtype == DType::i8 ? round_to(value, dtype) : convert(value, kind_of(dtype)), lanes);
  switch (dtype) {
    case DType::boolean:
      return b.CreateZExt(value.v, to);
    case DType::i8:
    case DType::i32:
      return b.CreateTrunc(value.v, to);
    case DType::f16:
      return b.CreateFPTrunc(value.v, to);
    case DType::bf16:
      return b.CreateTrunc(bits_of_bf16(value).v, to);
    case DType::f8e4m3:
    case DType::f8e5m2:
      return b.CreateTrunc(bits_of_f8(value, dtype).v, to);
    default:
      return value.v;
  }
}

// ---- operations ----

Val Ops::conjunction(Val left, Val right) {
  if (!left) return right;
  if (!right) return left;
  unify(left, right);
  return {b.CreateAnd(left.v, right.v), Kind::boolean, left.lanes};
}

Val Ops::negation(Val mask) { return {b.CreateNot(mask.v), Kind::boolean, mask.lanes}; }

llvm::Value* Ops::any_lane(Val mask) { return mask.lanes == 1 ? mask.v : b.CreateOrReduce(mask.v); }

Val Ops::select(Val condition, Val then, Val otherwise) {
  const Kind kind = unify(then, otherwise);
  condition = convert(condition, Kind::boolean);
  const int lanes = std::max(condition.lanes, then.lanes);
  return {b.CreateSelect(condition.v, splat(then, condition.lanes == 1 ? then.lanes : lanes).v,
                         splat(otherwise, condition.lanes == 1 ? then.lanes : lanes).v),
          kind, lanes};
}

/// Among integers the identity of an extremum is the least or the greatest of them: an infinity that one is compared with means that.
void Ops::meet_end(const Val& whole, Val& end) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(end.v);
  if (whole.kind != Kind::integer || constant == nullptr || !is_float_kind(end.kind)) return;
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(end.lanes == 1 ? constant : constant->getSplatValue());
  if (number == nullptr || !number->getValueAPF().isInfinity()) return;
  end =
      splat(integer(number->isNegative() ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max()), end.lanes);
}

Val Ops::comparison(Op op, Val left, Val right) {
  using P = llvm::CmpInst;
  struct Row {
    Op op;
    P::Predicate ordered, integer;
  };
  static constexpr Row rows[] = {{Op::eq, P::FCMP_OEQ, P::ICMP_EQ},  {Op::ne, P::FCMP_UNE, P::ICMP_NE},
                                 {Op::lt, P::FCMP_OLT, P::ICMP_SLT}, {Op::le, P::FCMP_OLE, P::ICMP_SLE},
                                 {Op::gt, P::FCMP_OGT, P::ICMP_SGT}, {Op::ge, P::FCMP_OGE, P::ICMP_SGE}};
  meet_end(left, right);
  meet_end(right, left);
  const Kind kind = unify(left, right);
  for (const Row& row : rows)
    if (row.op == op)
      return {is_float_kind(kind) ? b.CreateFCmp(row.ordered, left.v, right.v) : b.CreateICmp(row.integer, left.v, right.v), Kind::boolean,
              left.lanes};
  return left;
}

/// The machine's own max or min of f32 vectors, which returns its second operand where one is NaN; null where there is none of that width.
/// Written as compare and select, LLVM would merge it with the test for NaN into two compares, an or and a blend.
llvm::Value* Ops::machine_extremum(bool largest, Val left, Val right) {
  if (left.kind != Kind::f32) return nullptr;
  constexpr std::uint64_t current_rounding = 4;
  if (left.lanes == 16 && host_lanes_ == 16)
    return b.CreateIntrinsic(largest ? llvm::Intrinsic::x86_avx512_max_ps_512 : llvm::Intrinsic::x86_avx512_min_ps_512, {},
                             {left.v, right.v, b.getInt32(current_rounding)});
  if (left.lanes == 8 && host_lanes_ >= 8)
    return b.CreateIntrinsic(largest ? llvm::Intrinsic::x86_avx_max_ps_256 : llvm::Intrinsic::x86_avx_min_ps_256, {}, {left.v, right.v});
  if (left.lanes == 4)
    return b.CreateIntrinsic(largest ? llvm::Intrinsic::x86_sse_max_ps : llvm::Intrinsic::x86_sse_min_ps, {}, {left.v, right.v});
  return nullptr;
}

// Only a NaN on the left is lost: one compare and one blend restore it.
Val Ops::extremum(Op op, Val left, Val right) {
  const Kind kind = unify(left, right);
  const bool largest = op == Op::max;
  if (!is_float_kind(kind)) {
    const ID id = largest ? llvm::Intrinsic::smax : llvm::Intrinsic::smin;
    return {
        b.CreateBinaryIntrinsic(kind == Kind::boolean ? (largest ? llvm::Intrinsic::umax : llvm::Intrinsic::umin) : id, left.v, right.v),
        kind, left.lanes};
  }
  llvm::Value* best = machine_extremum(largest, left, right);
  if (best == nullptr) {
    llvm::Value* ordered = largest ? b.CreateFCmpOGT(left.v, right.v) : b.CreateFCmpOLT(left.v, right.v);
    best = b.CreateSelect(ordered, left.v, right.v);
  } else if (llvm::isa<llvm::Constant>(left.v)) {  // a NaN on the right has come through
    return {best, kind, left.lanes};
  }
  if (llvm::isa<llvm::Constant>(left.v)) std::swap(left, right);
  if (llvm::isa<llvm::Constant>(left.v)) return {best, kind, left.lanes};
  return {b.CreateSelect(b.CreateFCmpUNO(left.v, left.v), left.v, best), kind, left.lanes};
}

// Floor division never traps: a divisor of 0 gives 0, and -1 is a negation.
Val Ops::floor_division(Op op, Val left, Val right) {
  const bool quotient = op == Op::floordiv;
  llvm::Value *n = left.v, *d = right.v, *safe = d;
  llvm::Value* zero = llvm::Constant::getNullValue(n->getType());
  if (!llvm::isa<llvm::Constant>(d) || llvm::cast<llvm::Constant>(d)->isNullValue() || llvm::cast<llvm::Constant>(d)->isAllOnesValue()) {
    llvm::Value* special = b.CreateOr(b.CreateICmpEQ(d, zero), b.CreateICmpEQ(d, llvm::Constant::getAllOnesValue(d->getType())));
    safe = b.CreateSelect(special, llvm::ConstantInt::get(d->getType(), 1), d);
  }
  llvm::Value* remainder = b.CreateSRem(n, safe);
  llvm::Value* low = b.CreateAnd(b.CreateICmpNE(remainder, zero), b.CreateICmpSLT(b.CreateXor(remainder, safe), zero));
  if (quotient) {
    llvm::Value* result = b.CreateSub(b.CreateSDiv(n, safe), b.CreateZExt(low, n->getType()));
    if (safe != d) {
      result = b.CreateSelect(b.CreateICmpEQ(d, zero), zero, result);
      result = b.CreateSelect(b.CreateICmpEQ(d, llvm::Constant::getAllOnesValue(d->getType())), b.CreateNeg(n), result);
    }
    return {result, Kind::integer, left.lanes};
  }
  return {b.CreateAdd(remainder, b.CreateSelect(low, safe, zero)), Kind::integer, left.lanes};
}

Val Ops::power(Val left, Val right) {
  if (const auto* exponent = llvm::dyn_cast<llvm::ConstantInt>(right.v); exponent != nullptr && right.lanes == 1) {
    std::int64_t n = exponent->getSExtValue();
    const bool inverse = n < 0;
    if (n > -64 && n <= 64) {
      if (left.kind == Kind::literal && inverse) left = convert(left, Kind::real_literal);
      if (inverse && left.kind == Kind::integer) left = convert(left, Kind::f32);
      Val result = convert(splat(integer(1), left.lanes), left.kind), square = left;
      bool started = false;
      for (n = inverse ? -n : n; n > 0; n /= 2) {
        if (n % 2 == 1) {
          result = started ? binary(Op::mul, result, square) : square;
          started = true;
        }
        if (n > 1) square = binary(Op::mul, square, square);
      }
      return inverse ? binary(Op::div, convert(splat(integer(1), result.lanes), result.kind), result) : result;
    }
  }
  const Kind kind = std::max(join(left.kind, right.kind), Kind::f32);
  left = convert(left, kind);
  right = convert(right, kind);
  unify(left, right);
  return libm(kind == Kind::f64 ? "pow" : "powf", left, &right);
}

Val Ops::arithmetic(Op op, Val left, Val right, Kind kind) {
  const bool real_kind = is_float_kind(kind);
  llvm::Value* v = nullptr;
  switch (op) {
    case Op::add:
      v = real_kind ? b.CreateFAdd(left.v, right.v) : b.CreateAdd(left.v, right.v);
      break;
    case Op::sub:
      v = real_kind ? b.CreateFSub(left.v, right.v) : b.CreateSub(left.v, right.v);
      break;
    default:
      v = real_kind ? b.CreateFMul(left.v, right.v) : b.CreateMul(left.v, right.v);
      break;
  }
  return {v, kind, left.lanes};
}

Val Ops::binary(Op op, Val left, Val right) {
  switch (op) {
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return comparison(op, left, right);
    case Op::min:
    case Op::max:
      return extremum(op, left, right);
    case Op::pow:
      return power(left, right);
    case Op::logical_and:
    case Op::logical_or: {
      left = convert(left, Kind::boolean);
      right = convert(right, Kind::boolean);
      unify(left, right);
      return {op == Op::logical_and ? b.CreateAnd(left.v, right.v) : b.CreateOr(left.v, right.v), Kind::boolean, left.lanes};
    }
    default:
      break;
  }
  Kind kind = unify(left, right);
  if (kind == Kind::boolean) {  // arithmetic on truth values counts them
    left = convert(left, kind = Kind::integer);
    right = convert(right, kind);
  }
  if (op == Op::div) {
    if (!is_float_kind(kind)) kind = kind == Kind::literal ? Kind::real_literal : Kind::f32;
    left = convert(left, kind);
    right = convert(right, kind);
    return {b.CreateFDiv(left.v, right.v), kind, left.lanes};
  }
  if (op == Op::floordiv || op == Op::mod) {
    if (!is_float_kind(kind)) return floor_division(op, left, right);
    Val quotient = unary(Op::floor, {b.CreateFDiv(left.v, right.v), kind, left.lanes});
    return op == Op::floordiv ? quotient : binary(Op::sub, left, binary(Op::mul, right, quotient));
  }
  return arithmetic(op, left, right, kind);
}

Val Ops::intrinsic(ID id, std::initializer_list<Val> args) {
  std::vector<llvm::Value*> values;
  for (const Val& arg : args) values.push_back(arg.v);
  const Val& first = *args.begin();
  return {b.CreateIntrinsic(id, {first.v->getType()}, values), first.kind, first.lanes};
}

Val Ops::unary(Op op, Val x) {
  switch (op) {
    case Op::neg:
      if (x.kind == Kind::boolean) x = convert(x, Kind::integer);
      return {is_float_kind(x.kind) ? b.CreateFNeg(x.v) : b.CreateNeg(x.v), x.kind, x.lanes};
    case Op::logical_not:
      return negation(convert(x, Kind::boolean));
    case Op::abs:
      if (is_float_kind(x.kind)) return intrinsic(llvm::Intrinsic::fabs, {x});
      return {b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x.v, b.getFalse()), x.kind, x.lanes};
    case Op::floor:
      if (is_float_kind(x.kind)) return intrinsic(llvm::Intrinsic::floor, {x});
      return x;
    default:
      break;
  }
  if (x.kind != Kind::f64) x = convert(x, Kind::f32);
  const bool wide = x.kind == Kind::f64;
  switch (op) {
    case Op::sqrt:
      return intrinsic(llvm::Intrinsic::sqrt, {x});
    case Op::rsqrt:
      return binary(Op::div, real(1, x.kind, x.lanes), intrinsic(llvm::Intrinsic::sqrt, {x}));
    case Op::exp:
      return wide ? libm("exp", x) : exp_f32(x);
    case Op::exp2:
      return wide ? libm("exp2", x) : exp2_f32(x);
    case Op::log:
      return wide ? libm("log", x) : log_f32(x);
    case Op::log2:
      return wide ? libm("log2", x) : log2_f32(x);
    case Op::sin:
      return libm(wide ? "sin" : "sinf", x);
    case Op::cos:
      return libm(wide ? "cos" : "cosf", x);
    case Op::tanh:
      return wide ? libm("tanh", x) : tanh_f32(x);
    case Op::erf:
      return wide ? libm("erf", x) : erf_f32(x);
    case Op::sigmoid:
      if (!wide) return sigmoid_f32(x);
      return binary(Op::div, real(1, x.kind, x.lanes), binary(Op::add, real(1, x.kind, x.lanes), libm("exp", unary(Op::neg, x))));
    default:
      return x;
  }
}

// Rare functions go lane by lane through the C library of the process.
Val Ops::libm(const char* name, Val x, const Val* second) {
  llvm::Type* element = element_type(x.kind);
  std::vector<llvm::Type*> parameters(second != nullptr ? 2 : 1, element);
  llvm::FunctionCallee callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(element, parameters, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
  }
  const auto call = [&](auto&& lane) {
    std::vector<llvm::Value*> args{lane(x)};
    if (second != nullptr) args.push_back(lane(*second));
    return b.CreateCall(callee, args);
  };
  if (x.lanes == 1) return {call([](const Val& value) { return value.v; }), x.kind, 1};
  llvm::Value* result = llvm::PoisonValue::get(x.v->getType());
  for (int i = 0; i < x.lanes; ++i)
    result = b.CreateInsertElement(result,
                                   call([&](const Val& value) { return b.CreateExtractElement(value.v, static_cast<std::uint64_t>(i)); }),
                                   static_cast<std::uint64_t>(i));
  return {result, x.kind, x.lanes};
}

}  // namespace fathom::cpu
