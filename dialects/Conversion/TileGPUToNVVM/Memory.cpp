//===- Memory.cpp - Tiles to and from global memory -----------------------===//
//
// Each thread moves the elements of its registers in vectors of up to 16 bytes. One comparison a
// vector and dimension decides between inside and outside: the bound is the smaller of the array's
// rest and the tile's extent, so it drops padding of the layout as well. What is not aligned is in
// GlobalMemory.cpp.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/GlobalMemory.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Layout;

namespace {
//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

SmallVector<Value> firsts(ArrayRef<ValueRange> ranges) {
  return llvm::map_to_vector(ranges, [](ValueRange range) -> Value { return range.front(); });
}

struct Load : OpConversionPattern<tile::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    tile::ViewType type = op.getView().getType();
    SmallVector<int64_t> step(op.getStep() ? *op.getStep() : op.getType().getShape());
    SmallVector<TileAccess::Bounds> bounds;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      bounds.push_back({/*lower=*/!isNonNegative(op, dim), /*upper=*/true});
    TileAccess access(rewriter, loc, type, unpackView(rewriter, loc, type, adaptor.getView()), op.getType(),
                      firsts(adaptor.getIndices()), step, bounds, tilegpu::Move::load);

    Type element = op.getType().getElementType();
    Value pad = op.getPad() ? adaptor.getPad().front() : zeroOf(rewriter, loc, element);
    SmallVector<Value> padding = packWords(rewriter, loc, SmallVector<Value>(access.vectorElems(), pad));
    SmallVector<Value> registers;
    for (int64_t number = 0; number < access.numVectors(); ++number) {
      SmallVector<Value> words = loadVector(rewriter, loc, access, number, padding, type.isReadOnly());
      SmallVector<Value> scalars = unpackWords(rewriter, loc, words, element);
      registers.append(scalars.begin(), scalars.begin() + access.vectorElems());
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

struct Store : OpConversionPattern<tile::StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    RankedTensorType tile = op.getValue().getType();
    SmallVector<TileAccess::Bounds> bounds;
    SmallVector<Value> indices;
    const ArrayRef<int64_t> step = op.getStep().value_or(tile.getShape());
    tile::ViewType type;
    if (auto partition = dyn_cast<tile::PartitionType>(op.getDest().getType())) {
      type = partition.getView();
      if (op.getIndices().empty())
        llvm::append_range(indices, tile::IndexOp::create(rewriter, loc,
                                                          SmallVector<Type>(type.getRank(), rewriter.getIndexType()),
                                                          op.getDest())
                                        .getResults());
      else
        llvm::append_range(indices, firsts(adaptor.getIndices()));
      // A program's own tile starts inside, and ends inside when its extent divides the array's. A part of it may lie
      // beyond where the whole does not.
      for (auto [extent, divisor] : llvm::zip_equal(partition.getTileShape(), type.getDivisible()))
        bounds.push_back({/*lower=*/false, /*upper=*/divisor % extent != 0});
    } else {
      type = cast<tile::ViewType>(op.getDest().getType());
      llvm::append_range(indices, firsts(adaptor.getIndices()));
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        bounds.push_back({/*lower=*/!isNonNegative(op, dim), /*upper=*/true});
    }
    TileAccess access(rewriter, loc, type, unpackView(rewriter, loc, type, adaptor.getDest()), tile, indices, step,
                      bounds, tilegpu::Move::store);
    Value owner = access.owner();
    ValueRange registers = adaptor.getValue();
    for (int64_t number = 0; number < access.numVectors(); ++number) {
      ValueRange scalars = registers.slice(number * access.vectorElems(), access.vectorElems());
      storeGlobal(rewriter, loc, access.address(number), packWords(rewriter, loc, scalars), access.vectorBytes(),
                  andAlso(rewriter, loc, access.inside(number), owner));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct Gather : OpConversionPattern<tile::GatherOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::GatherOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    tile::ViewType type = op.getView().getType();
    ViewValues view = unpackView(rewriter, loc, type, adaptor.getView());
    Type element = op.getType().getElementType();
    Value fill = op.getFill() ? adaptor.getFill().front() : zeroOf(rewriter, loc, element);
    SmallVector<Value> padding = packWords(rewriter, loc, fill);
    SmallVector<Value> registers;
    for (int64_t reg = 0; reg < Layout::of(op.getType()).numRegisters(); ++reg) {
      Value inside = op.getMask() ? adaptor.getMask()[reg] : Value();
      Value address = view.pointer;
      for (auto [dim, index] : llvm::enumerate(adaptor.getIndices())) {
        Value position = index[reg];
        if (!position.getType().isInteger(64))
          position = arith::ExtSIOp::create(rewriter, loc, rewriter.getI64Type(), position);
        // Unsigned: a negative index is beyond any extent.
        inside = andAlso(rewriter, loc, inside,
                         arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult, position, view.dims[dim]));
        Value stride =
            arith::MulIOp::create(rewriter, loc, view.strides[dim], constantI64(rewriter, loc, type.getElementBytes()));
        address = offsetPointer(rewriter, loc, address, arith::MulIOp::create(rewriter, loc, position, stride));
      }
      SmallVector<Value> words =
          loadGlobal(rewriter, loc, address, type.getElementBytes(), inside, padding, type.isReadOnly());
      registers.push_back(unpackWords(rewriter, loc, words, element).front());
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};
} // namespace

void tilec::lowering::populateMemoryPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Load, Store, Gather>(types, patterns.getContext());
}
