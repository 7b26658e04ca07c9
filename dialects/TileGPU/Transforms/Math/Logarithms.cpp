//===- Logarithms.cpp - Logarithms and powers -----------------------------===//
#include "dialects/TileGPU/Transforms/Math/Coefficients.h"
#include "dialects/TileGPU/Transforms/Math/MathFunctions.h"

using namespace mlir;
using namespace tilec::tilegpu;

namespace {
/// x = 2^exponent * (1 + fraction), with 1 + fraction in [2/3, 4/3).
struct Split {
  Value exponent; ///< a float
  Value shifted;  ///< the exponent times 2^mantissaBits, as an integer
  Value fraction; ///< exact
};

/// Of a positive normal number.
Split split(MathBuilder &b, Value x) {
  Value bits = b.toBits(x);
  Value twoThirds = b.integer(b.choose<int64_t>(0x3F2AAAAB, 0x3FE5555555555555));
  Value shifted = b.andBits(b.subBits(bits, twoThirds), b.integer(-(int64_t(1) << b.mantissaBits())));
  Value mantissa = b.fromBits(b.subBits(bits, shifted));
  Value exponent = b.fromInteger(b.shiftRight(shifted, b.mantissaBits()));
  return {exponent, shifted, b.sub(mantissa, b.number(1))};
}

/// Of any positive finite number.
Split splitAny(MathBuilder &b, Value x) {
  Value isSmall = b.less(x, b.number(b.choose(0x1p-126, 0x1p-1022)));
  double steps = b.choose(24, 53);
  Value normal = b.select(isSmall, b.mul(x, b.number(std::ldexp(1.0, int(steps)))), x);
  Split parts = split(b, normal);
  parts.exponent = b.sub(parts.exponent, b.select(isSmall, b.number(steps), b.number(0)));
  return parts;
}

/// log(1 + f) for 1 + f in [2/3, 4/3).
Value log1pReduced(MathBuilder &b, Value f) {
  Value square = b.mul(f, f);
  if (!b.isDouble()) {
    Value tail = b.fma(f, b.polynomial(f, coefficients::single::kLog1p), b.number(-0.5));
    return b.fma(square, tail, f);
  }
  // log(1 + f) = 2 atanh(s) with s = f / (2 + f), arranged so that f is added
  // last.
  Value s = b.div(f, b.add(f, b.number(2))), u = b.mul(s, s);
  Value third = b.fma(u, b.polynomial(u, coefficients::twice::kAtanh), b.number(1.0 / 3));
  Value rest = b.mul(b.add(u, u), third); // 2 atanh(s) / s - 2
  Value half = b.mul(square, b.number(0.5));
  return b.sub(f, b.sub(half, b.mul(s, b.add(half, rest))));
}

/// Picks the logarithm's value outside its domain: -inf at 0, NaN below, x
/// itself at infinity and NaN.
Value finishLog(MathBuilder &b, Value x, Value zero, Value result) {
  Value inside = b.andAlso(b.less(zero, x), b.less(x, b.infinity()));
  Value outside = b.select(b.less(zero, x), x, b.nan());
  outside = b.select(b.equal(x, zero), b.neg(b.infinity()), outside);
  return b.select(inside, result, outside);
}

/// exponent * (high + low) + addend, where exponent * high is exact.
Value addScaled(MathBuilder &b, Value exponent, double high, double low, Value addend) {
  return b.fma(exponent, b.number(high), b.fma(exponent, b.number(low), addend));
}

Value addLog2Multiple(MathBuilder &b, Value exponent, Value addend) {
  return addScaled(b, exponent, b.choose(0x1.62e4p-1, 0x1.62e42fefa38p-1),
                   b.choose(0x1.7f7d1cf79abcap-20, 0x1.ef35793c7673p-45), addend);
}

/// value * (high + low), rounded hardly more than once.
Value mulConstant(MathBuilder &b, Value value, double high, double low) {
  return b.fma(value, b.number(high), b.mul(value, b.number(low)));
}

//===--- Sums and products of pairs: high + low, |low| within half an ulp of
// high ---===//

struct Pair {
  Value high, low;
};

/// The exact sum, for |x| >= |y|.
Pair fastTwoSum(MathBuilder &b, Value x, Value y) {
  Value sum = b.add(x, y);
  return {sum, b.sub(y, b.sub(sum, x))};
}

/// The exact product.
Pair twoProduct(MathBuilder &b, Value x, Value y) {
  Value product = b.mul(x, y);
  return {product, b.fma(x, y, b.neg(product))};
}

Pair mulPairs(MathBuilder &b, Pair x, Pair y) {
  Pair product = twoProduct(b, x.high, y.high);
  Value low = b.fma(x.high, y.low, b.fma(x.low, y.high, product.low));
  return fastTwoSum(b, product.high, low);
}

/// For |x| >= |y|.
Pair addPairs(MathBuilder &b, Pair x, Pair y) {
  Pair sum = fastTwoSum(b, x.high, y.high);
  return fastTwoSum(b, sum.high, b.add(sum.low, b.add(x.low, y.low)));
}

Pair constantPair(MathBuilder &b, double high, double low) { return {b.number(high), b.number(low)}; }

/// log2 of a positive finite number as a pair, some 2^-(1.8 * 24) or 2^-(1.2 *
/// 53) relative.
Pair log2Pair(MathBuilder &b, Value x) {
  Split parts = splitAny(b, x);
  Value f = parts.fraction;
  // s = f / (2 + f): the quotient, then what it left of the dividend.
  Pair divisor = fastTwoSum(b, b.number(2), f);
  Value inverse = b.reciprocal(divisor.high);
  Value quotient = b.mul(f, inverse);
  Value left = b.fma(b.neg(quotient), divisor.low, b.fma(b.neg(quotient), divisor.high, f));
  Pair s = fastTwoSum(b, quotient, b.mul(left, inverse));
  // atanh(s) = s + s^3 / 3 + s^5 tail(s^2); the second term as a pair too.
  Pair square = mulPairs(b, s, s);
  Value tail = b.isDouble() ? b.polynomial(square.high, coefficients::twice::kAtanh)
                            : b.polynomial(square.high, coefficients::single::kAtanh);
  Pair third = constantPair(b, b.choose<double>(float(1.0 / 3), 1.0 / 3),
                            b.choose<double>(1.0 / 3 - float(1.0 / 3), 0x1.5555555555555p-56));
  Pair factor = fastTwoSum(b, third.high, b.fma(square.high, tail, third.low));
  Pair atanh = addPairs(b, s, mulPairs(b, s, mulPairs(b, square, factor)));
  // 2 / ln 2
  Pair scale = b.isDouble() ? constantPair(b, 0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55)
                            : constantPair(b, 0x1.715476p+1, 0x1.4ae0bf85ddf44p-25);
  Pair fraction = mulPairs(b, atanh, scale);
  // |fraction| < 1: below any exponent but 0, for which the sum is exact either
  // way.
  return addPairs(b, {parts.exponent, b.number(0)}, fraction);
}
} // namespace

