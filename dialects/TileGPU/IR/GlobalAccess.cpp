//===- GlobalAccess.cpp - How tiles lie in global memory ------------------===//
#include "dialects/TileGPU/IR/GlobalAccess.h"

#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
constexpr int64_t kSectorBytes = 32;

constexpr int64_t kWordBytes = 4;

GlobalAccess makeAccess(tile::ViewType view, ArrayRef<int64_t> shape, ArrayRef<int64_t> step, Move move) {
  GlobalAccess access;
  access.shape.assign(shape.begin(), shape.end());
  access.elementBytes = view.getElementBytes();
  for (int64_t dim = view.getRank() - 1; dim >= 0; --dim) {
    if (!view.hasUnitStride(dim))
      continue;
    auto longest = [&](Move move) { return longestRun(view, dim, shape[dim], step[dim], kMaxAccessBytes, move).elems; };
    const int64_t vector = longest(Move::copy);
    // A dimension of extent 1 has no neighbours.
    if (access.dim && vector <= access.vector && (shape[*access.dim] != 1 || shape[dim] == 1))
      continue;
    access.dim = dim;
    access.vector = vector;
    access.run = longest(move);
  }
  return access;
}
} // namespace

Run tilec::tilegpu::longestRun(tile::ViewType view, int64_t dim, int64_t extent, int64_t step, int64_t most,
                               Move move) {
  const int64_t elementBytes = view.getElementBytes();
  most = std::min(most, kMaxAccessBytes / elementBytes);
  // Tiles consist of such runs, and so do the places before an array's first element.
  auto dividesTiles = [&](int64_t elems) { return extent % elems == 0 && step % elems == 0; };
  auto isAligned = [&](int64_t elems) {
    const int64_t bytes = elems * elementBytes;
    for (int64_t other = 0; other < view.getRank(); ++other)
      if (other != dim && view.getStrideAlign()[other] % bytes != 0)
        return false;
    return view.getAlign() % bytes == 0;
  };
  auto isWhole = [&](int64_t elems) { return view.getDivisible()[dim] % elems == 0; };
  auto longest = [&](auto fits) {
    int64_t elems = 1;
    while (2 * elems <= most && fits(2 * elems))
      elems *= 2;
    return elems;
  };
  const int64_t whole = longest([&](int64_t e) { return dividesTiles(e) && isAligned(e) && isWhole(e); });
  // Two windows and the shifts that put their words together cost less than loads of single bytes, but not less than
  // loads of halves of words: products of those were slower by a tenth on an H200.
  const int64_t run = longest(dividesTiles);
  if (move == Move::load && whole * elementBytes == 1 && run > kWordBytes)
    return {run, /*aligned=*/false, isWhole(run)};
  return {whole, /*aligned=*/true, /*whole=*/true};
}

std::optional<GlobalAccess> GlobalAccess::of(Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    ArrayRef<int64_t> shape = load.getType().getShape();
    return makeAccess(load.getView().getType(), shape, load.getStep().value_or(shape), Move::load);
  }
  if (auto store = dyn_cast<tile::StoreOp>(op)) {
    Type dest = store.getDest().getType();
    auto partition = dyn_cast<tile::PartitionType>(dest);
    ArrayRef<int64_t> shape = store.getValue().getType().getShape();
    return makeAccess(partition ? partition.getView() : cast<tile::ViewType>(dest), shape,
                      store.getStep().value_or(shape), Move::store);
  }
  return std::nullopt;
}

SmallVector<int64_t> tilec::tilegpu::rowMajor(int64_t rank) {
  return llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
}

SmallVector<int64_t> GlobalAccess::order() const {
  SmallVector<int64_t> order = rowMajor(shape.size());
  if (dim)
    std::stable_partition(order.begin(), order.end(), [&](int64_t d) { return d == *dim; });
  return order;
}

Layout GlobalAccess::layout(int64_t numWarps) const {
  return Layout::blocked(shape, order(), vectorForTile(shape, vector, numWarps), numWarps);
}

int64_t GlobalAccess::accessElems(int64_t contiguous) const {
  const int64_t elems = std::min(contiguous, run);
  const bool windows = run > vector && elems * elementBytes > kWordBytes;
  return windows ? elems / 2 : std::min(contiguous, vector);
}

int64_t GlobalAccess::cost(const Layout &layout) const {
  if (!dim)
    return layout.numRegisters();
  // Consecutive elements of a thread may take several accesses; the sectors they share are in the cache by then.
  const int64_t neighbours = layout.contiguity(*dim), width = accessElems(neighbours);
  std::set<std::pair<Coords, int64_t>> sectors, runs; // other coordinates; place along the contiguous dimension
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    Coords row = layout.coords(0, lane, 0);
    int64_t first = std::exchange(row[*dim], 0);
    runs.insert({row, first});
    for (int64_t byte = first * elementBytes; byte < (first + neighbours) * elementBytes; byte += elementBytes)
      sectors.insert({row, byte / kSectorBytes});
  }
  const int64_t useful = llvm::divideCeil(runs.size() * neighbours * elementBytes, kSectorBytes);
  const int64_t wasted = static_cast<int64_t>(sectors.size()) - useful;
  return layout.numRegisters() / neighbours * (neighbours / width + std::max<int64_t>(wasted, 0));
}
