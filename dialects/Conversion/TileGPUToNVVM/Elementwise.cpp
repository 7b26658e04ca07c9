//===- Elementwise.cpp - One scalar op a register -------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"

#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;
using namespace tilec::lowering;

namespace {
/// arith and math on tiles: every elementwise-mappable op is repeated on the registers. Operands that
/// are scalars (a select's condition) are shared by all of them.
struct Elementwise : ConversionPattern {
  Elementwise(const TypeConverter &types, MLIRContext *context)
      : ConversionPattern(types, MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                                ConversionPatternRewriter &rewriter) const final {
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() == 0 || op->getNumRegions() != 0)
      return rewriter.notifyMatchFailure(op, "not an elementwise op with results");
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "not on tiles");
    int64_t count = tilec::tilegpu::Layout::of(type).numRegisters();
    SmallVector<SmallVector<Value>> results(op->getNumResults());
    for (int64_t reg = 0; reg < count; ++reg) {
      OperationState state(op->getLoc(), op->getName());
      for (auto [operand, original] : llvm::zip_equal(operands, op->getOperands()))
        state.operands.push_back(operand[isa<RankedTensorType>(original.getType()) ? reg : 0]);
      for (Type result : op->getResultTypes())
        state.types.push_back(getElementTypeOrSelf(result));
      state.attributes = op->getAttrs();
      for (auto [registers, value] : llvm::zip_equal(results, rewriter.create(state)->getResults()))
        registers.push_back(value);
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

/// A splat constant is one scalar for all registers.
struct Constant : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const final {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!type || !splat)
      return rewriter.notifyMatchFailure(op, "not a splat tile");
    Value scalar = arith::ConstantOp::create(rewriter, op.getLoc(), cast<TypedAttr>(splat.getSplatValue<Attribute>()));
    SmallVector<Value> results(tilec::tilegpu::Layout::of(type).numRegisters(), scalar);
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

/// A tile that nobody reads.
struct Poison : OpConversionPattern<ub::PoisonOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ub::PoisonOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const final {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "not a tile");
    Value scalar = ub::PoisonOp::create(rewriter, op.getLoc(), type.getElementType());
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(tilec::tilegpu::Layout::of(type).numRegisters(), scalar)});
    return success();
  }
};
} // namespace

void tilec::lowering::populateElementwisePatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Elementwise, Constant, Poison>(types, patterns.getContext());
}
