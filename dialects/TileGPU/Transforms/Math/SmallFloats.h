//===- SmallFloats.h - Conversions of 8-bit floats --------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_SMALLFLOATS_H
#define TILEC_TILEGPU_TRANSFORMS_SMALLFLOATS_H

#include "dialects/TileGPU/Transforms/Math/MathBuilder.h"

namespace tilec::tilegpu {

/// f8E4M3FN or f8E5M2.
bool isFloat8(mlir::Type type);

/// An 8-bit float as f32, exactly. `b` works in f32; `native` says that the
/// target has the instruction.
mlir::Value extendFloat8(MathBuilder &b, mlir::Value x, bool native);

/// f32 to the nearest 8-bit float, ties to even; beyond the largest, infinity
/// included, the largest; NaN is NaN.
mlir::Value truncateToFloat8(MathBuilder &b, mlir::Value x, mlir::Type type, bool native);

/// f64 to f32, rounded to odd, so that a second rounding to 8 bits is as good
/// as a single one.
mlir::Value truncateToOdd(MathBuilder &single, MathBuilder &twice, mlir::Value x);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_SMALLFLOATS_H
