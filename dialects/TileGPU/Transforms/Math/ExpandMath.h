//===- ExpandMath.h - Elementary functions without a library ----*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_MATH_EXPANDMATH_H
#define TILEC_TILEGPU_TRANSFORMS_MATH_EXPANDMATH_H

#include "mlir/Pass/Pass.h"

namespace tilec {

/// Scalar math and arith ops that NVPTX cannot select, or selects badly, become
/// ones it can.
std::unique_ptr<mlir::Pass> createExpandMathPass();
void registerExpandMathPass();

} // namespace tilec

#endif // TILEC_TILEGPU_TRANSFORMS_MATH_EXPANDMATH_H
