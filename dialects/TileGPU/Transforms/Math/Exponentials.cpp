//===- Exponentials.cpp - exp, its inverse's friends, erf -----------------===//
#include "dialects/TileGPU/Transforms/Math/Coefficients.h"
#include "dialects/TileGPU/Transforms/Math/MathFunctions.h"

using namespace mlir;
using namespace tilec::tilegpu;

#define POLYNOMIAL(b, x, name)                                                                                         \
  ((b).polynomial((x), (b).isDouble() ? ArrayRef<double>(coefficients::twice::name)                                    \
                                      : ArrayRef<double>(coefficients::single::name)))

namespace {
constexpr double kLog2E = 1.4426950408889634074;
// log2(e) = single + rest, and ln 2 = high + low with a short high part, so
// that products with small integers are exact.
constexpr double kLog2ESingle = 1.44269502162933349609, kLog2ERest = 1.9259629911266175e-8;

/// Adding 1.5 * 2^mantissaBits rounds to an integer, which then stands in the
/// low bits.
double roundingShift(MathBuilder &b) { return b.choose(0x1.8p23, 0x1.8p52); }

struct Reduced {
  Value integer; ///< n, the nearest integer to x / ln 2, as a float
  Value shifted; ///< n * 2^mantissaBits, as an integer
  Value rest;    ///< x - n ln 2
};

Reduced reduce(MathBuilder &b, Value x) {
  Value shift = b.number(roundingShift(b));
  Value rounded = b.fma(x, b.number(kLog2E), shift);
  Value n = b.sub(rounded, shift);
  Value rest = b.fma(n, b.number(b.choose(-0x1.62e4p-1, -0x1.62e42fefa39efp-1)), x);
  rest = b.fma(n, b.number(b.choose(-0x1.7f7d1cf79abcap-20, -0x1.abc9e3b39803fp-56)), rest);
  return {n, b.shiftLeft(b.toBits(rounded), b.mantissaBits()), rest};
}

/// expm1 on [-ln 2 / 2, ln 2 / 2].
Value expm1Reduced(MathBuilder &b, Value r) { return b.fma(b.mul(r, r), POLYNOMIAL(b, r, kExpm1), r); }

/// `value * 2^n` with one rounding, for any |n| of the exponent's range, in two
/// steps.
Value scale(MathBuilder &b, Value value, Value shifted) {
  int64_t bits = b.mantissaBits();
  Value half = b.shiftLeft(b.shiftRight(shifted, bits + 1), bits);
  return b.mul(b.mul(value, b.powerOfTwo(half)), b.powerOfTwo(b.subBits(shifted, half)));
}

/// exp(x) * 2^shift in f32. The clamped exponent leaves what exceeds it to ex2,
/// whose own overflow and underflow are right.
Value expSingle(MathBuilder &b, Value x, int shift) {
  // The exponent of 2^(n + shift), biased, is what the low bits of `rounded`
  // spell.
  double origin = 0x1.8p23 + 127 + shift;
  Value rounded = b.fma(x, b.number(kLog2ESingle), b.number(origin));
  rounded = arith::MaxNumFOp::create(b.builder, b.loc, rounded, b.number(origin - 126 - shift));
  rounded = arith::MinNumFOp::create(b.builder, b.loc, rounded, b.number(origin + 127 - shift));
  Value n = b.sub(rounded, b.number(origin));
  // x * log2(e) - n: the product needs more than 24 bits.
  Value rest = b.fma(x, b.number(kLog2ESingle), b.neg(n));
  rest = b.fma(x, b.number(kLog2ERest), rest);
  return b.mul(b.ex2(rest), b.fromBits(b.shiftLeft(b.toBits(rounded), 23)));
}

Value expTwice(MathBuilder &b, Value x, int shift) {
  Reduced reduced = reduce(b, b.clamp(x, -746, 711));
  Value power = b.add(expm1Reduced(b, reduced.rest), b.number(1));
  Value shifted = b.addBits(reduced.shifted, b.integer(shift * (int64_t(1) << 52)));
  return scale(b, power, shifted);
}

/// exp(x) * 2^shift.
Value scaledExp(MathBuilder &b, Value x, int shift) {
  return b.isDouble() ? expTwice(b, x, shift) : expSingle(b, x, shift);
}
} // namespace

