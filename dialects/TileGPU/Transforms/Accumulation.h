//===- Accumulation.h - Loops that add up products --------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_ACCUMULATION_H
#define TILEC_TILEGPU_TRANSFORMS_ACCUMULATION_H

#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilec::tilegpu {

/// The products of a turn by which the loop's carried value `number` grows, in order; nothing when anything else
/// reads or changes it.
std::optional<llvm::SmallVector<MmaOp>> accumulation(mlir::scf::ForOp loop, unsigned number);

/// True for a constant tile of (positive) zeros.
bool isZeroTile(mlir::Value tile);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_ACCUMULATION_H
