//===- SliceTiles.h - A part of what follows from tiles ---------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_SLICETILES_H
#define TILEC_TILEGPU_TRANSFORMS_SLICETILES_H

#include "dialects/TileGPU/IR/TileGPUDialect.h"

namespace tilec::tilegpu {

/// Which columns of tiles that have `columns` of them: `width`, behind `first` (an index) times `unit`, which divides
/// `columns`.
struct Slice {
  mlir::Value first;
  int64_t unit, width, columns;
};

/// Replaces what is computed from `tiles`, matrices, behind them in their block, by the same for a part of their
/// columns, which the values of `slices` are. Stores then write that part. False, and nothing has changed, where an op
/// has no parts.
bool sliceUses(mlir::ValueRange tiles, mlir::ValueRange slices, Slice slice);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_SLICETILES_H
