//===- Axes.cpp - Which axes of tiles have one extent ---------------------===//
#include "dialects/Plan/Axes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilec;

namespace {
RankedTensorType tileType(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool isUniform(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (op->hasTrait<OpTrait::ConstantLike>() || isa<tile::SplatOp>(op));
}
} // namespace

Axes::Axes(tile::KernelOp kernel) {
  for (Type type : kernel.getArgumentTypes())
    if (auto partition = dyn_cast<tile::PartitionType>(type); partition && tileShape.empty())
      tileShape.assign(partition.getTileShape().begin(), partition.getTileShape().end());
  classes.grow(tileShape.size()); // the first numbers are the tile's dimensions
  kernel.walk([&](Operation *op) { visit(op); });
}

std::optional<int64_t> Axes::tileDim(Value value, int64_t axis) {
  const unsigned wanted = leader(value, axis);
  for (size_t dim = 0; dim < tileShape.size(); ++dim)
    if (classes.findLeader(dim) == wanted)
      return dim;
  return std::nullopt;
}

unsigned Axes::idOf(Value value, int64_t axis) {
  auto [place, fresh] = ids.try_emplace({value, axis}, tileShape.size() + ids.size());
  if (fresh)
    classes.grow(place->second + 1);
  return place->second;
}

void Axes::tieAll(Value a, Value b) {
  for (int64_t axis = 0, rank = tileType(a).getRank(); axis < rank; ++axis)
    tie(a, axis, b, axis);
}

void Axes::tieCarried(Value a, Value b) {
  if (!tileType(a))
    return;
  tieAll(a, b);
  // Two accumulators may start as one and the same tile of zeros.
  if (!isUniform(a) && !isUniform(b))
    tie(a, kWhole, b, kWhole);
}

void Axes::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tile::LoadOp load) { visitLoad(load); })
      .Case([&](tile::StoreOp store) {
        if (isa<tile::PartitionType>(store.getDest().getType()))
          for (size_t dim = 0; dim < tileShape.size(); ++dim)
            tieToTile(store.getValue(), dim, dim);
      })
      .Case([&](tile::MmaOp mma) {
        tie(mma.getLhs(), 0, mma.getAcc(), 0);
        tie(mma.getRhs(), 1, mma.getAcc(), 1);
        tie(mma.getLhs(), 1, mma.getRhs(), 0);
        tieCarried(mma.getAcc(), mma.getResult());
      })
      .Case([&](tile::ReduceOp reduce) { visitReduce(reduce); })
      .Case([&](tile::BroadcastOp broadcast) {
        auto from = tileType(broadcast.getSource()), to = tileType(broadcast.getResult());
        for (int64_t axis = 0; axis < to.getRank(); ++axis)
          if (from.getDimSize(axis) == to.getDimSize(axis))
            tie(broadcast.getSource(), axis, broadcast.getResult(), axis);
      })
      .Case([&](tile::PermuteOp permute) {
        for (auto [axis, source] : llvm::enumerate(permute.getOrder()))
          tie(permute.getResult(), axis, permute.getSource(), source);
      })
      .Case([&](tile::ReshapeOp reshape) { visitReshape(reshape); })
      .Case([&](LoopLikeOpInterface loop) { visitLoop(loop); })
      .Case([&](scf::IfOp branch) {
        for (Region *arm : branch.getRegions())
          if (!arm->empty())
            for (auto [given, result] : llvm::zip(arm->front().getTerminator()->getOperands(), branch.getResults()))
              tieCarried(given, result);
      })
      .Default([&](Operation *other) { visitElementwise(other); });
}

void Axes::visitLoad(tile::LoadOp op) {
  for (auto [axis, index] : llvm::enumerate(op.getIndices())) {
    auto own = index.getDefiningOp<tile::IndexOp>();
    const int64_t extent = tileType(op.getResult()).getDimSize(axis);
    if (!own || (op.getStep() && (*op.getStep())[axis] != extent))
      continue;
    const int64_t dim = cast<OpResult>(index).getResultNumber();
    if (extent == tileShape[dim])
      tieToTile(op.getResult(), axis, dim);
  }
}

void Axes::visitReduce(tile::ReduceOp op) {
  for (auto [source, output] : llvm::zip(op.getSources(), op.getOutputs())) {
    tieAll(source, op.getSources().front());
    for (int64_t axis = 0, rank = tileType(source).getRank(); axis < rank; ++axis)
      if (axis != static_cast<int64_t>(op.getAxis()))
        tie(source, axis, output, axis);
  }
}

/// Axes of extent 1 come and go; what is merged or divided is not followed.
void Axes::visitReshape(tile::ReshapeOp op) {
  auto longAxes = [](RankedTensorType type) {
    SmallVector<int64_t> axes;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (type.getDimSize(axis) != 1)
        axes.push_back(axis);
    return axes;
  };
  auto from = tileType(op.getSource()), to = tileType(op.getResult());
  SmallVector<int64_t> fromAxes = longAxes(from), toAxes = longAxes(to);
  if (fromAxes.size() != toAxes.size())
    return;
  for (auto [a, b] : llvm::zip(fromAxes, toAxes))
    if (from.getDimSize(a) == to.getDimSize(b))
      tie(op.getSource(), a, op.getResult(), b);
}

void Axes::visitLoop(LoopLikeOpInterface op) {
  for (auto [init, carried] : llvm::zip(op.getInits(), op.getRegionIterArgs()))
    tieCarried(init, carried);
  for (auto [given, carried] : llvm::zip(op.getYieldedValues(), op.getRegionIterArgs()))
    tieCarried(given, carried);
  if (auto results = op.getLoopResults(); results && isa<scf::ForOp>(op.getOperation()))
    for (auto [carried, result] : llvm::zip(op.getRegionIterArgs(), *results))
      tieCarried(carried, result);
  auto loop = dyn_cast<scf::WhileOp>(op.getOperation());
  if (!loop)
    return;
  // What the condition hands on need not be what the loop carries.
  for (auto [given, inside, result] :
       llvm::zip(loop.getConditionOp().getArgs(), loop.getAfterArguments(), loop.getResults())) {
    tieCarried(given, inside);
    tieCarried(given, result);
  }
}

void Axes::visitElementwise(Operation *op) {
  if (op->getNumResults() == 0 || op->getNumRegions() > 0)
    return;
  RankedTensorType type = tileType(op->getResult(0));
  if (!type)
    return;
  for (Value operand : op->getOperands())
    if (RankedTensorType other = tileType(operand); other && other.getShape() == type.getShape())
      tieAll(operand, op->getResult(0));
}
