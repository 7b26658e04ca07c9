//===- Pipelines.cpp - The order of passes --------------------------------===//
#include "dialects/Pipelines/Pipelines.h"

#include "dialects/Conversion/TileGPUToNVVM/TileGPUToNVVM.h"
#include "dialects/TileGPU/Transforms/Math/ExpandMath.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tilec::buildTilePipeline(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void tilec::buildTileGPUPipeline(OpPassManager &pm, const CodegenOptions &options) {}

void tilec::buildLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createConvertTileGPUToNVVMPass());
  pm.addPass(createExpandMathPass());
  pm.addPass(createCSEPass());
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
