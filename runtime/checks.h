//===- checks.h - What must hold before a kernel may run
//-------------------===//

#pragma once

#include "arguments.h"
#include "overlap.h"

namespace tilec::runtime {

/// Checks a bound frame and completes it: device, stream, grid and program
/// count. Raises LaunchError, naming the argument, what was expected and found.
///
/// - all arrays are on one device;
/// - all partitions have the same tile grid, or grid= is given when there is
///   none, within the limits of the hardware;
/// - every argument that may be written is writable, disjoint from every other
///   argument, and does not overlap itself. tl.unchecked arrays may overlap
///   what is written, but not what is read: reads are moved across writes.
///
/// With tl.AUTO the grid stays open until divideByChosenTile; the program count is 0
/// when there will be none, and 1 else.
void checkLaunch(const KernelSignature &signature, Frame &frame);

/// The part of these checks that partitions by tl.AUTO need to be planned for:
/// all have one shape.
void checkSharedTile(const KernelSignature &signature, Frame &frame);

/// Divides all partitions by the frame's chosen tile and completes the grid.
void divideByChosenTile(const KernelSignature &signature, Frame &frame);

/// Whether a written array shares memory with another one, as far as a launch
/// forbids it.
Overlap sharedMemory(const ArrayView &written, const ArrayView &other);

/// Whether work on two streams is in one order.
bool sameStream(uintptr_t a, uintptr_t b);

/// "cuda:0" or "host memory".
std::string deviceText(int device);

} // namespace tilec::runtime
