//===- WalkTiles.cpp - A program that walks over tiles --------------------===//
#include "dialects/TileGPU/Transforms/WalkTiles.h"

#include "dialects/TileGPU/IR/TileGPUDialect.h"

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
  if (rowsOfPanel == 1) {
    coords[rank - 2] = numbers.div(rest, columns);
    coords[rank - 1] = numbers.rem(rest, columns);
    return coords;
  }
  Value panelRows = numbers.constant(rowsOfPanel), panel = numbers.mul(panelRows, columns);
  Value first = numbers.mul(numbers.div(rest, panel), panelRows), place = numbers.rem(rest, panel);
  Value height = numbers.min(numbers.sub(rows, first), panelRows); // the last panel may be lower
  coords[rank - 2] = numbers.add(first, numbers.rem(place, height));
  coords[rank - 1] = numbers.div(place, height);
  return coords;
}

/// The first partition's grid of tiles.
class TileGrid {
public:
  /// `rowCluster` rows are taken together; the last ones may be partly outside.
  TileGrid(OpBuilder &builder, Location loc, Value partition, int64_t rowCluster)
      : numbers(builder, loc), rowCluster(rowCluster) {
    ArrayRef<int64_t> shape = cast<tile::PartitionType>(partition.getType()).getTileShape();
    rowDim = static_cast<int64_t>(shape.size()) - 2;
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      Value count = numbers.fromIndex(tile::NumTilesOp::create(builder, loc, partition, dim, extent));
      if (rowCluster > 1 && static_cast<int64_t>(dim) == rowDim)
        count = numbers.div(numbers.add(count, numbers.constant(rowCluster - 1)), numbers.constant(rowCluster));
      counts.push_back(count);
    }
  }

  Value total() {
    Value product = numbers.constant(1);
    for (Value count : counts)
      product = numbers.mul(product, count);
    return product;
  }

  /// The tile that the CTA of number `rank` in its cluster has when the cluster is at `number`.
  SmallVector<Value> tile(Value number, Value rank, int64_t panelRows) {
    SmallVector<Value> place = coordinates(numbers, number, counts, panelRows), tile;
    if (rowCluster > 1)
      place[rowDim] = numbers.add(numbers.mul(place[rowDim], numbers.constant(rowCluster)), rank);
    for (Value coordinate : place)
      tile.push_back(numbers.toIndex(coordinate));
    return tile;
  }

  TileNumbers numbers;

private:
  int64_t rowCluster, rowDim = 0;
  SmallVector<Value> counts;
};

/// Tells the ops below `root` that its program is at `tile`.
void setTile(Operation *root, ValueRange tile) {
  root->walk([&](Operation *op) {
    if (auto index = dyn_cast<tile::IndexOp>(op)) {
      index.replaceAllUsesWith(tile);
      index.erase();
    } else if (auto store = dyn_cast<tile::StoreOp>(op); store && store.getIndices().empty()) {
      store.getIndicesMutable().assign(tile);
    }
  });
}

/// The first partition of `values`, if one is there.
std::optional<Value> firstPartition(ValueRange values) {
  auto found = llvm::find_if(values, [](Value value) { return isa<tile::PartitionType>(value.getType()); });
  return found == values.end() ? std::nullopt : std::optional<Value>(*found);
}

/// A tile of a grouped launch.
struct TileOfProblem {
  Value partition, number;
};

/// Finds the problem that has tile `number` of all, and puts its arguments in the place of the kernel's.
TileOfProblem enterProblem(OpBuilder &builder, tile::KernelOp kernel, Value number) {
  Location loc = kernel.getLoc();
  auto found = tilegpu::FindProblemOp::create(builder, loc, number);
  auto arguments = tilegpu::ArgumentsOp::create(builder, loc, kernel.getArgumentTypes(), found.getProblem());
  for (auto [argument, value] : llvm::zip_equal(kernel.getArguments(), arguments.getValues()))
    argument.replaceAllUsesWith(value);
  return {*firstPartition(arguments.getValues()), found.getTile()};
}
} // namespace

tilegpu::Walk tilec::tilegpu::walkTiles(tile::KernelOp kernel, int64_t cluster, int64_t panelRows) {
  std::optional<Value> partition = firstPartition(kernel.getArguments());
  if (!partition)
    return {};
  Block &body = kernel.getBody().front();
  SmallVector<Operation *> program = llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
  Location loc = kernel.getLoc();
  OpBuilder builder(body.getTerminator());
  TileNumbers numbers(builder, loc);
  const bool isGrouped = kernel->hasAttr(tile::TileDialect::kGrouped);
  std::optional<TileGrid> grid;
  if (!isGrouped)
    grid.emplace(builder, loc, *partition, cluster);
  Value total = isGrouped ? Value(GroupTilesOp::create(builder, loc, builder.getI32Type())) : grid->total();
  Value first = numbers.fromIndex(tile::ProgramIdOp::create(builder, loc, 0)), rank;
  Value step = numbers.fromIndex(tile::NumProgramsOp::create(builder, loc, 0));
  if (cluster > 1) {
    Value size = numbers.constant(cluster);
    rank = numbers.rem(first, size);
    first = numbers.div(first, size);
    step = numbers.div(step, size);
  }
  auto loop = scf::ForOp::create(builder, loc, first, total, step);
  for (Operation *op : program)
    op->moveBefore(loop.getBody()->getTerminator());
  kernel->setAttr(tile::TileDialect::kWalksTiles, builder.getUnitAttr());
  builder.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  if (isGrouped) {
    TileOfProblem place = enterProblem(builder, kernel, number);
    number = place.number;
    grid.emplace(builder, loc, place.partition, cluster);
  }
  setTile(loop, grid->tile(number, rank, panelRows));
  moveLoopInvariantCode(loop);
  return {loop, rank};
}

void tilec::tilegpu::findProblem(tile::KernelOp kernel) {
  if (!firstPartition(kernel.getArguments()))
    return;
  Location loc = kernel.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value program = TileNumbers(builder, loc).fromIndex(tile::ProgramIdOp::create(builder, loc, 0));
  TileOfProblem place = enterProblem(builder, kernel, program);
  TileGrid grid(builder, loc, place.partition, /*rowCluster=*/1);
  setTile(kernel, grid.tile(place.number, /*rank=*/{}, /*panelRows=*/1));
}

Value tilec::tilegpu::shareTiles(tile::KernelOp kernel, int64_t cluster, int64_t panelRows) {
  std::optional<Value> partition = firstPartition(kernel.getArguments());
  if (!partition)
    return {};
  Location loc = kernel.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  TileGrid grid(builder, loc, *partition, /*rowCluster=*/1);
  TileNumbers &numbers = grid.numbers;
  Value program = numbers.fromIndex(tile::ProgramIdOp::create(builder, loc, 0)), size = numbers.constant(cluster);
  Value rank = numbers.rem(program, size);
  kernel->setAttr(tile::TileDialect::kWalksTiles, builder.getUnitAttr());
  setTile(kernel, grid.tile(numbers.div(program, size), rank, panelRows));
  return rank;
}
