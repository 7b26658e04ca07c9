//===- ScheduleProducts.cpp - Asynchronous products in flight -------------===//
//
// An asynchronous product is complete when the op returns, until this pass lets
// it run on. In a loop that only accumulates products of tiles from queues, the
// products of one turn run while the next turn's are issued: a turn frees the
// stages that the turn before has read, and behind the loop the last products
// are waited for. The first turn replaces the accumulator instead of adding to
// it, so that nobody has to zero it.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/IR/TmaAccess.h"
#include "dialects/TileGPU/Transforms/Accumulation.h"
#include "dialects/TileGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// Products of a turn, from the accumulator that the loop carries to the one that it yields.
struct Chain {
  unsigned number; ///< of the carried value
  SmallVector<MmaOp> products;
};

/// True for a tile in a stage of several: the only stage has to be free before the next turn can start.
bool isFetchedAhead(Value operand) {
  auto slot = operand.getDefiningOp<RingSlotOp>();
  return slot && slot.getRing().getType().getShape().front() > 1;
}

/// True for registers that are filled from a stage. A product that reads them is complete before they are filled again.
bool isFetchedToRegisters(Value operand) {
  while (auto convert = operand.getDefiningOp<ConvertLayoutOp>())
    operand = convert.getSource();
  return operand.getDefiningOp<LocalLoadOp>() != nullptr;
}

/// The chain that starts at a carried value, if it does nothing but accumulate products of fetched tiles.
std::optional<Chain> chainFrom(scf::ForOp loop, unsigned number) {
  std::optional<SmallVector<MmaOp>> products = accumulation(loop, number);
  if (!products || !llvm::all_of(*products, [](MmaOp product) {
        return product.isWgmma() && isFetchedAhead(product.getRhs()) &&
               (isFetchedAhead(product.getLhs()) || isFetchedToRegisters(product.getLhs()));
      }))
    return std::nullopt;
  return Chain{number, std::move(*products)};
}

/// Chains that make up all products of the loop's body; none when there are others.
SmallVector<Chain> findChains(scf::ForOp loop) {
  SmallVector<Chain> chains;
  size_t found = 0, products = 0;
  for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number)
    if (std::optional<Chain> chain = chainFrom(loop, number)) {
      found += chain->products.size();
      chains.push_back(std::move(*chain));
    }
  loop.walk([&](MmaOp) { ++products; });
  return found == products ? chains : SmallVector<Chain>();
}

/// True when the loop is known to have a turn: it walks the tiles of an array that a tensor map describes, which has
/// elements.
bool alwaysRuns(scf::ForOp loop) {
  auto count = loop.getUpperBound().getDefiningOp<tile::NumTilesOp>();
  if (!count || !matchPattern(loop.getLowerBound(), m_Zero()))
    return false;
  Type type = count.getView().getType();
  auto partition = dyn_cast<tile::PartitionType>(type);
  return (partition ? partition.getView() : cast<tile::ViewType>(type)).getAlign() >= kTmaAlignment;
}

class LoopSchedule {
public:
  LoopSchedule(scf::ForOp loop, SmallVector<Chain> chains)
      : loop(loop), chains(std::move(chains)), rewriter(loop.getContext()), loc(loop.getLoc()) {}

  void run() {
    SmallVector<MmaOp> products(loop.getBody()->getOps<MmaOp>());
    rewriter.setInsertionPointToStart(loop.getBody());
    Value later =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
    for (Chain &chain : chains)
      startFromNothing(chain, later);
    if (llvm::any_of(products, [](MmaOp product) { return isFetchedToRegisters(product.getLhs()); }))
      return finish({});
    for (MmaOp product : products)
      product.setInFlight(1);
    // Behind the last product of a turn, all of the turn before are complete.
    SmallVector<QueueReleaseOp> releases(loop.getBody()->getOps<QueueReleaseOp>());
    for (QueueReleaseOp release : releases) {
      rewriter.moveOpAfter(release, products.back());
      release.getWhenMutable().assign(later);
    }
    finish(releases);
  }

private:
  void startFromNothing(Chain &chain, Value later) {
    OpOperand &init = loop.getInitArgsMutable()[chain.number];
    if (!isZeroTile(init.get()))
      return;
    zeros[chain.number] = init.get();
    rewriter.setInsertionPoint(loop);
    init.set(ub::PoisonOp::create(rewriter, loc, init.get().getType()));
    chain.products.front().getAccumulateMutable().assign(later);
  }

