//===- LayoutConversion.h - Moving a tile between layouts -------*- C++ -*-===//
//
// Where the elements of one layout come from in another: other registers of the
// same thread, other lanes of the same warp, or anywhere, through shared
// memory. Decided on the layouts alone, so that allocation, barriers, lowering
// and tests agree.
//
//===----------------------------------------------------------------------===//
#ifndef TILEC_TILEGPU_IR_LAYOUTCONVERSION_H
#define TILEC_TILEGPU_IR_LAYOUTCONVERSION_H

#include "dialects/TileGPU/IR/Layout.h"

namespace tilec::tilegpu {

/// A tile in scratch shared memory on its way: rows with padding between them,
/// so that an element's address is a sum of a thread's and a register's part.
struct SharedTrip {
  llvm::SmallVector<int64_t> order;   ///< dimensions, the contiguous one first
  llvm::SmallVector<int64_t> pitches; ///< bytes from one element to its neighbour along each dimension
  int64_t bytes = 0;                  ///< the whole scratch
  int64_t storeVector = 1;            ///< elements one store instruction of a thread writes
  int64_t loadVector = 1;             ///< elements one load instruction of a thread reads
  int64_t storeWavefronts = 0;        ///< passes over the 32 banks that one store of a warp takes
  int64_t loadWavefronts = 0;
  int64_t storeConflicts = 0; ///< those of them that a conflict-free pattern would not take
  int64_t loadConflicts = 0;
};

/// Bit `bit` of the lane's or the warp's number.
struct ThreadBit {
  bool warp;
  int64_t bit;
};

struct ConversionPlan {
  enum class Kind { registers, shuffle, shared };
  Kind kind = Kind::shared;

  //===--- registers and shuffle: the element stays in its warp
  //------------===//

  /// Thread bits that choose among a destination register's candidates; bit i
  /// of a candidate's number is the value of selectors[i]. Usually none.
  llvm::SmallVector<ThreadBit> selectors;
  /// candidates[reg][choice]: the source register; -1 where the element is
  /// dead.
  llvm::SmallVector<llvm::SmallVector<int64_t, 1>> candidates;
  /// The lane that holds the element of destination register `reg`, for the
  /// thread at `lane` of `warp`: registerLane[reg] ^ (the exclusive or of
  /// laneOfLaneBit over the bits set in `lane`) ^ (likewise warp). kind
  /// registers: always the thread's own.
  llvm::SmallVector<int64_t> registerLane;
  llvm::SmallVector<int64_t> laneOfLaneBit;
  llvm::SmallVector<int64_t> laneOfWarpBit;

  //===--- shared
  //-----------------------------------------------------------===//

  SharedTrip trip;
};

/// The cheapest way from `src` to `dst`, layouts of one tile.
ConversionPlan planConversion(const Layout &src, const Layout &dst, int64_t elementBytes);

/// Passes over shared memory's 32 banks of 4 bytes that one access of a warp
/// takes: lane i touches `accessBytes` bytes from addresses[i].
int64_t countWavefronts(llvm::ArrayRef<int64_t> addresses, int64_t accessBytes);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_IR_LAYOUTCONVERSION_H
