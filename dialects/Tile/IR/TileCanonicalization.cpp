//===- TileCanonicalization.cpp - Folders and canonical forms -------------===//
//
// What holds under every meaning of an op: constants, no-ops, chains of one op
// that are one op, and questions about a derived view answered by the view it
// comes from.
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilec::tile;

namespace {
/// `inner` applied first, then `outer`.
SmallVector<int64_t> composed(ArrayRef<int64_t> inner, ArrayRef<int64_t> outer) {
  return llvm::map_to_vector(outer, [&](int64_t dim) { return inner[dim]; });
}

bool isIdentity(ArrayRef<int64_t> order) { return llvm::equal(order, llvm::seq<int64_t>(0, order.size())); }

/// A tile with a layout already has its place; chains of shape ops are
/// simplified before that.
bool hasLayout(Value tile) { return static_cast<bool>(cast<RankedTensorType>(tile.getType()).getEncoding()); }

/// A splat constant stays one whatever its shape.
OpFoldResult foldSplat(Attribute source, RankedTensorType type) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(source))
    return SplatElementsAttr::get(type, splat.getSplatValue<Attribute>());
  return {};
}

/// A splat of a run-time scalar stays one whatever its shape.
template <typename Op> LogicalResult reshapeSplat(Op op, PatternRewriter &rewriter) {
  auto splat = op.getSource().template getDefiningOp<SplatOp>();
  if (!splat)
    return failure();
  rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), splat.getScalar());
  return success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The view or partition that `view` is derived from, and which of its
/// dimensions is `dim`.
std::pair<Value, int64_t> originOf(Value view, int64_t dim) {
  while (Operation *op = view.getDefiningOp()) {
    if (auto permute = dyn_cast<PermuteViewOp>(op)) {
      dim = permute.getOrder()[dim];
      view = permute.getView();
    } else if (auto cast = dyn_cast<ViewCastOp>(op)) {
      view = cast.getView();
    } else if (auto of = dyn_cast<ViewOfOp>(op)) {
      view = of.getPartition();
    } else {
      break;
    }
  }
  return {view, dim};
}

/// The extent of a dimension where the type tells it, else kDynamic.
int64_t staticExtent(Type type, int64_t dim) {
  auto partition = dyn_cast<PartitionType>(type);
  return (partition ? partition.getView() : cast<ViewType>(type)).getShape()[dim];
}

/// Makes an op ask the view that its own is derived from. True if that changed
/// it.
template <typename Op> bool askOrigin(Op op) {
  auto [view, dim] = originOf(op.getView(), op.getDim());
  if (view == op.getView())
    return false;
  op.getViewMutable().assign(view);
  op.setDim(dim);
  return true;
}

/// Weaker facts than are known serve no access.
template <typename Op> LogicalResult accessUncastView(Op op, OpOperand &view, PatternRewriter &rewriter) {
  auto cast = view.get().getDefiningOp<ViewCastOp>();
  if (!cast)
    return failure();
  rewriter.modifyOpInPlace(op, [&] { view.set(cast.getView()); });
  return success();
}

/// Zero is what an access without this operand reads outside the array; -0.0 is
/// not.
bool isDefaultPad(Value pad) { return pad && (matchPattern(pad, m_Zero()) || matchPattern(pad, m_PosZeroFloat())); }

/// Whether a condition, scalar or tile, is known to hold everywhere.
bool isKnownTrue(Value condition) {
  Attribute value;
  if (!matchPattern(condition, m_Constant(&value)))
    return false;
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    value = splat.getSplatValue<Attribute>();
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer && integer.getValue().isOne();
}
} // namespace

OpFoldResult PermuteViewOp::fold(FoldAdaptor) {
  if (isIdentity(getOrder()))
    return getView();
  if (auto inner = getView().getDefiningOp<PermuteViewOp>()) {
    setOrder(composed(inner.getOrder(), getOrder()));
    getViewMutable().assign(inner.getView());
    return getResult();
  }
  return {};
}

OpFoldResult ViewCastOp::fold(FoldAdaptor) {
  if (getView().getType() == getType())
    return getView();
  if (auto inner = getView().getDefiningOp<ViewCastOp>()) {
    getViewMutable().assign(inner.getView());
    return getResult();
  }
  return {};
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  int64_t extent = staticExtent(getView().getType(), getDim());
  if (!ShapedType::isDynamic(extent))
    return IntegerAttr::get(getType(), extent);
  return askOrigin(*this) ? OpFoldResult(getResult()) : OpFoldResult();
}

