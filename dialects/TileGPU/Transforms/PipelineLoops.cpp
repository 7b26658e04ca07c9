//===- PipelineLoops.cpp - Operands copied ahead of their products --------===//
//
// A loop that loads a tile, puts it into shared memory and multiplies it waits
// for global memory every turn. Here the tiles get rings of several stages.
// Before the loop the first stages are filled by asynchronous copies; in turn i
// the copies of turn i + stages - 1 start, into the stage that turn i - 1 has
// read, and the products read the stage of turn i. One barrier a turn says both
// that the stage has arrived for every thread and that the stage to be refilled
// has been read by every thread.
//
// Copies beyond the last turn are harmless: they read inside the array or
// nothing, and nobody reads them.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/IR/Decisions.h"
#include "dialects/TileGPU/IR/GlobalAccess.h"
#include "dialects/TileGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// More stages hide no more latency.
constexpr int64_t kMaxRing = 4;
/// Fewer leave no copy in flight while a stage is read.
constexpr int64_t kMinStages = 2, kGoodStages = 3;
/// Left for reductions and conversions in the loop.
constexpr int64_t kReservedBytes = 4096;

/// A tile that is loaded in the loop only to be put into shared memory.
struct Stream {
  tile::LoadOp load;
  LocalAllocOp alloc;
  Value ring;

  SmemType slotType() { return alloc.getType(); }
};

//===----------------------------------------------------------------------===//
// What can be copied ahead
//===----------------------------------------------------------------------===//

/// True when `value` can be computed for another turn: from the induction
/// variable and what the loop does not change.
bool isRecomputable(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == loop.getBody() && op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isRecomputable(operand, loop); });
}

bool isZero(Value pad) { return !pad || matchPattern(pad, m_PosZeroFloat()) || matchPattern(pad, m_Zero()); }

/// Neighbours that a thread copies must be neighbours on both sides, and at
/// least four bytes.
bool isCopyable(tile::LoadOp load, LocalAllocOp alloc, int64_t numWarps) {
  GlobalAccess access = *GlobalAccess::of(load);
  const int64_t dim = access.dim.value_or(-1);
  if (dim != alloc.getType().getLayout().getOrder().front() ||
      alloc.getType().getElementType() != load.getView().getType().getElementType())
    return false;
  return std::min(access.vector, access.layout(numWarps).contiguity(dim)) * access.elementBytes >= 4;
}

bool feedsProduct(LocalAllocOp alloc) {
  return llvm::any_of(alloc->getUsers(), [](Operation *user) { return isa<MmaOp>(user); });
}

SmallVector<Stream> findStreams(scf::ForOp loop, int64_t numWarps) {
  SmallVector<Stream> streams;
  for (auto alloc : loop.getBody()->getOps<LocalAllocOp>()) {
    Value source = alloc.getSource();
    if (auto convert = source.getDefiningOp<ConvertLayoutOp>()) // the copy chooses its own
                                                                // layout
      source = convert.getSource();
    auto load = source.getDefiningOp<tile::LoadOp>();
    if (load && load->getBlock() == loop.getBody() && load.getView().getType().isReadOnly() &&
        loop.isDefinedOutsideOfLoop(load.getView()) && isZero(load.getPad()) && isCopyable(load, alloc, numWarps) &&
        feedsProduct(alloc) &&
        llvm::all_of(load.getIndices(), [&](Value index) { return isRecomputable(index, loop); }))
      streams.push_back({load, alloc, Value()});
  }
  return streams;
}

//===----------------------------------------------------------------------===//
// One loop
//===----------------------------------------------------------------------===//

class LoopPipeline {
public:
  LoopPipeline(scf::ForOp loop, SmallVector<Stream> streams, int64_t stages, int64_t numWarps)
      : loop(loop), streams(std::move(streams)), stages(stages), numWarps(numWarps), rewriter(loop.getContext()),
        loc(loop.getLoc()) {}

  void run() {
    rewriter.setInsertionPoint(loop);
    for (Stream &stream : streams)
      stream.ring = RingOp::create(rewriter, loc, stream.slotType().staged(stages));
    for (int64_t stage = 0; stage + 1 < stages; ++stage)
      startCopies(laterTurn(loop.getLowerBound(), stage), constant(stage));
    Value first = constant(0);
    carryStage(first);
    rewriter.setInsertionPointToStart(loop.getBody());
    Value stage = loop.getRegionIterArgs().back();
    CopyWaitOp::create(rewriter, loc, stages - 2);
    BarrierOp::create(rewriter, loc);
    startCopies(laterTurn(loop.getInductionVar(), stages - 1), previous(stage));
    for (Stream &stream : streams)
      useRing(stream, stage);
    // The last groups are empty or unread, but on their way to memory that
    // others may get.
    rewriter.setInsertionPointAfter(loop);
    CopyWaitOp::create(rewriter, loc, 0);
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  /// The induction variable `turns` turns after `turn`.
  Value laterTurn(Value turn, int64_t turns) {
    if (turns == 0)
      return turn;
    Value count = arith::ConstantOp::create(rewriter, loc, rewriter.getIntegerAttr(turn.getType(), turns));
    Value distance = arith::MulIOp::create(rewriter, loc, loop.getStep(), count);
    return arith::AddIOp::create(rewriter, loc, turn, distance);
  }

  /// The stage before, around the ring.
  Value previous(Value stage) {
    Value isFirst = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, stage, constant(0));
    Value before = arith::SubIOp::create(rewriter, loc, stage, constant(1));
    return arith::SelectOp::create(rewriter, loc, isFirst, constant(stages - 1), before);
  }

