//===- RemoveConversions.cpp - Fewer and smaller layout changes -----------===//
#include "dialects/TileGPU/IR/Layout.h"
#include "dialects/TileGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
RankedTensorType withLayout(Type type, Attribute layout) {
  auto tile = cast<RankedTensorType>(type);
  return RankedTensorType::get(tile.getShape(), tile.getElementType(), layout);
}

Attribute layoutOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getEncoding(); }

//===----------------------------------------------------------------------===//
// Computing again
//===----------------------------------------------------------------------===//

/// Ops that a chain may hold to be computed again rather than converted.
constexpr int kMaxChain = 8;

/// One or two instructions an element.
bool isCheap(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect>(op->getDialect()) && op->hasTrait<OpTrait::Elementwise>() &&
         op->getNumResults() == 1 &&
         !isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
              arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
}

bool isFree(Operation *op) { return isa<arith::ConstantOp, tile::SplatOp, tile::IotaOp, ub::PoisonOp>(op); }

/// True when `tile` can be had under `layout` without moving anything, by at most `budget` cheap ops.
bool canRecompute(Value tile, Attribute layout, int &budget) {
  if (layoutOf(tile) == layout)
    return true;
  Operation *op = tile.getDefiningOp();
  if (!op || --budget < 0)
    return false;
  if (auto convert = dyn_cast<ConvertLayoutOp>(op))
    return canRecompute(convert.getSource(), layout, budget);
  if (isFree(op))
    return true;
  return isCheap(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return !isa<RankedTensorType>(operand.getType()) || canRecompute(operand, layout, budget);
         });
}

Value recompute(PatternRewriter &rewriter, Value tile, Attribute layout) {
  if (layoutOf(tile) == layout)
    return tile;
  Operation *op = tile.getDefiningOp();
  if (auto convert = dyn_cast<ConvertLayoutOp>(op))
    return recompute(rewriter, convert.getSource(), layout);
  RankedTensorType type = withLayout(tile.getType(), layout);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(rewriter, op->getLoc(), type,
                                     cast<DenseElementsAttr>(constant.getValue()).reshape(type));
  IRMapping operands;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      operands.map(operand, recompute(rewriter, operand, layout));
  Operation *copy = rewriter.clone(*op, operands);
  copy->getResult(0).setType(type);
  return copy->getResult(0);
}

struct RecomputeInLayout : OpRewritePattern<ConvertLayoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertLayoutOp op, PatternRewriter &rewriter) const final {
    int budget = kMaxChain;
    Attribute layout = op.getType().getEncoding();
    if (!canRecompute(op.getSource(), layout, budget))
      return rewriter.notifyMatchFailure(op, "the tile takes more than a short chain of cheap ops");
    rewriter.replaceOp(op, recompute(rewriter, op.getSource(), layout));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Converting less
//===----------------------------------------------------------------------===//

/// Converts what is broadcast instead of the copies.
struct HoistAboveBroadcast : OpRewritePattern<ConvertLayoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertLayoutOp op, PatternRewriter &rewriter) const final {
    auto broadcast = op.getSource().getDefiningOp<tile::BroadcastOp>();
    if (!broadcast)
      return rewriter.notifyMatchFailure(op, "the source is not a broadcast");
    RankedTensorType source = broadcast.getSource().getType();
    Layout layout = Layout::of(op.getType()).broadcastSource(source.getShape(), op.getType().getShape());
    Value converted = ConvertLayoutOp::create(rewriter, op.getLoc(), withLayout(source, layout.attr(op.getContext())),
                                              broadcast.getSource());
    rewriter.replaceOpWithNewOp<tile::BroadcastOp>(op, op.getType(), converted);
    return success();
  }
};

/// Converts before a widening cast.
struct HoistAboveWidening : OpRewritePattern<ConvertLayoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertLayoutOp op, PatternRewriter &rewriter) const final {
    Operation *cast = op.getSource().getDefiningOp();
    if (!isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp, arith::UIToFPOp>(cast))
      return rewriter.notifyMatchFailure(op, "the source is not a widening cast");
    Type from = getElementTypeOrSelf(cast->getOperand(0)), to = op.getType().getElementType();
    if (from.getIntOrFloatBitWidth() >= to.getIntOrFloatBitWidth())
      return rewriter.notifyMatchFailure(op, "the cast does not widen");
    Value converted = ConvertLayoutOp::create(rewriter, op.getLoc(),
                                              withLayout(cast->getOperand(0).getType(), op.getType().getEncoding()),
                                              cast->getOperand(0));
    IRMapping operands;
    operands.map(cast->getOperand(0), converted);
    Operation *copy = rewriter.clone(*cast, operands);
    copy->getResult(0).setType(op.getType());
    rewriter.replaceOp(op, copy);
    return success();
  }
};

/// Converts after a narrowing cast.
struct SinkBelowNarrowing : RewritePattern {
  explicit SinkBelowNarrowing(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const final {
    if (!isa<arith::TruncFOp, arith::TruncIOp>(op))
      return rewriter.notifyMatchFailure(op, "not a narrowing cast");
    auto convert = op->getOperand(0).getDefiningOp<ConvertLayoutOp>();
    if (!convert || !convert->hasOneUse())
      return rewriter.notifyMatchFailure(op, "the operand is no conversion of its own");
    Type type = op->getResult(0).getType();
    IRMapping operands;
    operands.map(convert.getResult(), convert.getSource());
    Operation *copy = rewriter.clone(*op, operands);
    copy->getResult(0).setType(withLayout(type, layoutOf(convert.getSource())));
    rewriter.replaceOpWithNewOp<ConvertLayoutOp>(op, type, copy->getResult(0));
    return success();
  }
};

/// Shared memory is filled from any layout.
struct StoreUnconverted : OpRewritePattern<LocalAllocOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LocalAllocOp op, PatternRewriter &rewriter) const final {
    auto convert = op.getSource().getDefiningOp<ConvertLayoutOp>();
    if (!convert)
      return rewriter.notifyMatchFailure(op, "the source is not converted");
    rewriter.modifyOpInPlace(op, [&] { op.getSourceMutable().assign(convert.getSource()); });
    return success();
  }
};

struct RemoveConversions : PassWrapper<RemoveConversions, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RemoveConversions)
  StringRef getArgument() const final { return "tilegpu-remove-conversions"; }
  StringRef getDescription() const final { return "recompute or shrink tiles that change their layout"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<TileGPUDialect>(); }

  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    patterns.add<RecomputeInLayout, HoistAboveBroadcast, HoistAboveWidening, SinkBelowNarrowing, StoreUnconverted>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createRemoveConversionsPass() { return std::make_unique<RemoveConversions>(); }
