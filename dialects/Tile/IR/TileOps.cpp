//===- TileOps.cpp - Syntax and verifiers of the tile dialect -------------===//
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace tilec::tile;

#define GET_OP_CLASSES
#include "dialects/Tile/IR/TileOps.cpp.inc"

namespace {
RankedTensorType tileType(Value value) { return cast<RankedTensorType>(value.getType()); }

ViewType viewOf(Type type) {
  if (auto partition = dyn_cast<PartitionType>(type))
    return partition.getView();
  return cast<ViewType>(type);
}

/// `order` must hold every dimension below `rank` once.
LogicalResult verifyOrder(Operation *op, ArrayRef<int64_t> order, int64_t rank) {
  SmallVector<bool> seen(rank, false);
  if (static_cast<int64_t>(order.size()) != rank)
    return op->emitOpError("order must name every dimension once: expected ")
           << rank << " entries, found " << order.size();
  for (int64_t dim : order) {
    if (dim < 0 || dim >= rank || seen[dim])
      return op->emitOpError("order must name every dimension once, found ") << dim;
    seen[dim] = true;
  }
  return success();
}

LogicalResult verifyDim(Operation *op, Type view, int64_t dim) {
  int64_t rank = viewOf(view).getRank();
  if (dim < 0 || dim >= rank)
    return op->emitOpError("dimension must be below the rank ") << rank << ", found " << dim;
  return success();
}

template <typename T> SmallVector<T> permuted(ArrayRef<T> values, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t dim) { return values[dim]; });
}

ViewType permutedView(ViewType view, ArrayRef<int64_t> order) {
  return ViewType::get(view.getContext(), permuted(view.getShape(), order), view.getElementType(),
                       permuted(view.getStrides(), order), permuted(view.getDivisible(), order),
                       permuted(view.getStrideAlign(), order), view.getAlign(), view.getIndexBits(), view.getAccess());
}

LogicalResult verifyElementType(Operation *op, StringRef what, Type expected, Type found) {
  if (expected != found)
    return op->emitOpError(what) << " must be " << expected << ", found " << found;
  return success();
}

/// Reads of anything but a `read` view are ordered with writes.
void addReadEffect(OpOperand &view, SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (!cast<ViewType>(view.get().getType()).isReadOnly())
    effects.emplace_back(MemoryEffects::Read::get(), &view, SideEffects::DefaultResource::get());
}
} // namespace

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), buildType,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

/// Dumps call the arguments what the author called them.
void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (!getArgNames() || region.empty() || getArgNames()->size() != region.front().getNumArguments())
    return;
  for (auto [argument, name] : llvm::zip_equal(region.getArguments(), getArgNames()->getAsRange<StringAttr>()))
    setName(argument, name.getValue());
}

LogicalResult KernelOp::verify() {
  if (getFunctionType().getNumResults() != 0)
    return emitOpError("a kernel has no results, found ") << getFunctionType().getResults();
  if (getArgNames() && getArgNames()->size() != getFunctionType().getNumInputs())
    return emitOpError("arg_names must name every argument: expected ")
           << getFunctionType().getNumInputs() << ", found " << getArgNames()->size();
  for (Type type : getFunctionType().getInputs())
    if (!isa<ViewType, PartitionType>(type) && !type.isIntOrFloat())
      return emitOpError("arguments are views, partitions and scalars, found ") << type;
  return success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

LogicalResult IndexOp::verify() {
  if (static_cast<int64_t>(getNumResults()) != getPartition().getType().getRank())
    return emitOpError("has one result a dimension: expected ")
           << getPartition().getType().getRank() << ", found " << getNumResults();
  return success();
}

LogicalResult ViewOfOp::verify() {
  return verifyElementType(*this, "result", getPartition().getType().getView(), getType());
}

void PermuteViewOp::build(OpBuilder &builder, OperationState &state, Value view, ArrayRef<int64_t> order) {
  build(builder, state, permutedView(cast<ViewType>(view.getType()), order), view, order);
}

LogicalResult PermuteViewOp::verify() {
  ViewType source = getView().getType();
  if (failed(verifyOrder(*this, getOrder(), source.getRank())))
    return failure();
  return verifyElementType(*this, "result", permutedView(source, getOrder()), getType());
}

LogicalResult ViewCastOp::verify() {
  if (!getView().getType().impliesFactsOf(getType()))
    return emitOpError("result must promise no more than ") << getView().getType() << ", found " << getType();
  return success();
}

LogicalResult DimOp::verify() { return verifyDim(*this, getView().getType(), getDim()); }

LogicalResult NumTilesOp::verify() { return verifyDim(*this, getView().getType(), getDim()); }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyStep(Operation *op, std::optional<ArrayRef<int64_t>> steps, int64_t rank) {
  if (steps && static_cast<int64_t>(steps->size()) != rank)
    return op->emitOpError("step must have one entry a dimension: expected ") << rank << ", found " << steps->size();
  for (int64_t step : steps.value_or(ArrayRef<int64_t>()))
    if (step < 1)
      return op->emitOpError("steps must be positive, found ") << step;
  return success();
}

LogicalResult LoadOp::verify() {
  ViewType view = getView().getType();
  int64_t rank = view.getRank();
  if (static_cast<int64_t>(getIndices().size()) != rank)
    return emitOpError("needs one index a dimension: expected ") << rank << ", found " << getIndices().size();
  if (getType().getRank() != rank)
    return emitOpError("tile must have the view's rank ") << rank << ", found " << getType().getRank();
  if (failed(verifyStep(*this, getStep(), rank)))
    return failure();
  if (getPad() && failed(verifyElementType(*this, "pad", view.getElementType(), getPad().getType())))
    return failure();
  return verifyElementType(*this, "tile element type", view.getElementType(), getType().getElementType());
}

void LoadOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addReadEffect(getViewMutable(), effects);
}

