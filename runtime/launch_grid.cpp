//===- launch_grid.cpp - The grid of CTAs that a plan makes of programs
//----===//

#include "launch_grid.h"

#include "errors.h"

#include <algorithm>

using namespace tilec::runtime;

namespace {

/// The number of tiles once each dimension is a multiple of its cluster's.
unsigned roundedTiles(const LaunchPlan::Grid &rule, const ArrayView &partition) {
  int64_t tiles = 1;
  for (int dim = 0; dim < partition.rank && tiles <= maxGridX; ++dim) {
    int64_t multiple = rule.clusterTiles[dim];
    tiles *= (partition.grid[dim] + multiple - 1) / multiple * multiple;
  }
  if (tiles > maxGridX)
    raiseLaunchError("the tile grid " + tupleText(partition.grid, partition.rank) + ", rounded up to multiples of " +
                         tupleText(rule.clusterTiles, partition.rank) +
                         ", has too many programs, expected at most 2147483647",
                     "use larger tiles");
  return static_cast<unsigned>(tiles);
}

std::string threeText(const unsigned (&values)[3]) {
  int64_t wide[3] = {values[0], values[1], values[2]};
  return tupleText(wide, 3);
}

} // namespace

void tilec::runtime::configure(const LaunchPlan &plan, driver::LaunchConfig &config, driver::LaunchAttribute &cluster) {
  config.blockX = plan.threads;
  config.blockY = config.blockZ = 1;
  config.sharedBytes = plan.sharedBytes;
  if (!plan.hasCluster())
    return;
  cluster.id = driver::attributeClusterDimension;
  cluster.value.cluster = {plan.cluster[0], plan.cluster[1], plan.cluster[2]};
  config.attributes = &cluster;
  config.attributeCount = 1;
}

unsigned tilec::runtime::residentCtas(Driver &driver, int device, driver::Function function, const LaunchPlan &plan) {
  int count = 0;
  int64_t ctas = 0;
  if (plan.hasCluster()) {
    driver::LaunchAttribute cluster{};
    driver::LaunchConfig config{};
    config.gridX = plan.cluster[0];
    config.gridY = plan.cluster[1];
    config.gridZ = plan.cluster[2];
    configure(plan, config, cluster);
    if (driver::Result result = driver.OccupancyMaxActiveClusters()(&count, function, &config))
      raiseDriverCallError(result, "cuOccupancyMaxActiveClusters", "preparing " + plan.symbol);
    ctas = int64_t(count) * plan.ctasPerCluster();
  } else {
    if (driver::Result result = driver.OccupancyMaxActiveBlocksPerMultiprocessor()(
            &count, function, static_cast<int>(plan.threads), plan.sharedBytes))
      raiseDriverCallError(result, "cuOccupancyMaxActiveBlocksPerMultiprocessor", "preparing " + plan.symbol);
    ctas = int64_t(count) * driver.attribute(device, driver::multiprocessorCount);
  }
  if (ctas <= 0)
    raiseLaunchError(plan.symbol + " does not fit on device " + std::to_string(device) + ": it holds no " +
                         (plan.hasCluster() ? "cluster of " + threeText(plan.cluster) + " CTAs" : "CTA") + " of " +
                         std::to_string(plan.threads) + " threads and " + std::to_string(plan.sharedBytes) +
                         " bytes of shared memory",
                     "use smaller tiles or fewer stages");
  return static_cast<unsigned>(std::min(ctas, maxGridX));
}

void tilec::runtime::adjustGrid(const LaunchPlan &plan, unsigned resident, Frame &frame) {
  const LaunchPlan::Grid &rule = plan.grid;
  if (rule.clusterRank > 0)
    frame.grid[0] = roundedTiles(rule, frame.arrays[frame.flat[rule.argument].index]);
  if (rule.ctasPerTile > 1) {
    if (int64_t(frame.grid[0]) * rule.ctasPerTile > maxGridX)
      raiseLaunchError("the tile grid has too many programs for " + std::to_string(rule.ctasPerTile) +
                           " CTAs a tile, expected at most 2147483647 CTAs",
                       "use larger tiles");
    frame.grid[0] *= rule.ctasPerTile;
  }
  if (rule.persistent)
    frame.grid[0] = std::min(frame.grid[0], resident);
  for (int k = 0; k < 3; ++k)
    if (frame.grid[k] % plan.cluster[k] != 0)
      raiseLaunchError(plan.symbol + " runs in clusters of " + threeText(plan.cluster) +
                       " CTAs, expected a grid of whole clusters, found " + threeText(frame.grid));
}
