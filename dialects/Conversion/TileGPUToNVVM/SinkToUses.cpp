//===- SinkToUses.cpp - Scalars computed where they are used --------------===//
//
// The conversion writes a tile's elementwise ops one after another, each for all
// registers. In that order every step of a long expression has as many values
// alive as the tile has registers. Here each value is computed just before its
// first use: expression by expression, and as few alive as the uses need. The
// assembler still mixes independent expressions as far as registers last.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/TileGPUToNVVM.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace {
/// True for ops that may run anywhere before their results are used. Intrinsics do not say that they have no effects;
/// those that elementary functions expand to take and give scalars.
bool isMovable(Operation *op) {
  if (op->getNumRegions() != 0 || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  auto isScalar = [](Type type) { return type.isIntOrFloat(); };
  if (isa<LLVM::CallIntrinsicOp>(op))
    return op->getNumResults() == 1 && llvm::all_of(op->getOperandTypes(), isScalar);
  return isMemoryEffectFree(op);
}

/// The first op of `block` that uses a result of `op`, directly or inside a region; null if one is used elsewhere.
Operation *firstUser(Operation *op, Block &block) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *inBlock = block.findAncestorOpInBlock(*user);
    // Into a loop or branch nothing moves, but before it may be later than here.
    if (!inBlock)
      return nullptr;
    if (!first || inBlock->isBeforeInBlock(first))
      first = inBlock;
  }
  return first;
}

struct SinkToUses : PassWrapper<SinkToUses, OperationPass<LLVM::LLVMFuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SinkToUses)
  StringRef getArgument() const final { return "tilec-sink-to-uses"; }
  StringRef getDescription() const final { return "compute scalars just before their first use"; }

  void runOnOperation() final {
    getOperation().walk([](Block *block) {
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block))) {
        if (!isMovable(&op))
          continue;
        if (Operation *user = firstUser(&op, *block); user && user->getPrevNode() != &op)
          op.moveBefore(user);
      }
    });
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createSinkToUsesPass() { return std::make_unique<SinkToUses>(); }

void tilec::registerSinkToUsesPass() { PassRegistration<SinkToUses>(); }
