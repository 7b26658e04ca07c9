//===- specification.h - A key, decoded for Python
//-------------------------===//

#pragma once

#include "arguments.h"

namespace tilec::runtime {

/// The specification of every parameter, decoded from the frame's key: a tuple
/// of nested tuples that tilec.jit.specialize turns into a Signature:
///   ("view", dtype, rank, access, unit_strides, divisible, stride_align,
///    align, index_bits, tile_shape, "auto" or None)
///   ("scalar", dtype) | ("constant", value) | ("tuple", (…))
Ref specificationOf(const KernelSignature &signature, const Frame &frame);

/// A tuple of integers.
Ref extentsTuple(const int64_t *values, int rank);

/// The extents of every array, in the order of the flat arguments: a tuple of
/// tuples.
Ref shapesOf(const Frame &frame);

/// Whether each of these extents differs among the problems that a frame stands
/// for, likewise.
Ref varyingOf(const Frame &frame);

} // namespace tilec::runtime
