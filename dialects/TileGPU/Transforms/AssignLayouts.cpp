//===- AssignLayouts.cpp - A layout for every tile ------------------------===//
#include "dialects/TileGPU/IR/GlobalAccess.h"
#include "dialects/TileGPU/Transforms/LayoutClasses.h"
#include "dialects/TileGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
RankedTensorType tileType(Value tile) { return cast<RankedTensorType>(tile.getType()); }

/// What an access may waste, in accesses and sectors of a warp, before a trip through shared memory pays.
constexpr int64_t kTolerableWaste = 32;

/// Gives every use of a tile that costs nothing to make its own copy: a constant that two tiles are added to must
/// not tie their layouts together. CSE merges the copies that end up alike.
void separateFreeTiles(tile::KernelOp kernel) {
  SmallVector<Operation *> makers;
  kernel.walk([&](Operation *op) {
    if (isa<arith::ConstantOp, tile::SplatOp, tile::IotaOp, ub::PoisonOp>(op) &&
        isa<RankedTensorType>(op->getResult(0).getType()))
      makers.push_back(op);
  });
  for (Operation *op : makers) {
    OpBuilder builder(op);
    for (OpOperand &use : llvm::make_early_inc_range(llvm::drop_begin(op->getUses(), op->use_empty() ? 0 : 1)))
      use.set(builder.clone(*op)->getResult(0));
  }
}

class Assignment {
public:
  Assignment(tile::KernelOp kernel, int64_t numWarps)
      : kernel(kernel), numWarps(numWarps), wholeRows(keepsRowsWhole(kernel)), layouts(kernel, numWarps),
        builder(kernel.getContext()) {}

  void run() {
    SmallVector<Operation *> ops;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    kernel.walk<WalkOrder::PreOrder>([&](Block *block) {
      llvm::for_each(block->getArguments(), [&](Value argument) { setChosen(argument); });
      for (Operation &op : *block)
        llvm::for_each(op.getResults(), [&](Value result) { setChosen(result); });
    });
    for (Operation *op : ops)
      TypeSwitch<Operation *>(op)
          .Case([&](arith::ConstantOp op) { retypeConstant(op); })
          .Case<tile::LoadOp, tile::StoreOp>([&](Operation *op) { fixAccess(op); })
          .Case<tile::ReduceOp, tile::BroadcastOp, tile::PermuteOp, tile::ReshapeOp, tile::ExtractOp, MmaOp,
                ClusterSumOp, PrintOp>([&](auto op) { fix(op); });
  }

private:
  void setLayout(Value tile, const Layout &layout) {
    RankedTensorType type = tileType(tile);
    tile.setType(RankedTensorType::get(type.getShape(), type.getElementType(), layout.attr(type.getContext())));
  }

  void setChosen(Value value) {
    if (isa<RankedTensorType>(value.getType()))
      setLayout(value, layouts[value]);
  }

  static bool has(Value tile, const Layout &layout) {
    return tileType(tile).getEncoding() == layout.attr(tile.getContext());
  }

  /// Makes `operand` a tile under `layout`.
  void need(OpOperand &operand, const Layout &layout) {
    if (has(operand.get(), layout))
      return;
    builder.setInsertionPoint(operand.getOwner());
    RankedTensorType type = tileType(operand.get());
    operand.set(ConvertLayoutOp::create(
        builder, operand.getOwner()->getLoc(),
        RankedTensorType::get(type.getShape(), type.getElementType(), layout.attr(type.getContext())), operand.get()));
  }

  /// Says that `result` is made under `layout`; its users still get the chosen one.
  void produce(Value result, const Layout &layout) {
    if (has(result, layout))
      return;
    Type chosen = result.getType();
    setLayout(result, layout);
    builder.setInsertionPointAfterValue(result);
    auto convert = ConvertLayoutOp::create(builder, result.getLoc(), chosen, result);
    result.replaceAllUsesExcept(convert, convert);
  }

  void retypeConstant(arith::ConstantOp op) {
    if (auto type = dyn_cast<RankedTensorType>(op.getType()))
      op.setValueAttr(cast<DenseElementsAttr>(op.getValue()).reshape(type));
  }

  /// A tile moves under its class's layout unless that wastes too much of each access.
  void fixAccess(Operation *op) {
    const bool loads = isa<tile::LoadOp>(op);
    GlobalAccess access = *GlobalAccess::of(op);
    Layout own = access.layout(numWarps),
           chosen = Layout::of(loads ? op->getResult(0).getType() : op->getOperand(0).getType());
    if (access.cost(chosen) - access.cost(own) < kTolerableWaste || (loads && meetsAccumulators(chosen)))
      return;
    if (loads)
      produce(op->getResult(0), own);
    else
      need(op->getOpOperand(0), own);
  }

