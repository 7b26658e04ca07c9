//===- TransposeProducts.cpp - Products the other way round ---------------===//
//
// The tensor cores treat the operands of a product differently: the left one
// has 64 rows or a multiple and may come from registers, the right one has as
// few columns as one likes. Which of them is which is free: a product is the
// transpose of the product of the transposed operands.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileToTileGPU/TransposeProducts.h"

#include "dialects/TileGPU/IR/TmaAccess.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tilec;

namespace {
constexpr int64_t kExchange[] = {1, 0};

RankedTensorType exchanged(Type type) {
  auto tile = cast<RankedTensorType>(type);
  return RankedTensorType::get({tile.getDimSize(1), tile.getDimSize(0)}, tile.getElementType());
}

Value permuted(OpBuilder &builder, Location loc, Value tile) {
  return tile::PermuteOp::create(builder, loc, exchanged(tile.getType()), tile, kExchange);
}

/// The tile that `load` reads, `to` as a matrix, read with the dimensions of the matrix exchanged.
Value loadExchanged(OpBuilder &builder, tile::LoadOp load, RankedTensorType to) {
  Location loc = load.getLoc();
  ArrayRef<int64_t> from = load.getType().getShape();
  SmallVector<int64_t> kept = *tilegpu::keptDims(from, to.getShape());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(from.size()));
  std::swap(order[kept[0]], order[kept[1]]);
  auto inOrder = [&](auto values) { return llvm::map_to_vector(order, [&](int64_t dim) { return values[dim]; }); };
  builder.setInsertionPoint(load);
  Value view = tile::PermuteViewOp::create(builder, loc, load.getView(), order);
  DenseI64ArrayAttr step;
  if (std::optional<ArrayRef<int64_t>> given = load.getStep())
    step = builder.getDenseI64ArrayAttr(inOrder(*given));
  auto type = RankedTensorType::get(inOrder(from), to.getElementType());
  SmallVector<Value> indices = llvm::map_to_vector(order, [&](int64_t dim) { return load.getIndices()[dim]; });
  Value tile = tile::LoadOp::create(builder, loc, type, view, indices, load.getPad(), step);
  return type.getRank() == 2 ? tile : tile::ReshapeOp::create(builder, loc, exchanged(to), tile).getResult();
}

Value operandExchanged(OpBuilder &builder, tile::MmaOp product, Value tile) {
  if (tile::LoadOp load = tilegpu::loadBehind(tile))
    return loadExchanged(builder, load, cast<RankedTensorType>(tile.getType()));
  builder.setInsertionPoint(product);
  return permuted(builder, product.getLoc(), tile);
}

/// Lets the loop carry value `number` the other way round.
void carryExchanged(scf::ForOp loop, unsigned number) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  OpOperand &init = loop.getInitArgsMutable()[number];
  init.set(permuted(builder, loc, init.get()));
  OpOperand &yielded = loop.getBody()->getTerminator()->getOpOperand(number);
  builder.setInsertionPoint(yielded.getOwner());
  yielded.set(permuted(builder, loc, yielded.get()));
  auto exchange = [&](Value value) {
    value.setType(exchanged(value.getType()));
    Value before = permuted(builder, loc, value);
    value.replaceAllUsesExcept(before, before.getDefiningOp());
  };
  builder.setInsertionPointToStart(loop.getBody());
  exchange(loop.getRegionIterArg(number));
  builder.setInsertionPointAfter(loop);
  exchange(loop.getResult(number));
}

/// Loops that carry what is exchanged anyway, inner ones first.
void carryExchanged(tile::KernelOp kernel) {
  kernel.walk([](scf::ForOp loop) {
    for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number) {
      auto permute = loop.getBody()->getTerminator()->getOperand(number).getDefiningOp<tile::PermuteOp>();
      if (permute && permute.getOrder() == ArrayRef<int64_t>(kExchange))
        carryExchanged(loop, number);
    }
  });
}

/// Takes away pairs of exchanges, and what nobody reads any more.
void cleanUp(tile::KernelOp kernel) {
  RewritePatternSet patterns(kernel.getContext());
  tile::PermuteOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (op != kernel)
      ops.push_back(op);
  });
  (void)applyOpPatternsGreedily(ops, std::move(patterns));
}
} // namespace

void tilec::transposeProducts(tile::KernelOp kernel) {
  OpBuilder builder(kernel.getContext());
  SmallVector<tile::MmaOp> products;
  kernel.walk([&](tile::MmaOp op) { products.push_back(op); });
  for (tile::MmaOp op : products) {
    Value lhs = operandExchanged(builder, op, op.getRhs()), rhs = operandExchanged(builder, op, op.getLhs());
    builder.setInsertionPoint(op);
    Value acc = permuted(builder, op.getLoc(), op.getAcc());
    Value product = tile::MmaOp::create(builder, op.getLoc(), acc.getType(), lhs, rhs, acc, op.getAllowTf32(),
                                        op.getRhsUnsigned(), op.getLhsUnsigned());
    op.replaceAllUsesWith(permuted(builder, op.getLoc(), product));
    op.erase();
  }
  carryExchanged(kernel);
  cleanUp(kernel);
}
