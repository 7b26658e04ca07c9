//===- WalkTiles.h - A program that walks over tiles ------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_WALKTILES_H
#define TILEC_TILEGPU_TRANSFORMS_WALKTILES_H

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilec::tilegpu {

/// A kernel that walks.
struct Walk {
  mlir::scf::ForOp loop; ///< null for a kernel without a partition, which is left alone
  mlir::Value rank;      ///< number of the CTA in its cluster; null without clusters
};

/// Makes a kernel that computes one tile of its partitions compute every tile whose number is its program's
/// modulo the number of programs, so that as many programs as fit on the GPU do the work of all. Neighbouring
/// numbers are tiles of a panel of `panelRows` rows, which share operands in the second-level cache. The `cluster`
/// CTAs of a cluster are at neighbouring rows of one column at a time. In a grouped launch the tiles are those of all
/// problems, and each turn of the walk has the arguments of its tile's problem.
Walk walkTiles(tile::KernelOp kernel, int64_t cluster, int64_t panelRows);

/// Makes a program of a grouped launch compute the tile of its number, with the arguments of that tile's problem.
void findProblem(tile::KernelOp kernel);

/// Makes the `cluster` CTAs of a cluster compute the same tile, which each of them finds from the cluster's number.
/// Returns the number of the CTA in its cluster; null for a kernel without a partition, which is left alone.
mlir::Value shareTiles(tile::KernelOp kernel, int64_t cluster, int64_t panelRows);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_WALKTILES_H
