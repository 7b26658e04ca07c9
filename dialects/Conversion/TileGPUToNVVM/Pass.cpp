//===- Pass.cpp - tilegpu to NVVM -----------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"
#include "dialects/Conversion/TileGPUToNVVM/TileGPUToNVVM.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tilec;

namespace {
struct ConvertTileGPUToNVVM : PassWrapper<ConvertTileGPUToNVVM, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertTileGPUToNVVM)
  StringRef getArgument() const final { return "convert-tilegpu-to-nvvm"; }
  StringRef getDescription() const final { return "distributed tiles to one scalar a register, on the NVVM dialect"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, NVVM::NVVMDialect, math::MathDialect, scf::SCFDialect>();
  }

  void runOnOperation() final {
    MLIRContext &context = getContext();
    lowering::markNonNegativeIndices(getOperation());
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      lowering::numberTensorMaps(kernel);
    lowering::TileTypeConverter types;
    RewritePatternSet patterns(&context);
    lowering::populateKernelPatterns(types, patterns);
    lowering::populateElementwisePatterns(types, patterns);
    lowering::populateShapePatterns(types, patterns);
    lowering::populateMemoryPatterns(types, patterns);
    lowering::populateReducePatterns(types, patterns);
    lowering::populateConvertLayoutPatterns(types, patterns);
    lowering::populateSharedMemoryPatterns(types, patterns);
    lowering::populateAsyncCopyPatterns(types, patterns);
    lowering::populateQueuePatterns(types, patterns);
    lowering::populateTmaPatterns(types, patterns);
    lowering::populateTmaStorePatterns(types, patterns);
    lowering::populateGroupPatterns(types, patterns);
    lowering::populateClusterSumPatterns(types, patterns);
    lowering::populateWorkspaceSumPatterns(types, patterns);
    lowering::populateWgmmaPatterns(types, patterns);
    lowering::populateMmaPatterns(types, patterns);
    lowering::populateDebugPatterns(types, patterns);

    ConversionTarget target(context);
    scf::populateSCFStructuralTypeConversionsAndLegality(types, patterns, target);
    target.addIllegalDialect<tile::TileDialect, tilegpu::TileGPUDialect>();
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    auto isScalar = [](Operation *op) {
      auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
      return llvm::none_of(op->getOperandTypes(), isTile) && llvm::none_of(op->getResultTypes(), isTile);
    };
    target.addDynamicallyLegalDialect<arith::ArithDialect, math::MathDialect, ub::UBDialect>(isScalar);
    target.addLegalOp<ModuleOp>();
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createConvertTileGPUToNVVMPass() { return std::make_unique<ConvertTileGPUToNVVM>(); }

void tilec::registerConvertTileGPUToNVVMPass() { PassRegistration<ConvertTileGPUToNVVM>(); }
