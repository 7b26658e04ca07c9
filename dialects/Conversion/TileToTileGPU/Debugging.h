//===- Debugging.h - Debugging ops on many threads --------------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILETOTILEGPU_DEBUGGING_H
#define TILEC_CONVERSION_TILETOTILEGPU_DEBUGGING_H

#include "dialects/Tile/IR/TileDialect.h"

namespace tilec {

/// Brings debugging ops to what threads can do: assertions check one scalar that every thread has, and prints know
/// their program and take tiles of one element as scalars. Refuses breakpoints.
mlir::LogicalResult prepareDebugging(tile::KernelOp kernel);

} // namespace tilec

#endif // TILEC_CONVERSION_TILETOTILEGPU_DEBUGGING_H
