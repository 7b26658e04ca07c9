//===- Clusters.h - CTAs that fetch for each other --------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_CLUSTERS_H
#define TILEC_TILEGPU_TRANSFORMS_CLUSTERS_H

#include "dialects/TileGPU/IR/TilePlan.h"
#include "dialects/TileGPU/IR/TmaAccess.h"

namespace tilec::tilegpu {

/// CTAs that share operands by multicast.
inline constexpr int64_t kCluster = 2;

/// Makes the number of boxes one that a cluster can share; false when their rows cannot be divided.
bool divideBoxes(TmaAccess &access);

/// CTAs along the rows of tiles that share what they fetch; 1: none do.
int64_t chooseCluster(tile::KernelOp kernel, const TilePlan &plan, TargetAttr target);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_CLUSTERS_H
