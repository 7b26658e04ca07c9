//===- Specialize.cpp - Roles for warps -----------------------------------===//
//
// A kernel whose products read tiles that the copy engine can fetch is divided:
// one thread fetches, the other warps compute. Both run the kernel's control
// flow; between them are queues, one for the tiles that a product reads
// together. The producer runs ahead as far as the queues have stages, through
// the end of a loop and into the next tile of the output.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/IR/Decisions.h"
#include "dialects/TileGPU/IR/Layout.h"
#include "dialects/TileGPU/IR/TilePlan.h"
#include "dialects/TileGPU/IR/TmaAccess.h"
#include "dialects/TileGPU/Transforms/Fetches.h"
#include "dialects/TileGPU/Transforms/Passes.h"
#include "dialects/TileGPU/Transforms/WalkTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// More stages hide no more latency. Allocation takes away those that there is no memory for.
constexpr int64_t kMaxStages = 12;
constexpr int64_t kWarpgroup = 4;
/// Rows of tiles that are walked together: enough that operands are reused along both dimensions.
constexpr int64_t kPanelRows = 16, kPanelRowsInTurns = 8;
/// Programs that take turns: while one multiplies, the other stores.
constexpr int64_t kPrograms = 2;

//===----------------------------------------------------------------------===//
// The producer
//===----------------------------------------------------------------------===//

/// Takes tiles out of a region that needs their places only: what is left computes scalars and fetches.
class TileEraser {
public:
  explicit TileEraser(Region &region) : region(region), builder(region.getContext()) {}

  void run() {
    erase(region.front());
    RewritePatternSet patterns(region.getContext());
    scf::ForOp::getCanonicalizationPatterns(patterns, region.getContext());
    scf::IfOp::getCanonicalizationPatterns(patterns, region.getContext());
    SmallVector<Operation *> ops;
    region.walk([&](Operation *op) { ops.push_back(op); });
    (void)applyOpPatternsGreedily(ops, std::move(patterns));
  }

private:
  static bool isTile(Type type) { return isa<RankedTensorType, SmemType>(type); }

  void erase(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      for (Region &inner : op.getRegions())
        for (Block &nested : inner)
          erase(nested);
      if (isa<TmaLoadOp, RingSlotOp, ub::PoisonOp>(op))
        continue;
      const bool keepsStructure = op.getNumRegions() != 0 || op.hasTrait<OpTrait::IsTerminator>();
      if (keepsStructure && !isa<tile::ReduceOp>(op)) {
        replaceTiles(op.getResults());
        for (OpOperand &operand : op.getOpOperands())
          if (isTile(operand.get().getType()))
            operand.set(unused(operand.get().getType()));
        for (Region &inner : op.getRegions())
          for (BlockArgument argument : inner.getArguments())
            replaceTiles(argument);
      } else if (llvm::any_of(op.getOperandTypes(), isTile) || llvm::any_of(op.getResultTypes(), isTile) ||
                 isa<tile::AssertOp, PrintOp>(op)) {
        for (Value result : op.getResults())
          if (!result.use_empty())
            result.replaceAllUsesWith(unused(result.getType()));
        op.erase();
      }
    }
  }

  void replaceTiles(ValueRange values) {
    for (Value value : values)
      if (isTile(value.getType()) && !value.use_empty())
        value.replaceAllUsesWith(unused(value.getType()));
  }

  /// One for each type, so that a loop that carries it is seen to carry nothing.
  Value unused(Type type) {
    Value &value = unusedValues[type];
    if (!value) {
      builder.setInsertionPointToStart(&region.front());
      value = ub::PoisonOp::create(builder, region.getLoc(), type);
    }
    return value;
  }

  Region &region;
  OpBuilder builder;
  DenseMap<Type, Value> unusedValues;
};

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

/// CTAs that share operands by multicast.
constexpr int64_t kCluster = 2;
constexpr int64_t kCacheLineBytes = 128;

/// True when rows of the arrays start anywhere in a cache line: each row of a box then takes two lines, and the
/// second-level cache delivers twice as much. Fetching once for several CTAs makes up for it.
bool rowsStraddleLines(ArrayRef<Fetch> fetches) {
  return llvm::any_of(fetches, [](const Fetch &fetch) {
    auto partition = dyn_cast<tile::PartitionType>(fetch.access.root.getType());
    auto view = partition ? partition.getView() : cast<tile::ViewType>(fetch.access.root.getType());
    return llvm::any_of(llvm::drop_begin(fetch.access.order),
                        [&](int64_t dim) { return view.getStrideAlign()[dim] < kCacheLineBytes; });
  });
}

