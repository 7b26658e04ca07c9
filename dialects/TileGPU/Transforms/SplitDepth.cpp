//===- SplitDepth.cpp - CTAs that share the depth of a product ------------===//
//
// A small output with a deep product has fewer tiles than the GPU has
// multiprocessors. Where the plan says so, the CTAs of a cluster share one
// tile: each runs a part of the loop. Then each adds up some columns of what all
// have and finishes those, or the first adds up all and goes on alone; always in
// the same order. CTAs without a cluster leave their parts in a workspace in
// global memory, and the last of them to come adds up all and goes on alone.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/IR/Decisions.h"
#include "dialects/TileGPU/IR/TilePlan.h"
#include "dialects/TileGPU/Transforms/Accumulation.h"
#include "dialects/TileGPU/Transforms/Passes.h"
#include "dialects/TileGPU/Transforms/SliceTiles.h"
#include "dialects/TileGPU/Transforms/WalkTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// Rows of tiles that clusters walk together.
constexpr int64_t kClusterPanelRows = 16;

/// The one loop of the kernel, if it only accumulates products, from zero, in 32 bits.
scf::ForOp findLoop(tile::KernelOp kernel) {
  SmallVector<scf::ForOp> loops(kernel.getBody().getOps<scf::ForOp>());
  bool others = false;
  kernel.walk(
      [&](Operation *op) { others |= isa<MmaOp>(op) && (loops.empty() || op->getParentOp() != loops.front()); });
  if (loops.size() != 1 || others)
    return {};
  scf::ForOp loop = loops.front();
  for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number)
    if (!accumulation(loop, number) || !isZeroTile(loop.getInitArgs()[number]) ||
        cast<RankedTensorType>(loop.getResult(number).getType()).getElementTypeBitWidth() != 32)
      return {};
  return loop.getNumResults() == 0 ? scf::ForOp() : loop;
}

class Split {
public:
  Split(scf::ForOp loop, Value rank, int64_t parts)
      : loop(loop), rank(rank), parts(parts), rewriter(loop.getContext()), loc(loop.getLoc()) {}

  void runByWorkspace() {
    divide();
    rewriter.setInsertionPointAfter(loop);
    SmallVector<Type> types(loop.getResultTypes());
    types.push_back(rewriter.getI1Type());
    auto sum = WorkspaceSumOp::create(rewriter, loc, types, loop.getResults(), parts);
    for (auto [part, whole] : llvm::zip_equal(loop.getResults(), sum.getSums()))
      rewriter.replaceAllUsesExcept(part, whole, sum);
    goOnWhere(sum.getIsLast());
  }

  void run() {
    divide();
    rewriter.setInsertionPointAfter(loop);
    if (scatter())
      return;
    SmallVector<Value> sums;
    for (Value part : loop.getResults())
      sums.push_back(ClusterSumOp::create(rewriter, loc, part.getType(), part));
    for (auto [part, sum] : llvm::zip_equal(loop.getResults(), sums))
      rewriter.replaceAllUsesExcept(part, sum, sum.getDefiningOp());
    Value isFirst = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, rank, constant(rank.getType(), 0));
    goOnWhere(isFirst);
  }

