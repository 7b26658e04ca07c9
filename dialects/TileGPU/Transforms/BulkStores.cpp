//===- BulkStores.cpp - Products stored by the copy engine ----------------===//
//
// A tile of a product leaves its registers through shared memory in any case:
// their order is not that of memory. From there the copy engine takes it to
// the array while the program goes on with its next tile.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/IR/Layout.h"
#include "dialects/TileGPU/IR/TmaAccess.h"
#include "dialects/TileGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
class StoreRewriter {
public:
  explicit StoreRewriter(tile::KernelOp kernel)
      : kernel(kernel), numWarps(kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::kNumWarps).getInt()),
        builder(kernel.getContext()) {}

  /// True when the copy engine stores what `store` did, which is gone.
  bool rewrite(tile::StoreOp store) {
    Value value = store.getValue();
    SmallVector<Operation *> steps; // between the product and its store: other layouts, and dimensions of extent 1
    while (Operation *step = value.getDefiningOp()) {
      if (!isa<ConvertLayoutOp, tile::ReshapeOp>(step))
        break;
      steps.push_back(step);
      value = step->getOperand(0);
    }
    auto type = cast<RankedTensorType>(value.getType());
    constexpr int64_t kWarpgroup = 4, kRowsOfWarp = 16;
    if (store.getIndices().empty() || type.getRank() != 2 || numWarps % kWarpgroup != 0 ||
        type.getDimSize(0) % (kRowsOfWarp * numWarps) != 0 || type.getDimSize(1) % 8 != 0 ||
        Layout::of(type) != Layout::wgmmaAcc(type.getShape(), numWarps))
      return false;
    ArrayRef<int64_t> shape = store.getValue().getType().getShape();
    std::variant<TmaAccess, std::string> found = TmaAccess::ofStore(store.getDest(), shape, type);
    auto *access = std::get_if<TmaAccess>(&found);
    if (!access)
      return false;
    Location loc = store.getLoc();
    builder.setInsertionPointToStart(&kernel.getBody().front());
    auto view = dyn_cast<tile::ViewType>(access->root.getType());
    if (!view)
      view = cast<tile::PartitionType>(access->root.getType()).getView();
    const int64_t swizzle = llvm::Log2_64(access->box.front() * view.getElementBytes() / 16);
    Value map = TensorMapOp::create(builder, loc, TensorMapType::get(builder.getContext()), access->root, access->order,
                                    access->box, swizzle);
    builder.setInsertionPoint(store);
    SmallVector<Value> offsets;
    for (int64_t dim : access->dims) {
      Value extent = arith::ConstantIndexOp::create(builder, loc, shape[dim]);
      offsets.push_back(arith::MulIOp::create(builder, loc, store.getIndices()[dim], extent));
    }
    TmaStoreOp::create(builder, loc, value, map, offsets);
    store.erase();
    for (Operation *step : steps)
      if (step->use_empty())
        step->erase();
    return true;
  }

private:
  tile::KernelOp kernel;
  int64_t numWarps;
  OpBuilder builder;
};

struct BulkStores : PassWrapper<BulkStores, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BulkStores)
  StringRef getArgument() const final { return "tilegpu-bulk-stores"; }
  StringRef getDescription() const final { return "store tiles of products by the copy engine"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<TileGPUDialect, arith::ArithDialect>();
  }

  void runOnOperation() final {
    TargetAttr target = TargetAttr::of(getOperation());
    if (!target || !target.has("tma"))
      return;
    SmallVector<RolesOp> divided(getOperation().getBody().getOps<RolesOp>());
    for (RolesOp roles : divided) {
      StoreRewriter rewriter(getOperation());
      SmallVector<tile::StoreOp> stores;
      roles.getConsumer().walk([&](tile::StoreOp store) { stores.push_back(store); });
      bool any = false;
      for (tile::StoreOp store : stores)
        any |= rewriter.rewrite(store);
      if (!any)
        continue;
      auto end = OpBuilder::atBlockEnd(&roles.getConsumer().front());
      TmaStoreWaitOp::create(end, roles.getLoc());
    }
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createBulkStoresPass() { return std::make_unique<BulkStores>(); }