  /// True for a tile that meets the accumulators of asynchronous products, which leave no registers for a second copy
  /// of it: it is better loaded piece by piece, in the order of the accumulators.
  bool meetsAccumulators(const Layout &layout) {
    return !kernel.getBody().getOps<RolesOp>().empty() && layout.lanes.size() == kLaneBits &&
           layout.registers.size() == 2 && layout.registers.back() == Basis{8, 0};
  }

  void fix(tile::ReduceOp op) {
    Layout reduced = Layout::of(op.getSources().front().getType()).reduced(op.getAxis());
    for (Value output : op.getOutputs())
      produce(output, reduced);
  }

  void fix(tile::BroadcastOp op) {
    need(op.getSourceMutable(),
         Layout::of(op.getType()).broadcastSource(op.getSource().getType().getShape(), op.getType().getShape()));
  }

  void fix(tile::PermuteOp op) {
    produce(op.getResult(), Layout::of(op.getSource().getType()).permuted(op.getOrder()));
  }

  void fix(tile::ReshapeOp op) {
    ArrayRef<int64_t> from = op.getSource().getType().getShape(), to = op.getType().getShape();
    if (auto renamed = reshapedLayout(Layout::of(op.getSource().getType()), from, to, numWarps))
      return produce(op.getResult(), *renamed);
    if (auto renamed = reshapedLayout(Layout::of(op.getType()), to, from, numWarps))
      return need(op.getSourceMutable(), *renamed);
    // Row-major in shared memory, a tile is the same bytes under both shapes.
    builder.setInsertionPoint(op);
    auto rows = [&](ArrayRef<int64_t> shape) {
      return SmemType::get(op.getContext(), shape, op.getType().getElementType(),
                           SharedAttr::get(op.getContext(), rowMajor(shape.size()), /*swizzle=*/0));
    };
    Value stored = LocalAllocOp::create(builder, op.getLoc(), rows(from), op.getSource(), /*async_readers=*/false);
    Value reshaped = LocalReshapeOp::create(builder, op.getLoc(), rows(to), stored);
    op.replaceAllUsesWith(LocalLoadOp::create(builder, op.getLoc(), op.getType(), reshaped).getResult());
    op.erase();
  }

  /// Every thread needs the scalar.
  void fix(tile::ExtractOp op) {
    need(op.getSourceMutable(), Layout::replicated(op.getSource().getType().getRank(), numWarps));
  }

  /// A thread prints the elements of one place of all tiles that have it.
  void fix(PrintOp op) {
    for (ArrayRef<int64_t> shape : op.getTileShapes()) {
      std::optional<Layout> layout;
      for (OpOperand &operand : op->getOpOperands()) {
        auto type = dyn_cast<RankedTensorType>(operand.get().getType());
        if (!type || type.getShape() != shape)
          continue;
        layout = layout ? layout : Layout::of(type);
        need(operand, *layout);
      }
    }
  }

  void fix(MmaOp op) {
    Layout acc = accumulatorLayout(op, numWarps, wholeRows);
    if (auto lhs = dyn_cast<RankedTensorType>(op.getLhs().getType()))
      need(op.getLhsMutable(), Layout::mmaLhs(acc, lhs.getShape(), lhs.getElementTypeBitWidth()));
    need(op.getAccMutable(), acc);
    produce(op.getResult(), acc);
  }

  void fix(ClusterSumOp op) {
    if (!op.isScattered())
      return;
    need(op.getSourceMutable(), Layout::wgmmaAcc(op.getSource().getType().getShape(), numWarps));
    produce(op.getResult(), Layout::wgmmaAcc(op.getType().getShape(), numWarps));
  }

  tile::KernelOp kernel;
  int64_t numWarps;
  bool wholeRows;
  LayoutClasses layouts;
  OpBuilder builder;
};

struct AssignLayouts : PassWrapper<AssignLayouts, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AssignLayouts)
  StringRef getArgument() const final { return "tilegpu-assign-layouts"; }
  StringRef getDescription() const final { return "give every tile a layout"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<TileGPUDialect>(); }

  void runOnOperation() final {
    auto numWarps = getOperation()->getAttrOfType<IntegerAttr>(TileGPUDialect::kNumWarps);
    if (!numWarps) {
      getOperation().emitOpError("has no ") << TileGPUDialect::kNumWarps;
      return signalPassFailure();
    }
    separateFreeTiles(getOperation());
    Assignment(getOperation(), numWarps.getInt()).run();
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createAssignLayoutsPass() { return std::make_unique<AssignLayouts>(); }
