//===- TileDialect.h - The tile dialect -------------------------*- C++ -*-===//
#ifndef TILEC_TILE_IR_TILEDIALECT_H
#define TILEC_TILE_IR_TILEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Tile/IR/TileDialect.h.inc"
#include "dialects/Tile/IR/TileEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/IR/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Tile/IR/TileOps.h.inc"

#endif // TILEC_TILE_IR_TILEDIALECT_H
