//===- Division.cpp - Remainders and reciprocal roots ---------------------===//
#include "dialects/TileGPU/Transforms/Math/MathFunctions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilec::tilegpu;

namespace {
/// The exponent of a positive number, subnormal or not, times 2^mantissaBits.
Value exponentOf(MathBuilder &b, Value x) {
  int64_t steps = b.mantissaBits() + 1, field = b.choose<int64_t>(0x7F800000, 0x7FF0000000000000);
  Value isSmall = b.less(x, b.number(b.choose(0x1p-126, 0x1p-1022)));
  Value normal = b.select(isSmall, b.mul(x, b.number(std::ldexp(1.0, int(steps)))), x);
  Value correction = b.select(isSmall, b.integer(steps << b.mantissaBits()), b.integer(0));
  return b.subBits(b.andBits(b.toBits(normal), b.integer(field)), correction);
}

/// One step of long division: takes the multiple of `divisor` that the leading
/// digits of the quotient name off `rest`, exactly, so that `rest` stays
/// between 0 and its old value.
Value reduceOnce(MathBuilder &b, Value rest, Value divisor) {
  int64_t bits = b.mantissaBits();
  // divisor * 2^k, so that the quotient stays below 2^bits, with an exact power
  // of two.
  Value distance = b.subBits(exponentOf(b, rest), exponentOf(b, divisor));
  Value excess = b.subBits(distance, b.integer((bits - 1) << bits));
  Value isFar = arith::CmpIOp::create(b.builder, b.loc, arith::CmpIPredicate::sgt, excess, b.integer(0));
  // In two factors: the difference of two exponents may exceed what one power
  // of two spans.
  Value shift = b.select(isFar, excess, b.integer(0));
  Value half = b.shiftLeft(b.shiftRight(shift, bits + 1), bits);
  Value scaled = b.mul(b.mul(divisor, b.powerOfTwo(half)), b.powerOfTwo(b.subBits(shift, half)));
  Value quotient = b.trunc(b.div(rest, scaled));
  Value left = b.fma(b.neg(quotient), scaled, rest);
  // The quotient may have been rounded up to the next integer.
  return b.select(b.less(left, b.number(0)), b.add(left, scaled), left);
}
} // namespace

Value tilec::tilegpu::expandRemainder(MathBuilder &b, Value x, Value y) {
  Value divisor = b.abs(y), start = b.abs(x);
  auto goesOn = [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    MathBuilder inner(builder, loc, b.pool, b.type);
    // Neither of these comes to an end by itself: a zero divisor and an
    // infinite dividend.
    Value isOpen = inner.andAlso(inner.less(b.number(0), divisor), inner.less(arguments[0], b.infinity()));
    Value isLarge = inner.compare(arith::CmpFPredicate::OGE, arguments[0], divisor);
    scf::ConditionOp::create(builder, loc, inner.andAlso(isOpen, isLarge), arguments);
  };
  auto step = [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    MathBuilder inner(builder, loc, b.pool, b.type);
    scf::YieldOp::create(builder, loc, reduceOnce(inner, arguments[0], divisor));
  };
  auto loop = scf::WhileOp::create(b.builder, b.loc, TypeRange(b.type), ValueRange(start), goesOn, step);
  Value result = b.copySign(loop.getResult(0), x);
  Value isDefined = b.andAlso(b.less(b.number(0), divisor), b.less(start, b.infinity()));
  Value isNan = b.compare(arith::CmpFPredicate::UNO, x, y);
  return b.select(isNan, b.add(x, y), b.select(isDefined, result, b.nan()));
}

Value tilec::tilegpu::expandRsqrt(MathBuilder &b, Value x) {
  if (!b.isDouble())
    return b.instruction("llvm.nvvm.rsqrt.approx.f", x);
  return b.div(b.number(1), b.sqrt(x));
}
