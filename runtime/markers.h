//===- markers.h - partition(), accumulate(), unchecked()
//------------------===//
//
// What an author wraps around an array to say how a kernel may write it. They
// are made inside the launch expression, once per launch, so they are small C
// objects that parse the tile shape when they are made.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "array.h"
#include "python_support.h"

namespace tilec::runtime {

struct Marker {
  PyObject_HEAD PyObject *array;
  PyObject *tileShape; // a tuple of ints, or AUTO; null unless a partition
  Access access;
  bool automatic; // the tile is tl.AUTO
  uint8_t tileRank;
  int64_t tile[maxRank];
};

extern PyTypeObject *partitionType, *accumulateType, *uncheckedType;

/// tl.AUTO, which stands for a tile shape that the plan chooses.
extern PyObject *automaticTile;

/// Creates the types and adds them to the module, with AUTO.
void addMarkerTypes(PyObject *module);

inline bool isMarker(PyTypeObject *type) {
  return type == partitionType || type == accumulateType || type == uncheckedType;
}

} // namespace tilec::runtime
