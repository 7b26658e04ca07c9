//===- LayoutCAPI.h - Layouts as they leave the shared library --*- C -*-===//
//
// For tests and tools that enumerate layouts: constructors and queries on the textual form of
// #tilegpu.layout. Text is given by calling `result` once; it is empty where there is no answer.
//
//===----------------------------------------------------------------------===//
#ifndef TILEC_PYTHON_LAYOUTCAPI_H
#define TILEC_PYTHON_LAYOUTCAPI_H

#include "mlir-c/Support.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const int64_t *data;
  intptr_t size;
} TilecIntegers;

MLIR_CAPI_EXPORTED void tilecLayoutBlocked(TilecIntegers shape, TilecIntegers order, int64_t vector, int64_t numWarps,
                                           MlirStringCallback result, void *userData);
/// An operand of a product in shared memory; 0 bits: in registers.
typedef struct {
  int64_t bits;
  bool alongK;
} TilecOperand;

MLIR_CAPI_EXPORTED void tilecLayoutMmaAcc(TilecIntegers shape, int64_t numWarps, bool wholeRows, TilecOperand lhs,
                                          TilecOperand rhs, MlirStringCallback result, void *userData);
MLIR_CAPI_EXPORTED void tilecLayoutWgmmaAcc(TilecIntegers shape, int64_t numWarps, TilecOperand lhs,
                                            MlirStringCallback result, void *userData);
MLIR_CAPI_EXPORTED void tilecLayoutMmaLhs(MlirStringRef acc, TilecIntegers shape, int64_t elementBits,
                                          MlirStringCallback result, void *userData);
MLIR_CAPI_EXPORTED void tilecLayoutMmaRhs(MlirStringRef acc, TilecIntegers shape, int64_t elementBits,
                                          MlirStringCallback result, void *userData);
MLIR_CAPI_EXPORTED void tilecLayoutOuterProduct(TilecIntegers shape, int64_t numWarps, MlirStringCallback result,
                                                void *userData);
MLIR_CAPI_EXPORTED void tilecLayoutReduced(MlirStringRef layout, int64_t axis, MlirStringCallback result,
                                           void *userData);
MLIR_CAPI_EXPORTED void tilecLayoutPermuted(MlirStringRef layout, TilecIntegers order, MlirStringCallback result,
                                            void *userData);
MLIR_CAPI_EXPORTED void tilecLayoutReshaped(MlirStringRef layout, TilecIntegers from, TilecIntegers to,
                                            MlirStringCallback result, void *userData);

typedef struct {
  int64_t warps, registers, rank;
  int64_t freeLaneMask, freeWarpMask;
} TilecLayoutSizes;

/// Gives, as int32, the coordinates of every (warp, lane, register), the last fastest. False: not a layout.
MLIR_CAPI_EXPORTED bool tilecLayoutCoords(MlirStringRef layout, TilecLayoutSizes *sizes, MlirStringCallback result,
                                          void *userData);
MLIR_CAPI_EXPORTED int64_t tilecLayoutContiguity(MlirStringRef layout, int64_t dim);

/// Gives JSON: {"kind": "registers" | "shuffle" | "shared", …} with the members of ConversionPlan.
MLIR_CAPI_EXPORTED void tilecPlanConversion(MlirStringRef source, MlirStringRef destination, int64_t elementBytes,
                                            MlirStringCallback result, void *userData);

#ifdef __cplusplus
}
#endif

#endif // TILEC_PYTHON_LAYOUTCAPI_H
