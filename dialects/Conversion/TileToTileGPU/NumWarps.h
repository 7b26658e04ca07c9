//===- NumWarps.h - How many warps a kernel gets ----------------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILETOTILEGPU_NUMWARPS_H
#define TILEC_CONVERSION_TILETOTILEGPU_NUMWARPS_H

#include "dialects/Tile/IR/TileDialect.h"

namespace tilec {

/// The warps of `kernel`'s CTAs: `requested` when it is not 0, else from the sizes of its tiles. Refuses a
/// request that is no power of two up to 32, and tiles too large for the registers of that many warps.
mlir::FailureOr<int64_t> chooseNumWarps(tile::KernelOp kernel, int64_t requested);

} // namespace tilec

#endif // TILEC_CONVERSION_TILETOTILEGPU_NUMWARPS_H
