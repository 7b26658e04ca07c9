//===- WalkTiles.h - A program that walks over tiles ------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_WALKTILES_H
#define TILEC_TILEGPU_TRANSFORMS_WALKTILES_H

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilec::tilegpu {

/// Makes a kernel that computes one tile of its partitions compute every tile whose number is its program's
/// modulo the number of programs, so that as many programs as fit on the GPU do the work of all. Neighbouring
/// numbers are tiles of a panel of a few rows, which share operands in the second-level cache. Kernels without
/// a partition are left alone. Returns the loop, if there is one.
mlir::scf::ForOp walkTiles(tile::KernelOp kernel);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_WALKTILES_H