private:
  /// Leaves the rest of the kernel to the one CTA for which `goesOn` holds.
  void goOnWhere(Value goesOn) {
    auto alone = scf::IfOp::create(rewriter, loc, goesOn, /*withElseRegion=*/false);
    for (Operation *op = alone->getNextNode(); !op->hasTrait<OpTrait::IsTerminator>();) {
      Operation *next = op->getNextNode();
      rewriter.moveOpBefore(op, alone.thenBlock()->getTerminator());
      op = next;
    }
  }

  /// Lets every CTA finish some columns of the tile, if accumulators of wgmma and what follows from them have such
  /// parts; what a CTA would fetch of the others' sums takes as long as the sum. Where the columns cannot be divided
  /// evenly, the last CTAs finish some of the same, unless what is written is also read: then one would read what
  /// another has written.
  bool scatter() {
    constexpr int64_t kColumnUnit = 8;
    const int64_t columns = cast<RankedTensorType>(loop.getResult(0).getType()).getDimSize(1);
    const int64_t width = kColumnUnit * llvm::divideCeil(columns, kColumnUnit * parts);
    const bool isEven = width * parts == columns;
    const bool possible = columns % kColumnUnit == 0 && llvm::all_of(loop.getResultTypes(), [&](Type type) {
                            return cast<RankedTensorType>(type).getDimSize(1) == columns;
                          });
    bool isAsync = true;
    loop.walk([&](MmaOp product) { isAsync &= product.isWgmma(); });
    if (!possible || !isAsync || (!isEven && readsWhatItWrites()))
      return false;
    Operation *behind = loop->getNextNode();
    SmallVector<Value> sums;
    for (Value part : loop.getResults()) {
      auto type = cast<RankedTensorType>(part.getType());
      auto some = RankedTensorType::get({type.getDimSize(0), width}, type.getElementType());
      sums.push_back(ClusterSumOp::create(rewriter, loc, some, part));
    }
    const int64_t unit = isEven ? width : kColumnUnit;
    Value first = arith::IndexCastUIOp::create(rewriter, loc, rewriter.getIndexType(), rank);
    if (!isEven) {
      Value units = arith::ConstantIndexOp::create(rewriter, loc, width / unit);
      Value last = arith::ConstantIndexOp::create(rewriter, loc, (columns - width) / unit);
      first = arith::MinUIOp::create(rewriter, loc, arith::MulIOp::create(rewriter, loc, first, units), last);
    }
    if (sliceUses(loop.getResults(), sums, {first, unit, width, columns}))
      return true;
    while (behind->getPrevNode() != loop)
      behind->getPrevNode()->erase();
    return false;
  }

  /// True when an array is loaded from that is stored to.
  bool readsWhatItWrites() {
    auto kernel = loop->getParentOfType<tile::KernelOp>();
    return kernel
        .walk([](Operation *op) {
          auto load = dyn_cast<tile::LoadOp>(op);
          const bool reads = load ? !load.getView().getType().isReadOnly() : isa<tile::GatherOp>(op);
          return reads ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(rewriter, loc, rewriter.getIntegerAttr(type, value));
  }

  /// Turns [rank · share, (rank + 1) · share) of the loop's.
  void divide() {
    rewriter.setInsertionPoint(loop);
    Type type = loop.getStep().getType();
    Value number = type.isIndex() ? Value(arith::IndexCastUIOp::create(rewriter, loc, type, rank)) : rank;
    if (number.getType() != type)
      number = arith::ExtUIOp::create(rewriter, loc, type, number);
    Value step = loop.getStep(), lower = loop.getLowerBound(), upper = loop.getUpperBound();
    Value distance =
        arith::MaxSIOp::create(rewriter, loc, arith::SubIOp::create(rewriter, loc, upper, lower), constant(type, 0));
    Value stride = arith::MulIOp::create(rewriter, loc, step, constant(type, parts));
    Value rounded =
        arith::AddIOp::create(rewriter, loc, distance, arith::SubIOp::create(rewriter, loc, stride, constant(type, 1)));
    Value share = arith::MulIOp::create(rewriter, loc, arith::DivUIOp::create(rewriter, loc, rounded, stride), step);
    Value start = arith::AddIOp::create(rewriter, loc, lower, arith::MulIOp::create(rewriter, loc, share, number));
    Value end = arith::MinSIOp::create(rewriter, loc, arith::AddIOp::create(rewriter, loc, start, share), upper);
    loop.setLowerBound(start);
    loop.setUpperBound(end);
  }

  scf::ForOp loop;
  Value rank;
  int64_t parts;
  IRRewriter rewriter;
  Location loc;
};

struct SplitDepth : PassWrapper<SplitDepth, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitDepth)
  StringRef getArgument() const final { return "tilegpu-split-depth"; }
  StringRef getDescription() const final { return "let CTAs share the depth of a product"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<TileGPUDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() final {
    tile::KernelOp kernel = getOperation();
    const TilePlan plan = TilePlan::of(kernel);
    TargetAttr target = TargetAttr::of(kernel);
    const bool isGrouped = kernel->hasAttr(tile::TileDialect::kGrouped);
    if (plan.splitK <= 1 || isGrouped) {
      if (kernel.walk([](MmaOp) { return WalkResult::interrupt(); }).wasInterrupted())
        tellChoice(kernel, "split", "none",
                   isGrouped       ? "a launch of many problems has programs enough"
                   : plan.schedule ? "planned with the tile"
                                   : "only a plan for tl.AUTO splits");
      return;
    }
    const bool byWorkspace = plan.splitsByWorkspace, isPossible = target && (byWorkspace || target.has("cluster"));
    scf::ForOp loop = isPossible ? findLoop(kernel) : scf::ForOp();
    Value rank = loop ? shareTiles(kernel, plan.splitK, plan.panelRows.value_or(kClusterPanelRows)) : Value();
    if (!rank)
      return tellChoice(kernel, "split", "none",
                        !isPossible ? "the target has no clusters"
                        : loop      ? "the kernel has no partition"
                                    : "the kernel is more than one loop that accumulates products from zero");
    const std::string number = std::to_string(plan.splitK);
    tellChoice(kernel, "split",
               byWorkspace ? number + " CTAs share the depth of a tile, and the last adds up in global memory"
                           : "the " + number + " CTAs of a cluster share the depth of a tile",
               "planned with the tile");
    Split split(loop, rank, plan.splitK);
    byWorkspace ? split.runByWorkspace() : split.run();
    Builder builder(&getContext());
    kernel->setAttr(byWorkspace ? TileGPUDialect::kTileParts : TileGPUDialect::kCluster,
                    builder.getI64IntegerAttr(plan.splitK));
    kernel->setAttr(TileGPUDialect::kSharesTiles, builder.getUnitAttr());
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createSplitDepthPass() { return std::make_unique<SplitDepth>(); }
