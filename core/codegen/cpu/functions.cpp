// Elementary functions on f32 vectors: range reduction, a polynomial of our own (fitted by minimax with relative weight over the reduced
// range) and exact rescaling. exp, exp2, log, log2: within 2 ulp over the whole range, subnormal arguments and results included; tanh, erf,
// sigmoid: within 4 ulp. NaN, infinities and signed zeros come out as IEEE 754 recommends.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/cpu/ops.hpp"

namespace fathom::cpu {
namespace {
llvm::Type* like(llvm::IRBuilder<>& b, int lanes) {
  return lanes == 1 ? static_cast<llvm::Type*>(b.getInt32Ty()) : llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(lanes));
}
}  // namespace

Val Ops::fma(Val x, Val y, Val z) { return intrinsic(llvm::Intrinsic::fma, {x, y, z}); }

Val Ops::polynomial(Val x, std::initializer_list<double> ascending) {
  const double* c = ascending.end();
  Val result = f32(*--c, x);
  while (c != ascending.begin()) result = fma(result, x, f32(*--c, x));
  return result;
}

// A NaN compares false and passes.
Val Ops::clamp(Val x, double lo, double hi) {
  Val low = f32(lo, x), high = f32(hi, x);
  llvm::Value* v = b.CreateSelect(b.CreateFCmpOLT(x.v, low.v), low.v, x.v);
  return {b.CreateSelect(b.CreateFCmpOGT(v, high.v), high.v, v), Kind::f32, x.lanes};
}

// 2^n in two exact halves, so that n may lie outside the exponent range and a subnormal result is rounded once. AVX-512 has an instruction
// for it, with the same result to the last bit.
Val Ops::scale_by_power(Val value, Val exponent) {
  if (host_lanes_ == 16 && value.lanes == 16) {
    constexpr int current_rounding = 4;
    return {b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                              {value.v, exponent.v, value.v, b.getInt16(0xffff), b.getInt32(current_rounding)}),
            Kind::f32, value.lanes};
  }
  llvm::Type* integer_type = like(b, value.lanes);
  const auto constant = [&](std::uint64_t x) { return llvm::ConstantInt::get(integer_type, x); };
  llvm::Value* n = b.CreateFPToSI(b.CreateFreeze(exponent.v), integer_type);
  n = b.CreateFreeze(n);  // of a NaN: any number will do, NaN times it is NaN
  llvm::Value* half = b.CreateAShr(n, constant(1));
  const auto power = [&](llvm::Value* k) {
    return b.CreateBitCast(b.CreateShl(b.CreateAdd(k, constant(127)), constant(23)), value.v->getType());
  };
  // A NaN's n may give any bit pattern, infinity included, but NaN * infinity is NaN as well.
  llvm::Value* scaled = b.CreateFMul(value.v, power(half));
  return {b.CreateFMul(scaled, power(b.CreateSub(n, half))), Kind::f32, value.lanes};
}

Val Ops::exp2_f32(Val x) {
  Val y = clamp(x, -151, 129);
  Val n = intrinsic(llvm::Intrinsic::rint, {y});
  Val f{b.CreateFSub(y.v, n.v), Kind::f32, x.lanes};
  Val p = polynomial(f, {0.6931471824645996, 0.24022647738456726, 0.055503323674201965, 0.00961843691766262, 0.0013398875016719103,
                         0.00015353360504377633});
  return scale_by_power(fma(p, f, f32(1, x)), n);
}

