//===- GlobalAccess.cpp - How tiles lie in global memory ------------------===//
#include "dialects/TileGPU/IR/GlobalAccess.h"

#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
constexpr int64_t kSectorBytes = 32;

GlobalAccess makeAccess(tile::ViewType view, ArrayRef<int64_t> shape, ArrayRef<int64_t> step) {
  GlobalAccess access;
  access.shape.assign(shape.begin(), shape.end());
  access.elementBytes = view.getElementBytes();
  for (int64_t dim = view.getRank() - 1; dim >= 0; --dim) {
    if (!view.hasUnitStride(dim))
      continue;
    int64_t vector = 1;
    while (vectorFits(view, dim, shape[dim], step[dim], 2 * vector))
      vector *= 2;
    // A dimension of extent 1 has no neighbours.
    if (!access.dim || vector > access.vector || (shape[*access.dim] == 1 && shape[dim] != 1))
      std::tie(access.dim, access.vector) = std::pair(dim, vector);
  }
  return access;
}
} // namespace

bool tilec::tilegpu::vectorFits(tile::ViewType view, int64_t dim, int64_t extent, int64_t step, int64_t vector) {
  const int64_t bytes = vector * view.getElementBytes();
  if (bytes > kMaxAccessBytes || extent % vector != 0 || step % vector != 0 || view.getDivisible()[dim] % vector != 0 ||
      view.getAlign() % bytes != 0)
    return false;
  for (int64_t other = 0; other < view.getRank(); ++other)
    if (other != dim && view.getStrideAlign()[other] % bytes != 0)
      return false;
  return true;
}

std::optional<GlobalAccess> GlobalAccess::of(Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    ArrayRef<int64_t> shape = load.getType().getShape();
    return makeAccess(load.getView().getType(), shape, load.getStep().value_or(shape));
  }
  if (auto store = dyn_cast<tile::StoreOp>(op)) {
    Type dest = store.getDest().getType();
    auto partition = dyn_cast<tile::PartitionType>(dest);
    ArrayRef<int64_t> shape = store.getValue().getType().getShape();
    return makeAccess(partition ? partition.getView() : cast<tile::ViewType>(dest), shape,
                      store.getStep().value_or(shape));
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

int64_t GlobalAccess::cost(const Layout &layout) const {
  if (!dim)
    return layout.numRegisters();
  // Consecutive elements of a thread may take several accesses; the sectors they share are in the cache by then.
  const int64_t run = layout.contiguity(*dim), width = std::min(run, vector);
  std::set<std::pair<Coords, int64_t>> sectors, runs; // other coordinates; place along the contiguous dimension
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    Coords row = layout.coords(0, lane, 0);
    int64_t first = std::exchange(row[*dim], 0);
    runs.insert({row, first});
    for (int64_t byte = first * elementBytes; byte < (first + run) * elementBytes; byte += elementBytes)
      sectors.insert({row, byte / kSectorBytes});
  }
  const int64_t useful = llvm::divideCeil(runs.size() * run * elementBytes, kSectorBytes);
  const int64_t wasted = static_cast<int64_t>(sectors.size()) - useful;
  return layout.numRegisters() / run * (run / width + std::max<int64_t>(wasted, 0));
}
