//===- plan.cpp - The choice of a tile -------------------------------------===//

#include "plan.h"

#include <algorithm>
#include <cmath>

using namespace tilec::tiling;

const char *tilec::tiling::nameOf(Schedule schedule) {
  switch (schedule) {
  case Schedule::none:
    return "none";
  case Schedule::sync:
    return "sync";
  case Schedule::single:
    return "single";
  case Schedule::cooperative:
    return "cooperative";
  case Schedule::pingpong:
    return "pingpong";
  }
  return "";
}

int64_t tilec::tiling::programsOf(const Problem &problem, const Tile &tile) {
  int64_t programs = problem.copies;
  double mean = 1; // along dimensions where the last tile is half full on average
  for (size_t dim = 0; dim < tile.size(); ++dim)
    if (problem.ragged[dim])
      mean *= static_cast<double>(problem.extents[dim]) / static_cast<double>(tile[dim]) + 0.5;
    else
      programs *= (problem.extents[dim] + tile[dim] - 1) / tile[dim];
  return mean == 1 ? programs : static_cast<int64_t>(std::ceil(static_cast<double>(programs) * mean));
}

Plan tilec::tiling::planTile(const Problem &problem, const Device &device) {
  // A product whose extents do not follow the tile has nothing to choose.
  bool follows = std::any_of(problem.products.begin(), problem.products.end(),
                             [](const Product &product) { return product.m.dim >= 0 || product.n.dim >= 0; });
  return follows ? planProducts(problem, device) : planElements(problem, device);
}