Value tilec::tilegpu::expandLog(MathBuilder &b, Value x) {
  Split parts = splitAny(b, x);
  return finishLog(b, x, b.number(0), addLog2Multiple(b, parts.exponent, log1pReduced(b, parts.fraction)));
}

Value tilec::tilegpu::expandLog2(MathBuilder &b, Value x) {
  Split parts = splitAny(b, x);
  Value fraction = mulConstant(b, log1pReduced(b, parts.fraction), b.choose(0x1.715476p+0, 0x1.71547652b82fep+0),
                               b.choose(0x1.4ae0bf85ddf44p-26, 0x1.777d0ffda0d24p-56));
  return finishLog(b, x, b.number(0), b.add(parts.exponent, fraction));
}

Value tilec::tilegpu::expandLog10(MathBuilder &b, Value x) {
  Split parts = splitAny(b, x);
  Value fraction = mulConstant(b, log1pReduced(b, parts.fraction), b.choose(0x1.bcb7b2p-2, 0x1.bcb7b1526e50ep-2),
                               b.choose(-0x1.5b235e39ab2a9p-27, 0x1.95355baaafad3p-57));
  Value result = addScaled(b, parts.exponent, b.choose(0x1.344p-2, 0x1.34413509f78p-2),
                           b.choose(0x1.3509f79fef312p-18, 0x1.fef311f12b358p-46), fraction);
  return finishLog(b, x, b.number(0), result);
}

