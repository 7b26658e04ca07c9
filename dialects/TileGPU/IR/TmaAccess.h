//===- TmaAccess.h - Tiles that the copy engine can fetch -------*- C++ -*-===//
#ifndef TILEC_TILEGPU_IR_TMAACCESS_H
#define TILEC_TILEGPU_IR_TMAACCESS_H

#include "dialects/TileGPU/IR/Decisions.h"
#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "llvm/ADT/SetVector.h"
#include <variant>

namespace tilec::tilegpu {

/// How the copy engine moves a tile between an array and shared memory.
struct TmaAccess {
  mlir::Value root;                  ///< the kernel's or a problem's argument that the view is of
  llvm::SmallVector<int64_t> order;  ///< its dimensions, the contiguous one first
  llvm::SmallVector<int64_t> dims;   ///< the tile's dimensions in that order
  llvm::SmallVector<int64_t> box;    ///< elements of one transfer, in that order
  llvm::SmallVector<int64_t> extent; ///< elements of the whole tile, in that order

  /// The access, or why there is none. `dest` may lack dimensions of extent 1 that the loaded tile has.
  static std::variant<TmaAccess, std::string> of(tile::LoadOp load, SmemType dest);
  /// The same for a matrix of `type` that is stored to `dest` (a view or partition), where its dimension `inner` is
  /// contiguous; the box is the caller's. `shape` is the stored tile's, with further dimensions of extent 1.
  static std::variant<TmaAccess, std::string> ofStore(mlir::Value dest, llvm::ArrayRef<int64_t> shape,
                                                      mlir::RankedTensorType type, int64_t inner);
};

/// The number of the kernel's argument that `root` is, or is a problem's value of; nothing for other values.
std::optional<int64_t> argumentNumber(mlir::Value root);

/// The tensor map of an argument `root`, made as soon as it is known.
TensorMapOp createTensorMap(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value root,
                            llvm::ArrayRef<int64_t> order, llvm::ArrayRef<int64_t> box, int64_t swizzle);

/// The load behind `tile`, directly or through a reshape that takes dimensions of extent 1 away; null if there is none.
tile::LoadOp loadBehind(mlir::Value tile);

/// The dimensions of a tile of shape `from` that a reshape to `to` keeps, where it only takes away or adds others of
/// extent 1.
std::optional<llvm::SmallVector<int64_t>> keptDims(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

/// Why the copy engine cannot take the array of `view`, whatever the tile.
std::optional<Obstacle> whyNotMapped(mlir::Value view);

/// Everything that `values` are computed from, themselves included; through loops and branches.
llvm::SetVector<mlir::Value> sourcesOf(mlir::ValueRange values);
/// What decides whether and how often `op` runs.
llvm::SmallVector<mlir::Value> controlOf(mlir::Operation *op);

/// The most elements of a box along a dimension, and the bytes that addresses and strides are multiples of.
inline constexpr int64_t kMaxBoxExtent = 256, kTmaAlignment = 16;

/// Rows of an accumulator in a block that a warpgroup stores, and its buffers for blocks.
inline constexpr int64_t kStoreRows = 64, kStoreBuffers = 2;

/// Swizzle of a tile whose rows have `rowBytes`: the widest that divides them; 0 if none does.
int64_t widestSwizzle(int64_t rowBytes);

/// Rows of a swizzled tile that the hardware exchanges among each other, and 8 rows of 128 bytes.
inline constexpr int64_t kSwizzleRows = 8;

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_IR_TMAACCESS_H
