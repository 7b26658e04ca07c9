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
// What asynchronous copies cannot take (rows that are not aligned, operands that
// are computed) waits in registers instead: behind the barrier of turn i threads
// put the tile of turn i + 1 into its stage and start to load that of turn i + 2,
// which arrives while the products of turn i run.
//
// Copies and loads beyond the last turn are harmless: they read inside the array
// or nothing, and nobody reads them.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/IR/Decisions.h"
#include "dialects/TileGPU/IR/GlobalAccess.h"
#include "dialects/TileGPU/IR/TmaAccess.h"
#include "dialects/TileGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

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

/// Registers of a thread for tiles that wait there, and with the accumulators.
constexpr int64_t kMostHeld = 64, kMostHeldAndCarried = 160;

/// A tile that the loop makes only to put it into shared memory: one load that is copied asynchronously, or any that
/// wait in registers, and what is computed from them.
struct Stream {
  LocalAllocOp alloc;
  SmallVector<tile::LoadOp> loads;
  bool copied = false;
  Value ring;
  SmallVector<Value> held; ///< the loads' tiles of the next turn

  SmemType slotType() { return alloc.getType(); }
};

//===----------------------------------------------------------------------===//
// What can be copied or loaded ahead
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

/// True when `load` may happen turns before: nobody writes the array, and its place is known.
bool isEarly(tile::LoadOp load, scf::ForOp loop) {
  return load->getBlock() == loop.getBody() && load.getView().getType().isReadOnly() &&
         loop.isDefinedOutsideOfLoop(load.getView()) &&
         llvm::all_of(load->getOperands(), [&](Value operand) { return isRecomputable(operand, loop); });
}

/// Neighbours that a thread copies must be neighbours on both sides, and at
/// least four bytes.
bool isCopyable(tile::LoadOp load, LocalAllocOp alloc, int64_t numWarps) {
  GlobalAccess access = *GlobalAccess::of(load);
  SmemType dest = alloc.getType();
  std::optional<SmallVector<int64_t>> kept = keptDims(access.shape, dest.getShape());
  if (!kept || !isZero(load.getPad()) || !access.dim || *access.dim != (*kept)[dest.getLayout().getOrder().front()] ||
      dest.getElementType() != load.getView().getType().getElementType())
    return false;
  return std::min(access.vector, access.layout(numWarps).contiguity(*access.dim)) * access.elementBytes >= 4;
}

bool feedsProduct(LocalAllocOp alloc) {
  return llvm::any_of(alloc->getUsers(), [](Operation *user) { return isa<MmaOp>(user); });
}

/// Collects what `value` is computed from inside the loop, and the loads among it; false when one of them cannot happen
/// before its turn.
bool collect(Value value, scf::ForOp loop, llvm::SetVector<Operation *> &slice, SmallVector<tile::LoadOp> &loads) {
  if (value == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != loop.getBody())
    return false;
  if (!slice.insert(op))
    return true;
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    loads.push_back(load);
    return isEarly(load, loop);
  }
  return op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return collect(operand, loop, slice, loads); });
}

/// Registers of a thread for a tile as it is loaded: a vector's elements share words.
int64_t loadedRegisters(tile::LoadOp load) {
  GlobalAccess access = *GlobalAccess::of(load);
  Layout layout = Layout::of(load.getType());
  const int64_t vector = access.dim ? std::min(access.run, layout.contiguity(*access.dim)) : 1;
  return layout.numRegisters() / vector * llvm::divideCeil(vector * access.elementBytes, 4);
}

/// Registers of a thread for what the loop carries.
int64_t carriedRegisters(scf::ForOp loop) {
  int64_t registers = 0;
  for (Value carried : loop.getRegionIterArgs())
    if (auto tile = dyn_cast<RankedTensorType>(carried.getType()))
      registers += Layout::of(tile).numRegisters() * llvm::divideCeil(tile.getElementTypeBitWidth(), 32);
  return registers;
}

/// What feeds products of the loop and can be copied or loaded ahead. Registers hold all tiles that wait there, or
/// none.
SmallVector<Stream> findStreams(scf::ForOp loop, int64_t numWarps) {
  SmallVector<Stream> copied, all;
  int64_t held = 0;
  for (auto alloc : loop.getBody()->getOps<LocalAllocOp>()) {
    Stream stream{alloc, {}, false, Value(), {}};
    llvm::SetVector<Operation *> slice;
    if (!feedsProduct(alloc) || !collect(alloc.getSource(), loop, slice, stream.loads) || stream.loads.empty())
      continue;
    Value source = alloc.getSource();
    if (auto convert = source.getDefiningOp<ConvertLayoutOp>()) // a copy chooses its own layout
      source = convert.getSource();
    if (tile::LoadOp load = loadBehind(source); load && isCopyable(load, alloc, numWarps)) {
      stream.copied = true;
      copied.push_back(stream);
      all.push_back(stream);
      continue;
    }
    // Tiles that something else needs would be loaded twice.
    auto isOwn = [&](Operation *op) {
      return !isa<RankedTensorType>(op->getResult(0).getType()) ||
             llvm::all_of(op->getUsers(), [&](Operation *user) { return user == alloc || slice.contains(user); });
    };
    if (alloc.getAsyncReaders() || !llvm::all_of(slice, isOwn))
      continue;
    for (tile::LoadOp load : stream.loads)
      held += loadedRegisters(load);
    all.push_back(stream);
  }
  return held <= kMostHeld && held + carriedRegisters(loop) <= kMostHeldAndCarried ? all : copied;
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
    Value first = constant(0), start = loop.getLowerBound();
    startLoads(start);
    storeLoaded(start, first);
    startLoads(laterTurn(start, 1));
    carry(first);
    rewriter.setInsertionPointToStart(loop.getBody());
    if (copies())
      CopyWaitOp::create(rewriter, loc, stages - 2);
    BarrierOp::create(rewriter, loc);
    startCopies(laterTurn(loop.getInductionVar(), stages - 1), previous(stage));
    storeLoaded(laterTurn(loop.getInductionVar(), 1), next(rewriter, stage));
    startLoads(laterTurn(loop.getInductionVar(), 2));
    yieldLoaded();
    for (Stream &stream : streams)
      useRing(stream);
    // The last groups are empty or unread, but on their way to memory that
    // others may get.
    rewriter.setInsertionPointAfter(loop);
    if (copies())
      CopyWaitOp::create(rewriter, loc, 0);
  }