LogicalResult StoreOp::verify() {
  RankedTensorType tile = tileType(getValue());
  ViewType view = viewOf(getDest().getType());
  if (failed(verifyStep(*this, getStep(), view.getRank())))
    return failure();
  if (tile.getRank() != view.getRank())
    return emitOpError("needs a tile of the view's rank ") << view.getRank() << ", found " << tile.getRank();
  if (auto partition = dyn_cast<PartitionType>(getDest().getType())) {
    // Only a pass makes a program walk over several tiles, or choose its partition, and then it names the tile.
    const bool walks =
        !isa<BlockArgument>(getDest()) || (*this)->getParentOfType<KernelOp>()->hasAttr(TileDialect::kWalksTiles);
    if (static_cast<int64_t>(getIndices().size()) != (walks ? view.getRank() : 0))
      return emitOpError("a partition's tile has its own place: expected ")
             << (walks ? "one index a dimension" : "no indices") << ", found " << getIndices().size();
    if (getStep() && !walks)
      return emitOpError("a partition's tile has its own place and takes no step");
    // Then it may also store a part, which starts at a multiple of its extent, or of the step.
    const ArrayRef<int64_t> units = getStep().value_or(tile.getShape());
    const bool fits = walks ? llvm::equal(units, partition.getTileShape(),
                                          [](int64_t unit, int64_t whole) { return whole % unit == 0; }) &&
                                  llvm::all_of(llvm::zip_equal(tile.getShape(), partition.getTileShape()),
                                               [](auto pair) { return std::get<0>(pair) <= std::get<1>(pair); })
                            : tile.getShape() == partition.getTileShape();
    if (!fits)
      return emitOpError("tile must have the partition's shape [")
             << partition.getTileShape() << "], found [" << tile.getShape() << "]";
  } else {
    if (view.getAccess() != Access::unchecked)
      return emitOpError("needs a partition or an unchecked view, found a view "
                         "with access ")
             << stringifyAccess(view.getAccess());
    if (static_cast<int64_t>(getIndices().size()) != view.getRank())
      return emitOpError("needs indices of the view's rank ") << view.getRank();
  }
  return verifyElementType(*this, "tile element type", view.getElementType(), tile.getElementType());
}

void StoreOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getDestMutable(), SideEffects::DefaultResource::get());
}

LogicalResult GatherOp::verify() {
  ViewType view = getView().getType();
  if (static_cast<int64_t>(getIndices().size()) != view.getRank())
    return emitOpError("needs one index tile a dimension: expected ")
           << view.getRank() << ", found " << getIndices().size();
  for (Value index : getIndices())
    if (tileType(index).getShape() != getType().getShape())
      return emitOpError("index tiles must have the result's shape");
  if (getMask() && tileType(getMask()).getShape() != getType().getShape())
    return emitOpError("mask must have the result's shape");
  if (getFill() && failed(verifyElementType(*this, "fill", view.getElementType(), getFill().getType())))
    return failure();
  return verifyElementType(*this, "tile element type", view.getElementType(), getType().getElementType());
}

void GatherOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addReadEffect(getViewMutable(), effects);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  if (static_cast<int64_t>(getAxis()) >= getType().getRank())
    return emitOpError("axis must be below the rank ") << getType().getRank() << ", found " << getAxis();
  return success();
}

LogicalResult SplatOp::verify() {
  return verifyElementType(*this, "scalar", getType().getElementType(), getScalar().getType());
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType source = getSource().getType();
  if (source.getRank() != getType().getRank())
    return emitOpError("keeps the rank: expected ") << source.getRank() << ", found " << getType().getRank();
  for (auto [from, to] : llvm::zip_equal(source.getShape(), getType().getShape()))
    if (from != to && from != 1)
      return emitOpError("only dimensions of extent 1 grow: found ") << from << " to " << to;
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (getSource().getType().getNumElements() != getType().getNumElements())
    return emitOpError("keeps the number of elements: expected ")
           << getSource().getType().getNumElements() << ", found " << getType().getNumElements();
  return success();
}

