//===- choice.h - Launches whose tile is tl.AUTO
//---------------------------===//

#pragma once

#include "arguments.h"

namespace tilec::runtime {

/// The words under which a launch with tl.AUTO is looked up for its tile.
using ShapeKey = InlineVector<uint64_t, 96>;

/// Fills `key` with the frame's key and the extents of all its arrays.
void shapeKeyOf(const Frame &frame, ShapeKey &key);

/// Asks the kernel's `_plan(specs, shapes, device) -> (tile, decisions)`, or
/// `_plan_group(specs, shapes, device, varying, problems)`; returns the decisions, which are text. Sets the frame's
/// tile, and its key to that of the same launch with that tile.
Ref planTile(PyObject *kernel, KernelSignature &signature, Frame &frame, PyObject *device);

} // namespace tilec::runtime
