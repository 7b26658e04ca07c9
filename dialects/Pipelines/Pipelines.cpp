//===- Pipelines.cpp - The order of passes --------------------------------===//
#include "dialects/Pipelines/Pipelines.h"

#include "dialects/Conversion/TileGPUToNVVM/TileGPUToNVVM.h"
#include "dialects/Conversion/TileToTileGPU/TileToTileGPU.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "dialects/TileGPU/Transforms/Math/ExpandMath.h"
#include "dialects/TileGPU/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tilec::buildTilePipeline(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void tilec::buildTileGPUPipeline(OpPassManager &pm, const CodegenOptions &options) {
  // A tile that is the same every turn is loaded, given its layout and copied to shared memory before the loop.
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createTileToTileGPUPass(options.target, options.numWarps, options.plan));
  pm.addNestedPass<tile::KernelOp>(createSplitDepthPass());
  pm.addNestedPass<tile::KernelOp>(createSpecializePass(options.numStages));
  pm.addNestedPass<tile::KernelOp>(createFindProblemsPass());
  pm.addNestedPass<tile::KernelOp>(createAssignLayoutsPass());
  pm.addNestedPass<tile::KernelOp>(createRemoveConversionsPass());
  // Copies of free tiles that ended up alike; conversions and reductions that nothing uses take no shared memory.
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<tile::KernelOp>(createBulkStoresPass());
  pm.addNestedPass<tile::KernelOp>(createPipelineLoopsPass(options.numStages));
  pm.addNestedPass<tile::KernelOp>(createAllocateSharedPass());
  pm.addNestedPass<tile::KernelOp>(createCheckHintsPass());
  // Products can be in flight where queues have kept several stages.
  pm.addNestedPass<tile::KernelOp>(createScheduleProductsPass());
  pm.addNestedPass<tile::KernelOp>(createInsertBarriersPass());
}

void tilec::buildLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createConvertTileGPUToNVVMPass());
  // Before words are taken apart and put together in other ways.
  pm.addNestedPass<LLVM::LLVMFuncOp>(createPackCarriedPass());
  pm.addPass(createExpandMathPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<LLVM::LLVMFuncOp>(createSinkToUsesPass());
  pm.addPass(createLowerToLLVMPass());
}

FailureOr<llvm::json::Value> tilec::takePlan(ModuleOp module) {
  auto plan = module->getAttrOfType<StringAttr>("tilec.plan");
  if (!plan)
    return module.emitError("the lowering left no launch plan");
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(plan.getValue());
  if (!parsed)
    return module.emitError("launch plan: ") << llvm::toString(parsed.takeError());
  module->removeAttr("tilec.plan");
  return std::move(*parsed);
}
