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
#include "dialects/TileGPU/Transforms/Clusters.h"
#include "dialects/TileGPU/Transforms/Fetches.h"
#include "dialects/TileGPU/Transforms/Passes.h"
#include "dialects/TileGPU/Transforms/RegisterNeeds.h"
#include "dialects/TileGPU/Transforms/TileEraser.h"
#include "dialects/TileGPU/Transforms/Turns.h"
#include "dialects/TileGPU/Transforms/WalkTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// More stages hide no more latency. Allocation takes away those that there is no memory for.
constexpr int64_t kMaxStages = 12;
/// Rows of tiles that are walked together: enough that operands are reused along both dimensions.
constexpr int64_t kPanelRows = 16, kPanelRowsInTurns = 8;

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
      takeTurns(kernel, channels, walk);
    for (Channel &channel : channels) {
      produce(channel, mapping);
      consume(channel);
    }
    eraseTiles(roles.getProducer());
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
      const int64_t cluster = kernel->hasAttr(TileGPUDialect::kCluster) ? plan.splitK : 1;
      if (plan.asked.ctas.value_or(cluster) != cluster)
        warnOfHint(kernel, "num_ctas", *plan.asked.ctas,
                   "by the plan for its tile, " + Twine(plan.splitK) + " CTAs share the depth of a product");
    } else {
      walk = walkTiles(kernel, chooseCluster(kernel, plan, target), panelRows(plan, turnsAreWanted));
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
    const bool turns = walk.loop && turnsAreWanted && canTakeTurns(channels, walk.loop);
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
    if (needsMoreRegisters(kernel, warps))
      kernel->setAttr(TileGPUDialect::kMovesRegisters, Builder(&getContext()).getUnitAttr());
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
                 warps == kWarpgroup       ? "a producer, and one warpgroup that multiplies"
                 : warps == 2 * kWarpgroup ? "cooperative: a producer, and two warpgroups that share a tile"
                                           : "cooperative: a producer, and three warpgroups that share a tile",
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
