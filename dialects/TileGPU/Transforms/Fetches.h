//===- Fetches.h - Tiles that a producer fetches ----------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_FETCHES_H
#define TILEC_TILEGPU_TRANSFORMS_FETCHES_H

#include "dialects/TileGPU/IR/TmaAccess.h"

namespace tilec::tilegpu {

/// A tile that the producer fetches for products.
struct Fetch {
  tile::LoadOp load;
  LocalAllocOp alloc;
  TmaAccess access;
  bool isShared = false; ///< every CTA of the cluster reads the same tile
  Eviction eviction = Eviction::normal;

  SmemType type() { return alloc.getType(); }
};

/// Tiles that arrive together.
struct Channel {
  llvm::SmallVector<Fetch, 0> fetches;
  llvm::SmallVector<mlir::Value> rings;
  mlir::Value queue;

  int64_t stageBytes() {
    int64_t bytes = 0;
    for (Fetch &fetch : fetches)
      bytes += fetch.type().getBytes();
    return bytes;
  }
};

/// Who reads a tile in shared memory: the users, or those of registers that it is loaded into for them.
llvm::SmallVector<mlir::Operation *> readersOf(LocalAllocOp alloc);

/// The tiles of a kernel that products read as the copy engine brings them.
llvm::SmallVector<Fetch, 0> findFetches(tile::KernelOp kernel);

/// Tiles of one block that a product reads together travel together.
llvm::SmallVector<Channel, 0> joinFetches(llvm::ArrayRef<Fetch> fetches);

/// Tells of loads that threads do, and why.
void explainLoads(tile::KernelOp kernel, TargetAttr target);

/// Tells of loads that the copy engine does.
void explainFetches(llvm::ArrayRef<Channel> channels);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_FETCHES_H
