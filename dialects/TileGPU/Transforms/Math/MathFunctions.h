//===- MathFunctions.h - Elementary functions in scalar ops -----*- C++ -*-===//
//
// Each takes and returns a scalar of the builder's type. Bounds and ranges:
// docs/numerics.md.
//
//===----------------------------------------------------------------------===//
#ifndef TILEC_TILEGPU_TRANSFORMS_MATHFUNCTIONS_H
#define TILEC_TILEGPU_TRANSFORMS_MATHFUNCTIONS_H

#include "dialects/TileGPU/Transforms/Math/MathBuilder.h"

namespace tilec::tilegpu {

// Exponentials.cpp
mlir::Value expandExp(MathBuilder &b, mlir::Value x);
mlir::Value expandExp2(MathBuilder &b, mlir::Value x);
mlir::Value expandExpm1(MathBuilder &b, mlir::Value x);
mlir::Value expandSinh(MathBuilder &b, mlir::Value x);
mlir::Value expandCosh(MathBuilder &b, mlir::Value x);
mlir::Value expandTanh(MathBuilder &b, mlir::Value x);
mlir::Value expandErf(MathBuilder &b, mlir::Value x);
/// `2^(high + low)`, for |low| far below an ulp of `high`.
mlir::Value expandExp2Of(MathBuilder &b, mlir::Value high, mlir::Value low);

// Logarithms.cpp
mlir::Value expandLog(MathBuilder &b, mlir::Value x);
mlir::Value expandLog2(MathBuilder &b, mlir::Value x);
mlir::Value expandLog10(MathBuilder &b, mlir::Value x);
mlir::Value expandLog1p(MathBuilder &b, mlir::Value x);
mlir::Value expandPow(MathBuilder &b, mlir::Value x, mlir::Value y);

// Trigonometry.cpp
mlir::Value expandSin(MathBuilder &b, mlir::Value x);
mlir::Value expandCos(MathBuilder &b, mlir::Value x);
mlir::Value expandTan(MathBuilder &b, mlir::Value x);
mlir::Value expandAsin(MathBuilder &b, mlir::Value x);
mlir::Value expandAcos(MathBuilder &b, mlir::Value x);
mlir::Value expandAtan(MathBuilder &b, mlir::Value x);
mlir::Value expandAtan2(MathBuilder &b, mlir::Value y, mlir::Value x);

// Division.cpp
mlir::Value expandRemainder(MathBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value expandRsqrt(MathBuilder &b, mlir::Value x);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_MATHFUNCTIONS_H
