//===- Debugging.cpp - Debugging ops on many threads ----------------------===//
#include "dialects/Conversion/TileToTileGPU/Debugging.h"

#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilec;

namespace {
Value extract(OpBuilder &builder, Location loc, Value tile) {
  Type element = cast<RankedTensorType>(tile.getType()).getElementType();
  return tile::ExtractOp::create(builder, loc, element, tile);
}

/// The tile of booleans with `axis` reduced to whether all hold along it.
Value allAlong(OpBuilder &builder, Location loc, Value tile, int64_t axis) {
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = 1;
  Type result = RankedTensorType::get(shape, type.getElementType());
  auto reduce = tile::ReduceOp::create(builder, loc, result, tile, axis,
                                       builder.getArrayAttr(builder.getIntegerAttr(type.getElementType(), 1)));
  OpBuilder::InsertionGuard guard(builder);
  Block *block =
      builder.createBlock(&reduce.getCombiner(), {}, {type.getElementType(), type.getElementType()}, {loc, loc});
  Value both = arith::AndIOp::create(builder, loc, block->getArgument(0), block->getArgument(1));
  tile::YieldOp::create(builder, loc, both);
  return reduce.getOutputs().front();
}

void assertScalar(tile::AssertOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getCondition().getType());
  if (!type)
    return;
  OpBuilder builder(op);
  Value condition = op.getCondition();
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis)
    if (type.getDimSize(axis) != 1)
      condition = allAlong(builder, op.getLoc(), condition, axis);
  op.getConditionMutable().assign(extract(builder, op.getLoc(), condition));
}

/// Where the program stands: in the tile grid of a partition, else in the grid of the launch.
SmallVector<Value> programOf(OpBuilder &builder, Location loc, tile::KernelOp kernel) {
  Type index = builder.getIndexType();
  for (Value argument : kernel.getArguments())
    if (auto partition = dyn_cast<tile::PartitionType>(argument.getType()))
      return llvm::to_vector_of<Value>(
          tile::IndexOp::create(builder, loc, SmallVector<Type>(partition.getRank(), index), argument).getResults());
  SmallVector<Value> program;
  for (int64_t axis = 0; axis < 3; ++axis)
    program.push_back(tile::ProgramIdOp::create(builder, loc, index, axis));
  return program;
}

LogicalResult printLines(tile::PrintOp op) {
  OpBuilder builder(op);
  SmallVector<Value> program = programOf(builder, op.getLoc(), op->getParentOfType<tile::KernelOp>()), values;
  int64_t rank = 0;
  for (Value value : op.getValues()) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.getNumElements() == 1)
      value = extract(builder, op.getLoc(), value);
    else if (type)
      rank = std::max(rank, type.getRank());
    values.push_back(value);
  }
  constexpr int64_t kMostArguments = 32; // of the device's vprintf
  if (int64_t count = program.size() + rank + values.size(); count > kMostArguments)
    return op.emitError("tl.print takes at most ")
           << kMostArguments << " numbers on a GPU, coordinates of program and element included, found " << count;
  SmallVector<bool> isUnsigned(values.size(), false);
  if (std::optional<ArrayRef<bool>> signs = op.getIsUnsigned())
    isUnsigned.assign(signs->begin(), signs->end());
  tilegpu::PrintOp::create(builder, op.getLoc(), op.getFormat(), program, values, isUnsigned);
  op.erase();
  return success();
}
} // namespace

LogicalResult tilec::prepareDebugging(tile::KernelOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    return WalkResult(llvm::TypeSwitch<Operation *, LogicalResult>(op)
                          .Case([](tile::BreakpointOp op) {
                            return op.emitError(
                                "tl.breakpoint stops on the CPU executor only: run the kernel on NumPy arrays");
                          })
                          .Case([](tile::AssertOp op) { return assertScalar(op), success(); })
                          .Case([](tile::PrintOp op) { return printLines(op); })
                          .Default(success()));
  });
  return failure(result.wasInterrupted());
}