LogicalResult PermuteOp::verify() {
  RankedTensorType source = getSource().getType();
  if (failed(verifyOrder(*this, getOrder(), source.getRank())))
    return failure();
  if (permuted(source.getShape(), getOrder()) != getType().getShape())
    return emitOpError("result shape must be the permuted operand shape");
  return success();
}

LogicalResult ExtractOp::verify() {
  if (getSource().getType().getNumElements() != 1)
    return emitOpError("needs a tile of one element, found ") << getSource().getType();
  return verifyElementType(*this, "result", getSource().getType().getElementType(), getType());
}

//===----------------------------------------------------------------------===//
// Arithmetic beyond elementwise
//===----------------------------------------------------------------------===//

LogicalResult MmaOp::verify() {
  ArrayRef<int64_t> lhs = getLhs().getType().getShape(), rhs = getRhs().getType().getShape(),
                    acc = getAcc().getType().getShape();
  if (lhs.size() != 2 || rhs.size() != 2 || acc.size() != 2)
    return emitOpError("operands must be of rank 2");
  if (lhs[1] != rhs[0])
    return emitOpError("operands disagree on K: lhs has ") << lhs[1] << ", rhs has " << rhs[0];
  if (acc[0] != lhs[0] || acc[1] != rhs[1])
    return emitOpError("accumulator must be ") << lhs[0] << "x" << rhs[1] << ", found " << acc[0] << "x" << acc[1];
  auto isFloat = [](Value tile) { return isa<FloatType>(tileType(tile).getElementType()); };
  if (isFloat(getLhs()) != isFloat(getAcc()) || isFloat(getRhs()) != isFloat(getAcc()))
    return emitOpError("operands and accumulator must be all floats or all "
                       "integers, found ")
           << getLhs().getType() << ", " << getRhs().getType() << " and " << getAcc().getType();
  return success();
}

LogicalResult ReduceOp::verify() {
  if (getSources().empty())
    return emitOpError("needs at least one operand");
  if (getSources().size() != getOutputs().size() || getSources().size() != getIdentities().size())
    return emitOpError("needs one result and one identity an operand: expected ")
           << getSources().size() << ", found " << getOutputs().size() << " and " << getIdentities().size();
  ArrayRef<int64_t> shape = tileType(getSources().front()).getShape();
  if (static_cast<size_t>(getAxis()) >= shape.size())
    return emitOpError("axis must be below the rank ") << shape.size() << ", found " << getAxis();
  SmallVector<int64_t> reduced(shape);
  reduced[getAxis()] = 1;
  for (auto [source, output, identity] : llvm::zip(getSources(), getOutputs(), getIdentities())) {
    if (tileType(source).getShape() != shape || tileType(output).getShape() != ArrayRef(reduced))
      return emitOpError("operands share a shape and results keep the axis with extent 1");
    Type element = tileType(source).getElementType();
    auto typed = dyn_cast<TypedAttr>(identity);
    if (!typed || typed.getType() != element || tileType(output).getElementType() != element)
      return emitOpError("operand, identity and result must have one element "
                         "type, expected ")
             << element;
  }
  return success();
}

LogicalResult ReduceOp::verifyRegions() {
  Block &block = getCombiner().front();
  if (block.getNumArguments() != 2 * getSources().size())
    return emitOpError("combiner takes two arguments an operand: expected ")
           << 2 * getSources().size() << ", found " << block.getNumArguments();
  for (auto [i, argument] : llvm::enumerate(block.getArguments()))
    if (argument.getType() != tileType(getSources()[i % getSources().size()]).getElementType())
      return emitOpError("combiner argument ") << i << " must have its operand's element type";
  if (block.getTerminator()->getNumOperands() != getSources().size())
    return emitOpError("combiner yields one value an operand");
  for (auto [source, value] : llvm::zip_equal(getSources(), block.getTerminator()->getOperands()))
    if (failed(verifyElementType(*this, "yielded value", tileType(source).getElementType(), value.getType())))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Debugging and facts
//===----------------------------------------------------------------------===//

namespace {
LogicalResult verifySigns(Operation *op, std::optional<ArrayRef<bool>> isUnsigned) {
  if (isUnsigned && isUnsigned->size() != op->getNumOperands())
    return op->emitOpError("is_unsigned speaks of ")
           << isUnsigned->size() << " values, expected " << op->getNumOperands();
  return success();
}
} // namespace

LogicalResult PrintOp::verify() {
  size_t places = getFormat().count("{}");
  if (places != getValues().size())
    return emitOpError("format has ") << places << " places for " << getValues().size() << " values";
  return verifySigns(*this, getIsUnsigned());
}

LogicalResult BreakpointOp::verify() {
  if (getNames().size() != getValues().size())
    return emitOpError("has ") << getNames().size() << " names for " << getValues().size() << " values";
  return verifySigns(*this, getIsUnsigned());
}