Value tilec::tilegpu::expandExp(MathBuilder &b, Value x) { return scaledExp(b, x, 0); }

Value tilec::tilegpu::expandExp2(MathBuilder &b, Value x) {
  if (!b.isDouble())
    return b.instruction("llvm.nvvm.ex2.approx.f32", x);
  return expandExp2Of(b, b.clamp(x, -1080, 1030), b.number(0));
}

Value tilec::tilegpu::expandExp2Of(MathBuilder &b, Value high, Value low) {
  Value shift = b.number(roundingShift(b));
  Value rounded = b.add(high, shift);
  Value rest = b.add(b.sub(high, b.sub(rounded, shift)), low);
  Value shifted = b.shiftLeft(b.toBits(rounded), b.mantissaBits());
  Value power =
      b.isDouble() ? b.add(expm1Reduced(b, b.mul(rest, b.number(0.6931471805599453094))), b.number(1)) : b.ex2(rest);
  return scale(b, power, shifted);
}

Value tilec::tilegpu::expandExpm1(MathBuilder &b, Value x) {
  Reduced reduced = reduce(b, b.clamp(x, b.choose(-30, -60), b.choose(89, 710)));
  // Half of everything, since 2^n itself may overflow where the result does
  // not.
  int64_t one = int64_t(1) << b.mantissaBits();
  Value half = b.powerOfTwo(b.subBits(reduced.shifted, b.integer(one)));
  Value result = b.fma(expm1Reduced(b, reduced.rest), half, b.sub(half, b.number(0.5)));
  // Halving would cost a subnormal its last bit.
  Value isTiny = b.less(b.abs(x), b.number(b.choose(0x1p-26, 0x1p-55)));
  return b.select(isTiny, x, b.mul(result, b.number(2)));
}

Value tilec::tilegpu::expandSinh(MathBuilder &b, Value x) {
  Value magnitude = b.abs(x), square = b.mul(x, x);
  Value small = b.fma(b.mul(magnitude, square), POLYNOMIAL(b, square, kSinh), magnitude);
  Value half = scaledExp(b, magnitude, -1); // e^|x| / 2: finite wherever sinh is
  Value large = b.fma(b.reciprocal(half), b.number(-0.25), half);
  return b.copySign(b.select(b.less(magnitude, b.number(1)), small, large), x);
}

Value tilec::tilegpu::expandCosh(MathBuilder &b, Value x) {
  Value half = scaledExp(b, b.abs(x), -1);
  return b.fma(b.reciprocal(half), b.number(0.25), half);
}

Value tilec::tilegpu::expandTanh(MathBuilder &b, Value x) {
  Value magnitude = b.abs(x), square = b.mul(x, x);
  Value small = b.fma(b.mul(magnitude, square), POLYNOMIAL(b, square, kTanh), magnitude);
  // Away from 0 an error of e^2x hardly reaches 1 - 2 / (e^2x + 1).
  Value power =
      b.isDouble() ? scaledExp(b, b.add(magnitude, magnitude), 0) : b.ex2(b.mul(magnitude, b.number(2 * kLog2E)));
  Value large = b.fma(b.reciprocal(b.add(power, b.number(1))), b.number(-2), b.number(1));
  return b.copySign(b.select(b.less(magnitude, b.number(0.6)), small, large), x);
}

Value tilec::tilegpu::expandErf(MathBuilder &b, Value x) {
  Value magnitude = b.abs(x), square = b.mul(x, x);
  Value small = b.fma(magnitude, POLYNOMIAL(b, square, kErf), magnitude);
  // Beyond the bound erf rounds to 1. The polynomial is the logarithm of 1 - erf.
  Value bounded = b.clamp(magnitude, 0, b.choose(4, 6));
  Value logarithm = POLYNOMIAL(b, b.sub(bounded, b.number(1)), kErfc);
  Value complement = b.isDouble() ? scaledExp(b, logarithm, 0) : b.ex2(logarithm);
  Value large = b.sub(b.number(1), complement);
  return b.copySign(b.select(b.less(magnitude, b.number(1)), small, large), x);
}
