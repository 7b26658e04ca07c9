//===- LayoutClasses.cpp - Tiles that share a layout ----------------------===//
#include "dialects/TileGPU/Transforms/LayoutClasses.h"

#include "dialects/TileGPU/IR/GlobalAccess.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }

/// Elements of a thread that are neighbours, for tiles no memory access has a say in.
constexpr int64_t kDefaultVector = 4;

/// Single elements are gathered one by one: neighbours then go to neighbouring lanes.
Layout defaultLayout(ArrayRef<int64_t> shape, bool gathered, int64_t numWarps) {
  const int64_t most = gathered ? 1 : kDefaultVector;
  int64_t vector = 1;
  while (vector < most && !shape.empty() && shape.back() % (2 * vector) == 0)
    vector *= 2;
  return Layout::blocked(shape, rowMajor(shape.size()), vectorForTile(shape, vector, numWarps), numWarps);
}

/// By which an operand is best read from shared memory.
FragmentOrder fragmentOrder(Value operand, FragmentOrder::Side side) {
  const int64_t kDim = side == FragmentOrder::Side::rows ? 1 : 0;
  auto shared = dyn_cast<SmemType>(operand.getType());
  return shared ? FragmentOrder::of(side, 8 * shared.getElementBytes(), shared.getLayout().getOrder().front() == kDim)
                : FragmentOrder();
}
} // namespace

Layout tilec::tilegpu::accumulatorLayout(MmaOp product, int64_t numWarps, bool wholeRows) {
  ArrayRef<int64_t> shape = shapeOf(product.getAcc());
  switch (product.getKind()) {
  case MmaKind::fma:
    return Layout::outerProduct(shape, numWarps);
  case MmaKind::mma_sync:
    return Layout::mmaAcc(shape, numWarps, wholeRows, fragmentOrder(product.getLhs(), FragmentOrder::Side::rows),
                          fragmentOrder(product.getRhs(), FragmentOrder::Side::columns));
  case MmaKind::wgmma:
    return Layout::wgmmaAcc(shape, numWarps);
  }
  llvm_unreachable("unknown kind of product");
}

