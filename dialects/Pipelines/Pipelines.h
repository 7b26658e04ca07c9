//===- Pipelines.h - The order of passes ------------------------*- C++ -*-===//
#ifndef TILEC_PIPELINES_PIPELINES_H
#define TILEC_PIPELINES_PIPELINES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"

namespace tilec {

/// What the author and the target ask of code generation. Zero leaves a number to the compiler.
struct CodegenOptions {
  llvm::json::Value target = nullptr; ///< the entry of compiler/target.py
  int64_t numWarps = 0;
  int64_t numStages = 0;
  llvm::json::Value plan = nullptr; ///< what was decided with the tile; null leaves it to the passes
};

/// Every dialect a kernel meets on its way down, with its translation to LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

/// Every pass and named pipeline, for tilec-opt.
void registerPasses();

/// `tile` to `tile`: simplify what the tracer wrote.
void buildTilePipeline(mlir::OpPassManager &pm);

/// `tile` to `tilegpu`: warps, layouts, shared memory, barriers.
void buildTileGPUPipeline(mlir::OpPassManager &pm, const CodegenOptions &options);

/// `tilegpu` to the LLVM and NVVM dialects.
void buildLLVMPipeline(mlir::OpPassManager &pm);

/// scf, arith, math and cf on scalars to the LLVM dialect, in one conversion.
std::unique_ptr<mlir::Pass> createLowerToLLVMPass();

/// The launch plan that the lowering left on the module, which loses it.
mlir::FailureOr<llvm::json::Value> takePlan(mlir::ModuleOp module);

/// Warns of an author's hints that the pipelines did not honour.
std::unique_ptr<mlir::Pass> createCheckHintsPass();

/// A pass that fails on purpose: "abort", "segv" or "hang". A testing hook for containment.
std::unique_ptr<mlir::Pass> createInjectFaultPass(llvm::StringRef kind);

} // namespace tilec

#endif // TILEC_PIPELINES_PIPELINES_H
