//===- RegisterNeeds.h - Registers that products take -----------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_REGISTERNEEDS_H
#define TILEC_TILEGPU_TRANSFORMS_REGISTERNEEDS_H

#include "dialects/TileGPU/IR/TileGPUDialect.h"

namespace tilec::tilegpu {

/// Accumulators that a thread may hold beside what else it needs.
inline constexpr int64_t kMostAccumulators = 192;

/// True when one warpgroup can hold every accumulator.
bool fitsOneWarpgroup(tile::KernelOp kernel);

/// True when `warps`, beside a warpgroup that fetches, need more registers than they start with: that one's.
bool needsMoreRegisters(tile::KernelOp kernel, int64_t warps);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_REGISTERNEEDS_H
