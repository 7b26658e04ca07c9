//===- array.h - An array argument, whatever library it came from
//----------===//

#pragma once

#include "dtypes.h"

#include <cstdint>

namespace tilec::runtime {

constexpr int maxRank = 8;

/// What a kernel may do with an array (ViewSpec.access).
enum class Access : uint8_t { read, exclusive, atomic, unchecked };

const char *nameOf(Access access);

/// The device number of memory that the CPU executor can reach.
constexpr int hostDevice = -1;
/// The device number of an array without memory, which fits any device.
constexpr int anyDevice = -2;
/// The device number of an array that is a description only.
constexpr int noDevice = -3;

/// A bound array argument: plain data, valid for one call.
struct ArrayView {
  uint64_t pointer;
  int64_t shape[maxRank];
  int64_t strides[maxRank]; // in elements
  /// The bytes of all elements are within [low, high).
  uint64_t low, high;
  /// Of a partition: the tile's extents and the number of tiles per dimension.
  /// Null until a tile was chosen for tl.AUTO.
  const int64_t *tile;
  int64_t grid[maxRank];
  int device;
  uint8_t rank;
  DType dtype;
  Access access;
  bool readOnly;
  bool hasStream;
  uintptr_t stream; // the stream on which the array's library works

  bool writable() const { return access != Access::read; }
  bool empty() const { return low == high; }
};

} // namespace tilec::runtime
