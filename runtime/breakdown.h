//===- breakdown.h - The parts of a launch, for measuring them
//-------------===//

#pragma once

#include "arguments.h"
#include "variant_table.h"

#include <string_view>

namespace tilec::runtime {

/// The arguments of one call, as a vectorcall receives them.
struct CallArguments {
  PyObject *const *values;
  size_t count;
  PyObject *keywordNames;
};

/// The names of the parts that can be repeated, in the order of a launch, as a
/// tuple of strings.
Ref launchParts();

/// Runs one part of a launch `count` times, from C++ alone, with the rest done
/// once before; for a kernel that was launched with such arguments before. The
/// time it takes is the caller's to measure. "cuLaunchKernel" is the bare call
/// of the driver: what no launch can be faster than. Raises ValueError and what
/// a launch raises.
void repeatPart(std::string_view part, long count, KernelSignature &signature, const VariantTable &variants,
                const CallArguments &arguments);

} // namespace tilec::runtime
