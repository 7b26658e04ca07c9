//===- specification.h - A key, decoded for Python
//-------------------------===//

#pragma once

#include "arguments.h"

namespace tilec::runtime {

/// The specification of every parameter, decoded from the frame's key: a tuple
/// of nested tuples that tilec.jit.specialize turns into a Signature:
///   ("view", dtype, rank, access, unit_strides, divisible, stride_align,
///    align, index_bits, tile_shape or None)
///   ("scalar", dtype) | ("constant", value) | ("tuple", (…))
Ref specificationOf(const KernelSignature &signature, const Frame &frame);

} // namespace tilec::runtime