// e^x = 2^n e^r with r = x - n ln 2 in two steps: the first product is exact, since 0.693359375 has 9 significant bits.
Val Ops::exp_f32(Val x) {
  Val y = clamp(x, -105, 90);
  Val n = intrinsic(llvm::Intrinsic::rint, {Val{b.CreateFMul(y.v, f32(1.4426950408889634, x).v), Kind::f32, x.lanes}});
  Val r = fma(n, f32(-0.693359375, x), y);
  r = fma(n, f32(2.12194440054690583e-4, x), r);
  Val p = polynomial(r, {0.4999999403953552, 0.1666651964187622, 0.041668400168418884, 0.008368851616978645, 0.0013814318226650357});
  Val e = fma(p, Val{b.CreateFMul(r.v, r.v), Kind::f32, x.lanes}, r);
  return scale_by_power(Val{b.CreateFAdd(e.v, f32(1, x).v), Kind::f32, x.lanes}, n);
}

// x = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); subnormals are scaled up first. Zero, negative and special arguments: see
// finish_logarithm.
std::pair<Val, Val> Ops::split_logarithm(Val x) {
  llvm::Type* integer_type = like(b, x.lanes);
  const auto constant = [&](std::uint64_t value) { return llvm::ConstantInt::get(integer_type, value); };
  llvm::Value* tiny = b.CreateFCmpOLT(x.v, f32(1.1754943508222875e-38, x).v);
  llvm::Value* scaled = b.CreateSelect(tiny, b.CreateFMul(x.v, f32(8388608, x).v), x.v);
  llvm::Value* bits = b.CreateBitCast(scaled, integer_type);
  llvm::Value* shifted = b.CreateSub(bits, constant(0x3f3504f3));  // sqrt(1/2): the exponent field then counts from there
  llvm::Value* e = b.CreateAShr(shifted, constant(23));
  llvm::Value* m = b.CreateBitCast(b.CreateAdd(b.CreateAnd(shifted, constant(0x007fffff)), constant(0x3f3504f3)), x.v->getType());
  llvm::Value* exponent = b.CreateFSub(b.CreateSIToFP(e, x.v->getType()), b.CreateSelect(tiny, f32(23, x).v, f32(0, x).v));
  return {Val{exponent, Kind::f32, x.lanes}, Val{b.CreateFSub(m, f32(1, x).v), Kind::f32, x.lanes}};
}

Val Ops::finish_logarithm(Val result, Val x) {
  const double inf = std::numeric_limits<double>::infinity();
  llvm::Value* v = b.CreateSelect(b.CreateFCmpOEQ(x.v, f32(0, x).v), f32(-inf, x).v, result.v);
  v = b.CreateSelect(b.CreateFCmpULT(x.v, f32(0, x).v), f32(std::numeric_limits<double>::quiet_NaN(), x).v, v);  // negative or NaN
  return {b.CreateSelect(b.CreateFCmpOEQ(x.v, f32(inf, x).v), x.v, v), Kind::f32, x.lanes};
}

namespace {
constexpr std::initializer_list<double> log1p_tail = {0.3333331346511841,  -0.25000008940696716, 0.2000211924314499,
                                                      -0.1666799634695053, 0.14219550788402557,  -0.1240558996796608,
                                                      0.11888178437948227, -0.11675652861595154, 0.06746608018875122};
}

Val Ops::log_f32(Val x) {
  auto [e, f] = split_logarithm(x);
  Val square{b.CreateFMul(f.v, f.v), Kind::f32, x.lanes};
  Val cube{b.CreateFMul(square.v, f.v), Kind::f32, x.lanes};
  Val tail = fma(e, f32(-2.12194440054690583e-4, x), Val{b.CreateFMul(polynomial(f, log1p_tail).v, cube.v), Kind::f32, x.lanes});
  tail = fma(square, f32(-0.5, x), tail);
  Val sum{b.CreateFAdd(f.v, tail.v), Kind::f32, x.lanes};
  return finish_logarithm(fma(e, f32(0.693359375, x), sum), x);
}

