//===- GlobalAccess.h - How tiles lie in global memory ----------*- C++ -*-===//
#ifndef TILEC_TILEGPU_IR_GLOBALACCESS_H
#define TILEC_TILEGPU_IR_GLOBALACCESS_H

#include "dialects/TileGPU/IR/Layout.h"

namespace tilec::tilegpu {

/// Widest access of a thread, in bytes.
inline constexpr int64_t kMaxAccessBytes = 16;

/// What is known when compiling about one tile.load or tile.store.
struct GlobalAccess {
  llvm::SmallVector<int64_t> shape;
  int64_t elementBytes = 0;
  /// The tile's dimension along which neighbours are neighbours in memory, if one is known.
  std::optional<int64_t> dim;
  /// Most elements along `dim` that one access of a thread may take: alignment and bounds of whole vectors agree.
  int64_t vector = 1;

  /// The access of a tile.load or tile.store, nothing for other ops.
  static std::optional<GlobalAccess> of(mlir::Operation *op);

  /// Dimensions by how close neighbours along them lie in memory, the contiguous one first.
  llvm::SmallVector<int64_t> order() const;
  /// The layout that moves this tile in wide, coalesced accesses.
  Layout layout(int64_t numWarps) const;
  /// Accesses of a warp for the whole tile, plus the 32-byte sectors they fetch or write in vain.
  int64_t cost(const Layout &layout) const;
};

/// True when accesses of `vector` elements along `dim` start at multiples of their size and lie wholly inside or
/// outside the array: `extent` is the tile's along `dim`, `step` the distance of neighbouring tiles.
bool vectorFits(tile::ViewType view, int64_t dim, int64_t extent, int64_t step, int64_t vector);

/// Row-major order of `rank` dimensions, the last first.
llvm::SmallVector<int64_t> rowMajor(int64_t rank);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_IR_GLOBALACCESS_H
