//===- TileGPUOps.cpp - Types, verifiers and folders of tilegpu -----------===//
#include "dialects/TileGPU/IR/Layout.h"
#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "dialects/TileGPU/IR/TmaAccess.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilec::tilegpu;

#define GET_TYPEDEF_CLASSES
#include "dialects/TileGPU/IR/TileGPUTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/TileGPU/IR/TileGPUOps.cpp.inc"

void TileGPUDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/TileGPU/IR/TileGPUTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// SmemType
//===----------------------------------------------------------------------===//

int64_t SmemType::getElementBytes() const { return llvm::divideCeil(getElementType().getIntOrFloatBitWidth(), 8); }

int64_t SmemType::getBytes() const { return ShapedType::getNumElements(getShape()) * getElementBytes(); }

SmemType SmemType::staged(int64_t stages) const {
  SmallVector<int64_t> shape{stages}, order;
  llvm::append_range(shape, getShape());
  for (int64_t dim : getLayout().getOrder())
    order.push_back(dim + 1);
  order.push_back(0);
  return get(getContext(), shape, getElementType(), SharedAttr::get(getContext(), order, getLayout().getSwizzle()));
}

LogicalResult SmemType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type elementType,
                               SharedAttr layout) {
  if (!elementType.isIntOrFloat())
    return emitError() << "shared tiles hold integers or floats, found " << elementType;
  if (shape.empty() || layout.getOrder().size() != shape.size())
    return emitError() << "order must have the tile's rank " << shape.size() << ", found " << layout.getOrder().size();
  int64_t rowBytes = shape[layout.getOrder().front()] * llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
  if (layout.getSwizzle() != 0 && rowBytes % (16 << layout.getSwizzle()) != 0)
    return emitError() << "swizzle " << layout.getSwizzle() << " needs rows of a multiple of "
                       << (16 << layout.getSwizzle()) << " bytes, found " << rowBytes;
  return success();
}

Type SmemType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SharedAttr layout;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(elementType) ||
      parser.parseComma() || parser.parseAttribute(layout) || parser.parseGreater())
    return {};
  return parser.getChecked<SmemType>(loc, parser.getContext(), shape, elementType, layout);
}

void SmemType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t size : getShape())
    printer << size << 'x';
  printer << getElementType() << ", " << getLayout() << '>';
}

//===----------------------------------------------------------------------===//
// Verifiers and folders
//===----------------------------------------------------------------------===//

namespace {
/// A tile's layout must have its rank and cover it. Before layouts are assigned there is none.
LogicalResult verifyLayout(Operation *op, Value tile) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  if (!type || !type.getEncoding())
    return success();
  auto attr = dyn_cast<LayoutAttr>(type.getEncoding());
  if (!attr)
    return op->emitOpError("needs tiles with a layout, found ") << type;
  if (attr.getRank() != type.getRank())
    return op->emitOpError("layout must have the tile's rank ") << type.getRank() << ", found " << attr.getRank();
  Layout layout(attr);
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (layout.extent(dim) < size)
      return op->emitOpError("layout must cover the tile: dimension ")
             << dim << " has " << size << " elements, the layout covers " << layout.extent(dim);
  return success();
}

/// Shape and element type of a tile, wherever it lives.
std::pair<ArrayRef<int64_t>, Type> shapeAndElement(Type type) {
  if (auto smem = dyn_cast<SmemType>(type))
    return {smem.getShape(), smem.getElementType()};
  auto tensor = cast<RankedTensorType>(type);
  return {tensor.getShape(), tensor.getElementType()};
}

LogicalResult verifySameTile(Operation *op, Value source, Value result) {
  if (shapeAndElement(source.getType()) != shapeAndElement(result.getType()))
    return op->emitOpError("keeps shape and element type: found ") << source.getType() << " and " << result.getType();
  return success(succeeded(verifyLayout(op, source)) && succeeded(verifyLayout(op, result)));
}
} // namespace

LogicalResult ConvertLayoutOp::verify() { return verifySameTile(*this, getSource(), getResult()); }

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  // A chain of conversions is one conversion.
  if (auto inner = getSource().getDefiningOp<ConvertLayoutOp>()) {
    if (inner.getSource().getType() == getType())
      return inner.getSource();
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return {};
}

