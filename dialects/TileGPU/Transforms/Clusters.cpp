//===- Clusters.cpp - CTAs that fetch for each other ----------------------===//
#include "dialects/TileGPU/Transforms/Clusters.h"

#include "dialects/TileGPU/IR/Decisions.h"
#include "dialects/TileGPU/Transforms/Fetches.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
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
} // namespace

bool tilec::tilegpu::divideBoxes(TmaAccess &access) {
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

int64_t tilec::tilegpu::chooseCluster(tile::KernelOp kernel, const TilePlan &plan, TargetAttr target) {
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
