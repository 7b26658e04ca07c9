//===- WalkTiles.cpp - A program that walks over tiles --------------------===//
#include "dialects/TileGPU/Transforms/WalkTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace tilec;

namespace {
/// Arithmetic on tile numbers, which fit into 31 bits.
class TileNumbers {
public:
  TileNumbers(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value fromIndex(Value index) { return arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), index); }
  Value toIndex(Value number) { return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), number); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulIOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return arith::DivUIOp::create(builder, loc, a, b); }
  Value rem(Value a, Value b) { return arith::RemUIOp::create(builder, loc, a, b); }
  Value min(Value a, Value b) { return arith::MinUIOp::create(builder, loc, a, b); }

private:
  OpBuilder &builder;
  Location loc;
};

/// The coordinates of tile `number` in a grid of `counts` tiles: matrices of tiles one after another, each in
/// panels of rows, each panel column by column.
SmallVector<Value> coordinates(TileNumbers &numbers, Value number, ArrayRef<Value> counts, int64_t rowsOfPanel) {
  const size_t rank = counts.size();
  if (rank == 1)
    return {number};
  SmallVector<Value> coords(rank);
  Value rows = counts[rank - 2], columns = counts[rank - 1];
  Value rest = number, matrix = numbers.mul(rows, columns);
  if (rank > 2) {
    Value outer = numbers.div(rest, matrix);
    rest = numbers.rem(rest, matrix);
    for (size_t dim = rank - 2; dim-- > 0;) {
      coords[dim] = dim == 0 ? outer : numbers.rem(outer, counts[dim]);
      outer = dim == 0 ? outer : numbers.div(outer, counts[dim]);
    }
  }
  Value panelRows = numbers.constant(rowsOfPanel), panel = numbers.mul(panelRows, columns);
  Value first = numbers.mul(numbers.div(rest, panel), panelRows), place = numbers.rem(rest, panel);
  Value height = numbers.min(numbers.sub(rows, first), panelRows); // the last panel may be lower
  coords[rank - 2] = numbers.add(first, numbers.rem(place, height));
  coords[rank - 1] = numbers.div(place, height);
  return coords;
}
} // namespace

tilegpu::Walk tilec::tilegpu::walkTiles(tile::KernelOp kernel, int64_t cluster, int64_t panelRows) {
  auto partition =
      llvm::find_if(kernel.getArguments(), [](Value argument) { return isa<tile::PartitionType>(argument.getType()); });
  if (partition == kernel.getArguments().end())
    return {};
  Block &body = kernel.getBody().front();
  SmallVector<Operation *> program = llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
  Location loc = kernel.getLoc();
  OpBuilder builder(body.getTerminator());
  TileNumbers numbers(builder, loc);
  ArrayRef<int64_t> shape = cast<tile::PartitionType>(partition->getType()).getTileShape();
  const int64_t rowDim = static_cast<int64_t>(shape.size()) - 2;
  SmallVector<Value> counts;
  Value total = numbers.constant(1), size = numbers.constant(cluster), rank;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    Value count = numbers.fromIndex(tile::NumTilesOp::create(builder, loc, *partition, dim, extent));
    if (cluster > 1 && static_cast<int64_t>(dim) == rowDim) // the last cluster may be partly outside
      count = numbers.div(numbers.add(count, numbers.constant(cluster - 1)), size);
    counts.push_back(count);
    total = numbers.mul(total, count);
  }
  Value first = numbers.fromIndex(tile::ProgramIdOp::create(builder, loc, 0));
  Value step = numbers.fromIndex(tile::NumProgramsOp::create(builder, loc, 0));
  if (cluster > 1) {
    rank = numbers.rem(first, size);
    first = numbers.div(first, size);
    step = numbers.div(step, size);
  }
  auto loop = scf::ForOp::create(builder, loc, first, total, step);
  for (Operation *op : program)
    op->moveBefore(loop.getBody()->getTerminator());

  kernel->setAttr(tile::TileDialect::kWalksTiles, builder.getUnitAttr());
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> place = coordinates(numbers, loop.getInductionVar(), counts, panelRows), tile;
  if (cluster > 1)
    place[rowDim] = numbers.add(numbers.mul(place[rowDim], size), rank);
  for (Value coordinate : place)
    tile.push_back(numbers.toIndex(coordinate));
  loop.walk([&](Operation *op) {
    if (auto index = dyn_cast<tile::IndexOp>(op)) {
      index.replaceAllUsesWith(tile);
      index.erase();
    } else if (auto store = dyn_cast<tile::StoreOp>(op); store && store.getIndices().empty()) {
      store.getIndicesMutable().assign(tile);
    }
  });
  moveLoopInvariantCode(loop);
  return {loop, rank};
}
