//===- TileTypes.cpp - Tensor views and partitions ------------------------===//
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilec::tile;

#include "dialects/Tile/IR/TileEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/IR/TileTypes.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Tile/IR/TileTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// ViewType
//===----------------------------------------------------------------------===//

int64_t ViewType::getElementBytes() const { return llvm::divideCeil(getElementType().getIntOrFloatBitWidth(), 8); }

bool ViewType::impliesFactsOf(ViewType weaker) const {
  if (getShape().size() != weaker.getShape().size() || getElementType() != weaker.getElementType() ||
      getAccess() != weaker.getAccess() || getAlign() % weaker.getAlign() != 0 ||
      getIndexBits() > weaker.getIndexBits())
    return false;
  auto fixed = [](int64_t own, int64_t other) { return ShapedType::isDynamic(other) || own == other; };
  for (int64_t d = 0; d < getRank(); ++d)
    if (!fixed(getShape()[d], weaker.getShape()[d]) || !fixed(getStrides()[d], weaker.getStrides()[d]) ||
        getDivisible()[d] % weaker.getDivisible()[d] != 0 || getStrideAlign()[d] % weaker.getStrideAlign()[d] != 0)
      return false;
  return true;
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type elementType,
                               ArrayRef<int64_t> strides, ArrayRef<int64_t> divisible, ArrayRef<int64_t> strideAlign,
                               int64_t align, int64_t indexBits, Access access) {
  if (!elementType.isIntOrFloat())
    return emitError() << "view element type must be an integer or a float, found " << elementType;
  for (auto [what, values] :
       {std::pair("strides", strides), std::pair("divisible", divisible), std::pair("stride_align", strideAlign)})
    if (values.size() != shape.size())
      return emitError() << what << " must have one entry a dimension: expected " << shape.size() << ", found "
                         << values.size();
  auto isPowerOfTwo = [](int64_t v) { return v > 0 && llvm::isPowerOf2_64(v); };
  if (!llvm::all_of(divisible, isPowerOfTwo) || !llvm::all_of(strideAlign, isPowerOfTwo) || !isPowerOfTwo(align))
    return emitError() << "divisible, stride_align and align must be powers of two";
  if (indexBits != 32 && indexBits != 64)
    return emitError() << "index must be 32 or 64, found " << indexBits;
  return success();
}

namespace {
void printDims(AsmPrinter &printer, ArrayRef<int64_t> values) {
  llvm::interleaveComma(values, printer.getStream(), [&](int64_t v) {
    if (ShapedType::isDynamic(v))
      printer << '?';
    else
      printer << v;
  });
}

/// Parses `name = [a, ?, b],` with `?` for a dynamic entry.
ParseResult parseDims(AsmParser &parser, StringRef name, SmallVectorImpl<int64_t> &values) {
  auto element = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      values.push_back(ShapedType::kDynamic);
      return success();
    }
    return parser.parseInteger(values.emplace_back());
  };
  return failure(parser.parseKeyword(name) || parser.parseEqual() ||
                 parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, element) || parser.parseComma());
}
} // namespace

Type ViewType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape, strides, divisible, strideAlign;
  Type elementType;
  int64_t align = 0, indexBits = 0;
  StringRef access;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/true) || parser.parseType(elementType) ||
      parser.parseComma() || parseDims(parser, "strides", strides) || parseDims(parser, "divisible", divisible) ||
      parseDims(parser, "stride_align", strideAlign) || parser.parseKeyword("align") || parser.parseEqual() ||
      parser.parseInteger(align) || parser.parseComma() || parser.parseKeyword("index") || parser.parseEqual() ||
      parser.parseInteger(indexBits) || parser.parseComma() || parser.parseKeyword(&access) || parser.parseGreater())
    return {};
  std::optional<Access> kind = symbolizeAccess(access);
  if (!kind)
    return parser.emitError(loc, "access must be read, exclusive, atomic or unchecked, found '") << access << "'",
           Type();
  return parser.getChecked<ViewType>(loc, parser.getContext(), shape, elementType, strides, divisible, strideAlign,
                                     align, indexBits, *kind);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t dim : getShape()) {
    printDims(printer, dim);
    printer << 'x';
  }
  printer << getElementType() << ", strides = [";
  printDims(printer, getStrides());
  printer << "], divisible = [";
  printDims(printer, getDivisible());
  printer << "], stride_align = [";
  printDims(printer, getStrideAlign());
  printer << "], align = " << getAlign() << ", index = " << getIndexBits() << ", " << stringifyAccess(getAccess())
          << '>';
}

//===----------------------------------------------------------------------===//
// PartitionType
//===----------------------------------------------------------------------===//

LogicalResult PartitionType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> tileShape,
                                    ViewType view) {
  if (static_cast<int64_t>(tileShape.size()) != view.getRank())
    return emitError() << "tile shape must have the view's rank: expected " << view.getRank() << ", found "
                       << tileShape.size();
  for (int64_t extent : tileShape)
    if (extent < 1)
      return emitError() << "tile extents must be positive, found " << extent;
  if (view.getAccess() != Access::exclusive)
    return emitError() << "a partition needs an exclusive view, found " << stringifyAccess(view.getAccess());
  return success();
}

Type PartitionType::parse(AsmParser &parser) {
  SmallVector<int64_t> tileShape;
  ViewType view;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(tileShape, /*allowDynamic=*/false, /*withTrailingX=*/false) ||
      parser.parseKeyword("of") || parser.parseType(view) || parser.parseGreater())
    return {};
  return parser.getChecked<PartitionType>(loc, parser.getContext(), tileShape, view);
}

void PartitionType::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleave(getTileShape(), printer.getStream(), "x");
  printer << " of " << getView() << '>';
}