bool tilec::tilegpu::keepsRowsWhole(tile::KernelOp kernel) {
  return kernel
      .walk([](MmaOp product) { return isTile(product.getLhs()) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

std::optional<Layout> tilec::tilegpu::reshapedLayout(const Layout &layout, ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                                                     int64_t numWarps) {
  std::optional<Layout> result = layout.reshaped(from, to);
  // Rank 0 does not say how many warps hold its element.
  if (result && (from.empty() || to.empty()))
    return Layout::replicated(to.size(), numWarps);
  return result;
}

LayoutClasses::LayoutClasses(tile::KernelOp kernel, int64_t numWarps) : kernel(kernel), numWarps(numWarps) {
  buildClasses();
  markNarrow();
  // Strict first: what the tensor cores dictate, then wide accesses, then what follows from those.
  anchorProducts();
  anchorAccesses(/*narrow=*/false);
  propagate();
  anchorAccesses(/*narrow=*/true);
  propagate();
  // What is left depends on nothing in memory: the largest first, since the others may follow from it.
  SmallVector<TileClass *> bySize(llvm::make_pointer_range(classes));
  llvm::stable_sort(bySize, [](TileClass *a, TileClass *b) { return a->numElements() > b->numElements(); });
  for (TileClass *left : bySize)
    if (!left->layout) {
      left->layout = defaultLayout(left->shape, left->gathered, numWarps);
      propagate();
    }
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

void LayoutClasses::number(Value tile) {
  if (isTile(tile) && numbers.try_emplace(tile, tiles.size()).second)
    tiles.push_back(tile);
}

void LayoutClasses::join(Value a, Value b) {
  if (isTile(a) && isTile(b) && shapeOf(a) == shapeOf(b))
    equal.emplace_back(numbers.lookup(a), numbers.lookup(b));
}

/// All tiles an op takes and gives.
void LayoutClasses::joinAll(Operation *op) {
  Value first;
  auto take = [&](Value value) {
    if (!isTile(value))
      return;
    if (first)
      join(first, value);
    else
      first = value;
  };
  llvm::for_each(op->getOperands(), take);
  llvm::for_each(op->getResults(), take);
}

void LayoutClasses::buildClasses() {
  kernel.walk<WalkOrder::PreOrder>([&](Block *block) {
    llvm::for_each(block->getArguments(), [&](Value argument) { number(argument); });
    for (Operation &op : *block)
      llvm::for_each(op.getResults(), [&](Value result) { number(result); });
  });
  kernel.walk([&](Operation *op) {
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
      RegionBranchSuccessorMapping forwarded;
      branch.getSuccessorOperandInputMapping(forwarded);
      for (auto &[operand, inputs] : forwarded)
        for (Value input : inputs)
          join(operand->get(), input);
    } else if (auto sum = dyn_cast<ClusterSumOp>(op); sum && sum.isScattered()) {
      // Its layouts are those of accumulators.
    } else if (auto shared = dyn_cast<WorkspaceSumOp>(op)) {
      for (auto [source, sum] : llvm::zip_equal(shared.getSources(), shared.getSums()))
        join(source, sum);
    } else if (isa<tile::GatherOp, ClusterSumOp>(op) || op->hasTrait<OpTrait::Elementwise>()) {
      joinAll(op);
    } else if (auto product = dyn_cast<MmaOp>(op)) {
      join(product.getAcc(), product.getResult());
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      for (auto [source, output] : llvm::zip_equal(reduce.getSources(), reduce.getOutputs())) {
        join(reduce.getSources().front(), source);
        join(reduce.getOutputs().front(), output);
      }
      links.push_back(op);
    } else if (isa<tile::BroadcastOp, tile::PermuteOp, tile::ReshapeOp>(op)) {
      links.push_back(op);
    }
  });

  joined.grow(tiles.size());
  for (auto [a, b] : equal)
    joined.join(a, b);
  joined.compress();
  classes.resize(joined.getNumClasses());
  for (Value tile : tiles)
    classOf(tile).shape.assign(shapeOf(tile).begin(), shapeOf(tile).end());
  kernel.walk([&](Operation *op) {
    if (isa<tile::LoadOp>(op))
      classOf(op->getResult(0)).accesses.push_back(op);
    else if (isa<tile::StoreOp>(op))
      classOf(op->getOperand(0)).accesses.push_back(op);
    else if (isa<tile::GatherOp>(op))
      classOf(op->getResult(0)).gathered = true;
  });
}

void LayoutClasses::markNarrow() {
  for (bool changed = true; changed;) {
    changed = false;
    auto mark = [&](Value tile) { changed |= !std::exchange(classOf(tile).narrow, true); };
    for (Operation *op : links) {
      Value source = op->getOperand(0), result = op->getResult(0);
      int64_t from = classOf(source).numElements(), to = classOf(result).numElements();
      if (isa<tile::ReduceOp>(op) ? to < from : false)
        mark(result);
      else if (isa<tile::BroadcastOp>(op) && from < to)
        mark(source);
      else if (isa<tile::PermuteOp, tile::ReshapeOp>(op) && classOf(source).narrow != classOf(result).narrow)
        mark(classOf(source).narrow ? result : source);
    }
  }
}

//===----------------------------------------------------------------------===//
// Anchors
//===----------------------------------------------------------------------===//

void LayoutClasses::anchorProducts() {
  const bool wholeRows = keepsRowsWhole(kernel);
  kernel.walk([&](MmaOp product) { offer(product.getAcc(), accumulatorLayout(product, numWarps, wholeRows)); });
  kernel.walk([&](ClusterSumOp sum) {
    if (sum.isScattered())
      offer(sum, Layout::wgmmaAcc(shapeOf(sum), numWarps));
  });
  kernel.walk([&](MmaOp product) {
    if (!isTile(product.getLhs()))
      return;
    auto lhs = cast<RankedTensorType>(product.getLhs().getType());
    offer(product.getLhs(), Layout::mmaLhs(accumulatorLayout(product, numWarps, wholeRows), lhs.getShape(),
                                           lhs.getElementTypeBitWidth()));
  });
}

/// Along the dimension that most bytes of the class's accesses are contiguous in, with the widest vector any of
/// them may take there; narrower element types then still move 16 bytes.
std::optional<Layout> LayoutClasses::accessLayout(const TileClass &tiles) const {
  std::map<int64_t, int64_t> bytes;
  for (Operation *op : tiles.accesses)
    if (GlobalAccess access = *GlobalAccess::of(op); access.dim)
      bytes[*access.dim] += access.elementBytes;
  GlobalAccess chosen = *GlobalAccess::of(tiles.accesses.front());
  if (!bytes.empty())
    chosen.dim = llvm::max_element(bytes, [](auto &a, auto &b) { return a.second < b.second; })->first;
  // Long runs in a thread would make stores of single elements touch a sector each.
  auto storesElements = [](Operation *op) {
    GlobalAccess access = *GlobalAccess::of(op);
    return isa<tile::StoreOp>(op) && access.dim && access.vector == 1;
  };
  const bool runs = llvm::none_of(tiles.accesses, storesElements);
  chosen.vector = 1;
  for (Operation *op : tiles.accesses)
    if (GlobalAccess access = *GlobalAccess::of(op); access.dim == chosen.dim)
      chosen.vector = std::max(chosen.vector, runs ? access.run : access.vector);
  return chosen.layout(numWarps);
}

void LayoutClasses::anchorAccesses(bool narrow) {
  for (TileClass &tiles : classes)
    if (!tiles.layout && !tiles.accesses.empty() && tiles.narrow == narrow) {
      tiles.layout = accessLayout(tiles);
      if (narrow)
        propagate(); // the next one may follow from this
    }
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

bool LayoutClasses::offer(Value tile, std::optional<Layout> layout) {
  TileClass &tiles = classOf(tile);
  if (tiles.layout || !layout)
    return false;
  tiles.layout = std::move(layout);
  return true;
}

bool LayoutClasses::propagateOver(Operation *op) {
  Value source = op->getOperand(0), result = op->getResult(0);
  const std::optional<Layout> from = classOf(source).layout, to = classOf(result).layout;
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](tile::ReduceOp reduce) { return from && offer(result, from->reduced(reduce.getAxis())); })
      .Case(
          [&](tile::BroadcastOp) { return to && offer(source, to->broadcastSource(shapeOf(source), shapeOf(result))); })
      .Case([&](tile::PermuteOp permute) {
        return (from && offer(result, from->permuted(permute.getOrder()))) ||
               (to && offer(source, to->permuted(invertPermutationVector(permute.getOrder()))));
      })
      .Case([&](tile::ReshapeOp) {
        return (from && offer(result, reshapedLayout(*from, shapeOf(source), shapeOf(result), numWarps))) ||
               (to && offer(source, reshapedLayout(*to, shapeOf(result), shapeOf(source), numWarps)));
      })
      .Default(false);
}

void LayoutClasses::propagate() {
  // Reductions first: what they leave has no choice, while a broadcast may also read a converted copy.
  for (bool changed = true; changed;) {
    changed = false;
    for (bool reductions : {true, false})
      for (Operation *op : links)
        if (isa<tile::ReduceOp>(op) == reductions)
          changed |= propagateOver(op);
  }
}
