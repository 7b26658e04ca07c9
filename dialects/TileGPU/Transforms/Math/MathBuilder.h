//===- MathBuilder.h - Scalar arithmetic for ExpandMath ---------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_MATHBUILDER_H
#define TILEC_TILEGPU_TRANSFORMS_MATHBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace tilec::tilegpu {

/// The constants of one function, each made once, at its top.
class ConstantPool {
public:
  explicit ConstantPool(mlir::Block &entry) : entry(entry) {}
  mlir::Value get(mlir::TypedAttr value);

private:
  mlir::Block &entry;
  llvm::DenseMap<mlir::Attribute, mlir::Value> values;
};

/// Emits scalar arithmetic in one float type, f32 or f64, and the integer type
/// of its width. No op carries fast-math flags: the algorithms say where they
/// want an fma and rely on every rounding.
class MathBuilder {
public:
  using Value = mlir::Value;

  MathBuilder(mlir::OpBuilder &builder, mlir::Location loc, ConstantPool &pool, mlir::FloatType type)
      : builder(builder), loc(loc), pool(pool), type(type) {}

  bool isDouble() const { return type.getIntOrFloatBitWidth() == 64; }
  int64_t mantissaBits() const { return isDouble() ? 52 : 23; }
  mlir::IntegerType bitsType() const { return builder.getIntegerType(type.getIntOrFloatBitWidth()); }
  /// `single` for f32, `twice` for f64.
  template <typename T> T choose(T single, T twice) const { return isDouble() ? twice : single; }

  //===--- Floats
  //-----------------------------------------------------------===//

  Value number(double value);
  Value infinity();
  Value nan();
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  Value fma(Value x, Value y, Value z);
  Value neg(Value x);
  Value abs(Value x);
  Value copySign(Value magnitude, Value sign);
  Value trunc(Value x);
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y);
  Value less(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value select(Value condition, Value yes, Value no);
  /// `x` within bounds; NaN stays NaN.
  Value clamp(Value x, double low, double high);
  /// A polynomial by Horner's rule, the constant term first.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients);

  //===--- Bits
  //---------------------------------------------------------------===//

  Value integer(int64_t value);
  Value toBits(Value x);
  Value fromBits(Value bits);
  Value addBits(Value x, Value y);
  Value subBits(Value x, Value y);
  Value andBits(Value x, Value y);
  Value orBits(Value x, Value y);
  Value xorBits(Value x, Value y);
  Value shiftLeft(Value x, int64_t count);
  Value shiftRight(Value x, int64_t count); ///< keeps the sign
  Value bitIsSet(Value x, int64_t mask);
  Value hasSign(Value x);     ///< the sign bit, of zero and NaN too
  Value fromInteger(Value x); ///< signed
  Value andAlso(Value x, Value y);
  Value orElse(Value x, Value y);

  /// A float equal to `2^exponent`, where `shifted` is `exponent` times
  /// 2^mantissaBits and the exponent is that of a normal number.
  Value powerOfTwo(Value shifted);

  //===--- Instructions with a published bound (PTX ISA 9.0, section 9.7.3)
  //-----===//

  /// f32 only: ex2.approx.ftz, rcp.approx.ftz, sqrt.approx, rsqrt.approx,
  /// div.full …
  Value instruction(llvm::StringRef intrinsic, mlir::ValueRange operands);
  Value ex2(Value x) { return instruction("llvm.nvvm.ex2.approx.ftz.f32", x); }
  Value rcp(Value x) { return instruction("llvm.nvvm.rcp.approx.ftz.f", x); }

  /// `1 / x` for an `x` that is neither tiny nor huge: within an ulp.
  Value reciprocal(Value x) { return isDouble() ? div(number(1), x) : rcp(x); }
  /// The square root, within an ulp.
  Value sqrt(Value x);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  ConstantPool &pool;
  mlir::FloatType type;
};

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_MATHBUILDER_H
