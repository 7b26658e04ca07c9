//===- SmallFloats.cpp - Conversions of 8-bit floats ----------------------===//
#include "dialects/TileGPU/Transforms/Math/SmallFloats.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tilec::tilegpu;

namespace {
/// What tells the two formats apart.
struct Format {
  int64_t mantissaBits, bias;
  double largest, smallestNormal;
  StringRef pair; ///< in the names of the instructions, which convert two at a time
};

Format formatOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return {3, 7, 448, 0x1p-6, "e4m3x2"};
  return {2, 15, 57344, 0x1p-14, "e5m2x2"};
}

Value call(MathBuilder &b, Type result, const Twine &name, ValueRange operands) {
  StringAttr intrinsic = b.builder.getStringAttr(name);
  return LLVM::CallIntrinsicOp::create(b.builder, b.loc, result, intrinsic, operands).getResult(0);
}

Value bitsOf(MathBuilder &b, Value x) { return arith::BitcastOp::create(b.builder, b.loc, b.builder.getI8Type(), x); }

/// The element in the low byte of a pair.
Value extendNative(MathBuilder &b, Value bits, const Format &format) {
  Value pair = arith::ExtUIOp::create(b.builder, b.loc, b.builder.getI16Type(), bits);
  Value both = call(b, VectorType::get(2, b.builder.getF16Type()), "llvm.nvvm." + format.pair + ".to.f16x2.rn", pair);
  Value zero = b.integer(0);
  Value low = LLVM::ExtractElementOp::create(b.builder, b.loc, both, zero);
  return arith::ExtFOp::create(b.builder, b.loc, b.type, low);
}

/// Exponent and mantissa moved to their place are the number but for the bias,
/// which a product with a power of two settles, for subnormals too.
Value extendByBits(MathBuilder &b, Value bits, const Format &format) {
  Value wide = arith::ExtUIOp::create(b.builder, b.loc, b.bitsType(), bits);
  Value magnitude = b.andBits(wide, b.integer(0x7F));
  Value placed = b.fromBits(b.shiftLeft(magnitude, b.mantissaBits() - format.mantissaBits));
  Value number = b.mul(placed, b.number(std::ldexp(1.0, 127 - int(format.bias))));
  // Past the largest there are NaNs, after infinity where the format has one.
  auto isAbove = [&](int64_t bound) -> Value {
    return arith::CmpIOp::create(b.builder, b.loc, arith::CmpIPredicate::ugt, magnitude, b.integer(bound));
  };
  if (format.mantissaBits == 2)
    number = b.select(isAbove(0x7B), b.infinity(), number);
  number = b.select(isAbove(format.mantissaBits == 2 ? 0x7C : 0x7E), b.nan(), number);
  Value sign = b.shiftLeft(b.andBits(wide, b.integer(0x80)), 24);
  return b.fromBits(b.orBits(b.toBits(number), sign));
}

Value truncateByBits(MathBuilder &b, Value x, const Format &format) {
  int64_t dropped = b.mantissaBits() - format.mantissaBits;
  Value magnitude = b.abs(x);
  Value bounded = b.clamp(magnitude, 0, format.largest);
  // Normal results: half an ulp, less one bit where the last kept bit is even,
  // carries into it.
  Value bits = b.toBits(bounded);
  Value isOdd = b.andBits(b.shiftRight(bits, dropped), b.integer(1));
  Value rounded = b.addBits(b.addBits(bits, b.integer((int64_t(1) << (dropped - 1)) - 1)), isOdd);
  Value normal = b.subBits(b.shiftRight(rounded, dropped), b.integer((127 - format.bias) << format.mantissaBits));
  // Subnormal results: the addition to a number with the right ulp rounds.
  Value origin = b.number(std::ldexp(format.smallestNormal, int(dropped)));
  Value subnormal = b.subBits(b.toBits(b.add(bounded, origin)), b.toBits(origin));
  Value result = b.select(b.less(bounded, b.number(format.smallestNormal)), subnormal, normal);
  result = b.select(b.compare(arith::CmpFPredicate::UNO, x, x), b.integer(0x7F), result);
  Value sign = b.andBits(b.shiftRight(b.toBits(x), 24), b.integer(0x80));
  return arith::TruncIOp::create(b.builder, b.loc, b.builder.getI8Type(), b.orBits(result, sign));
}
} // namespace

bool tilec::tilegpu::isFloat8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }

Value tilec::tilegpu::extendFloat8(MathBuilder &b, Value x, bool native) {
  Format format = formatOf(x.getType());
  return native ? extendNative(b, bitsOf(b, x), format) : extendByBits(b, bitsOf(b, x), format);
}

Value tilec::tilegpu::truncateToFloat8(MathBuilder &b, Value x, Type type, bool native) {
  Format format = formatOf(type);
  Value bits;
  if (native) {
    Value pair = call(b, b.builder.getI16Type(), "llvm.nvvm.ff.to." + format.pair + ".rn", {b.number(0), x});
    bits = arith::TruncIOp::create(b.builder, b.loc, b.builder.getI8Type(), pair);
  } else {
    bits = truncateByBits(b, x, format);
  }
  return arith::BitcastOp::create(b.builder, b.loc, type, bits);
}

Value tilec::tilegpu::truncateToOdd(MathBuilder &single, MathBuilder &twice, Value x) {
  Value nearest = arith::TruncFOp::create(single.builder, single.loc, single.type, x);
  Value back = arith::ExtFOp::create(twice.builder, twice.loc, twice.type, nearest);
  // Toward zero, then the last bit set if anything was lost.
  Value isAbove = twice.less(twice.abs(x), twice.abs(back));
  Value isInexact = twice.compare(arith::CmpFPredicate::ONE, x, back);
  Value bits = single.subBits(single.toBits(nearest), single.select(isAbove, single.integer(1), single.integer(0)));
  bits = single.orBits(bits, single.select(isInexact, single.integer(1), single.integer(0)));
  return single.fromBits(bits);
}
