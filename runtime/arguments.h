//===- arguments.h - Binding the arguments of one launch
//-------------------===//

#pragma once

#include "array_binding.h"
#include "inline_vector.h"
#include "key.h"
#include "scalars.h"

#include <string>
#include <vector>

namespace tilec::runtime {

/// One parameter of a kernel.
struct Parameter {
  Ref name;
  bool constant = false; // tl.Constant: its value is part of the key
  bool keywordOnly = false;
  Ref defaultValue; // nothing: the argument is required
  // What the last launch passed here. A launch usually passes the same types
  // and constants again, and then nothing has to be looked up.
  const TypeProfile *seen = nullptr;
  const TypeProfile *seenInMarker = nullptr;
  Ref seenConstant;
  uint64_t seenConstantId = 0;
};

/// The constants that a kernel was launched with, numbered.
class ConstantTable {
public:
  uint64_t idOf(PyObject *value);
  PyObject *operator[](uint64_t id) const { return values[id].get(); }

private:
  Ref ids; // dict: constant key -> number
  std::vector<Ref> values;
};

/// What a kernel knows about its parameters.
struct KernelSignature {
  std::string kernelName;
  std::vector<Parameter> parameters;
  size_t positionalCount = 0;
  ConstantTable constants;
};

/// One run-time argument, numbered as in a launch plan.
struct FlatArgument {
  bool isArray;
  uint32_t index;   // into arrays or scalars
  PyObject *object; // borrowed from the caller
};

/// What a plan must know of a list of problems beside their mean extents.
struct GroupFacts {
  size_t problems = 0;
  std::vector<uint8_t> varying; // of each array: bits of dimensions whose extents differ
  static_assert(maxRank <= 8);
};

/// Everything that one launch binds. It lives on the stack of the call; plain
/// arrays, no allocation for kernels of ordinary size.
struct Frame {
  InlineVector<PyObject *, 24> values; // per parameter, borrowed
  PyObject *streamObject = nullptr;    // stream=, grid= as given
  PyObject *gridObject = nullptr;
  BindRequest request{};
  // The CPU executor gains nothing from alignment, which differs from one NumPy
  // array to the next: a launch there must not be traced again for it.
  bool ignoreHostAlignment = false;

  InlineVector<uint64_t, 64> key;
  InlineVector<FlatArgument, 32> flat;
  InlineVector<ArrayView, 20> arrays;
  InlineVector<ScalarValue, 16> scalars;
  InlineVector<uint32_t, 20> flatOfArray;
  Keepers keepers;

  // Filled by the launch checks.
  int device = anyDevice;
  uintptr_t stream = 0;
  bool tiled = false;          // the launch has partitions
  bool automatic = false;      // partitions have tl.AUTO for a tile,
  int chosenRank = 0;          // which has so many dimensions
  int64_t chosenTile[maxRank]; // and becomes this one
  int64_t programs = 0;
  const GroupFacts *group = nullptr; // of a frame that stands for a list of problems (group.h)
  unsigned grid[3] = {1, 1, 1};
};

/// Binds a call's arguments: fills the frame up to its key, except for the
/// device word, which the checks complete. Raises LaunchError.
void bindArguments(KernelSignature &signature, PyObject *const *args, size_t nargsf, PyObject *kwnames, Frame &frame);

/// Divides an array into tiles; `tile` outlives the view.
inline void setTile(ArrayView &view, const int64_t *tile) {
  view.tile = tile;
  for (int dim = 0; dim < view.rank; ++dim)
    view.grid[dim] = view.shape[dim] / tile[dim] + (view.shape[dim] % tile[dim] != 0);
}

/// "'x'", or "'pair[1]'" inside a tuple: the name of a flat argument.
std::string nameOfArgument(const KernelSignature &signature, const Frame &frame, size_t flatIndex);

/// The name of the array `index` of the frame.
inline std::string nameOfArray(const KernelSignature &signature, const Frame &frame, size_t index) {
  return nameOfArgument(signature, frame, frame.flatOfArray[index]);
}

} // namespace tilec::runtime
