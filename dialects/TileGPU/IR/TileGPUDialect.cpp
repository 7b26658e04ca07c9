//===- TileGPUDialect.cpp - Registration of the tilegpu dialect -----------===//
#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilec::tilegpu;

#include "dialects/TileGPU/IR/TileGPUDialect.cpp.inc"

namespace {
/// Dumps name the long attributes and types once, at the top.
struct TileGPUAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    StringRef name = TypeSwitch<Attribute, StringRef>(attribute)
                         .Case([](LayoutAttr) { return "layout"; })
                         .Case([](SharedAttr) { return "shared"; })
                         .Case([](TargetAttr) { return "target"; })
                         .Default([](Attribute) { return ""; });
    os << name;
    return name.empty() ? AliasResult::NoAlias : AliasResult::OverridableAlias;
  }

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (!isa<SmemType>(type))
      return AliasResult::NoAlias;
    os << "smem";
    return AliasResult::OverridableAlias;
  }
};
} // namespace

/// A cluster without a shared tile takes neighbouring rows of the first partition's tiles.
static LogicalResult verifyCluster(Operation *op, Attribute value) {
  auto size = dyn_cast<IntegerAttr>(value);
  if (!size || !size.getType().isInteger(64) || size.getInt() < 1)
    return op->emitOpError("attribute '") << TileGPUDialect::kCluster << "' must be a positive i64, found " << value;
  auto kernel = dyn_cast<tilec::tile::KernelOp>(op);
  if (!kernel) // a function that it became
    return success();
  auto partitions = llvm::make_filter_range(kernel.getArgumentTypes(), llvm::IsaPred<tilec::tile::PartitionType>);
  const bool shares = kernel->hasAttr(TileGPUDialect::kSharesTiles);
  const int64_t rank =
      partitions.empty() ? 0 : cast<tilec::tile::PartitionType>(*partitions.begin()).getTileShape().size();
  const int64_t fewest = size.getInt() == 1 ? 0 : shares ? 1 : 2;
  if (rank >= fewest)
    return success();
  InFlightDiagnostic error = kernel.emitError("a cluster of ")
                             << size.getInt() << " CTAs " << (shares ? "shares a tile" : "takes rows of tiles")
                             << ": the kernel must have a partition";
  if (fewest == 2)
    error << " of at least 2 dimensions";
  error << ", found ";
  return rank == 0 ? error << "none" : error << "one of " << rank;
}

LogicalResult TileGPUDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return attribute.getName() == kCluster ? verifyCluster(op, attribute.getValue()) : success();
}

void TileGPUDialect::initialize() {
  addInterfaces<TileGPUAsmInterface>();
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/TileGPU/IR/TileGPUOps.cpp.inc"
      >();
}
