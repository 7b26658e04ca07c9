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
  SmallVector<int64_t> registers, lanes, warps, group, repeat;
  int64_t groups = 1;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseBases(parser, "register", registers) || parseBases(parser, "lane", lanes) ||
      parseBases(parser, "warp", warps))
    return {};
  if (succeeded(parser.parseOptionalKeyword("groups")) &&
      (parser.parseEqual() || parser.parseInteger(groups) || parser.parseKeyword("by") ||
       parseIntegers(parser, group) || parser.parseComma()))
    return {};
  if (parser.parseKeyword("repeat") || parser.parseEqual() || parseIntegers(parser, repeat) || parser.parseGreater())
    return {};
  return parser.getChecked<LayoutAttr>(loc, parser.getContext(), registers, lanes, warps, groups, group, repeat);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  int64_t rank = std::max<int64_t>(getRank(), 1);
  printer << '<';
  printBases(printer, "register", getRegisters(), rank);
  printBases(printer, "lane", getLanes(), rank);
  printBases(printer, "warp", getWarps(), rank);
  if (getGroups() != 1) {
    printer << "groups = " << getGroups() << " by [";
    llvm::interleaveComma(getGroup(), printer.getStream());
    printer << "], ";
  }
  printer << "repeat = [";
  llvm::interleaveComma(getRepeat(), printer.getStream());
  printer << "]>";
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> registers,
                                 ArrayRef<int64_t> lanes, ArrayRef<int64_t> warps, int64_t groups,
                                 ArrayRef<int64_t> group, ArrayRef<int64_t> repeat) {
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
  if (groups < 1 || (groups != 1 && groups % 2 == 0))
    return emitError() << "groups of warps must be an odd number, found " << groups;
  if (static_cast<int64_t>(group.size()) != (groups == 1 ? 0 : rank))
    return emitError() << "what groups of warps add must have rank " << (groups == 1 ? 0 : rank);
  if (llvm::count_if(group, [](int64_t v) { return v != 0; }) > 1)
    return emitError() << "groups of warps must divide one dimension";
  for (auto [dim, step] : llvm::enumerate(group)) {
    int64_t span = 0;
    for (ArrayRef<int64_t> flat : {registers, lanes, warps})
      for (size_t i = dim; i < flat.size(); i += rank)
        span |= flat[i];
    if (int64_t atom = llvm::bit_ceil<uint64_t>(span + 1); step != 0 && step != atom)
      return emitError() << "groups of warps must be as far apart as the atom spans, " << atom << ", found " << step;
  }
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

int64_t TargetAttr::startingRegisters(int64_t threads) const {
  constexpr int64_t kMost = 255, kUnit = 8;
  const int64_t all = limit("registers_per_sm");
  return all == 0 ? kMost : std::min(kMost, all / threads / kUnit * kUnit);
}

TargetAttr TargetAttr::of(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module->getAttrOfType<TargetAttr>(TileGPUDialect::kTarget);
}