private:
  bool copies() const {
    return llvm::any_of(streams, [](const Stream &stream) { return stream.copied; });
  }

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

  /// The stage to be read and the tiles in registers become values that the loop carries.
  void carry(Value first) {
    SmallVector<Value> initial{first};
    for (Stream &stream : streams)
      llvm::append_range(initial, stream.held);
    auto yields = [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> added) {
      SmallVector<Value> values(added.begin(), added.end()); // the tiles' turn comes later
      values.front() = next(builder, added.front());
      return values;
    };
    auto longer = cast<LoopLikeOpInterface>(loop.getOperation())
                      .replaceWithAdditionalYields(rewriter, initial,
                                                   /*replaceInitOperandUsesInLoop=*/false, yields);
    loop = cast<scf::ForOp>(longer->getOperation());
    auto added = loop.getRegionIterArgs().take_back(initial.size());
    stage = added.front();
    added = added.drop_front();
    for (Stream &stream : streams) {
      stream.held.assign(added.begin(), added.begin() + stream.held.size());
      added = added.drop_front(stream.held.size());
    }
  }

  void yieldLoaded() {
    SmallVector<Value> values;
    for (Stream &stream : streams)
      llvm::append_range(values, stream.held);
    Operation *yield = loop.getBody()->getTerminator();
    for (auto [operand, value] : llvm::zip_equal(yield->getOpOperands().take_back(values.size()), values))
      operand.set(value);
  }

  /// Copies every copied stream's tile of the turn whose induction variable is
  /// `turn` into `stage`: one group.
  void startCopies(Value turn, Value stage) {
    if (!copies())
      return;
    for (Stream &stream : streams) {
      if (!stream.copied)
        continue;
      tile::LoadOp load = stream.loads.front();
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), turn);
      SmallVector<Value> indices =
          llvm::map_to_vector(load.getIndices(), [&](Value index) { return recompute(index, mapping); });
      Value slot = RingSlotOp::create(rewriter, loc, stream.slotType(), stream.ring, stage);
      LayoutAttr layout = GlobalAccess::of(load)->layout(numWarps).attr(loop.getContext());
      ArrayRef<int64_t> shape = load.getType().getShape();
      CopyAsyncOp::create(rewriter, load.getLoc(), load.getView(), indices, slot, layout, load.getStepAttr(),
                          shape == stream.slotType().getShape() ? DenseI64ArrayAttr()
                                                                : rewriter.getDenseI64ArrayAttr(shape));
    }
    CopyCommitOp::create(rewriter, loc);
  }

  /// Loads the tiles of the turn `turn` that wait in registers.
  void startLoads(Value turn) {
    for (Stream &stream : streams) {
      if (stream.copied)
        continue;
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), turn);
      stream.held.clear();
      for (tile::LoadOp load : stream.loads)
        stream.held.push_back(recompute(load.getResult(), mapping));
    }
  }

  /// Puts what waits in registers, of turn `turn`, into `stage`.
  void storeLoaded(Value turn, Value stage) {
    for (Stream &stream : streams) {
      if (stream.copied)
        continue;
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), turn);
      for (auto [load, held] : llvm::zip_equal(stream.loads, stream.held))
        mapping.map(load.getResult(), held);
      Value tile = recompute(stream.alloc.getSource(), mapping);
      Value slot = RingSlotOp::create(rewriter, loc, stream.slotType(), stream.ring, stage);
      LocalStoreOp::create(rewriter, stream.alloc.getLoc(), tile, slot);
    }
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

  /// Products read from the ring, and what filled the tile goes.
  void useRing(Stream &stream) {
    rewriter.setInsertionPoint(stream.alloc);
    Value slot = RingSlotOp::create(rewriter, stream.alloc.getLoc(), stream.slotType(), stream.ring, stage);
    Operation *source = stream.alloc.getSource().getDefiningOp();
    rewriter.replaceOp(stream.alloc, slot);
    eraseUnused(source);
  }

  void eraseUnused(Operation *op) {
    if (!op || op->getBlock() != loop.getBody() || !isOpTriviallyDead(op))
      return;
    SmallVector<Value> operands(op->getOperands());
    rewriter.eraseOp(op);
    for (Value operand : operands)
      eraseUnused(operand.getDefiningOp());
  }

  scf::ForOp loop;
  SmallVector<Stream> streams;
  int64_t stages, numWarps;
  Value stage; ///< to be read in this turn
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
          for (tile::LoadOp load : stream.loads)
            tellPassed(load, "load", stream.copied ? "cp.async" : "registers, a turn ahead",
                       {{"array", arrayName(load.getView())}, {"stages", std::to_string(stages)}});
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
    const bool copies = llvm::any_of(streams, [](const Stream &stream) { return stream.copied; });
    const int64_t room = (limit - (others - stageBytes)) / stageBytes;
    const int64_t roomForTwo = (limit / 2 - (others - stageBytes)) / stageBytes;
    if (numStages > 0)
      return std::min<int64_t>(numStages, room);
    if (!copies) // what waits in registers needs no more
      return std::min(kMinStages, room);
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
