//===- Passes.h - Passes on tilegpu -----------------------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_PASSES_H
#define TILEC_TILEGPU_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tilec {

/// Gives every tile a layout; conversions stand where two must meet.
std::unique_ptr<mlir::Pass> createAssignLayoutsPass();
/// Recomputes or moves tiles so that fewer and smaller ones change their layout.
std::unique_ptr<mlir::Pass> createRemoveConversionsPass();
/// Copies the operands of products in loops to shared memory several turns ahead, where the target can copy
/// asynchronously. `numStages` 0 leaves the number of stages to the memory there is; 1 copies nothing ahead.
std::unique_ptr<mlir::Pass> createPipelineLoopsPass(int64_t numStages = 0);
/// Places shared-memory tiles and scratch, reusing what is dead.
std::unique_ptr<mlir::Pass> createAllocateSharedPass();
/// Orders accesses to shared memory by different warps, where nothing else does.
std::unique_ptr<mlir::Pass> createInsertBarriersPass();

void registerTileGPUPasses();

} // namespace tilec

#endif // TILEC_TILEGPU_TRANSFORMS_PASSES_H
