//===- TileGPUAttrs.cpp - Layouts, shared layouts and the target ----------===//
#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilec::tilegpu;

#include "dialects/TileGPU/IR/TileGPUEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/TileGPU/IR/TileGPUAttrs.cpp.inc"

void TileGPUDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/TileGPU/IR/TileGPUAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

namespace {
void printBases(AsmPrinter &printer, StringRef name, ArrayRef<int64_t> flat, int64_t rank) {
  printer << name << " = [";
  for (size_t i = 0; i < flat.size(); i += rank) {
    printer << (i ? ", [" : "[");
    llvm::interleaveComma(flat.slice(i, rank), printer.getStream());
    printer << ']';
  }
  printer << "], ";
}

ParseResult parseIntegers(AsmParser &parser, SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(values.emplace_back()); });
}

ParseResult parseBases(AsmParser &parser, StringRef name, SmallVectorImpl<int64_t> &flat) {
  return failure(
      parser.parseKeyword(name) || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseIntegers(parser, flat); }) ||
      parser.parseComma());
}
} // namespace

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> registers, lanes, warps, repeat;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseBases(parser, "register", registers) || parseBases(parser, "lane", lanes) ||
      parseBases(parser, "warp", warps) || parser.parseKeyword("repeat") || parser.parseEqual() ||
      parseIntegers(parser, repeat) || parser.parseGreater())
    return {};
  return parser.getChecked<LayoutAttr>(loc, parser.getContext(), registers, lanes, warps, repeat);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  int64_t rank = std::max<int64_t>(getRank(), 1);
  printer << '<';
  printBases(printer, "register", getRegisters(), rank);
  printBases(printer, "lane", getLanes(), rank);
  printBases(printer, "warp", getWarps(), rank);
  printer << "repeat = [";
  llvm::interleaveComma(getRepeat(), printer.getStream());
  printer << "]>";
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> registers,
                                 ArrayRef<int64_t> lanes, ArrayRef<int64_t> warps, ArrayRef<int64_t> repeat) {
  int64_t rank = repeat.size();
  for (auto [name, flat] : {std::pair("register", registers), std::pair("lane", lanes), std::pair("warp", warps)}) {
    if (rank == 0 ? !flat.empty() : flat.size() % rank != 0)
      return emitError() << name << " bases must have rank " << rank;
    if (llvm::any_of(flat, [](int64_t v) { return v < 0; }))
      return emitError() << name << " bases must not be negative";
  }
  if (rank != 0 && lanes.size() != 5u * rank)
    return emitError() << "a warp has 5 lane bits, found " << lanes.size() / rank;
  if (llvm::any_of(repeat, [](int64_t v) { return v < 1; }))
    return emitError() << "repeats must be positive";
  return success();
}

//===----------------------------------------------------------------------===//
// SharedAttr
//===----------------------------------------------------------------------===//

LogicalResult SharedAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> order,
                                 int64_t swizzle) {
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, order.size())))
    return emitError() << "order must name every dimension once";
  if (swizzle < 0 || swizzle > 3)
    return emitError() << "swizzle must be 0 to 3 bits of 16-byte chunks, found " << swizzle;
  return success();
}

//===----------------------------------------------------------------------===//
// TargetAttr
//===----------------------------------------------------------------------===//

bool TargetAttr::has(StringRef feature) const {
  auto features = getProperties().getAs<ArrayAttr>("features");
  return features &&
         llvm::any_of(features.getAsRange<StringAttr>(), [&](StringAttr name) { return name.getValue() == feature; });
}

int64_t TargetAttr::limit(StringRef name) const {
  auto limits = getProperties().getAs<DictionaryAttr>("limits");
  auto value = limits ? limits.getAs<IntegerAttr>(name) : IntegerAttr();
  return value ? value.getInt() : 0;
}

TargetAttr TargetAttr::of(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module->getAttrOfType<TargetAttr>(TileGPUDialect::kTarget);
}