  Value next(OpBuilder &builder, Value stage) {
    auto literal = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
    };
    Value after = arith::AddIOp::create(builder, loc, stage, literal(1));
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, after, literal(stages));
    return arith::SelectOp::create(builder, loc, isLast, literal(0), after);
  }

  /// The stage to be read becomes one more value that the loop carries.
  void carryStage(Value first) {
    auto yields = [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> added) {
      return SmallVector<Value>{next(builder, added.front())};
    };
    auto longer = cast<LoopLikeOpInterface>(loop.getOperation())
                      .replaceWithAdditionalYields(rewriter, first,
                                                   /*replaceInitOperandUsesInLoop=*/false, yields);
    loop = cast<scf::ForOp>(longer->getOperation());
  }

  /// Copies every stream's tile of the turn whose induction variable is `turn`
  /// into `stage`: one group.
  void startCopies(Value turn, Value stage) {
    for (Stream &stream : streams) {
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), turn);
      SmallVector<Value> indices =
          llvm::map_to_vector(stream.load.getIndices(), [&](Value index) { return recompute(index, mapping); });
      Value slot = RingSlotOp::create(rewriter, loc, stream.slotType(), stream.ring, stage);
      LayoutAttr layout = GlobalAccess::of(stream.load)->layout(numWarps).attr(loop.getContext());
      CopyAsyncOp::create(rewriter, stream.load.getLoc(), stream.load.getView(), indices, slot, layout,
                          stream.load.getStepAttr());
    }
    CopyCommitOp::create(rewriter, loc);
  }

  Value recompute(Value value, IRMapping &mapping) {
    if (mapping.contains(value) || loop.isDefinedOutsideOfLoop(value))
      return mapping.lookupOrDefault(value);
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      recompute(operand, mapping);
    rewriter.clone(*op, mapping);
    return mapping.lookup(value);
  }

  void useRing(Stream &stream, Value stage) {
    rewriter.setInsertionPoint(stream.alloc);
    Value slot = RingSlotOp::create(rewriter, stream.alloc.getLoc(), stream.slotType(), stream.ring, stage);
    Operation *source = stream.alloc.getSource().getDefiningOp(); // the load, or its conversion
    const bool converted = source != stream.load;
    rewriter.replaceOp(stream.alloc, slot);
    if (source->use_empty())
      rewriter.eraseOp(source);
    if (converted && stream.load->use_empty())
      rewriter.eraseOp(stream.load);
  }

  scf::ForOp loop;
  SmallVector<Stream> streams;
  int64_t stages, numWarps;
  IRRewriter rewriter;
  Location loc;
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct PipelineLoops : PassWrapper<PipelineLoops, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PipelineLoops)
  PipelineLoops() = default;
  PipelineLoops(const PipelineLoops &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "tilegpu-pipeline-loops"; }
  StringRef getDescription() const final { return "copy the operands of products to shared memory turns ahead"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<TileGPUDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() final {
    tile::KernelOp kernel = getOperation();
    TargetAttr target = TargetAttr::of(kernel);
    auto numWarps = kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::kNumWarps);
    if (!target || !target.has("cp_async") || !numWarps || numStages == 1)
      return;
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); }); // inner loops first
    for (scf::ForOp loop : loops) {
      SmallVector<Stream> streams = findStreams(loop, numWarps.getInt());
      if (int64_t stages = streams.empty() ? 0 : chooseStages(streams, target.limit(TargetAttr::kSharedLimit));
          stages >= kMinStages) {
        for (Stream &stream : streams)
          tellPassed(stream.load, "load", "cp.async",
                     {{"array", arrayName(stream.load.getView())}, {"stages", std::to_string(stages)}});
        LoopPipeline(loop, std::move(streams), stages, numWarps.getInt()).run();
      }
    }
  }

  /// As many stages as help and as memory has room for beside the kernel's
  /// other tiles, where possible for two blocks on a multiprocessor.
  int64_t chooseStages(ArrayRef<Stream> streams, int64_t limit) {
    int64_t stageBytes = 0, others = kReservedBytes;
    for (Stream stream : streams)
      stageBytes += stream.slotType().getBytes();
    getOperation().walk([&](Operation *op) {
      if (isa<LocalAllocOp, RingOp>(op))
        others += cast<SmemType>(op->getResult(0).getType()).getBytes();
    });
    const int64_t room = (limit - (others - stageBytes)) / stageBytes;
    const int64_t roomForTwo = (limit / 2 - (others - stageBytes)) / stageBytes;
    if (numStages > 0)
      return std::min<int64_t>(numStages, room);
    return std::min(kMaxRing, roomForTwo >= kGoodStages ? roomForTwo : room);
  }

  Option<int64_t> numStages{*this, "num-stages", llvm::cl::desc("stages of a ring; 0: as many as help, 1: no rings"),
                            llvm::cl::init(0)};
};
} // namespace

std::unique_ptr<Pass> tilec::createPipelineLoopsPass(int64_t numStages) {
  auto pass = std::make_unique<PipelineLoops>();
  pass->numStages = numStages;
  return pass;
}
