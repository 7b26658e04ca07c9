//===- TileGPUDialect.cpp - Registration of the tilegpu dialect -----------===//
#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tilec::tilegpu;

#include "dialects/TileGPU/IR/TileGPUDialect.cpp.inc"

namespace {
/// Dumps name the target and shared-memory types once, at the top; layouts name themselves.
struct TileGPUAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    if (!isa<TargetAttr>(attribute))
      return AliasResult::NoAlias;
    os << "target";
    return AliasResult::OverridableAlias;
  }

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (!isa<SmemType>(type))
      return AliasResult::NoAlias;
    os << "smem";
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void TileGPUDialect::initialize() {
  addInterfaces<TileGPUAsmInterface>();
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/TileGPU/IR/TileGPUOps.cpp.inc"
      >();
}