OpFoldResult NumTilesOp::fold(FoldAdaptor) {
  int64_t extent = staticExtent(getView().getType(), getDim());
  if (!ShapedType::isDynamic(extent))
    return IntegerAttr::get(getType(), llvm::divideCeil(extent, getTile()));
  return askOrigin(*this) ? OpFoldResult(getResult()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult LoadOp::canonicalize(LoadOp op, PatternRewriter &rewriter) {
  if (isDefaultPad(op.getPad())) {
    rewriter.modifyOpInPlace(op, [&] { op.getPadMutable().clear(); });
    return success();
  }
  return accessUncastView(op, op.getViewMutable(), rewriter);
}

LogicalResult StoreOp::canonicalize(StoreOp op, PatternRewriter &rewriter) {
  return accessUncastView(op, op.getDestMutable(), rewriter);
}

LogicalResult GatherOp::canonicalize(GatherOp op, PatternRewriter &rewriter) {
  if (isDefaultPad(op.getFill())) {
    rewriter.modifyOpInPlace(op, [&] { op.getFillMutable().clear(); });
    return success();
  }
  if (op.getMask() && isKnownTrue(op.getMask())) {
    rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
    return success();
  }
  return accessUncastView(op, op.getViewMutable(), rewriter);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

OpFoldResult IotaOp::fold(FoldAdaptor) {
  if (getType().getShape()[getAxis()] != 1)
    return {};
  return SplatElementsAttr::get(getType(), IntegerAttr::get(getType().getElementType(), 0));
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  if (!isa_and_nonnull<IntegerAttr, FloatAttr>(adaptor.getScalar()))
    return {};
  return SplatElementsAttr::get(getType(), adaptor.getScalar());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  return foldSplat(adaptor.getSource(), getType());
}

LogicalResult BroadcastOp::canonicalize(BroadcastOp op, PatternRewriter &rewriter) {
  if (succeeded(reshapeSplat(op, rewriter)))
    return success();
  auto inner = op.getSource().getDefiningOp<BroadcastOp>();
  if (!inner || hasLayout(op.getSource()))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getSourceMutable().assign(inner.getSource()); });
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  return foldSplat(adaptor.getSource(), getType());
}

LogicalResult ReshapeOp::canonicalize(ReshapeOp op, PatternRewriter &rewriter) {
  if (succeeded(reshapeSplat(op, rewriter)))
    return success();
  auto inner = op.getSource().getDefiningOp<ReshapeOp>();
  if (!inner || hasLayout(op.getSource()))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getSourceMutable().assign(inner.getSource()); });
  return success();
}

OpFoldResult PermuteOp::fold(FoldAdaptor adaptor) {
  if (isIdentity(getOrder()) && getSource().getType() == getType())
    return getSource();
  return foldSplat(adaptor.getSource(), getType());
}

LogicalResult PermuteOp::canonicalize(PermuteOp op, PatternRewriter &rewriter) {
  if (succeeded(reshapeSplat(op, rewriter)))
    return success();
  auto inner = op.getSource().getDefiningOp<PermuteOp>();
  if (!inner || hasLayout(op.getSource()))
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.setOrder(composed(inner.getOrder(), op.getOrder()));
    op.getSourceMutable().assign(inner.getSource());
  });
  return success();
}

OpFoldResult ExtractOp::fold(FoldAdaptor adaptor) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getSource()))
    return splat.getSplatValue<Attribute>();
  Operation *source = getSource().getDefiningOp();
  if (auto splat = dyn_cast_or_null<SplatOp>(source))
    return splat.getScalar();
  // One element is the same under every shape.
  if (isa_and_nonnull<ReshapeOp, PermuteOp>(source)) {
    getSourceMutable().assign(source->getOperand(0));
    return getResult();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Arithmetic beyond elementwise
//===----------------------------------------------------------------------===//

/// An axis of extent 1 has nothing to combine.
LogicalResult ReduceOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  if (getSources().getTypes() != getOutputs().getTypes())
    return failure();
  llvm::append_range(results, getSources());
  return success();
}

//===----------------------------------------------------------------------===//
// Debugging and facts
//===----------------------------------------------------------------------===//

LogicalResult AssertOp::canonicalize(AssertOp op, PatternRewriter &rewriter) {
  if (!isKnownTrue(op.getCondition()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult AssumeOp::canonicalize(AssumeOp op, PatternRewriter &rewriter) {
  if (!isKnownTrue(op.getCondition()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}
