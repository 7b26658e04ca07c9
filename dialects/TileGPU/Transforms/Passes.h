//===- Passes.h - Passes on tilegpu -----------------------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_PASSES_H
#define TILEC_TILEGPU_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tilec {

/// Lets the CTAs of a cluster share the depth of a product, where the plan says so.
std::unique_ptr<mlir::Pass> createSplitDepthPass();
/// Divides a kernel's warps into a producer that fetches tiles and consumers, where the copy engine can fetch what
/// asynchronous products read. Queues have `numStages` stages, or as many as help when it is 0; allocation shortens
/// them to what fits.
std::unique_ptr<mlir::Pass> createSpecializePass(int64_t numStages = 0);
/// Makes the programs of a grouped launch find their problem and the tile in it, where they do not walk over tiles.
std::unique_ptr<mlir::Pass> createFindProblemsPass();
/// Keeps asynchronous products in flight from one turn of a loop to the next, where nothing reads their results.
std::unique_ptr<mlir::Pass> createScheduleProductsPass();
/// Stores tiles of products by the copy engine, where it can.
std::unique_ptr<mlir::Pass> createBulkStoresPass();
/// Gives every tile a layout; conversions stand where two must meet.
std::unique_ptr<mlir::Pass> createAssignLayoutsPass();
/// Recomputes or moves tiles so that fewer and smaller ones change their layout.
std::unique_ptr<mlir::Pass> createRemoveConversionsPass();
/// Copies the operands of products in loops to shared memory several turns ahead, where the target can copy
/// asynchronously. `numStages` 0 leaves the number of stages to the memory there is; 1 copies nothing ahead.
std::unique_ptr<mlir::Pass> createPipelineLoopsPass(int64_t numStages = 0);
/// Places shared-memory tiles and scratch, reusing what is dead, and shortens queues where memory is short.
std::unique_ptr<mlir::Pass> createAllocateSharedPass();
/// Orders accesses to shared memory by different warps, where nothing else does.
std::unique_ptr<mlir::Pass> createInsertBarriersPass();

void registerTileGPUPasses();

} // namespace tilec

#endif // TILEC_TILEGPU_TRANSFORMS_PASSES_H
