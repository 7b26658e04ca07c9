//===- NumWarps.h - How many warps a kernel gets ----------------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILETOTILEGPU_NUMWARPS_H
#define TILEC_CONVERSION_TILETOTILEGPU_NUMWARPS_H

#include "dialects/Tile/IR/TileDialect.h"

namespace tilec {

/// The warps of `kernel`'s CTAs: `requested` when it is not 0, else from the sizes of its tiles. Refuses a
/// request that is no power of two up to 32, and tiles too large for the registers of that many warps.
mlir::FailureOr<int64_t> chooseNumWarps(tile::KernelOp kernel, int64_t requested);

/// CTAs of `numWarps` warps that a multiprocessor with this many registers should hold at once, 1 where the
/// assembler may decide. Left alone it spends registers on early loads until one CTA is left, and while that one
/// reduces, nothing is in flight.
int64_t chooseResidentCtas(tile::KernelOp kernel, int64_t numWarps, int64_t registersPerMultiprocessor);

} // namespace tilec

#endif // TILEC_CONVERSION_TILETOTILEGPU_NUMWARPS_H
