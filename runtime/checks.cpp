//===- checks.cpp - What must hold before a kernel may run
//-----------------===//

#include "checks.h"

#include "errors.h"
#include "overlap.h"
#include "plan.h"

#include <algorithm>
#include <limits>

using namespace tilec::runtime;

namespace {

constexpr int64_t maxGridYZ = 65535;

/// The strides of an array in bytes, and where it lies.
struct ByteStrides {
  explicit ByteStrides(const ArrayView &view) {
    int64_t bytes = bytesOf(view.dtype);
    for (int dim = 0; dim < view.rank; ++dim)
      values[dim] = view.strides[dim] * bytes;
    footprint = {view.pointer, view.rank, bytesOf(view.dtype), view.shape, values};
  }
  ByteStrides(const ByteStrides &) = delete;
  int64_t values[maxRank];
  Footprint footprint;
};

uintptr_t canonical(uintptr_t stream) { return stream == 0 ? driver::legacyStream : stream; }

class LaunchChecker {
public:
  LaunchChecker(const KernelSignature &signature, Frame &frame) : signature(signature), frame(frame) {}

  void run() {
    checkDevices();
    checkStreams();
    if (frame.automatic)
      checkSharedTile();
    else if (!checkTileGrids())
      readExplicitGrid();
    checkWrites();
  }

  /// Whatever tile is chosen for tl.AUTO, all partitions have one tile grid.
  void checkSharedTile() {
    refuseExplicitGrid();
    size_t first = 0;
    while (frame.arrays[first].access != Access::exclusive || frame.arrays[first].tile)
      ++first;
    const ArrayView &decider = frame.arrays[first];
    for (size_t k = 0; k < frame.arrays.size(); ++k) {
      const ArrayView &view = frame.arrays[k];
      if (view.access != Access::exclusive)
        continue;
      if (view.tile)
        raiseLaunchError("partitions of one launch have one tile: " + name(first) + " has tl.AUTO, " + name(k) +
                             " has " + tupleText(view.tile, view.rank),
                         "use tl.AUTO for every partition, or for none");
      if (view.rank != decider.rank || !std::equal(view.shape, view.shape + view.rank, decider.shape))
        raiseLaunchError("partitions by tl.AUTO have different shapes: " + name(first) + " has " + shapeText(decider) +
                             ", " + name(k) + " has " + shapeText(view),
                         "all share one tile; give partitions of different shapes their tile shapes");
    }
    frame.tiled = true;
    frame.programs = std::find(decider.shape, decider.shape + decider.rank, 0) == decider.shape + decider.rank;
  }

  void divideByChosenTile() {
    for (ArrayView &view : frame.arrays)
      if (view.access == Access::exclusive)
        setTile(view, frame.chosenTile);
    checkTileGrids();
  }

private:
  std::string name(size_t array) const { return nameOfArray(signature, frame, array); }

  //===--------------------------------------------------------------------===//
  // Devices and streams
  //===--------------------------------------------------------------------===//

  void checkDevices() {
    if (frame.arrays.empty())
      raiseLaunchError(signature.kernelName + " was launched without an array, expected at least one: "
                                              "the arrays decide where it runs");
    size_t decider = 0;
    for (size_t k = 0; k < frame.arrays.size(); ++k) {
      int device = frame.arrays[k].device;
      if (device == noDevice)
        raiseLaunchError("argument " + name(k) +
                             " is a description without memory, expected an "
                             "array",
                         "descriptions are for compiling: " + signature.kernelName + ".compile(...)");
      if (device == anyDevice)
        continue;
      if (frame.device == anyDevice) {
        frame.device = device;
        decider = k;
      } else if (device != frame.device) {
        raiseMixedDevices(decider, k);
      }
    }
    if (frame.device == anyDevice)
      frame.device = 0; // nothing but empty arrays
  }

