//===- Tma.cpp - Tensor maps and the copy engine --------------------------===//
//
// Source: PTX ISA, "cp.async.bulk.tensor".
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Queue.h"
#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;

namespace {
constexpr StringLiteral kParameter = "tilegpu.parameter";

struct TensorMap : OpConversionPattern<tilegpu::TensorMapOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::TensorMapOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const final {
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    auto number = op->getAttrOfType<IntegerAttr>(kParameter);
    if (!function || !number)
      return rewriter.notifyMatchFailure(op, "its kernel has not been converted");
    rewriter.replaceOp(op, function.getArgument(function.getNumArguments() - number.getInt()));
    return success();
  }
};

/// A tile takes one transfer for every panel, and more where its extent is beyond a box's.
struct TmaLoad : OpConversionPattern<tilegpu::TmaLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::TmaLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    auto map = op.getMap().getDefiningOp<tilegpu::TensorMapOp>();
    tilegpu::SmemType dest = op.getDest().getType();
    SmallVector<Value> start;
    for (ValueRange offset : adaptor.getOffsets())
      start.push_back(arith::IndexCastOp::create(rewriter, loc, rewriter.getI32Type(), offset.front()));
    Value address = LLVM::PtrToIntOp::create(rewriter, loc, rewriter.getI32Type(), adaptor.getDest().front());
    Value barrier =
        filledBarrier(rewriter, loc, op.getQueue().getType(), adaptor.getQueue(), adaptor.getStage().front());
    SharedPlacement placement = SharedPlacement::of(dest);
    ArrayRef<int64_t> box = map.getBox(), order = dest.getLayout().getOrder();
    SmallVector<int64_t> place(box.size(), 0);
    do {
      SmallVector<int64_t> coords(box.size());
      SmallVector<Value> corner;
      for (auto [number, dim] : llvm::enumerate(order)) {
        coords[dim] = place[number];
        corner.push_back(add(rewriter, loc, start[number], place[number]));
      }
      emit(rewriter, loc, add(rewriter, loc, address, placement.offset(coords)), adaptor.getMap().front(), corner,
           barrier);
    } while (advance(place, box, order, dest.getShape()));
    rewriter.eraseOp(op);
    return success();
  }

private:
  static Value add(OpBuilder &builder, Location loc, Value value, int64_t constant) {
    return constant == 0 ? value
                         : Value(arith::AddIOp::create(builder, loc, value, constantI32(builder, loc, constant)));
  }

  /// To the next box of the tile; false behind the last.
  static bool advance(MutableArrayRef<int64_t> place, ArrayRef<int64_t> box, ArrayRef<int64_t> order,
                      ArrayRef<int64_t> shape) {
    for (size_t number = 0; number < place.size(); ++number) {
      place[number] += box[number];
      if (place[number] < shape[order[number]])
        return true;
      place[number] = 0;
    }
    return false;
  }

  static void emit(OpBuilder &builder, Location loc, Value dest, Value map, ArrayRef<Value> corner, Value barrier) {
    std::string coordinates, constraints = "r,l";
    SmallVector<Value> operands{dest, map};
    for (auto [number, coordinate] : llvm::enumerate(corner)) {
      coordinates += llvm::formatv("{0}${1}", number ? ", " : "", operands.size()).str();
      constraints += ",r";
      operands.push_back(coordinate);
    }
    std::string text = llvm::formatv("cp.async.bulk.tensor.{0}d.shared::cluster.global.mbarrier::complete_tx::bytes "
                                     "[$0], [$1, {{{1}}], [${2}];",
                                     corner.size(), coordinates, operands.size());
    operands.push_back(barrier);
    inlineAsm(builder, loc, text, constraints + ",r,~{memory}", operands, {}, /*sideEffects=*/true);
  }
};
} // namespace

SmallVector<tilegpu::TensorMapOp> lowering::numberTensorMaps(tile::KernelOp kernel) {
  SmallVector<tilegpu::TensorMapOp> maps;
  kernel.walk([&](tilegpu::TensorMapOp map) { maps.push_back(map); });
  Builder builder(kernel.getContext());
  for (auto [number, map] : llvm::enumerate(maps))
    map->setAttr(kParameter, builder.getI64IntegerAttr(maps.size() - number)); // from the last parameter
  return maps;
}

void tilec::lowering::populateTmaPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<TensorMap, TmaLoad>(types, patterns.getContext());
}
