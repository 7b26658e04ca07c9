//===- TileToTileGPU.h - tile to tilegpu ------------------------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILETOTILEGPU_TILETOTILEGPU_H
#define TILEC_CONVERSION_TILETOTILEGPU_TILETOTILEGPU_H

#include "mlir/Pass/Pass.h"
#include "llvm/Support/JSON.h"

namespace tilec {

/// `target` is an entry of `compiler/target.py`; null keeps the target the module has. `plan` holds what was decided
/// with the tile (TilePlan.h); null leaves it to the passes.
std::unique_ptr<mlir::Pass> createTileToTileGPUPass(const llvm::json::Value &target, int64_t numWarps,
                                                    const llvm::json::Value &plan);
void registerTileToTileGPUPass();

} // namespace tilec

#endif // TILEC_CONVERSION_TILETOTILEGPU_TILETOTILEGPU_H
