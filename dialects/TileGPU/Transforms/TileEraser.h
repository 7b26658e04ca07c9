//===- TileEraser.h - What a producer does not need -------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_TILEERASER_H
#define TILEC_TILEGPU_TRANSFORMS_TILEERASER_H

#include "mlir/IR/Region.h"

namespace tilec::tilegpu {

/// Takes tiles out of a region that needs their places only: what is left computes scalars and fetches.
void eraseTiles(mlir::Region &region);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_TILEERASER_H