/// Makes the number of boxes one that a cluster can share; false when their rows cannot be divided.
bool divideBoxes(TmaAccess &access) {
  int64_t boxes = 1;
  for (auto [extent, box] : llvm::zip_equal(access.extent, access.box))
    boxes *= extent / box;
  if (boxes % kCluster == 0)
    return true;
  if (access.box.size() < 2 || access.box[1] % (kCluster * kSwizzleRows) != 0)
    return false;
  access.box[1] /= kCluster;
  return true;
}

/// Partitions of matrices have rows of tiles, of which a cluster takes a few at a time.
bool hasRowsOfTiles(tile::KernelOp kernel) {
  auto partitions = llvm::make_filter_range(kernel.getArgumentTypes(), llvm::IsaPred<tile::PartitionType>);
  return !partitions.empty() && cast<tile::PartitionType>(*partitions.begin()).getRank() >= 2;
}

/// True when a CTA at a row of tiles behind the last stores nothing: bounds are checked there. A cluster has such a
/// row where their number is odd.
bool dropsRowsBeyond(tile::KernelOp kernel) {
  return !kernel
              .walk([](tile::StoreOp store) {
                auto partition = dyn_cast<tile::PartitionType>(store.getDest().getType());
                const int64_t rows = partition ? partition.getRank() - 2 : 0;
                const bool checked =
                    partition && partition.getView().getDivisible()[rows] % partition.getTileShape()[rows] != 0;
                return checked ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// True when CTAs at different rows of tiles run the same fetches as often: then they can fetch for each other.
bool rowsFetchAlike(ArrayRef<Fetch> fetches) {
  return llvm::none_of(fetches, [](const Fetch &fetch) {
    return llvm::any_of(sourcesOf(controlOf(fetch.load)), [](Value source) {
      auto index = source.getDefiningOp<tile::IndexOp>();
      return index && cast<OpResult>(source).getResultNumber() + 2 == index.getNumResults();
    });
  });
}

//===----------------------------------------------------------------------===//
// Programs that take turns
//===----------------------------------------------------------------------===//

/// Accumulators that a thread may hold beside what else it needs.
constexpr int64_t kMostAccumulators = 192;

/// Accumulators that fit into the registers that 384 threads start with.
constexpr int64_t kMostStartingAccumulators = 144;

/// Where results are computed on before they are stored, fewer.
constexpr int64_t kMostBesideArithmetic = 96;

/// True when tiles are computed on, beside products and conversions of their elements.
bool computesOnTiles(tile::KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        const bool computes = op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
                              isa<RankedTensorType>(op->getResult(0).getType()) &&
                              !isa<arith::TruncFOp, arith::ExtFOp>(op);
        return computes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Elements of all accumulators of a kernel.
int64_t accumulatorElements(tile::KernelOp kernel) {
  int64_t elements = 0;
  kernel.walk([&](MmaOp product) {
    if (!isa_and_nonnull<MmaOp>(product.getAcc().getDefiningOp())) // else it is the same accumulator
      elements += product.getAcc().getType().getNumElements();
  });
  return elements;
}

/// Elements of left operands that products take from registers; the next turn's are on their way by then.
int64_t leftElements(tile::KernelOp kernel) {
  int64_t elements = 0;
  kernel.walk([&](LocalLoadOp load) { elements += 2 * cast<RankedTensorType>(load.getType()).getNumElements(); });
  return elements;
}

/// True when one warpgroup can hold every accumulator.
bool fitsOneWarpgroup(tile::KernelOp kernel) {
  return accumulatorElements(kernel) <= kMostAccumulators * kWarpgroup * kLanes;
}

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

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

class Specialization {
public:
  /// `walk` is the loop over tiles, if the programs of a CTA are to take turns at them.
  Specialization(tile::KernelOp kernel, SmallVector<Channel, 0> channels, int64_t stages, scf::ForOp walk)
      : kernel(kernel), channels(std::move(channels)), stages(stages), walk(walk), builder(kernel.getContext()),
        loc(kernel.getLoc()) {}

  void run() {
    Block &entry = kernel.getBody().front();
    builder.setInsertionPoint(entry.getTerminator());
    auto roles = RolesOp::create(builder, loc);
    Block *producer = builder.createBlock(&roles.getProducer()), *consumer = builder.createBlock(&roles.getConsumer());
    consumer->getOperations().splice(consumer->end(), entry.getOperations(), entry.begin(), Block::iterator(roles));
    builder.setInsertionPointToStart(&entry);
    for (Channel &channel : channels)
      declare(channel);
    IRMapping mapping;
    builder.setInsertionPointToStart(producer);
    for (Operation &op : *consumer)
      builder.clone(op, mapping);
    if (walk)
      takeTurns();
    for (Channel &channel : channels) {
      produce(channel, mapping);
      consume(channel);
    }
    TileEraser(roles.getProducer()).run();
    kernel->setAttr(TileGPUDialect::kProducerWarps, builder.getI64IntegerAttr(kWarpgroup));
  }

private:
  void declare(Channel &channel) {
    for (Fetch &fetch : channel.fetches)
      channel.rings.push_back(RingOp::create(builder, fetch.load.getLoc(), fetch.type().staged(stages)));
    auto warps = kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::kNumWarps).getInt();
    auto cluster = kernel->hasAttr(TileGPUDialect::kSharesTiles) // whose CTAs fetch different parts
                       ? IntegerAttr()
                       : kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::kCluster);
    channel.queue = QueueOp::create(builder, loc, QueueType::get(builder.getContext(), stages), channel.stageBytes(),
                                    warps / kWarpgroup, cluster ? cluster.getInt() : 1);
  }

  void produce(Channel &channel, const IRMapping &mapping) {
    // Behind the last load every place is known.
    Operation *last = nullptr;
    for (Fetch &fetch : channel.fetches)
      if (Operation *alloc = mapping.lookup(fetch.alloc.getOperation()); !last || last->isBeforeInBlock(alloc))
        last = alloc;
    builder.setInsertionPoint(last);
    Value stage = QueueAcquireOp::create(builder, loc, builder.getI32Type(), channel.queue);
    for (auto [fetch, ring] : llvm::zip_equal(channel.fetches, channel.rings)) {
      Location at = fetch.load.getLoc();
      auto load = cast<tile::LoadOp>(mapping.lookup(fetch.load.getOperation()));
      SmallVector<int64_t> step(load.getStep().value_or(fetch.load.getType().getShape()));
      SmallVector<Value> offsets;
      for (int64_t dim : fetch.access.dims) {
        Value extent = arith::ConstantIndexOp::create(builder, at, step[dim]);
        offsets.push_back(arith::MulIOp::create(builder, at, load.getIndices()[dim], extent));
      }
      Value map = createTensorMap(builder, at, mapping.lookupOrDefault(fetch.access.root), fetch.access.order,
                                  fetch.access.box, fetch.type().getLayout().getSwizzle());
      Value slot = RingSlotOp::create(builder, at, fetch.type(), ring, stage);
      TmaLoadOp::create(builder, at, map, offsets, slot, channel.queue, stage, fetch.isShared, fetch.eviction);
    }
  }

  /// Program p takes every tile whose number is p modulo the number of programs, and passes by the stages of the
  /// others. One issues products at a time, so that each finishes its tile early and stores it while another
  /// multiplies; and a program never waits for a stage more than one round ahead, where a barrier's parity would mean
  /// nothing.
  void takeTurns() {
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
      Value count = stagesOfTile(builder, channel, walk.getLowerBound());
      QueueSkipOp::create(builder, loc, channel.queue, arith::MulIOp::create(builder, loc, count, program));
      if (isGrouped) { // the next tile of all may be another problem's
        static_assert(kPrograms == 2);
        Value next = arith::AddIOp::create(end, loc, walk.getInductionVar(), walk.getStep());
        QueueSkipOp::create(end, loc, channel.queue, stagesOfTile(end, channel, next));
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

  /// How many stages the tile of a number takes from a channel, an i32.
  Value stagesOfTile(OpBuilder &at, Channel &channel, Value number) {
    Value count = arith::ConstantOp::create(at, loc, at.getI32IntegerAttr(1));
    const SmallVector<scf::ForOp> loops = *regularLoops(channel.fetches.front(), walk);
    for (scf::ForOp loop : loops)
      count = arith::MulIOp::create(at, loc, count, turnsOf(at, loop, walk, number));
    return count;
  }

  void consume(Channel &channel) {
    Operation *first = nullptr;
    for (Fetch &fetch : channel.fetches)
      if (!first || fetch.alloc->isBeforeInBlock(first))
        first = fetch.alloc;
    builder.setInsertionPoint(first);
    Value stage = QueueWaitOp::create(builder, loc, builder.getI32Type(), channel.queue);
    Operation *lastReader = stage.getDefiningOp();
    Block *block = first->getBlock();
    for (auto [fetch, ring] : llvm::zip_equal(channel.fetches, channel.rings)) {
      builder.setInsertionPointAfterValue(stage);
      Value slot = RingSlotOp::create(builder, fetch.load.getLoc(), fetch.type(), ring, stage);
      for (Operation *user : readersOf(fetch.alloc))
        if (Operation *reader = block->findAncestorOpInBlock(*user); lastReader->isBeforeInBlock(reader))
          lastReader = reader;
      Operation *reshape = fetch.alloc.getSource().getDefiningOp(); // or the load
      fetch.alloc.replaceAllUsesWith(slot);
      fetch.alloc.erase();
      if (reshape != fetch.load && reshape->use_empty())
        reshape->erase();
      if (fetch.load->use_empty())
        fetch.load.erase();
    }
    builder.setInsertionPointAfter(lastReader);
    QueueReleaseOp::create(builder, loc, channel.queue, /*when=*/Value());
  }

  tile::KernelOp kernel;
  SmallVector<Channel, 0> channels;
  int64_t stages;
  scf::ForOp walk;
  OpBuilder builder;
  Location loc;
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct Specialize : PassWrapper<Specialize, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Specialize)
  Specialize() = default;
  Specialize(const Specialize &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "tilegpu-specialize"; }
  StringRef getDescription() const final { return "divide a kernel's warps into a producer and consumers"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<TileGPUDialect, arith::ArithDialect, scf::SCFDialect, ub::UBDialect>();
  }

  void runOnOperation() final {
    tile::KernelOp kernel = getOperation();
    TargetAttr target = TargetAttr::of(kernel);
    if (isAskedAbout(kernel))
      explainLoads(kernel, target);
    const TilePlan plan = TilePlan::of(kernel);
    if (!target || !target.has("tma") || findFetches(kernel).empty()) {
      if (plan.asked.ctas.value_or(1) != 1)
        warnOfHint(kernel, "num_ctas", *plan.asked.ctas,
                   target && target.has("cluster") ? "no product reads a tile that TMA fetches for a cluster"
                                                   : "the target has no clusters");
      return explainNoRoles();
    }
    const bool hasWarpsForTurns = plan.asked.warps.value_or(kPrograms * kWarpgroup) == kPrograms * kWarpgroup;
    const bool turnsAreWanted =
        plan.schedule ? *plan.schedule == Schedule::pingpong : hasWarpsForTurns && fitsOneWarpgroup(kernel);
    Walk walk; // a tile that CTAs share is the only one of their program
    if (kernel->hasAttr(TileGPUDialect::kSharesTiles)) {
      if (plan.asked.ctas.value_or(plan.splitK) != plan.splitK)
        warnOfHint(kernel, "num_ctas", *plan.asked.ctas,
                   "by the plan for its tile, " + Twine(plan.splitK) + " CTAs share the depth of a product");
    } else {
      walk = walkTiles(kernel, chooseCluster(plan, target), panelRows(plan, turnsAreWanted));
    }
    SmallVector<Channel, 0> channels = joinFetches(findFetches(kernel));
    for (Channel &channel : channels)
      for (Fetch &fetch : channel.fetches) {
        fetch.isShared =
            walk.rank && !sourcesOf(fetch.load.getIndices()).contains(walk.rank) && divideBoxes(fetch.access);
        fetch.eviction = chooseEviction(plan, fetch);
      }
    if (walk.rank)
      kernel->setAttr(TileGPUDialect::kCluster, Builder(&getContext()).getI64IntegerAttr(kCluster));
    const bool turns = walk.loop && turnsAreWanted && llvm::all_of(channels, [&](Channel &channel) {
                         return regularLoops(channel.fetches.front(), walk.loop).has_value();
                       });
    if (turns)
      kernel->setAttr(TileGPUDialect::kNumWarps, Builder(&getContext()).getI64IntegerAttr(kWarpgroup));
    if (isAskedAbout(kernel)) {
      explainFetches(channels);
      explainRoles(plan, walk, turns, turnsAreWanted);
    }
    Specialization(kernel, std::move(channels), numStages > 0 ? numStages.getValue() : kMaxStages,
                   turns ? walk.loop : scf::ForOp())
        .run();
    const int64_t warps = kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::kNumWarps).getInt();
    const int64_t most = computesOnTiles(kernel) ? kMostBesideArithmetic : kMostStartingAccumulators;
    if (accumulatorElements(kernel) + leftElements(kernel) > most * warps * kLanes)
      kernel->setAttr(TileGPUDialect::kMovesRegisters, Builder(&getContext()).getUnitAttr());
  }

  /// CTAs along the rows of tiles that share what they fetch; 1: none do.
  int64_t chooseCluster(const TilePlan &plan, TargetAttr target) {
    tile::KernelOp kernel = getOperation();
    SmallVector<Fetch, 0> fetches = findFetches(kernel);
    StringRef whyNot = !target.has("tma_multicast") ? "the target has no multicast"
                       : !hasRowsOfTiles(kernel)    ? "the output has no rows of tiles"
                       : !dropsRowsBeyond(kernel)   ? "a row of tiles too many would be stored"
                       : !rowsFetchAlike(fetches)   ? "the turns of a tile's loop depend on its row"
                                                    : "";
    // Problems of a group may have a single row of tiles each, which the plan knows.
    const bool isGrouped = kernel->hasAttr(tile::TileDialect::kGrouped);
    const bool straddle = !isGrouped && rowsStraddleLines(fetches);
    const std::optional<int64_t> asked = plan.asked.ctas;
    const std::optional<int64_t> wanted = asked == 1 || asked == kCluster ? asked : plan.cluster;
    const bool shares = whyNot.empty() && (wanted ? *wanted == kCluster : straddle);
    if (asked && *asked != (shares ? kCluster : 1))
      warnOfHint(kernel, "num_ctas", *asked, whyNot.empty() ? "CTAs fetch for each other in clusters of 2" : whyNot);
    tellChoice(kernel, "cluster", shares ? "2 CTAs, at neighbouring rows of tiles, fetch for each other" : "none",
               !whyNot.empty() ? whyNot
               : wanted        ? wanted == asked ? "num_ctas" : "planned with the tile"
               : isGrouped     ? "problems may have one row of tiles each"
               : straddle      ? "rows of an array start in the middle of cache lines"
                               : "rows of the arrays start at cache lines");
    return shares ? kCluster : 1;
  }

  void explainNoRoles() {
    constexpr StringLiteral kWhy = "no product reads a tile that TMA fetches";
    tile::KernelOp kernel = getOperation();
    tellChoice(kernel, "roles", "none: all warps load and compute", kWhy);
    if (kernel.walk([](MmaOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
      tellChoice(kernel, "cluster", "none", kWhy);
      tellChoice(kernel, "raster", "a CTA for every tile, row by row", kWhy);
    }
  }

  void explainRoles(const TilePlan &plan, const Walk &walk, bool turns, bool turnsAreWanted) {
    tile::KernelOp kernel = getOperation();
    const int64_t warps = kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::kNumWarps).getInt();
    StringRef planned = plan.schedule ? "planned with the tile" : "";
    if (turns)
      tellChoice(kernel, "roles", "ping-pong: a producer, and two programs of 4 warps that take turns at tiles",
                 planned.empty() ? "one warpgroup can hold the accumulators" : planned);
    else
      tellChoice(kernel, "roles",
                 warps > kWarpgroup ? "cooperative: a producer, and two warpgroups that share a tile"
                                    : "a producer, and one warpgroup that multiplies",
                 !walk.loop                            ? "CTAs do not walk over tiles"
                 : turnsAreWanted                      ? "no turns: not every tile has as many fetches"
                 : plan.asked.warps && planned.empty() ? "num_warps"
                 : planned.empty()                     ? "one warpgroup cannot hold the accumulators"
                                                       : planned);
    if (walk.loop)
      tellChoice(
          kernel, "raster",
          llvm::formatv("persistent: CTAs walk over tiles in panels of {0} rows", panelRows(plan, turnsAreWanted))
              .str(),
          plan.panelRows ? "planned with the tile" : "");
  }

  static int64_t panelRows(const TilePlan &plan, bool turnsAreWanted) {
    return plan.panelRows.value_or(turnsAreWanted ? kPanelRowsInTurns : kPanelRows);
  }

  static Eviction chooseEviction(const TilePlan &plan, const Fetch &fetch) {
    const int64_t argument = *argumentNumber(fetch.access.root);
    return llvm::is_contained(plan.keptInL2, argument)          ? Eviction::last
           : llvm::is_contained(plan.passedThroughL2, argument) ? Eviction::first
                                                                : Eviction::normal;
  }

  Option<int64_t> numStages{*this, "num-stages", llvm::cl::desc("stages of a queue; 0: as many as there is memory for"),
                            llvm::cl::init(0)};
};
} // namespace

std::unique_ptr<Pass> tilec::createSpecializePass(int64_t numStages) {
  auto pass = std::make_unique<Specialize>();
  pass->numStages = numStages;
  return pass;
}
