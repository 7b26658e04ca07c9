//===- plan.h - A launch plan, parsed
//--------------------------------------===//

#pragma once

#include "arguments.h"
#include "tensor_map.h"

#include <limits>
#include <string>
#include <vector>

namespace tilec::runtime {

/// The most CTAs of a grid's first dimension; the others take 65535.
constexpr int64_t maxGridX = std::numeric_limits<int32_t>::max();

/// How a compiled kernel is launched; the compiler writes it as JSON
/// (docs/notes/interfaces.md, section 4).
struct LaunchPlan {
  enum class ParameterKind : uint8_t { pointer, shape, stride, scalar, tensorMap };
  struct Parameter {
    ParameterKind kind;
    uint8_t dim;
    DType dtype; // of a scalar
    uint32_t argument;
    uint32_t offset = 0; // in a problem's row
  };

  /// A parameter that is a tensor map.
  struct TensorMap {
    size_t parameter; // its number
    TensorMapFormat format;
  };

  struct Grid {
    bool tiled = true;                  // the grid is the partitions' tile grid
    bool persistent = false;            // no more CTAs than run at once
    unsigned ctasPerTile = 1;           // that work on each tile together
    uint32_t argument = 0;              // a partition, when there are cluster tiles
    int clusterRank = 0;                // 0: no cluster tiles
    int64_t clusterTiles[maxRank] = {}; // tile counts are rounded up to multiples of these
  };

  /// A grouped launch: parameters are those of each problem, in the rows of a
  /// table, and the kernel's own are the table's addresses and counts.
  struct Rows {
    bool present = false;
    unsigned bytes = 0; // of a row
  };

  /// Scratch memory for every tile: the kernel's last two parameters are where
  /// the tiles' bytes and their counters start.
  struct Workspace {
    unsigned bytes = 0;    // 0: it needs none
    unsigned counters = 0; // 32-bit words that are zero before a launch and after it
  };

  std::string symbol;
  std::vector<Parameter> parameters;
  std::vector<TensorMap> tensorMaps; // in the parameters' order
  unsigned threads = 0;
  unsigned sharedBytes = 0;
  unsigned cluster[3] = {1, 1, 1};
  Grid grid;
  Rows rows;
  Workspace workspace;

  unsigned ctasPerCluster() const { return cluster[0] * cluster[1] * cluster[2]; }
  bool hasCluster() const { return ctasPerCluster() > 1; }
  bool needsWorkspace() const { return workspace.bytes > 0; }
  /// Whether the grid differs, or must be looked at again, from one CTA a program.
  bool adjustsGrid() const { return grid.persistent || grid.ctasPerTile > 1 || grid.clusterRank > 0 || hasCluster(); }

  /// Raises ValueError for a plan that is malformed or of another version.
  static LaunchPlan parse(PyObject *json);

  /// Whether every parameter refers to an argument that `frame` has; raises
  /// ValueError otherwise. Depends on the key only, so once per key is enough.
  void checkAgainst(const Frame &frame) const;
};

} // namespace tilec::runtime
