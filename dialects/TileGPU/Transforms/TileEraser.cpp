//===- TileEraser.cpp - What a producer does not need ---------------------===//
#include "dialects/TileGPU/Transforms/TileEraser.h"

#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
class TileEraser {
public:
  explicit TileEraser(Region &region) : region(region), builder(region.getContext()) {}

  void run() {
    erase(region.front());
    RewritePatternSet patterns(region.getContext());
    scf::ForOp::getCanonicalizationPatterns(patterns, region.getContext());
    scf::IfOp::getCanonicalizationPatterns(patterns, region.getContext());
    SmallVector<Operation *> ops;
    region.walk([&](Operation *op) { ops.push_back(op); });
    (void)applyOpPatternsGreedily(ops, std::move(patterns));
  }

private:
  static bool isTile(Type type) { return isa<RankedTensorType, SmemType>(type); }

  void erase(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      for (Region &inner : op.getRegions())
        for (Block &nested : inner)
          erase(nested);
      if (isa<TmaLoadOp, RingSlotOp, ub::PoisonOp>(op))
        continue;
      const bool keepsStructure = op.getNumRegions() != 0 || op.hasTrait<OpTrait::IsTerminator>();
      if (keepsStructure && !isa<tile::ReduceOp>(op)) {
        replaceTiles(op.getResults());
        for (OpOperand &operand : op.getOpOperands())
          if (isTile(operand.get().getType()))
            operand.set(unused(operand.get().getType()));
        for (Region &inner : op.getRegions())
          for (BlockArgument argument : inner.getArguments())
            replaceTiles(argument);
      } else if (llvm::any_of(op.getOperandTypes(), isTile) || llvm::any_of(op.getResultTypes(), isTile) ||
                 isa<tile::AssertOp, PrintOp>(op)) {
        for (Value result : op.getResults())
          if (!result.use_empty())
            result.replaceAllUsesWith(unused(result.getType()));
        op.erase();
      }
    }
  }

  void replaceTiles(ValueRange values) {
    for (Value value : values)
      if (isTile(value.getType()) && !value.use_empty())
        value.replaceAllUsesWith(unused(value.getType()));
  }

  /// One for each type, so that a loop that carries it is seen to carry nothing.
  Value unused(Type type) {
    Value &value = unusedValues[type];
    if (!value) {
      builder.setInsertionPointToStart(&region.front());
      value = ub::PoisonOp::create(builder, region.getLoc(), type);
    }
    return value;
  }

  Region &region;
  OpBuilder builder;
  DenseMap<Type, Value> unusedValues;
};
} // namespace

void tilec::tilegpu::eraseTiles(Region &region) { TileEraser(region).run(); }
