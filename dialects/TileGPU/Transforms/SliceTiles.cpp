//===- SliceTiles.cpp - A part of what follows from tiles -----------------===//
#include "dialects/TileGPU/Transforms/SliceTiles.h"

#include "dialects/TileGPU/IR/TmaAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
class Slicer {
public:
  Slicer(Slice slice, Operation *behind) : slice(slice), builder(behind) {}

  bool run(ValueRange tiles, ValueRange slices) {
    for (auto [tile, part] : llvm::zip_equal(tiles, slices))
      known[tile] = {part, 1};
    SmallVector<Operation *> replaced;
    Block *block = builder.getInsertionBlock();
    for (Operation &op : llvm::make_range(builder.getInsertionPoint(), block->end())) {
      if (op.hasTrait<OpTrait::IsTerminator>() || created.contains(&op))
        continue;
      if (llvm::none_of(op.getOperands(), [&](Value operand) { return known.contains(operand); }))
        continue;
      builder.setInsertionPoint(&op);
      if (!follow(&op)) {
        for (Operation *copy : llvm::reverse(created))
          copy->erase();
        return false;
      }
      replaced.push_back(&op);
    }
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block))) // what only they read
      if (isOpTriviallyDead(&op))
        op.erase();
    return true;
  }

private:
  static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }
  static ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }

  struct Part {
    Value value;
    int64_t dim = 0;
  };

  /// The same op for a part of its operands.
  bool follow(Operation *op) {
    std::optional<int64_t> dim;
    for (Value operand : op->getOperands())
      if (auto found = known.find(operand); found != known.end()) {
        if (dim && *dim != found->second.dim)
          return false;
        dim = found->second.dim;
      }
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (store.getIndices().empty() || store.getStep() || !hasSlice(store.getValue(), *dim))
        return false;
      IRMapping operands;
      operands.map(store.getValue(), known[store.getValue()].value);
      Value index = unitOf(store.getIndices()[*dim]);
      place(cast<tile::StoreOp>(clone(op, operands)), index, shapeOf(store.getValue()), *dim);
      return true;
    }
    if (op->getNumResults() != 1 || !isTile(op->getResult(0)))
      return false;
    std::optional<int64_t> resultDim = dimOfResult(op, *dim);
    return resultDim && get(op->getResult(0), *resultDim);
  }

  /// Where dimension `dim` of the source is in the result.
  std::optional<int64_t> dimOfResult(Operation *op, int64_t dim) {
    return TypeSwitch<Operation *, std::optional<int64_t>>(op)
        .Case([&](tile::PermuteOp permute) { return llvm::find(permute.getOrder(), dim) - permute.getOrder().begin(); })
        .Case([&](tile::ReshapeOp reshape) { return keptDim(reshape, dim, /*backwards=*/false); })
        .Case([&](tile::BroadcastOp broadcast) {
          return shapeOf(broadcast.getSource())[dim] == 1 ? std::nullopt : std::optional(dim);
        })
        .Default([&](Operation *other) {
          return other->hasTrait<OpTrait::Elementwise>() ? std::optional(dim) : std::nullopt;
        });
  }

  /// Reshapes may add or take away dimensions of extent 1.
  std::optional<int64_t> keptDim(tile::ReshapeOp reshape, int64_t dim, bool backwards) {
    ArrayRef<int64_t> from = shapeOf(reshape.getSource()), to = shapeOf(reshape.getResult());
    const bool adds = to.size() > from.size();
    std::optional<SmallVector<int64_t>> kept = adds ? keptDims(to, from) : keptDims(from, to); // of the larger one
    if (!kept)
      return std::nullopt;
    if (adds != backwards)
      return (*kept)[dim];
    auto place = llvm::find(*kept, dim);
    return place == kept->end() ? std::nullopt : std::optional<int64_t>(place - kept->begin());
  }

  /// The part of `tile` along `dim`; null if there is none.
  Value get(Value tile, int64_t dim) {
    if (auto found = known.find(tile); found != known.end())
      return found->second.dim == dim ? found->second.value : Value();
    Operation *op = tile.getDefiningOp();
    if (!op || op->getNumRegions() != 0 || !isMemoryEffectFree(op) || !hasSlice(tile, dim))
      return {};
    IRMapping operands;
    auto slice = [&](Value source, std::optional<int64_t> sourceDim) {
      Value part = sourceDim ? get(source, *sourceDim) : Value();
      operands.map(source, part);
      return part != nullptr;
    };
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto value = dyn_cast<SplatElementsAttr>(constant.getValue());
      if (!value)
        return {};
      auto copy = arith::ConstantOp::create(
          builder, op->getLoc(), SplatElementsAttr::get(typeOf(tile, dim), value.getSplatValue<Attribute>()));
      return remember(tile, copy, dim);
    }
    const bool possible =
        TypeSwitch<Operation *, bool>(op)
            .Case<tile::SplatOp>([](auto) { return true; })
            .Case([&](tile::LoadOp load) { return !load.getStep(); })
            .Case([&](tile::BroadcastOp broadcast) {
              return shapeOf(broadcast.getSource())[dim] == 1 || slice(broadcast.getSource(), dim);
            })
            .Case([&](tile::PermuteOp permute) { return slice(permute.getSource(), permute.getOrder()[dim]); })
            .Case([&](tile::ReshapeOp reshape) {
              return slice(reshape.getSource(), keptDim(reshape, dim, /*backwards=*/true));
            })
            .Default([&](Operation *other) {
              return other->hasTrait<OpTrait::Elementwise>() && llvm::all_of(other->getOperands(), [&](Value operand) {
                       return !isTile(operand) || slice(operand, dim);
                     });
            });
    if (!possible)
      return {};
    auto load = dyn_cast<tile::LoadOp>(op);
    Value index = load ? unitOf(load.getIndices()[dim]) : Value();
    Operation *copy = clone(op, operands);
    copy->getResult(0).setType(typeOf(tile, dim));
    if (load)
      place(cast<tile::LoadOp>(copy), index, shapeOf(tile), dim);
    return remember(tile, copy->getResult(0), dim);
  }

  bool hasSlice(Value tile, int64_t dim) const { return shapeOf(tile)[dim] == slice.columns; }

  RankedTensorType typeOf(Value tile, int64_t dim) const {
    SmallVector<int64_t> shape(shapeOf(tile));
    shape[dim] = slice.width;
    return RankedTensorType::get(shape, cast<RankedTensorType>(tile.getType()).getElementType());
  }

  Operation *clone(Operation *op, IRMapping &operands) {
    Operation *copy = builder.clone(*op, operands);
    created.insert(copy);
    return copy;
  }

  Value remember(Value tile, Value part, int64_t dim) {
    created.insert(part.getDefiningOp());
    known[tile] = {part, dim};
    return part;
  }

  /// Has a copy of a load or store of a tile of `shape` access the slice, which starts at unit `index`.
  template <typename Access> void place(Access access, Value index, ArrayRef<int64_t> shape, int64_t dim) {
    access.getIndicesMutable()[dim].set(index);
    if (slice.unit == slice.width)
      return;
    SmallVector<int64_t> step(shape);
    step[dim] = slice.unit;
    access.setStep(step);
  }

  /// The first unit of the slice among units, for a tile at `index` among tiles.
  Value unitOf(Value index) {
    auto emit = [&](Operation *op) {
      created.insert(op);
      return op->getResult(0);
    };
    Location loc = index.getLoc();
    Value units = emit(arith::ConstantIndexOp::create(builder, loc, slice.columns / slice.unit));
    Value first = emit(arith::MulIOp::create(builder, loc, index, units));
    return emit(arith::AddIOp::create(builder, loc, first, slice.first));
  }

  Slice slice;
  OpBuilder builder;
  DenseMap<Value, Part> known;
  llvm::SetVector<Operation *> created;
};
} // namespace

bool tilec::tilegpu::sliceUses(ValueRange tiles, ValueRange slices, Slice slice) {
  return Slicer(slice, slice.first.getDefiningOp()->getNextNode()).run(tiles, slices);
}
