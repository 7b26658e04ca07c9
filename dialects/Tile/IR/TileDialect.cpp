//===- TileDialect.cpp - Registration of the tile dialect -----------------===//
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace tilec::tile;

#include "dialects/Tile/IR/TileDialect.cpp.inc"

namespace {
/// Dumps name the long types once, at the top.
struct TileAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (!isa<ViewType, PartitionType>(type))
      return AliasResult::NoAlias;
    os << (isa<ViewType>(type) ? "view" : "part");
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void TileDialect::initialize() {
  addInterfaces<TileAsmInterface>();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/IR/TileOps.cpp.inc"
      >();
}

/// Folders return splat constants; arith materializes them.
Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
