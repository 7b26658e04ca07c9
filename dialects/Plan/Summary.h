//===- Summary.h - What a plan needs to know of a kernel --------*- C++ -*-===//
#ifndef TILEC_PLAN_SUMMARY_H
#define TILEC_PLAN_SUMMARY_H

#include "dialects/Tile/IR/TileDialect.h"
#include "llvm/Support/JSON.h"

namespace tilec {

/// Describes a kernel, traced at any tile, in terms of that tile's dimensions, so that the cost of
/// other tiles can be computed without the IR (runtime/tiling/, which has no LLVM). An extent is
/// written as a number when the author fixed it, and as {"dim": d} when it is that of the tile.
///
///   partition the first argument that is divided; null when there is none
///   rank      of the tile
///   whole     dimensions along which the kernel reduces its own tile: they cannot be divided
///   products  each tile.mma: element types of "lhs", "rhs", "acc"; "m", "n": extents; "k_step":
///             a number; "k": {"arg", "dim"} of the array it walks along, or null; "trips": the
///             enclosing loops; "accumulator": equal numbers share one; "a", "b": operands
///   operand   "arg" that it is loaded from, or null; "outer", "k": the argument's dimensions that
///             run along M (or N) and along K; "computed": whether anything but a transposition
///             stands between the load and the product
///   accesses  each load, gather and store: "arg", "dims": the tile's dimension or null for each of
///             the argument's, "store", "trips"
///   tiles     the distinct values of the kernel: "shape" in extents, "bits" an element
///   trips     from the outermost loop inwards: {"count"}, or {"arg", "dim", "by", "from", "step"}
///             for ceil((ceil(extent / by) - from) / step), or null when it is not known
llvm::json::Object summarize(tile::KernelOp kernel);

} // namespace tilec

#endif // TILEC_PLAN_SUMMARY_H
