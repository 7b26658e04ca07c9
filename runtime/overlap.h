//===- overlap.h - Do two strided arrays share a byte?
//---------------------===//

#pragma once

#include <cstdint>

namespace tilec::runtime {

/// Where the elements of an array lie. Strides are in bytes.
struct Footprint {
  uint64_t pointer;
  int rank;
  unsigned itemBytes;
  const int64_t *shape;
  const int64_t *strideBytes;
};

enum class Overlap {
  none,
  some,
  /// The exact search ran out of its budget (thousands of dimensions' worth of
  /// interleaved strides); the caller must assume the worst.
  undecided,
};

/// Whether any byte belongs to an element of `a` and to one of `b`.
Overlap overlap(const Footprint &a, const Footprint &b);

/// Whether two different index tuples of `a` name overlapping elements.
Overlap selfOverlap(const Footprint &a);

} // namespace tilec::runtime
