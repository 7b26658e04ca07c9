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

void TileGPUDialect::initialize() {
  addInterfaces<TileGPUAsmInterface>();
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialects/TileGPU/IR/TileGPUOps.cpp.inc"
      >();
}
