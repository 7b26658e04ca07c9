//===- TilePlan.h - What was planned with the tile --------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_IR_TILEPLAN_H
#define TILEC_TILEGPU_IR_TILEPLAN_H

#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include <optional>

namespace tilec::tilegpu {

/// How warpgroups divide products.
enum class Schedule {
  cooperative, ///< they share a tile
  pingpong,    ///< each has a tile of its own, and they take turns
  single,      ///< there is one
};

/// What the author asks for by hints; the compiler chooses what is absent.
struct Asked {
  std::optional<int64_t> warps, stages; ///< that compute, a CTA's; of pipelines
  std::optional<int64_t> ctas;          ///< of a cluster
  std::optional<int64_t> occupancy;     ///< CTAs that a multiprocessor holds at a time
};

/// Decisions that came with the tile (runtime/tiling), as a dictionary on the kernel. The passes decide what is absent.
struct TilePlan {
  std::optional<Schedule> schedule;
  std::optional<int64_t> warps;                         ///< that multiply, a CTA's
  std::optional<int64_t> cluster;                       ///< CTAs along the rows of tiles that share operands
  std::optional<int64_t> panelRows;                     ///< of tiles that are walked together
  int64_t splitK = 1;                                   ///< CTAs that share the depth of one tile's product
  bool splitsByWorkspace = false;                       ///< and add up in global memory, not over a cluster
  llvm::SmallVector<int64_t> keptInL2, passedThroughL2; ///< arguments
  Asked asked;

  static TilePlan of(tile::KernelOp kernel);
};

/// Warns that `hint`, for which the author gave `value`, is not honoured.
void warnOfHint(tile::KernelOp kernel, llvm::StringRef hint, int64_t value, const llvm::Twine &why);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_IR_TILEPLAN_H