  [[noreturn]] void raiseMixedDevices(size_t a, size_t b) {
    int deviceA = frame.arrays[a].device;
    int deviceB = frame.arrays[b].device;
    bool mixed = deviceA == hostDevice || deviceB == hostDevice;
    raiseLaunchError("arguments are on different devices: " + name(a) + " is in " + deviceText(deviceA) + ", " +
                         name(b) + " is in " + deviceText(deviceB),
                     mixed ? "move " + name(deviceA == hostDevice ? a : b) + " to the GPU, or all arguments to the host"
                           : "copy one of them to the other's device");
  }

  /// Work goes to the current stream of the arrays' library. Arrays of two
  /// libraries whose streams differ have no common order of their own.
  void checkStreams() {
    if (frame.request.hasStream) {
      frame.stream = frame.request.stream;
      return;
    }
    const ArrayView *decider = nullptr;
    for (size_t k = 0; k < frame.arrays.size(); ++k) {
      const ArrayView &view = frame.arrays[k];
      if (!view.hasStream)
        continue;
      if (!decider)
        decider = &view;
      else if (!sameStream(view.stream, decider->stream))
        raiseLaunchError(
            "arguments belong to different streams: " + name(static_cast<size_t>(decider - frame.arrays.data())) +
                " to " + std::to_string(decider->stream) + ", " + name(k) + " to " + std::to_string(view.stream),
            "make one stream current in both libraries, or pass stream=");
    }
    frame.stream = decider ? decider->stream : 0;
  }

  //===--------------------------------------------------------------------===//
  // The grid
  //===--------------------------------------------------------------------===//

  bool checkTileGrids() {
    const ArrayView *first = nullptr;
    for (size_t k = 0; k < frame.arrays.size(); ++k) {
      const ArrayView &view = frame.arrays[k];
      if (view.access != Access::exclusive)
        continue;
      if (!first)
        first = &view;
      else if (!sameGrid(*first, view))
        raiseLaunchError(
            "partitions have different tile grids: " + name(static_cast<size_t>(first - frame.arrays.data())) +
                " has " + gridText(*first) + ", " + name(k) + " has " + gridText(view),
            "every program owns one tile of each partition");
    }
    if (!first)
      return false;
    refuseExplicitGrid();
    frame.tiled = true;
    setPrograms(first->grid, first->rank);
    return true;
  }

  void refuseExplicitGrid() {
    if (frame.gridObject && frame.gridObject != Py_None)
      raiseLaunchError("grid= was given to a launch with a partition, whose "
                       "tile grid is the grid",
                       "leave grid= out");
  }

  static std::string shapeText(const ArrayView &view) { return tupleText(view.shape, view.rank); }

  static bool sameGrid(const ArrayView &a, const ArrayView &b) {
    if (a.rank != b.rank)
      return false;
    for (int dim = 0; dim < a.rank; ++dim)
      if (a.grid[dim] != b.grid[dim])
        return false;
    return true;
  }

  static std::string gridText(const ArrayView &view) {
    return tupleText(view.grid, view.rank) + " tiles of " + tupleText(view.tile, view.rank);
  }

  void setPrograms(const int64_t *extents, int rank) {
    __int128 programs = 1;
    for (int dim = 0; dim < rank; ++dim)
      if (extents[dim] == 0)
        programs = 0;
    for (int dim = 0; dim < rank && programs != 0; ++dim) {
      programs *= extents[dim];
      if (programs > std::numeric_limits<int64_t>::max())
        programs = std::numeric_limits<int64_t>::max();
    }
    frame.programs = static_cast<int64_t>(programs);
    if (frame.programs > maxGridX)
      raiseLaunchError("the tile grid " + tupleText(extents, rank) + " has " + std::to_string(frame.programs) +
                           " programs, expected at most 2147483647",
                       "use larger tiles");
    frame.grid[0] = static_cast<unsigned>(frame.programs);
  }

