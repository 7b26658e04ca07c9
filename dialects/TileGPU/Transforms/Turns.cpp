//===- Turns.cpp - Programs of a CTA that take turns ----------------------===//
#include "dialects/TileGPU/Transforms/Turns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// True when `value` is the same for every tile of a problem: its arguments, and what is computed from them.
bool belongsToProblem(Value value, scf::ForOp walk) {
  if (walk.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != walk.getBody() || op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return false;
  return isa<ArgumentsOp>(op) ||
         llvm::all_of(op->getOperands(), [&](Value operand) { return belongsToProblem(operand, walk); });
}

/// The loops between a fetch and the walk over tiles, if each of them has as many turns for every tile of a problem.
std::optional<SmallVector<scf::ForOp>> regularLoops(Fetch &fetch, scf::ForOp walk) {
  SmallVector<scf::ForOp> loops;
  for (Operation *parent = fetch.alloc->getParentOp(); parent != walk; parent = parent->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop || !llvm::all_of(ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                               [&](Value bound) { return belongsToProblem(bound, walk); }))
      return std::nullopt;
    loops.push_back(loop);
  }
  return loops;
}

/// `value` of the walk, computed once more for the tile that `mapping` gives its induction variable.
Value recompute(OpBuilder &builder, Value value, scf::ForOp walk, IRMapping &mapping) {
  if (mapping.contains(value) || walk.isDefinedOutsideOfLoop(value))
    return mapping.lookupOrDefault(value);
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    recompute(builder, operand, walk, mapping);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

/// How often a loop of the walk turns for the tile of a number, an i32.
Value turnsOf(OpBuilder &builder, scf::ForOp loop, scf::ForOp walk, Value number) {
  Location loc = loop.getLoc();
  IRMapping mapping;
  mapping.map(walk.getInductionVar(), number);
  auto bound = [&](Value value) { return recompute(builder, value, walk, mapping); };
  Value lower = bound(loop.getLowerBound()), upper = bound(loop.getUpperBound()), step = bound(loop.getStep());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(step.getType(), value));
  };
  Value distance = arith::SubIOp::create(builder, loc, upper, lower);
  distance = arith::MaxSIOp::create(builder, loc, distance, constant(0));
  Value last = arith::SubIOp::create(builder, loc, step, constant(1));
  Value turns = arith::DivUIOp::create(builder, loc, arith::AddIOp::create(builder, loc, distance, last), step);
  return turns.getType().isIndex() ? Value(arith::IndexCastOp::create(builder, loc, builder.getI32Type(), turns))
                                   : turns;
}

/// How many stages the tile of a number takes from a channel, an i32.
Value stagesOfTile(OpBuilder &at, Channel &channel, scf::ForOp walk, Value number) {
  Location loc = walk.getLoc();
  Value count = arith::ConstantOp::create(at, loc, at.getI32IntegerAttr(1));
  const SmallVector<scf::ForOp> loops = *regularLoops(channel.fetches.front(), walk);
  for (scf::ForOp loop : loops)
    count = arith::MulIOp::create(at, loc, count, turnsOf(at, loop, walk, number));
  return count;
}
} // namespace

bool tilec::tilegpu::canTakeTurns(MutableArrayRef<Channel> channels, scf::ForOp walk) {
  return llvm::all_of(channels,
                      [&](Channel &channel) { return regularLoops(channel.fetches.front(), walk).has_value(); });
}

void tilec::tilegpu::takeTurns(tile::KernelOp kernel, MutableArrayRef<Channel> channels, scf::ForOp walk) {
  Location loc = kernel.getLoc();
  OpBuilder builder(kernel.getContext());
  Block &entry = kernel.getBody().front();
  builder.setInsertionPointToStart(&entry);
  Value turn = TurnOp::create(builder, loc, TurnType::get(builder.getContext()));
  builder.setInsertionPoint(walk);
  Value program = ProgramOp::create(builder, loc, builder.getI32Type());
  Value others = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(kPrograms - 1));
  auto end = OpBuilder(walk.getBody()->getTerminator());
  Operation *first = nullptr, *last = nullptr;
  const bool isGrouped = kernel->hasAttr(tile::TileDialect::kGrouped);
  for (Channel &channel : channels) {
    Value count = stagesOfTile(builder, channel, walk, walk.getLowerBound());
    QueueSkipOp::create(builder, loc, channel.queue, arith::MulIOp::create(builder, loc, count, program));
    if (isGrouped) { // the next tile of all may be another problem's
      static_assert(kPrograms == 2);
      Value next = arith::AddIOp::create(end, loc, walk.getInductionVar(), walk.getStep());
      QueueSkipOp::create(end, loc, channel.queue, stagesOfTile(end, channel, walk, next));
    } else {
      QueueSkipOp::create(end, loc, channel.queue, arith::MulIOp::create(builder, loc, count, others));
    }
    for (Fetch &fetch : channel.fetches)
      for (Operation *user : readersOf(fetch.alloc)) {
        Operation *reader = walk.getBody()->findAncestorOpInBlock(*user);
        first = !first || reader->isBeforeInBlock(first) ? reader : first;
        last = !last || last->isBeforeInBlock(reader) ? reader : last;
      }
  }
  Value ahead = arith::MulIOp::create(builder, loc, walk.getStep(), program);
  Value programs = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(kPrograms));
  Value stride = arith::MulIOp::create(builder, loc, walk.getStep(), programs);
  walk.setLowerBound(arith::AddIOp::create(builder, loc, walk.getLowerBound(), ahead));
  walk.setStep(stride);
  builder.setInsertionPoint(first);
  TurnWaitOp::create(builder, loc, turn);
  builder.setInsertionPointAfter(last);
  TurnPassOp::create(builder, loc, turn);
  kernel->setAttr(TileGPUDialect::kPrograms, builder.getI64IntegerAttr(kPrograms));
}
