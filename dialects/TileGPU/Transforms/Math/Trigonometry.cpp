//===- Trigonometry.cpp - sin, cos, tan and their inverses ----------------===//
#include "dialects/TileGPU/Transforms/Math/Coefficients.h"
#include "dialects/TileGPU/Transforms/Math/MathFunctions.h"

using namespace mlir;
using namespace tilec::tilegpu;

#define POLYNOMIAL(b, x, name)                                                                                         \
  ((b).polynomial((x), (b).isDouble() ? ArrayRef<double>(coefficients::twice::name)                                    \
                                      : ArrayRef<double>(coefficients::single::name)))

namespace {
struct Angle {
  Value rest;     ///< x - n π/2, in [-π/4, π/4] but for rounding
  Value quadrant; ///< n, in its low bits
};

/// π/2 in three parts takes the place of a longer product: with fma, n times
/// the first is subtracted exactly. Good for |x| up to 2^17 in f32 and 2^45 in
/// f64; beyond, the rounded 2/π may name another quadrant, and the rest
/// outgrows the polynomials.
Angle reduceAngle(MathBuilder &b, Value x) {
  Value shift = b.number(b.choose(0x1.8p23, 0x1.8p52));
  Value rounded = b.fma(x, b.number(0x1.45f306dc9c883p-1), shift);
  Value n = b.sub(rounded, shift);
  Value rest = b.fma(n, b.number(b.choose(-0x1.921fb4p+0, -0x1.921fb54442d18p+0)), x);
  rest = b.fma(n, b.number(b.choose(-0x1.4442dp-24, -0x1.1a62633145c06p-54)), rest);
  rest = b.fma(n, b.number(b.choose(-0x1.846988p-48, -0x1.c1cd129024e08p-107)), rest);
  return {rest, b.toBits(rounded)};
}

/// t + t^3 p(t^2).
Value oddPolynomial(MathBuilder &b, Value t, Value square, Value polynomial) {
  return b.fma(b.mul(t, square), polynomial, t);
}

/// The sine of an angle `quadrants` right angles ahead.
Value sineOf(MathBuilder &b, Value x, int64_t quadrants) {
  Angle angle = reduceAngle(b, x);
  Value square = b.mul(angle.rest, angle.rest);
  Value sine = oddPolynomial(b, angle.rest, square, POLYNOMIAL(b, square, kSin));
  Value cosine = b.fma(b.mul(square, square), POLYNOMIAL(b, square, kCos), b.fma(square, b.number(-0.5), b.number(1)));
  Value quadrant = quadrants ? b.addBits(angle.quadrant, b.integer(quadrants)) : angle.quadrant;
  Value result = b.select(b.bitIsSet(quadrant, 1), cosine, sine);
  Value sign = b.shiftLeft(b.andBits(quadrant, b.integer(2)), b.choose(30, 62));
  return b.fromBits(b.xorBits(b.toBits(result), sign));
}

/// asin on [0, 1/2].
Value asinSmall(MathBuilder &b, Value t, Value square) {
  return oddPolynomial(b, t, square, POLYNOMIAL(b, square, kAsin));
}

/// For |x| > 1/2: half the angle that is left to ±π/2, from asin(x) = π/2 - 2
/// asin(sqrt((1 - x) / 2)).
Value halfComplement(MathBuilder &b, Value magnitude) {
  Value square = b.fma(magnitude, b.number(-0.5), b.number(0.5));
  return asinSmall(b, b.sqrt(square), square);
}

/// π/2 as high + low.
Value halfPi(MathBuilder &b) { return b.number(b.choose(0x1.921fb6p+0, 0x1.921fb54442d18p+0)); }
Value halfPiLow(MathBuilder &b) { return b.number(b.choose(-0x1.777a5cp-25, 0x1.1a62633145c07p-54)); }

/// atan on [0, 1].
Value atanSmall(MathBuilder &b, Value t) {
  Value square = b.mul(t, t);
  return oddPolynomial(b, t, square, POLYNOMIAL(b, square, kAtan));
}

/// π/2 - x.
Value fromHalfPi(MathBuilder &b, Value x) { return b.add(b.sub(halfPi(b), x), halfPiLow(b)); }
} // namespace

Value tilec::tilegpu::expandSin(MathBuilder &b, Value x) {
  return b.select(b.equal(x, b.number(0)), x, sineOf(b, x, 0)); // the sign of zero
}

Value tilec::tilegpu::expandCos(MathBuilder &b, Value x) { return sineOf(b, x, 1); }

Value tilec::tilegpu::expandTan(MathBuilder &b, Value x) {
  Angle angle = reduceAngle(b, x);
  Value square = b.mul(angle.rest, angle.rest);
  Value tangent = oddPolynomial(b, angle.rest, square, POLYNOMIAL(b, square, kTan));
  return b.select(b.bitIsSet(angle.quadrant, 1), b.neg(b.reciprocal(tangent)), tangent);
}

Value tilec::tilegpu::expandAsin(MathBuilder &b, Value x) {
  Value magnitude = b.abs(x);
  Value small = asinSmall(b, magnitude, b.mul(x, x));
  Value half = halfComplement(b, magnitude);
  Value large = fromHalfPi(b, b.add(half, half));
  return b.copySign(b.select(b.less(magnitude, b.number(0.5)), small, large), x);
}

Value tilec::tilegpu::expandAcos(MathBuilder &b, Value x) {
  Value magnitude = b.abs(x);
  Value middle = fromHalfPi(b, asinSmall(b, x, b.mul(x, x)));
  Value half = halfComplement(b, magnitude);
  Value right = b.add(half, half);
  Value left = b.fma(b.sub(halfPi(b), half), b.number(2), b.add(halfPiLow(b), halfPiLow(b)));
  Value outer = b.select(b.less(x, b.number(0)), left, right);
  return b.select(b.less(magnitude, b.number(0.5)), middle, outer);
}

Value tilec::tilegpu::expandAtan(MathBuilder &b, Value x) {
  Value magnitude = b.abs(x);
  Value isLarge = b.less(b.number(1), magnitude);
  Value angle = atanSmall(b, b.select(isLarge, b.reciprocal(magnitude), magnitude));
  return b.copySign(b.select(isLarge, fromHalfPi(b, angle), angle), x);
}

Value tilec::tilegpu::expandAtan2(MathBuilder &b, Value y, Value x) {
  Value height = b.abs(y), width = b.abs(x);
  Value isSteep = b.less(width, height);
  Value longer = b.select(isSteep, height, width), shorter = b.select(isSteep, width, height);
  Value ratio = b.div(shorter, longer);
  // The two points where the ratio is none: the origin and the diagonal at
  // infinity.
  ratio = b.select(b.equal(longer, b.number(0)), b.number(0), ratio);
  ratio = b.select(b.equal(shorter, b.infinity()), b.number(1), ratio);
  Value angle = atanSmall(b, ratio);
  angle = b.select(isSteep, fromHalfPi(b, angle), angle);
  Value isLeft = b.hasSign(x);
  Value pi = b.mul(halfPi(b), b.number(2)), piLow = b.mul(halfPiLow(b), b.number(2));
  angle = b.select(isLeft, b.add(b.sub(pi, angle), piLow), angle);
  Value isNan = b.compare(arith::CmpFPredicate::UNO, x, y);
  return b.select(isNan, b.add(x, y), b.copySign(angle, y));
}
