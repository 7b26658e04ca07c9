//===- elements.cpp - Tiles of kernels that memory limits ------------------===//

#include "plan.h"

#include <algorithm>

using namespace tilec::tiling;

namespace {

/// A value of so many elements keeps 128 threads busy with several 16-byte
/// accesses each.
constexpr int64_t largestValue = 4096;
/// Fewer leave threads idle; a smaller tile is not worth more programs.
constexpr int64_t smallestValue = 1024;

class ElementPlanner {
public:
  ElementPlanner(const Problem &problem, const Device &device) : problem(problem), device(device) {}

  Plan run() {
    Tile tile(problem.extents.size(), 1);
    for (size_t dim = 0; dim < tile.size(); ++dim)
      if (problem.whole[dim])
        tile[dim] = std::max<int64_t>(problem.extents[dim], 1);
    findContiguous();
    growTogether(tile, contiguous);
    for (size_t dim = tile.size(); dim-- > 0;)
      growTogether(tile, {static_cast<int>(dim)});
    int64_t full = programsOf(problem, tile);
    shrink(tile);
    return explained(std::move(tile), full);
  }

private:
  /// The tile's dimensions along which an access runs through memory.
  void findContiguous() {
    for (const Access &access : problem.accesses) {
      int dim = access.contiguousDim;
      if (dim >= 0 && !problem.whole[dim] && std::find(contiguous.begin(), contiguous.end(), dim) == contiguous.end())
        contiguous.push_back(dim);
    }
  }

  int64_t largestOf(const Tile &tile) const {
    int64_t largest = 1;
    for (const Value &value : problem.values) {
      int64_t elements = 1;
      for (const Extent &extent : value.shape)
        elements *= extent.in(tile);
      largest = std::max(largest, elements);
    }
    return largest;
  }

  /// Doubles the smallest of these dimensions until none can grow. Extents are
  /// powers of two, or the array's.
  void growTogether(Tile &tile, const std::vector<int> &dims) {
    for (;;) {
      int best = -1;
      for (int dim : dims)
        if (tile[dim] < problem.extents[dim] && (best < 0 || tile[dim] < tile[best]) && fits(tile, dim))
          best = dim;
      if (best < 0)
        return;
      tile[best] = std::min(tile[best] * 2, problem.extents[best]);
    }
  }

  bool fits(Tile tile, int dim) const {
    tile[dim] = std::min(tile[dim] * 2, problem.extents[dim]);
    return largestOf(tile) <= largestValue;
  }

  /// Makes smaller tiles while there are fewer programs than multiprocessors.
  void shrink(Tile &tile) const {
    while (programsOf(problem, tile) < device.multiprocessors && largestOf(tile) > smallestValue) {
      int widest = -1;
      for (size_t dim = 0; dim < tile.size(); ++dim)
        if (!problem.whole[dim] && tile[dim] > 1 && (widest < 0 || preferred(dim, widest, tile)))
          widest = static_cast<int>(dim);
      if (widest < 0)
        return;
      int64_t power = 1;
      while (power * 2 < tile[widest])
        power *= 2;
      tile[widest] = power;
    }
  }

  /// Rows go first, so that what is contiguous stays long.
  bool preferred(size_t dim, int other, const Tile &tile) const {
    bool isRun = std::find(contiguous.begin(), contiguous.end(), static_cast<int>(dim)) != contiguous.end();
    bool otherIsRun = std::find(contiguous.begin(), contiguous.end(), other) != contiguous.end();
    return isRun == otherIsRun ? tile[dim] > tile[other] : otherIsRun;
  }

  Plan explained(Tile tile, int64_t full) const {
    Plan plan;
    for (size_t dim = 0; dim < tile.size(); ++dim)
      if (problem.whole[dim])
        plan.reasons.push_back("the kernel reduces along dimension " + std::to_string(dim) + ", which is not divided");
    plan.reasons.push_back("largest value of a program: " + std::to_string(largestOf(tile)) + " elements");
    int64_t programs = programsOf(problem, tile);
    if (programs != full)
      plan.reasons.push_back("smaller tiles make " + std::to_string(programs) + " programs of " + std::to_string(full) +
                             ", for " + std::to_string(device.multiprocessors) + " multiprocessors");
    plan.chosen.programs = programs;
    plan.chosen.waves = (programs + device.multiprocessors - 1) / device.multiprocessors;
    plan.chosen.tile = std::move(tile);
    return plan;
  }

  const Problem &problem;
  const Device &device;
  std::vector<int> contiguous;
};

} // namespace

Plan tilec::tiling::planElements(const Problem &problem, const Device &device) {
  return ElementPlanner(problem, device).run();
}
