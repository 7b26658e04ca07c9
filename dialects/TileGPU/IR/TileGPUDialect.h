//===- TileGPUDialect.h - The tilegpu dialect -------------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_IR_TILEGPUDIALECT_H
#define TILEC_TILEGPU_IR_TILEGPUDIALECT_H

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/TileGPU/IR/TileGPUDialect.h.inc"
#include "dialects/TileGPU/IR/TileGPUEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/TileGPU/IR/TileGPUAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/TileGPU/IR/TileGPUTypes.h.inc"

namespace tilec::tilegpu {
/// The CTA's shared memory, as a resource of memory effects.
struct SharedMemory : mlir::SideEffects::Resource::Base<SharedMemory> {
  mlir::StringRef getName() final { return "SharedMemory"; }
};
} // namespace tilec::tilegpu

#define GET_OP_CLASSES
#include "dialects/TileGPU/IR/TileGPUOps.h.inc"

#endif // TILEC_TILEGPU_IR_TILEGPUDIALECT_H
