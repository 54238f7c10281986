// Floats of 8 bits by integer arithmetic on their bits in f32. e5m2 has the exponents of f16, e4m3 of OCP no infinity and one NaN.
#include <cmath>

#include "codegen/cpu/ops.hpp"

namespace fathom::cpu {
namespace {

struct SmallFloat {
  unsigned fraction;       ///< bits of it
  std::uint64_t rebias;    ///< exponent of f32 less its own
  std::uint64_t largest;   ///< code of the largest finite value
  std::uint64_t overflow;  ///< code beyond it
  double inverse_of_unit;  ///< 2^23 * the smallest subnormal: adding it rounds to subnormals
  std::uint64_t normal;    ///< bits in f32 of the smallest normal
};
constexpr std::uint64_t not_a_number = 0x7f;

SmallFloat format_of(DType dtype) {
  return dtype == DType::f8e4m3 ? SmallFloat{3, 127 - 7, 0x7e, not_a_number, 0x1p14, (127ULL - 6) << 23U}
                                : SmallFloat{2, 127 - 15, 0x7b, 0x7c, 0x1p7, (127ULL - 14) << 23U};
}

}  // namespace

/// The bits in f32 with the exponent of the small type are the value by a power of two too small; multiplying is exact, subnormals too.
Val Ops::value_of_f8(llvm::Value* bits, DType dtype, int lanes) {
  const SmallFloat format = format_of(dtype);
  llvm::Type *wide = word_type(lanes), *to = type(Kind::f32, lanes);
  const auto word = [&](std::uint64_t value) { return llvm::ConstantInt::get(wide, value); };
  llvm::Value* code = b.CreateZExt(bits, wide);
  llvm::Value* magnitude = b.CreateAnd(code, word(0x7f));
  llvm::Value* small = b.CreateBitCast(b.CreateShl(magnitude, word(23 - format.fraction)), to);
  llvm::Value* finite = b.CreateFMul(small, llvm::ConstantFP::get(to, std::ldexp(1.0, static_cast<int>(format.rebias))));
  llvm::Value* special = llvm::ConstantFP::getNaN(to);
  if (format.overflow != not_a_number)
    special = b.CreateSelect(b.CreateICmpEQ(magnitude, word(format.overflow)), llvm::ConstantFP::getInfinity(to), special);
  llvm::Value* value = b.CreateSelect(b.CreateICmpUGT(magnitude, word(format.largest)), special, finite);
  llvm::Value* sign = b.CreateShl(b.CreateAnd(code, word(0x80)), word(24));
  return {b.CreateBitCast(b.CreateOr(b.CreateBitCast(value, wide), sign), to), Kind::f32, lanes};
}

/// To nearest, ties to even: normal numbers by a carry into the kept bits, subnormal ones by an addition that pushes the others out.
Val Ops::bits_of_f8(Val value, DType dtype) {
  const SmallFloat format = format_of(dtype);
  llvm::Type *wide = word_type(value.lanes), *real = value.v->getType();
  const auto word = [&](std::uint64_t x) { return llvm::ConstantInt::get(wide, x); };
  const unsigned dropped = 23 - format.fraction;
  llvm::Value* bits = b.CreateBitCast(value.v, wide);
  llvm::Value* magnitude = b.CreateAnd(bits, word(0x7fffffff));
  llvm::Value* odd = b.CreateAnd(b.CreateLShr(magnitude, word(dropped)), word(1));
  llvm::Value* rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(magnitude, odd), word((1ULL << (dropped - 1)) - 1)), word(dropped));
  llvm::Value* normal = b.CreateSub(rounded, word(format.rebias << format.fraction));
  normal = b.CreateSelect(b.CreateICmpUGT(normal, word(format.largest)), word(format.overflow), normal);
  llvm::Constant* pusher = llvm::ConstantFP::get(real, format.inverse_of_unit);
  llvm::Value* pushed = b.CreateFAdd(b.CreateBitCast(magnitude, real), pusher);
  llvm::Value* subnormal = b.CreateSub(b.CreateBitCast(pushed, wide), b.CreateBitCast(pusher, wide));
  llvm::Value* code = b.CreateSelect(b.CreateICmpULT(magnitude, word(format.normal)), subnormal, normal);
  code = b.CreateSelect(b.CreateFCmpUNO(value.v, value.v), word(not_a_number), code);
  return {b.CreateOr(code, b.CreateAnd(b.CreateLShr(bits, word(24)), word(0x80))), Kind::integer, value.lanes};
}

}  // namespace fathom::cpu
