//===- plan.h - A launch plan, parsed
//--------------------------------------===//

#pragma once

#include "arguments.h"

#include <string>
#include <vector>

namespace tilec::runtime {

/// How a compiled kernel is launched; the compiler writes it as JSON
/// (docs/notes/interfaces.md, section 4).
struct LaunchPlan {
  enum class ParameterKind : uint8_t { pointer, shape, stride, scalar };
  struct Parameter {
    ParameterKind kind;
    uint8_t dim;
    DType dtype; // of a scalar
    uint32_t argument;
  };

  std::string symbol;
  std::vector<Parameter> parameters;
  unsigned threads = 0;
  unsigned sharedBytes = 0;
  unsigned cluster[3] = {1, 1, 1};
  bool tiled = true; // the grid is the partitions' tile grid

  bool hasCluster() const { return cluster[0] * cluster[1] * cluster[2] > 1; }

  /// Raises ValueError for a plan that is malformed or of another version.
  static LaunchPlan parse(PyObject *json);

  /// Whether every parameter refers to an argument that `frame` has; raises
  /// ValueError otherwise. Depends on the key only, so once per key is enough.
  void checkAgainst(const Frame &frame) const;
};

} // namespace tilec::runtime
