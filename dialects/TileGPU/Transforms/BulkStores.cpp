//===- BulkStores.cpp - Products stored by the copy engine ----------------===//
//
// A tile of a product leaves its registers through shared memory in any case:
// their order is not that of memory. From there the copy engine takes it to
// the array while the program goes on with its next tile.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/IR/Decisions.h"
#include "dialects/TileGPU/IR/Layout.h"
#include "dialects/TileGPU/IR/Scratch.h"
#include "dialects/TileGPU/IR/TmaAccess.h"
#include "dialects/TileGPU/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
SmallVector<std::pair<StringRef, std::string>> factsOf(tile::StoreOp store) {
  if (!isAskedAbout(store))
    return {};
  return {{"array", arrayName(store.getDest())}, {"shape", shapeText(store.getValue().getType().getShape())}};
}

class StoreRewriter {
public:
  explicit StoreRewriter(tile::KernelOp kernel)
      : numWarps(kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::kNumWarps).getInt()), builder(kernel.getContext()) {
  }

  /// Makes the copy engine store what `store` does, which is gone then; or says why not.
  std::optional<std::string> rewrite(tile::StoreOp store) {
    Value value = store.getValue();
    SmallVector<Operation *> steps; // between the product and its store: other layouts, and dimensions of extent 1
    while (Operation *step = value.getDefiningOp()) {
      if (!isa<ConvertLayoutOp, tile::ReshapeOp>(step))
        break;
      steps.push_back(step);
      value = step->getOperand(0);
    }
    auto type = cast<RankedTensorType>(value.getType());
    std::optional<int64_t> rows = store.getIndices().empty() ? std::nullopt : rowsOfAccumulator(type);
    if (!rows)
      return "its tile does not lie as the result of wgmma does";
    ArrayRef<int64_t> shape = store.getValue().getType().getShape();
    int64_t inner = 1;
    std::variant<TmaAccess, std::string> found = TmaAccess::ofStore(store.getDest(), shape, type, inner);
    if (std::variant<TmaAccess, std::string> other = TmaAccess::ofStore(store.getDest(), shape, type, 0);
        found.index() != 0 && other.index() == 0) {
      found = std::move(other);
      inner = 0;
    }
    if (auto *reason = std::get_if<std::string>(&found))
      return *reason;
    auto *access = &std::get<TmaAccess>(found);
    Location loc = store.getLoc();
    builder.setInsertionPoint(store);
    if (*rows == 1)
      value = rowsFirst(loc, value);
    const bool transposed = inner == *rows;
    const StoreStaging staging = storeStaging(cast<RankedTensorType>(value.getType()), transposed);
    if (staging.swizzle == 0)
      return "its tile is not made of lines of 32 bytes";
    access->box[0] = staging.lineElems;
    access->box[1] = staging.linesPerBox;
    tellPassed(store, "store", "TMA", factsOf(store));
    Value map = createTensorMap(builder, loc, access->root, access->order, access->box, staging.swizzle);
    builder.setInsertionPoint(store);
    SmallVector<Value> offsets;
    const ArrayRef<int64_t> step = store.getStep().value_or(shape);
    for (int64_t dim : access->dims) {
      Value extent = arith::ConstantIndexOp::create(builder, loc, step[dim]);
      offsets.push_back(arith::MulIOp::create(builder, loc, store.getIndices()[dim], extent));
    }
    TmaStoreOp::create(builder, loc, value, map, offsets, transposed);
    store.erase();
    for (Operation *step : steps)
      if (step->use_empty())
        step->erase();
    return std::nullopt;
  }

private:
  /// The dimension of which every warpgroup has 64, if the tile lies as the accumulator of wgmma or its transpose.
  std::optional<int64_t> rowsOfAccumulator(RankedTensorType type) const {
    constexpr int64_t kWarpgroup = 4, kRowsOfWarp = 16, kColumnUnit = 8;
    if (type.getRank() != 2 || numWarps % kWarpgroup != 0)
      return std::nullopt;
    const Layout layout = Layout::of(type);
    for (int64_t rows : {0, 1}) {
      const int64_t shape[] = {type.getDimSize(rows), type.getDimSize(1 - rows)}, order[] = {rows, 1 - rows};
      if (shape[0] % (kRowsOfWarp * numWarps) == 0 && shape[1] % kColumnUnit == 0 &&
          layout.permuted(order) == Layout::wgmmaAcc(shape, numWarps))
        return rows;
    }
    return std::nullopt;
  }

  /// The tile with its dimensions exchanged; no register changes.
  Value rowsFirst(Location loc, Value tile) {
    constexpr int64_t kExchange[] = {1, 0};
    auto type = cast<RankedTensorType>(tile.getType());
    const Layout layout = Layout::of(type).permuted(kExchange);
    auto exchanged = RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType(),
                                           layout.attr(builder.getContext()));
    return tile::PermuteOp::create(builder, loc, exchanged, tile, kExchange);
  }

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
    tile::KernelOp kernel = getOperation();
    TargetAttr target = TargetAttr::of(kernel);
    const bool hasTma = target && target.has("tma");
    for (RolesOp roles : hasTma ? llvm::to_vector(kernel.getBody().getOps<RolesOp>()) : SmallVector<RolesOp>()) {
      StoreRewriter rewriter(kernel);
      SmallVector<tile::StoreOp> stores;
      roles.getConsumer().walk([&](tile::StoreOp store) { stores.push_back(store); });
      bool any = false;
      for (tile::StoreOp store : stores) {
        std::optional<std::string> why = rewriter.rewrite(store);
        if (why)
          tellMissed(store, "store", "by threads", {*why, ""}, factsOf(store));
        any |= !why;
      }
      if (!any)
        continue;
      auto end = OpBuilder::atBlockEnd(&roles.getConsumer().front());
      TmaStoreWaitOp::create(end, roles.getLoc());
    }
    if (!isAskedAbout(kernel))
      return;
    kernel.walk([&](tile::StoreOp store) {
      if (!store->getParentOfType<RolesOp>())
        tellMissed(
            store, "store", "by threads",
            {hasTma ? "TMA stores results of wgmma, in kernels whose warps have roles" : "the target has no TMA", ""},
            factsOf(store));
    });
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createBulkStoresPass() { return std::make_unique<BulkStores>(); }
