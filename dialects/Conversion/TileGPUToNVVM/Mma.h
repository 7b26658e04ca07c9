//===- Mma.h - Kinds of matrix products -------------------------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILEGPUTONVVM_MMA_H
#define TILEC_CONVERSION_TILEGPUTONVVM_MMA_H

#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"

namespace tilec::lowering {

/// Products of kind `fma`; populateMmaPatterns includes them.
void populateFmaPatterns(const TileTypeConverter &types, Patterns &patterns);

} // namespace tilec::lowering

#endif // TILEC_CONVERSION_TILEGPUTONVVM_MMA_H
