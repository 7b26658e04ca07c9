//===- plan.h - The choice of a tile, and of what goes with it -------------===//

#pragma once

#include "problem.h"

namespace tilec::tiling {

/// How the warps of a program share a product.
enum class Schedule : uint8_t {
  none,        // the kernel multiplies nothing
  sync,        // all warps load and multiply (mma.sync, FMA)
  single,      // one warpgroup multiplies what a producer loads (wgmma, TMA)
  cooperative, // two or three share a tile
  pingpong,    // two have a tile each: one stores while the other multiplies
};

const char *nameOf(Schedule schedule);

/// One tile that was looked at.
struct Candidate {
  Tile tile;
  Schedule schedule = Schedule::none;
  int numWarps = 0; // that multiply; 0: code generation decides
  int splitK = 1;
  bool byWorkspace = false; // parts of the depth meet in global memory, not in a cluster
  bool exchanged = false;   // operands: the product is computed as its transpose
  int clusterM = 1;         // programs along M that share the right operand
  int64_t programs = 0;
  int64_t waves = 0;
  double cycles = 0;
  std::string rejected; // why it cannot be; empty: it can
};

/// A plan: the best candidate and the decisions that follow from it.
struct Plan {
  Candidate chosen;
  int raster = 0;                           // programs along M that run together; 0: row by row
  std::vector<int> keepInL2, passThroughL2; // arguments: read again and again, read once
  std::vector<std::string> reasons;
  std::vector<Candidate> candidates; // in the order they were looked at
};

/// Chooses a tile. A pure function of its arguments; some microseconds.
Plan planTile(const Problem &problem, const Device &device);

/// The number of tiles that cover the arrays.
int64_t programsOf(const Problem &problem, const Tile &tile);

/// For kernels that multiply tiles: products.cpp.
Plan planProducts(const Problem &problem, const Device &device);

/// For all others, which memory limits: elements.cpp.
Plan planElements(const Problem &problem, const Device &device);

} // namespace tilec::tiling
