//===- RegisterNeeds.h - Registers that products take -----------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_REGISTERNEEDS_H
#define TILEC_TILEGPU_TRANSFORMS_REGISTERNEEDS_H

#include "dialects/TileGPU/IR/TileGPUDialect.h"

namespace tilec::tilegpu {

/// True when one warpgroup can hold every accumulator.
bool fitsOneWarpgroup(tile::KernelOp kernel);

/// True when `warps` need more registers than they start with: the producer's.
bool needsMoreRegisters(tile::KernelOp kernel, int64_t warps);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_REGISTERNEEDS_H