  /// Behind the loop the last products complete and their stages become free. A loop without turns gives what it was
  /// given, which is no longer what it starts from, and has nothing to free.
  void finish(ArrayRef<QueueReleaseOp> releases) {
    auto pass = dyn_cast_or_null<TurnPassOp>(loop->getNextNode()); // another program need not wait for the last ones
    if (alwaysRuns(loop)) {
      rewriter.setInsertionPointAfter(pass ? pass : loop.getOperation());
      SmallVector<Value> results = waitAndFree(releases);
      for (auto [result, waited] : llvm::zip_equal(loop.getResults(), results))
        if (result != waited)
          rewriter.replaceAllUsesExcept(result, waited, waited.getDefiningOp());
      return;
    }
    rewriter.setInsertionPoint(loop);
    Value runs =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
    auto guard = scf::IfOp::create(rewriter, loc, loop.getResultTypes(), runs, /*withElseRegion=*/true);
    rewriter.replaceAllUsesWith(loop.getResults(), guard.getResults());
    rewriter.moveOpBefore(loop, guard.thenBlock(), guard.thenBlock()->end());
    rewriter.setInsertionPointToEnd(guard.thenBlock());
    if (pass)
      rewriter.clone(*pass);
    SmallVector<Value> results = waitAndFree(releases);
    scf::YieldOp::create(rewriter, loc, results);
    rewriter.setInsertionPointToEnd(guard.elseBlock());
    if (pass)
      rewriter.moveOpBefore(pass, guard.elseBlock(), guard.elseBlock()->end());
    SmallVector<Value> given(loop.getInitArgs());
    // Waiting hides the zeros from LLVM, which would push what follows into both branches.
    for (auto [number, zero] : zeros)
      given[number] = MmaWaitOp::create(rewriter, loc, zero).getResult(0);
    scf::YieldOp::create(rewriter, loc, given);
  }

  /// The loop's results, complete.
  SmallVector<Value> waitAndFree(ArrayRef<QueueReleaseOp> releases) {
    SmallVector<Value> results(loop.getResults()), tiles;
    for (Chain &chain : chains)
      tiles.push_back(results[chain.number]);
    auto wait = MmaWaitOp::create(rewriter, loc, tiles);
    for (auto [chain, tile] : llvm::zip_equal(chains, wait.getResults()))
      results[chain.number] = tile;
    for (QueueReleaseOp release : releases)
      QueueReleaseOp::create(rewriter, loc, release.getQueue(), /*when=*/Value());
    return results;
  }

  scf::ForOp loop;
  SmallVector<Chain> chains;
  llvm::SmallMapVector<unsigned, Value, 4> zeros;
  IRRewriter rewriter;
  Location loc;
};

struct ScheduleProducts : PassWrapper<ScheduleProducts, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScheduleProducts)
  StringRef getArgument() const final { return "tilegpu-schedule-products"; }
  StringRef getDescription() const final { return "keep asynchronous products in flight"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<TileGPUDialect, arith::ArithDialect, scf::SCFDialect, ub::UBDialect>();
  }

  void runOnOperation() final {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (SmallVector<Chain> chains = findChains(loop); !chains.empty())
        LoopSchedule(loop, std::move(chains)).run();
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createScheduleProductsPass() { return std::make_unique<ScheduleProducts>(); }