LogicalResult LocalAllocOp::verify() { return verifySameTile(*this, getSource(), getResult()); }

LogicalResult ClusterSumOp::verify() {
  RankedTensorType source = getSource().getType();
  if (source.getElementType() != getType().getElementType() || source.getRank() != getType().getRank())
    return emitOpError("keeps rank and element type: found ") << source << " and " << getType();
  if (isScattered() && (source.getRank() != 2 || source.getDimSize(0) != getType().getDimSize(0) ||
                        getType().getDimSize(1) > source.getDimSize(1)))
    return emitOpError("divides the columns of a matrix: found ") << source << " and " << getType();
  return success(succeeded(verifyLayout(*this, getSource())) && succeeded(verifyLayout(*this, getResult())));
}

LogicalResult WorkspaceSumOp::verify() {
  constexpr int64_t kBits = 32;
  if (getParts() < 2)
    return emitOpError("adds up the tiles of 2 CTAs or more, found ") << getParts();
  if (getSources().empty())
    return emitOpError("adds up one tile or more, found none");
  if (getSources().getTypes() != getSums().getTypes())
    return emitOpError("keeps the types of its tiles: found ")
           << getSources().getTypes() << " and " << getSums().getTypes();
  for (Value source : getSources()) {
    if (cast<RankedTensorType>(source.getType()).getElementTypeBitWidth() != kBits)
      return emitOpError("adds elements of 32 bits, found ") << source.getType();
    if (failed(verifyLayout(*this, source)))
      return failure();
  }
  return success();
}

LogicalResult LocalLoadOp::verify() { return verifySameTile(*this, getSource(), getResult()); }

LogicalResult LocalReshapeOp::verify() {
  SmemType source = getSource().getType(), result = getType();
  if (ShapedType::getNumElements(source.getShape()) != ShapedType::getNumElements(result.getShape()) ||
      source.getElementType() != result.getElementType())
    return emitOpError("keeps the number and type of elements: found ") << source << " and " << result;
  for (SmemType type : {source, result})
    if (type.getLayout().getSwizzle() != 0 ||
        !llvm::equal(type.getLayout().getOrder(), llvm::reverse(llvm::seq<int64_t>(0, type.getRank()))))
      return emitOpError("needs row-major tiles without swizzle, found ") << type;
  return success();
}

LogicalResult MmaOp::verify() {
  if (!isWgmma() && (getAccumulate() || getInFlight() != 0))
    return emitOpError("only kind wgmma is asynchronous");
  auto lhs = shapeAndElement(getLhs().getType()).first, rhs = shapeAndElement(getRhs().getType()).first,
       acc = shapeAndElement(getAcc().getType()).first;
  if (lhs.size() != 2 || rhs.size() != 2 || acc.size() != 2 || lhs[1] != rhs[0] || acc[0] != lhs[0] || acc[1] != rhs[1])
    return emitOpError("shapes must be (M, K), (K, N) and (M, N)");
  if (getKind() == MmaKind::fma && !isa<SmemType>(getLhs().getType()))
    return emitOpError("kind fma reads both operands from shared memory");
  return success(succeeded(verifyLayout(*this, getLhs())) && succeeded(verifyLayout(*this, getAcc())));
}

void MmaOp::build(OpBuilder &builder, OperationState &state, Type result, Value lhs, Value rhs, Value acc, MmaKind kind,
                  bool allowTf32, bool lhsUnsigned, bool rhsUnsigned) {
  build(builder, state, result, lhs, rhs, acc, /*accumulate=*/Value(), kind, allowTf32, lhsUnsigned, rhsUnsigned,
        /*in_flight=*/0);
}

void MmaWaitOp::build(OpBuilder &builder, OperationState &state, ValueRange tiles) {
  build(builder, state, tiles.getTypes(), tiles);
}

/// Dumps call a problem's arguments what the author called them.
void ArgumentsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  auto kernel = (*this)->getParentOfType<tile::KernelOp>();
  if (!kernel || !kernel.getArgNames() || kernel.getArgNames()->size() != getNumResults())
    return;
  for (auto [value, name] : llvm::zip_equal(getValues(), kernel.getArgNames()->getAsRange<StringAttr>()))
    setName(value, name.getValue());
}

