//===- TileGPUDialect.cpp - Registration of the tilegpu dialect -----------===//
#include "dialects/TileGPU/IR/TileGPUDialect.h"

using namespace mlir;
using namespace tilec::tilegpu;

#include "dialects/TileGPU/IR/TileGPUDialect.cpp.inc"

void TileGPUDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/TileGPU/IR/TileGPUOps.cpp.inc"
      >();
}
