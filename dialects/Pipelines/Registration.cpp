//===- Registration.cpp - Dialects and passes by name ---------------------===//
#include "dialects/Pipelines/Pipelines.h"

#include "dialects/Conversion/TileGPUToNVVM/TileGPUToNVVM.h"
#include "dialects/Conversion/TileToTileGPU/TileToTileGPU.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "dialects/TileGPU/IR/TileGPUDialect.h"
#include "dialects/TileGPU/Transforms/Math/ExpandMath.h"
#include "dialects/TileGPU/Transforms/Passes.h"

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

namespace {
/// What is no JSON stays a string, which the pass refuses with a message.
llvm::json::Value parseJSON(const std::string &text) {
  if (text.empty())
    return nullptr;
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (parsed)
    return std::move(*parsed);
  llvm::consumeError(parsed.takeError());
  return llvm::json::Value(text);
}

/// CodegenOptions as a command line gives them.
struct CodegenArguments : PassPipelineOptions<CodegenArguments> {
  Option<std::string> target{*this, "target", llvm::cl::desc("the target's entry, as JSON; default: the module's")};
  Option<int64_t> numWarps{*this, "num-warps", llvm::cl::desc("warps of a CTA; 0: from the tiles")};
  Option<int64_t> numStages{*this, "num-stages", llvm::cl::desc("slots of pipelines; 0: the compiler's choice")};
  Option<std::string> plan{*this, "plan", llvm::cl::desc("what was decided with the tile, as JSON")};

  tilec::CodegenOptions parse() const { return {parseJSON(target), numWarps, numStages, parseJSON(plan)}; }
};
} // namespace

void tilec::registerDialects(DialectRegistry &registry) {
  registry.insert<tile::TileDialect, tilegpu::TileGPUDialect, arith::ArithDialect, cf::ControlFlowDialect,
                  LLVM::LLVMDialect, NVVM::NVVMDialect, math::MathDialect, scf::SCFDialect, ub::UBDialect>();
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
  registerPackCarriedPass();
  registerSinkToUsesPass();
  registerPass(createCheckHintsPass);
  registerPass(createLowerToLLVMPass);
  PassPipelineRegistration<>("tilec-tile", "simplify a traced module", buildTilePipeline);
  PassPipelineRegistration<CodegenArguments>(
      "tilec-tilegpu", "tile to tilegpu",
      [](OpPassManager &pm, const CodegenArguments &arguments) { buildTileGPUPipeline(pm, arguments.parse()); });
  PassPipelineRegistration<>("tilec-llvm", "tilegpu to the LLVM dialect", buildLLVMPipeline);
}