LogicalResult ArgumentsOp::verify() {
  auto kernel = (*this)->getParentOfType<tile::KernelOp>();
  if (kernel && TypeRange(kernel.getArgumentTypes()) != getResultTypes())
    return emitOpError("must have the kernel's arguments ")
           << kernel.getArgumentTypes() << ", found " << getResultTypes();
  return success();
}

LogicalResult TensorMapOp::verify() {
  auto partition = dyn_cast<tile::PartitionType>(getView().getType());
  auto view = partition ? partition.getView() : cast<tile::ViewType>(getView().getType());
  ArrayRef<int64_t> order = getOrder(), box = getBox();
  if (static_cast<int64_t>(order.size()) != view.getRank() || order.size() != box.size())
    return emitOpError("order and box must have the view's rank ") << view.getRank();
  if (!view.hasUnitStride(order.front()))
    return emitOpError("the first dimension of order must have stride 1");
  if (llvm::any_of(box, [](int64_t extent) { return extent < 1 || extent > 256; }))
    return emitOpError("box extents must be from 1 to 256");
  if (int64_t bytes = box.front() * view.getElementBytes(), width = 16 << getSwizzle();
      getSwizzle() != 0 && bytes != width)
    return emitOpError("swizzle ") << getSwizzle() << " needs rows of " << width << " bytes, found " << bytes;
  return success();
}

LogicalResult LocalStoreOp::verify() {
  RankedTensorType source = getSource().getType();
  SmemType dest = getDest().getType();
  if (source.getShape() != dest.getShape() || source.getElementType() != dest.getElementType())
    return emitOpError("source and destination must have one shape and element type");
  return success();
}

LogicalResult RingSlotOp::verify() {
  SmemType ring = getRing().getType(), slot = getType();
  if (ring.getShape().drop_front() != slot.getShape() || ring.getElementType() != slot.getElementType() ||
      ring.getLayout().getSwizzle() != slot.getLayout().getSwizzle())
    return emitOpError("is one stage of the ring ") << ring << ", found " << slot;
  return success();
}

ArrayRef<int64_t> CopyAsyncOp::getTileShape() { return getShape().value_or(getDest().getType().getShape()); }

LogicalResult CopyAsyncOp::verify() {
  tile::ViewType view = getView().getType();
  SmemType dest = getDest().getType();
  ArrayRef<int64_t> shape = getTileShape();
  if (!view.isReadOnly())
    return emitOpError("copies from read views, found ") << view;
  if (view.getRank() != static_cast<int64_t>(shape.size()) ||
      view.getRank() != static_cast<int64_t>(getIndices().size()) || view.getRank() != getLayout().getRank() ||
      view.getElementType() != dest.getElementType())
    return emitOpError("view, indices, layout and destination must have one rank and element type");
  if (!keptDims(shape, dest.getShape()))
    return emitOpError("the destination may lack dimensions of extent 1 only");
  return success();
}

SmallVector<ArrayRef<int64_t>> PrintOp::getTileShapes() {
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Type type : getValues().getTypes())
    if (auto tile = dyn_cast<RankedTensorType>(type); tile && !llvm::is_contained(shapes, tile.getShape()))
      shapes.push_back(tile.getShape());
  return shapes;
}

LogicalResult PrintOp::verify() {
  size_t places = getFormat().count("{}");
  if (places != getValues().size() || places != getIsUnsigned().size())
    return emitOpError("format has ") << places << " places for " << getValues().size() << " values, "
                                      << getIsUnsigned().size() << " of which have a signedness";
  for (ArrayRef<int64_t> shape : getTileShapes()) {
    Attribute layout;
    for (Type type : getValues().getTypes()) {
      auto tile = dyn_cast<RankedTensorType>(type);
      if (!tile || tile.getShape() != shape)
        continue;
      if (layout && tile.getEncoding() != layout)
        return emitOpError("tiles of one shape must have one layout, found ")
               << layout << " and " << tile.getEncoding();
      layout = tile.getEncoding();
    }
  }
  return success();
}
