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
  LogicalResult matchAndRewrite(tilegpu::TensorMapOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    auto number = op->getAttrOfType<IntegerAttr>(kParameter);
    if (!function || !number)
      return rewriter.notifyMatchFailure(op, "its kernel has not been converted");
    if (op.getProblem())
      rewriter.replaceOp(op, inRow(op, adaptor.getProblem().front(), number.getInt(), function, rewriter));
    else
      rewriter.replaceOp(op, function.getArgument(function.getNumArguments() - number.getInt() -
                                                  (hasWorkspace(function) ? kWorkspaceParameters : 0)));
    return success();
  }

private:
  /// The map in the row of a problem. The host has written it by a copy, which the engine's own cache of maps does not
  /// see without a fence of the thread that uses it; one is enough until the problem changes.
  static Value inRow(tilegpu::TensorMapOp op, Value row, int64_t offset, LLVM::LLVMFuncOp function,
                     ConversionPatternRewriter &rewriter) {
    Location loc = op.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext());
    Value known = rowSlot(loc, function, rewriter);
    Value map = LLVM::AddrSpaceCastOp::create(rewriter, loc, pointer,
                                              offsetPointer(rewriter, loc, row, constantI32(rewriter, loc, offset)));
    Value last = LLVM::LoadOp::create(rewriter, loc, row.getType(), known);
    Value isNew = LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::ne, row, last);
    LLVM::StoreOp::create(rewriter, loc, row, known);
    auto stores = [](Operation *user) { return isa<tilegpu::TmaStoreOp>(user); };
    if (llvm::any_of(op->getUsers(), stores)) // by one thread of each warpgroup; a single one fetches
      isNew = arith::AndIOp::create(rewriter, loc, isNew, speaksForWarpgroup(rewriter, loc));
    inlineAsm(rewriter, loc, "@$1 fence.proxy.tensormap::generic.acquire.sys [$0], 128;", "l,b,~{memory}", {map, isNew},
              {}, /*sideEffects=*/true);
    return map;
  }

  /// Remembers the row whose map was used last; none at the start.
  static Value rowSlot(Location loc, LLVM::LLVMFuncOp function, ConversionPatternRewriter &rewriter) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(&function.getBody().front());
    auto type = LLVM::LLVMPointerType::get(rewriter.getContext(), kGlobalSpace);
    Value slot = LLVM::AllocaOp::create(rewriter, loc, LLVM::LLVMPointerType::get(rewriter.getContext()), type,
                                        constantI32(rewriter, loc, 1));
    LLVM::StoreOp::create(rewriter, loc, LLVM::ZeroOp::create(rewriter, loc, type), slot);
    return slot;
  }
};

/// Where a transfer lies in its tile: elements in the map's order.
using Place = SmallVector<int64_t>;

/// The boxes of a tile: one for every panel, and more where its extent is beyond a box's.
SmallVector<Place> boxesOf(ArrayRef<int64_t> extent, ArrayRef<int64_t> box) {
  SmallVector<Place> places{Place(box.size(), 0)};
  for (size_t dim = 0; dim < box.size(); ++dim) {
    const size_t known = places.size();
    for (int64_t start = box[dim]; start < extent[dim]; start += box[dim])
      for (size_t i = 0; i < known; ++i) {
        places.push_back(places[i]);
        places.back()[dim] = start;
      }
  }
  return places;
}

