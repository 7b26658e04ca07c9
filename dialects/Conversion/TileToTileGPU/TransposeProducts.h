//===- TransposeProducts.h - Products the other way round -------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILETOTILEGPU_TRANSPOSEPRODUCTS_H
#define TILEC_CONVERSION_TILETOTILEGPU_TRANSPOSEPRODUCTS_H

#include "dialects/Tile/IR/TileDialect.h"

namespace tilec {

/// Computes every `c = a @ b` as `cᵀ = bᵀ @ aᵀ`: tiles are loaded from views with their dimensions exchanged, loops
/// carry accumulators the other way round, and who reads a product gets it permuted.
void transposeProducts(tile::KernelOp kernel);

} // namespace tilec

#endif // TILEC_CONVERSION_TILETOTILEGPU_TRANSPOSEPRODUCTS_H