Value tilec::tilegpu::expandLog1p(MathBuilder &b, Value x) {
  // t + error = 1 + x exactly; the fraction of t is then corrected by the
  // scaled error.
  Value one = b.number(1);
  Value t = b.add(x, one), z = b.sub(t, one);
  Value error = b.add(b.sub(x, z), b.sub(one, b.sub(t, z)));
  Split parts = split(b, t);
  Value scale = b.powerOfTwo(b.subBits(b.integer(0), parts.shifted));
  Value corrected = b.fma(error, scale, parts.fraction);
  // Far out the error no longer counts and its scale may overflow.
  Value fraction = b.select(b.less(x, b.number(0x1p60)), corrected, parts.fraction);
  Value result = addLog2Multiple(b, parts.exponent, log1pReduced(b, fraction));
  return b.copySign(finishLog(b, x, b.number(-1), result), x);
}

Value tilec::tilegpu::expandPow(MathBuilder &b, Value x, Value y) {
  Value zero = b.number(0), one = b.number(1), infinity = b.infinity();
  Value magnitude = b.abs(x);
  // 2^(y log2|x|), held within what exp2 can scale.
  Pair logarithm = log2Pair(b, magnitude);
  Value high = b.mul(y, logarithm.high);
  Value low = b.fma(y, logarithm.low, b.fma(y, logarithm.high, b.neg(high)));
  double limit = b.choose(200, 1100);
  Value isModerate = b.less(b.abs(high), b.number(limit));
  Value result = expandExp2Of(b, b.clamp(high, -limit, limit), b.select(isModerate, low, zero));

  // 0 and infinity to a power are infinity and 0, or the other way round.
  Value isZero = b.equal(magnitude, zero);
  Value grows = b.xorBits(isZero, b.less(zero, y));
  Value isExtreme = b.orElse(isZero, b.equal(magnitude, infinity));
  result = b.select(isExtreme, b.select(grows, infinity, zero), result);

  // A negative base takes integers only; odd ones keep its sign.
  Value half = b.mul(y, b.number(0.5));
  Value isInteger = b.equal(b.trunc(y), y);
  Value isEven = b.equal(b.trunc(half), half);
  Value isNegative = b.hasSign(x);
  Value signedResult = b.select(isEven, result, b.neg(result));
  Value isLost = b.andAlso(b.less(x, zero),
                           b.andAlso(b.less(magnitude, infinity), b.compare(arith::CmpFPredicate::UNE, b.trunc(y), y)));
  signedResult = b.select(isInteger, signedResult, b.select(isLost, b.nan(), result));
  result = b.select(isNegative, signedResult, result);

  Value isNan = b.compare(arith::CmpFPredicate::UNO, x, y);
  result = b.select(isNan, b.add(x, y), result);
  Value isOne = b.orElse(b.equal(x, one), b.equal(y, zero));
  // (-1)^±inf is 1 as well: the logarithm is 0, and 0 * inf is not.
  isOne = b.orElse(isOne, b.andAlso(b.equal(magnitude, one), b.equal(b.abs(y), infinity)));
  return b.select(isOne, one, result);
}