// log2(1+f) = f log2(e) + tail log2(e), each product with the constant split in two, so that only the last additions round.
Val Ops::log2_f32(Val x) {
  auto [e, f] = split_logarithm(x);
  Val square{b.CreateFMul(f.v, f.v), Kind::f32, x.lanes};
  Val cube{b.CreateFMul(square.v, f.v), Kind::f32, x.lanes};
  Val tail = fma(square, f32(-0.5, x), Val{b.CreateFMul(polynomial(f, log1p_tail).v, cube.v), Kind::f32, x.lanes});
  const double high = 1.44268798828125, low = 1.4426950408889634 - high;
  Val result = Val{b.CreateFMul(tail.v, f32(low, x).v), Kind::f32, x.lanes};
  result = fma(f, f32(low, x), result);
  result = fma(tail, f32(high, x), result);
  result = fma(f, f32(high, x), result);
  return finish_logarithm(Val{b.CreateFAdd(e.v, result.v), Kind::f32, x.lanes}, x);
}

Val Ops::tanh_f32(Val x) {
  Val a = intrinsic(llvm::Intrinsic::fabs, {x});
  Val square{b.CreateFMul(x.v, x.v), Kind::f32, x.lanes};
  Val p = polynomial(square, {-0.3333333134651184, 0.1333318054676056, -0.05394339933991432, 0.021681640297174454, -0.008128995075821877,
                              0.002097716787829995});
  Val small = fma(Val{b.CreateFMul(p.v, square.v), Kind::f32, x.lanes}, x, x);
  Val e = exp_f32(Val{b.CreateFMul(a.v, f32(2, x).v), Kind::f32, x.lanes});
  Val large{b.CreateFSub(f32(1, x).v, b.CreateFDiv(f32(2, x).v, b.CreateFAdd(e.v, f32(1, x).v))), Kind::f32, x.lanes};
  large = intrinsic(llvm::Intrinsic::copysign, {large, x});
  return {b.CreateSelect(b.CreateFCmpOGT(a.v, f32(0.625, x).v), large.v, small.v), Kind::f32, x.lanes};
}

// |x| up to 0.92: x + x P(x^2). Above: 1 - exp(-x (1 + P(x))), 1 to the last bit from 3.95 on.
Val Ops::erf_f32(Val x) {
  Val a = intrinsic(llvm::Intrinsic::fabs, {x});
  Val square{b.CreateFMul(x.v, x.v), Kind::f32, x.lanes};
  Val p = polynomial(square, {0.12837916612625122, -0.37612631916999817, 0.11283687502145767, -0.026858940720558167, 0.005199906881898642,
                              -0.0008130012429319322, 8.316772436955944e-05});
  Val small = fma(p, x, x);
  Val t = clamp(a, 0, 3.95);
  Val q = polynomial(t, {0.12854143977165222, 0.6356731653213501, 0.10516948252916336, -0.022575605660676956, 0.0028691147454082966,
                         -2.743288132478483e-05, -4.994092887500301e-05, 5.2970394790463615e-06});
  Val minus{b.CreateFNeg(t.v), Kind::f32, x.lanes};
  Val e = exp_f32(fma(q, minus, minus));
  Val large = intrinsic(llvm::Intrinsic::copysign, {Val{b.CreateFSub(f32(1, x).v, e.v), Kind::f32, x.lanes}, x});
  return {b.CreateSelect(b.CreateFCmpOGT(a.v, f32(0.92, x).v), large.v, small.v), Kind::f32, x.lanes};
}

// e = exp(-|x|) never overflows, so the far negative side keeps its subnormal values.
Val Ops::sigmoid_f32(Val x) {
  Val a = intrinsic(llvm::Intrinsic::fabs, {x});
  Val e = exp_f32(Val{b.CreateFNeg(a.v), Kind::f32, x.lanes});
  llvm::Value* denominator = b.CreateFAdd(e.v, f32(1, x).v);
  llvm::Value* numerator = b.CreateSelect(b.CreateFCmpOLT(x.v, f32(0, x).v), e.v, f32(1, x).v);
  return {b.CreateFDiv(numerator, denominator), Kind::f32, x.lanes};
}

}  // namespace fathom::cpu
