//===- ConvertLayout.cpp - The same tile under another layout -------------===//
//
// planConversion says where each element comes from: another register of the
// thread, another lane of the warp, or shared memory.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"
#include "dialects/TileGPU/IR/Scratch.h"

#include <map>

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::ConversionPlan;
using tilegpu::Layout;

namespace {
constexpr int64_t kAllLanes = -1, kLastLane = tilegpu::kLanes - 1;

/// Brings every destination register from where the plan says it is in the
/// thread's own warp.
class WarpExchange {
public:
  WarpExchange(OpBuilder &builder, Location loc, const ConversionPlan &plan, ValueRange source)
      : builder(builder), loc(loc), plan(plan), source(source), thread(threadId(builder, loc)) {
    for (tilegpu::ThreadBit bit : plan.selectors) {
      Value number = bit.warp ? thread.warp : thread.lane;
      Value masked = arith::AndIOp::create(builder, loc, number, constantI32(builder, loc, int64_t(1) << bit.bit));
      selectors.push_back(
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, masked, constantI32(builder, loc, 0)));
    }
  }

  SmallVector<Value> registers() {
    SmallVector<Value> results;
    for (ArrayRef<int64_t> candidates : plan.candidates)
      results.push_back(choose(candidates, [&](int64_t reg) { return source[reg]; }));
    return results;
  }

  /// A lane asks for the candidates one after the other: which of them it needs
  /// depends on itself, and what the other lane sends must not.
  SmallVector<Value> shuffles() {
    SmallVector<Value> results;
    for (auto [reg, candidates] : llvm::enumerate(plan.candidates)) {
      Value lane = sourceLane(plan.registerLane[reg]);
      results.push_back(choose(candidates, [&](int64_t from) { return shuffled(from, plan.registerLane[reg], lane); }));
    }
    return results;
  }

private:
  /// The candidate that the selectors' bits number. Dead elements take any
  /// value.
  Value choose(ArrayRef<int64_t> candidates, llvm::function_ref<Value(int64_t)> get) {
    SmallVector<Value> values;
    for (int64_t reg : candidates)
      values.push_back(reg < 0 ? Value() : get(reg));
    for (Value selector : selectors) {
      size_t half = values.size() / 2;
      for (size_t i = 0; i < half; ++i)
        values[i] = select(selector, values[2 * i + 1], values[2 * i]);
      values.truncate(half);
    }
    return values.front() ? values.front() : zeroOf(builder, loc, source.front().getType());
  }

  Value select(Value selector, Value yes, Value no) {
    if (!yes || !no || yes == no)
      return yes ? yes : no;
    return arith::SelectOp::create(builder, loc, selector, yes, no);
  }

  Value sourceLane(int64_t registerLane) {
    if (!threadLane) { // a layout whose one coordinate is a lane
      Layout lanes;
      for (int64_t lane : plan.laneOfLaneBit)
        lanes.lanes.push_back({lane});
      for (int64_t lane : plan.laneOfWarpBit)
        lanes.warps.push_back({lane});
      lanes.repeat.push_back(1);
      threadLane = threadCoords(builder, loc, lanes, thread).front();
    }
    return arith::XOrIOp::create(builder, loc, threadLane, constantI32(builder, loc, registerLane));
  }

  Value shuffled(int64_t reg, int64_t registerLane, Value lane) {
    Value &result = received[{reg, registerLane}];
    if (result)
      return result;
    SmallVector<Value> words = packWords(builder, loc, source[reg]);
    for (Value &word : words)
      word = NVVM::ShflOp::create(builder, loc, builder.getI32Type(), constantI32(builder, loc, kAllLanes), word, lane,
                                  constantI32(builder, loc, kLastLane), NVVM::ShflKind::idx, UnitAttr());
    return result = unpackWords(builder, loc, words, source[reg].getType()).front();
  }

  OpBuilder &builder;
  Location loc;
  const ConversionPlan &plan;
  ValueRange source;
  ThreadId thread;
  SmallVector<Value> selectors;
  Value threadLane;
  std::map<std::pair<int64_t, int64_t>, Value> received; ///< by source register and its lane's register part
};

struct ConvertLayout : OpConversionPattern<tilegpu::ConvertLayoutOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::ConvertLayoutOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    ConversionPlan plan = tilegpu::conversionPlan(op);
    WarpExchange exchange(rewriter, op.getLoc(), plan, adaptor.getSource());
    switch (plan.kind) {
    case ConversionPlan::Kind::registers:
      rewriter.replaceOpWithMultiple(op, {exchange.registers()});
      break;
    case ConversionPlan::Kind::shuffle:
      rewriter.replaceOpWithMultiple(op, {exchange.shuffles()});
      break;
    case ConversionPlan::Kind::shared:
      rewriter.replaceOpWithMultiple(op, {throughSharedMemory(op, plan.trip, adaptor.getSource(), rewriter)});
      break;
    }
    return success();
  }

  /// The scratch holds what either layout covers, so nothing needs a mask.
  static SmallVector<Value> throughSharedMemory(tilegpu::ConvertLayoutOp op, const tilegpu::SharedTrip &trip,
                                                ValueRange source, OpBuilder &builder) {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    Layout from = Layout::of(op.getSource().getType()), to = Layout::of(type);
    SharedPlacement placement;
    placement.contiguous = trip.order.empty() ? 0 : trip.order.front();
    placement.pitches.assign(trip.pitches.begin(), trip.pitches.end());
    SmallVector<int64_t> covered;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      covered.push_back(std::max(from.extent(dim), to.extent(dim)));
    Value base = programMemory(builder, loc, op);
    ThreadId thread = threadId(builder, loc);
    SharedWalk in(builder, loc, placement, base, from, covered, thread, trip.storeVector);
    guarded(builder, loc, isOwner(builder, loc, from, thread), [&] { in.store(source); });
    programBarrier(builder, loc);
    return SharedWalk(builder, loc, placement, base, to, covered, thread, trip.loadVector).load(type.getElementType());
  }
};
} // namespace

void tilec::lowering::populateConvertLayoutPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<ConvertLayout>(types, patterns.getContext());
}
