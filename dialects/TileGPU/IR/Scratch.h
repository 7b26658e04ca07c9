//===- Scratch.h - Shared memory that single ops work in --------*- C++ -*-===//
//
// The one place that says how many bytes of scratch an op needs and how they
// are divided, for allocation, barriers and lowering alike.
//
//===----------------------------------------------------------------------===//
#ifndef TILEC_TILEGPU_IR_SCRATCH_H
#define TILEC_TILEGPU_IR_SCRATCH_H

#include "dialects/TileGPU/IR/LayoutConversion.h"

namespace tilec::tilegpu {

/// How warps that share a reduced axis exchange their partial results: for operand `i`, one from every
/// warp along the axis for every element that the reduced layout covers, from `offsets[i]` on. Dead elements
/// count too, so that nothing needs a mask; the lowering chooses the order.
struct ReduceScratch {
  int64_t warpsAlongAxis = 1; ///< 1: the warps have nothing to exchange
  /// Bits of the warp number that run along the axis, lowest first: their
  /// values, in this order, make `w`.
  llvm::SmallVector<int64_t> warpBits;
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<int64_t> offsets; ///< bytes from the op's scratch, one an operand
  int64_t bytes = 0;
};

/// The scratch of a `tile.reduce`.
ReduceScratch reduceScratch(mlir::Operation *reduce);

/// The plan of a `tilegpu.convert_layout`.
ConversionPlan conversionPlan(mlir::Operation *convert);

/// How a `tilegpu.tma_store` goes to shared memory: in blocks of 64 rows of the accumulator by `columns`, from two
/// buffers a warpgroup, each in boxes of lines with 32, 64 or 128 bytes. Transposed, lines run along the rows.
struct StoreStaging {
  int64_t columns = 0, swizzle = 0;       ///< no swizzle: there is no such line
  int64_t lineElems = 0, linesPerBox = 0; ///< of a box
  int64_t boxes = 1;                      ///< of a block, side by side along the lines
  int64_t blockBytes = 0;
  int64_t warpgroupBytes = 0;
};
StoreStaging storeStaging(mlir::RankedTensorType tile, bool transposed);

/// Bytes of shared memory that `op` uses only while it runs: it writes them,
/// waits for all warps, and reads them. 0 for most ops.
int64_t scratchBytes(mlir::Operation *op);

/// The hardware's swizzle takes its eight rows of up to 128 bytes from the address.
inline constexpr int64_t kTileAlignment = 1024, kScratchAlignment = 16;

/// Bytes that each program of a CTA has for a `tilegpu.local_alloc` or the scratch of another op, aligned for the next
/// program's.
int64_t programBytes(mlir::Operation *op);

/// Bytes of global memory in which a CTA leaves its part of the tiles of a `tilegpu.workspace_sum`.
int64_t workspaceBytes(WorkspaceSumOp sum);

/// Width of an element in shared memory: i1 takes a byte.
int64_t elementBytes(mlir::Type elementType);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_IR_SCRATCH_H
