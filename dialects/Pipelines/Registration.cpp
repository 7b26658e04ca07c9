//===- Registration.cpp - Dialects and passes by name ---------------------===//
#include "dialects/Pipelines/Pipelines.h"

#include "dialects/Conversion/TileGPUToNVVM/TileGPUToNVVM.h"
#include "dialects/Conversion/TileToTileGPU/TileToTileGPU.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "dialects/TileGPU/IR/TileGPUDialect.h"
#include "dialects/TileGPU/Transforms/Passes.h"
#include "dialects/TileGPU/Transforms/Math/ExpandMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tilec {
void registerInjectFaultPass();
}

void tilec::registerDialects(DialectRegistry &registry) {
  registry.insert<tile::TileDialect, tilegpu::TileGPUDialect, arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                  NVVM::NVVMDialect, math::MathDialect, scf::SCFDialect, ub::UBDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

void tilec::registerPasses() {
  registerCanonicalizer();
  registerCSE();
  registerLoopInvariantCodeMotion();
  registerInjectFaultPass();
  registerTileToTileGPUPass();
  registerTileGPUPasses();
  registerConvertTileGPUToNVVMPass();
  registerExpandMathPass();
  registerPass(createLowerToLLVMPass);
  PassPipelineRegistration<>("tilec-tile", "simplify a traced module", buildTilePipeline);
  PassPipelineRegistration<>("tilec-tilegpu", "tile to tilegpu for the target that the module names",
                             [](OpPassManager &pm) { buildTileGPUPipeline(pm, {}); });
  PassPipelineRegistration<>("tilec-llvm", "tilegpu to the LLVM dialect", buildLLVMPipeline);
}