  void readExplicitGrid() {
    PyObject *object = frame.gridObject;
    if (!object || object == Py_None)
      raiseLaunchError(signature.kernelName + " was launched without a partition and without "
                                              "grid=, expected one of them",
                       "wrap the output in tl.partition(array, tile_shape)");
    Ref tuple = PyLong_Check(object) ? Ref::steal(PyTuple_Pack(1, object)) : Ref::steal(PySequence_Tuple(object));
    Py_ssize_t rank = PyTuple_GET_SIZE(tuple.get());
    frame.programs = 1;
    bool valid = rank >= 1 && rank <= 3;
    for (Py_ssize_t dim = 0; valid && dim < rank; ++dim) {
      long long extent = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.get(), dim));
      if (extent == -1 && PyErr_Occurred())
        PyErr_Clear();
      valid = extent >= 0 && extent <= (dim == 0 ? maxGridX : maxGridYZ);
      if (!valid)
        break;
      frame.grid[dim] = static_cast<unsigned>(extent);
      frame.programs *= extent;
    }
    if (!valid)
      raiseLaunchError("grid= is " + describe(object) +
                       ", expected one to three integers: at most 2147483647, "
                       "65535 and 65535");
  }

  //===--------------------------------------------------------------------===//
  // Writes
  //===--------------------------------------------------------------------===//

  void checkWrites() {
    for (size_t k = 0; k < frame.arrays.size(); ++k) {
      const ArrayView &written = frame.arrays[k];
      if (!written.writable())
        continue;
      if (written.readOnly)
        raiseLaunchError("argument " + name(k) + " is a read-only array, expected a writable one");
      checkSelf(k);
      for (size_t other = 0; other < frame.arrays.size(); ++other) {
        // A pair of written arrays is looked at once.
        bool again = other < k && frame.arrays[other].writable();
        if (other != k && !again)
          checkPair(k, other);
      }
    }
  }

  void checkSelf(size_t k) {
    const ArrayView &view = frame.arrays[k];
    if (view.access == Access::unchecked || view.empty())
      return;
    ByteStrides strides(view);
    if (selfOverlap(strides.footprint) == Overlap::none)
      return;
    raiseLaunchError("argument " + name(k) + " is written, but its own elements overlap: shape " +
                         tupleText(view.shape, view.rank) + ", strides " + tupleText(view.strides, view.rank),
                     "write to an array of its own and copy or reduce it");
  }

  void checkPair(size_t k, size_t other) {
    const ArrayView &b = frame.arrays[other];
    Overlap found = sharedMemory(frame.arrays[k], b);
    if (found == Overlap::none)
      return;
    std::string verb =
        found == Overlap::some ? " shares memory with argument " : " cannot be proved disjoint from argument ";
    raiseLaunchError("argument " + name(k) + " is written, but" + verb + name(other) + ", expected disjoint arrays",
                     b.writable() ? "give each output memory of its own"
                                  : "to work in place, read the output itself: " + name(k) +
                                        ".load(), and do not pass " + name(other));
  }

  const KernelSignature &signature;
  Frame &frame;
};

} // namespace

std::string tilec::runtime::deviceText(int device) {
  return device == hostDevice ? "host memory" : "cuda:" + std::to_string(device);
}

bool tilec::runtime::sameStream(uintptr_t a, uintptr_t b) { return canonical(a) == canonical(b); }

Overlap tilec::runtime::sharedMemory(const ArrayView &written, const ArrayView &other) {
  if (written.high <= other.low || other.high <= written.low || written.empty() || other.empty())
    return Overlap::none;
  bool trusted = (written.access == Access::unchecked && other.writable()) || other.access == Access::unchecked;
  if (trusted)
    return Overlap::none;
  ByteStrides first(written), second(other);
  return overlap(first.footprint, second.footprint);
}

void tilec::runtime::checkLaunch(const KernelSignature &signature, Frame &frame) {
  LaunchChecker(signature, frame).run();
  frame.key[0] = makeWord(KeyTag::device, frame.device == hostDevice ? hostKey : static_cast<uint64_t>(frame.device));
}

void tilec::runtime::divideByChosenTile(const KernelSignature &signature, Frame &frame) {
  LaunchChecker(signature, frame).divideByChosenTile();
}

void tilec::runtime::checkSharedTile(const KernelSignature &signature, Frame &frame) {
  LaunchChecker(signature, frame).checkSharedTile();
}