/// Multicast, each CTA of the cluster takes a part of the boxes that follow one another, at equal distances in the
/// array and in shared memory.
struct TmaLoad : OpConversionPattern<tilegpu::TmaLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::TmaLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    auto map = op.getMap().getDefiningOp<tilegpu::TensorMapOp>();
    tilegpu::SmemType dest = op.getDest().getType();
    ArrayRef<int64_t> order = dest.getLayout().getOrder();
    SmallVector<int64_t> extent = llvm::map_to_vector(order, [&](int64_t dim) { return dest.getShape()[dim]; });
    extent.resize(map.getBox().size(), 1); // dimensions that the destination lacks
    SmallVector<Value> start;
    for (ValueRange offset : adaptor.getOffsets())
      start.push_back(arith::IndexCastOp::create(rewriter, loc, rewriter.getI32Type(), offset.front()));
    Value address = LLVM::PtrToIntOp::create(rewriter, loc, rewriter.getI32Type(), adaptor.getDest().front());
    Value barrier =
        filledBarrier(rewriter, loc, op.getQueue().getType(), adaptor.getQueue(), adaptor.getStage().front());
    SharedPlacement placement = SharedPlacement::of(dest);
    auto offsetOf = [&](const Place &place) {
      SmallVector<int64_t> coords(order.size());
      for (auto [number, dim] : llvm::enumerate(order))
        coords[dim] = place[number];
      return placement.offset(coords);
    };
    SmallVector<Place> boxes = boxesOf(extent, map.getBox());
    const int64_t cluster = op.getMulticast() ? Roles::at(rewriter).cluster : 1;
    const size_t share = boxes.size() / cluster;
    if (boxes.size() % cluster != 0)
      return rewriter.notifyMatchFailure(op, "the cluster cannot divide its boxes");
    if (cluster > 1) {
      Value rank = clusterRank(rewriter, loc);
      address = addScaled(rewriter, loc, address, rank, offsetOf(boxes[share]));
      for (size_t dim = 0; dim < start.size(); ++dim)
        start[dim] = addScaled(rewriter, loc, start[dim], rank, boxes[share][dim]);
    }
    for (const Place &place : ArrayRef(boxes).take_front(share)) {
      SmallVector<Value> corner;
      for (auto [first, distance] : llvm::zip_equal(start, place))
        corner.push_back(add(rewriter, loc, first, distance));
      emit(rewriter, loc, add(rewriter, loc, address, offsetOf(place)), adaptor.getMap().front(), corner, barrier,
           cluster, op.getEviction());
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  static Value addScaled(OpBuilder &builder, Location loc, Value value, Value rank, int64_t distance) {
    if (distance == 0)
      return value;
    Value part = arith::MulIOp::create(builder, loc, rank, constantI32(builder, loc, distance));
    return arith::AddIOp::create(builder, loc, value, part);
  }

  static Value add(OpBuilder &builder, Location loc, Value value, int64_t constant) {
    return constant == 0 ? value
                         : Value(arith::AddIOp::create(builder, loc, value, constantI32(builder, loc, constant)));
  }

  static void emit(OpBuilder &builder, Location loc, Value dest, Value map, ArrayRef<Value> corner, Value barrier,
                   int64_t cluster, tilegpu::Eviction eviction) {
    std::string coordinates, constraints = "r,l";
    SmallVector<Value> operands{dest, map};
    for (auto [number, coordinate] : llvm::enumerate(corner)) {
      coordinates += llvm::formatv("{0}${1}", number ? ", " : "", operands.size()).str();
      constraints += ",r";
      operands.push_back(coordinate);
    }
    const size_t number = operands.size();
    operands.push_back(barrier);
    constraints += ",r";
    std::string modifiers, extras;
    if (cluster > 1) {
      modifiers = ".multicast::cluster";
      extras = llvm::formatv(", ${0}", operands.size());
      operands.push_back(arith::ConstantOp::create(builder, loc, builder.getI16IntegerAttr((1 << cluster) - 1)));
      constraints += ",h";
    }
    if (eviction != tilegpu::Eviction::normal) {
      // What createpolicy.fractional makes of the whole access.
      constexpr int64_t kFirst = 0x12F0000000000000, kLast = 0x14F0000000000000;
      modifiers += ".L2::cache_hint";
      extras += llvm::formatv(", ${0}", operands.size());
      operands.push_back(constantI64(builder, loc, eviction == tilegpu::Eviction::first ? kFirst : kLast));
      constraints += ",l";
    }
    std::string text = llvm::formatv("cp.async.bulk.tensor.{0}d.shared::cluster.global.mbarrier::complete_tx::bytes{1} "
                                     "[$0], [$1, {{{2}}], [${3}]{4};",
                                     corner.size(), modifiers, coordinates, number, extras);
    inlineAsm(builder, loc, text, constraints + ",~{memory}", operands, {}, /*sideEffects=*/true);
  }
};
} // namespace

SmallVector<tilegpu::TensorMapOp> lowering::numberTensorMaps(tile::KernelOp kernel) {
  SmallVector<tilegpu::TensorMapOp> maps;
  kernel.walk([&](tilegpu::TensorMapOp map) { maps.push_back(map); });
  Builder builder(kernel.getContext());
  if (kernel->hasAttr(tile::TileDialect::kGrouped)) {
    const RowLayout row = RowLayout::of(kernel, maps.size());
    for (auto [map, offset] : llvm::zip_equal(maps, row.maps))
      map->setAttr(kParameter, builder.getI64IntegerAttr(offset));
    layOutRows(kernel, row);
    return maps;
  }
  for (auto [number, map] : llvm::enumerate(maps))
    map->setAttr(kParameter, builder.getI64IntegerAttr(maps.size() - number)); // from the last parameter
  return maps;
}

void tilec::lowering::populateTmaPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<TensorMap, TmaLoad>(types, patterns.getContext());
}
