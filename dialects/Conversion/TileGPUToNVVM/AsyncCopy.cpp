//===- AsyncCopy.cpp - Rings and asynchronous copies ----------------------===//
#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"
#include "dialects/Conversion/TileGPUToNVVM/TileAccess.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Layout;

namespace {
struct Ring : OpConversionPattern<tilegpu::RingOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::RingOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOp(op, sharedMemory(rewriter, op.getLoc(), sharedOffset(op)));
    return success();
  }
};

struct RingSlot : OpConversionPattern<tilegpu::RingSlotOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::RingSlotOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    Value bytes = arith::MulIOp::create(rewriter, loc, adaptor.getStage().front(),
                                        constantI32(rewriter, loc, op.getType().getBytes()));
    rewriter.replaceOp(op, offsetPointer(rewriter, loc, adaptor.getRing().front(), bytes));
    return success();
  }
};

/// One cp.async a vector. It copies as many bytes as lie inside, all or none,
/// and zeroes the rest.
struct CopyAsync : OpConversionPattern<tilegpu::CopyAsyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::CopyAsyncOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    tile::ViewType viewType = op.getView().getType();
    tilegpu::SmemType dest = op.getDest().getType();
    ArrayRef<int64_t> shape = op.getTileShape();
    // Without dimensions of extent 1 it is the same registers.
    Layout layout = shape.size() == dest.getShape().size() ? Layout(op.getLayout())
                                                           : *Layout(op.getLayout()).reshaped(shape, dest.getShape());
    auto tile = RankedTensorType::get(shape, dest.getElementType(), op.getLayout());
    SmallVector<int64_t> step(op.getStep().value_or(shape));
    SmallVector<Value> indices =
        llvm::map_to_vector(adaptor.getIndices(), [](ValueRange index) -> Value { return index.front(); });
    SmallVector<TileAccess::Bounds> bounds;
    for (int64_t dim = 0; dim < viewType.getRank(); ++dim)
      bounds.push_back({/*lower=*/!isNonNegative(op, dim), /*upper=*/true});
    TileAccess from(rewriter, loc, viewType, unpackView(rewriter, loc, viewType, adaptor.getView()), tile, indices,
                    step, bounds, tilegpu::Move::copy);
    SharedPlacement placement = SharedPlacement::of(dest);
    if (!llvm::is_contained({4, 8, 16}, from.vectorBytes()) ||
        placement.accessElems(layout, dest.getShape()) < from.vectorElems())
      return rewriter.notifyMatchFailure(op, "threads must copy 4, 8 or 16 bytes "
                                             "that are neighbours on both sides");
    SharedWalk to(rewriter, loc, placement, adaptor.getDest().front(), layout, dest.getShape(), threadId(rewriter, loc),
                  from.vectorElems());
    guarded(rewriter, loc, from.owner(), [&] {
      for (int64_t number = 0; number < to.numVectors(); ++number)
        copy(rewriter, loc, to, from, number);
    });
    rewriter.eraseOp(op);
    return success();
  }

private:
  static void copy(OpBuilder &builder, Location loc, SharedWalk &to, TileAccess &from, int64_t number) {
    const int64_t bytes = from.vectorBytes();
    // Only whole chunks may bypass the first-level cache, which has no use for
    // them.
    auto cache = bytes == kChunkBytes ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
    Value target = to.address(number), source = from.address(number), count;
    if (Value inside = from.inside(number))
      count =
          arith::SelectOp::create(builder, loc, inside, constantI32(builder, loc, bytes), constantI32(builder, loc, 0));
    guarded(builder, loc, to.live(number),
            [&] { NVVM::CpAsyncOp::create(builder, loc, target, source, bytes, cache, count); });
  }
};

struct CopyCommit : OpConversionPattern<tilegpu::CopyCommitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::CopyCommitOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(op);
    return success();
  }
};

struct CopyWait : OpConversionPattern<tilegpu::CopyWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::CopyWaitOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(op, op.getPending());
    return success();
  }
};
} // namespace

void tilec::lowering::populateAsyncCopyPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Ring, RingSlot, CopyAsync, CopyCommit, CopyWait>(types, patterns.getContext());
}
