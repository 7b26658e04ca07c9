//===- MathBuilder.cpp - Scalar arithmetic for ExpandMath -----------------===//
#include "dialects/TileGPU/Transforms/Math/MathBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tilec::tilegpu;

Value ConstantPool::get(TypedAttr value) {
  Value &known = values[value];
  if (known)
    return known;
  // Not after the last one: what stood there may have been rewritten.
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  return known = arith::ConstantOp::create(builder, builder.getUnknownLoc(), value);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

Value MathBuilder::number(double value) { return pool.get(builder.getFloatAttr(type, value)); }

Value MathBuilder::infinity() { return number(std::numeric_limits<double>::infinity()); }

Value MathBuilder::nan() { return pool.get(FloatAttr::get(type, llvm::APFloat::getNaN(type.getFloatSemantics()))); }

Value MathBuilder::add(Value x, Value y) { return arith::AddFOp::create(builder, loc, x, y); }

Value MathBuilder::sub(Value x, Value y) { return arith::SubFOp::create(builder, loc, x, y); }

Value MathBuilder::mul(Value x, Value y) { return arith::MulFOp::create(builder, loc, x, y); }

Value MathBuilder::div(Value x, Value y) { return arith::DivFOp::create(builder, loc, x, y); }

Value MathBuilder::fma(Value x, Value y, Value z) { return math::FmaOp::create(builder, loc, x, y, z); }

Value MathBuilder::neg(Value x) { return arith::NegFOp::create(builder, loc, x); }

Value MathBuilder::abs(Value x) { return math::AbsFOp::create(builder, loc, x); }

Value MathBuilder::copySign(Value magnitude, Value sign) {
  return math::CopySignOp::create(builder, loc, magnitude, sign);
}

Value MathBuilder::trunc(Value x) { return math::TruncOp::create(builder, loc, x); }

Value MathBuilder::compare(arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(builder, loc, predicate, x, y);
}

Value MathBuilder::select(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(builder, loc, condition, yes, no);
}

Value MathBuilder::clamp(Value x, double low, double high) {
  x = select(less(x, number(low)), number(low), x);
  return select(less(number(high), x), number(high), x);
}

Value MathBuilder::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, number(coefficient));
  return sum;
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

Value MathBuilder::integer(int64_t value) { return pool.get(builder.getIntegerAttr(bitsType(), value)); }

Value MathBuilder::toBits(Value x) { return arith::BitcastOp::create(builder, loc, bitsType(), x); }

Value MathBuilder::fromBits(Value bits) { return arith::BitcastOp::create(builder, loc, type, bits); }

Value MathBuilder::addBits(Value x, Value y) { return arith::AddIOp::create(builder, loc, x, y); }

Value MathBuilder::subBits(Value x, Value y) { return arith::SubIOp::create(builder, loc, x, y); }

Value MathBuilder::andBits(Value x, Value y) { return arith::AndIOp::create(builder, loc, x, y); }

Value MathBuilder::orBits(Value x, Value y) { return arith::OrIOp::create(builder, loc, x, y); }

Value MathBuilder::xorBits(Value x, Value y) { return arith::XOrIOp::create(builder, loc, x, y); }

Value MathBuilder::shiftLeft(Value x, int64_t count) { return arith::ShLIOp::create(builder, loc, x, integer(count)); }

Value MathBuilder::shiftRight(Value x, int64_t count) {
  return arith::ShRSIOp::create(builder, loc, x, integer(count));
}

Value MathBuilder::bitIsSet(Value x, int64_t mask) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, andBits(x, integer(mask)), integer(0));
}

Value MathBuilder::hasSign(Value x) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, toBits(x), integer(0));
}

Value MathBuilder::fromInteger(Value x) { return arith::SIToFPOp::create(builder, loc, type, x); }

Value MathBuilder::andAlso(Value x, Value y) { return arith::AndIOp::create(builder, loc, x, y); }

Value MathBuilder::orElse(Value x, Value y) { return arith::OrIOp::create(builder, loc, x, y); }

Value MathBuilder::powerOfTwo(Value shifted) {
  int64_t one = choose<int64_t>(0x3F800000, 0x3FF0000000000000);
  return fromBits(addBits(shifted, integer(one)));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Value MathBuilder::instruction(StringRef intrinsic, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, type, builder.getStringAttr(intrinsic), operands).getResult(0);
}

Value MathBuilder::sqrt(Value x) {
  if (isDouble())
    return math::SqrtOp::create(builder, loc, x);
  return instruction("llvm.nvvm.sqrt.approx.f", x);
}
