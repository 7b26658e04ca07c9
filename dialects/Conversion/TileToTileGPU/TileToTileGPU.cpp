//===- TileToTileGPU.cpp - tile to tilegpu --------------------------------===//
//
// Says which GPU the module is for and how many warps run each kernel, and chooses the unit that
// multiplies. All other ops mean the same in both dialects and stay.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileToTileGPU/TileToTileGPU.h"

#include "dialects/Conversion/TileToTileGPU/Debugging.h"
#include "dialects/Conversion/TileToTileGPU/NumWarps.h"
#include "dialects/TileGPU/IR/GlobalAccess.h"
#include "dialects/TileGPU/IR/TileGPUDialect.h"
#include "dialects/TileGPU/IR/TilePlan.h"
#include "dialects/TileGPU/IR/TmaAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;
namespace json = llvm::json;

namespace {
//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

/// Strings, integers, booleans, arrays and objects of them; null for anything else.
Attribute toAttribute(Builder &builder, const json::Value &value) {
  if (std::optional<StringRef> text = value.getAsString())
    return builder.getStringAttr(*text);
  if (std::optional<bool> flag = value.getAsBoolean())
    return builder.getBoolAttr(*flag);
  if (std::optional<int64_t> number = value.getAsInteger())
    return builder.getI64IntegerAttr(*number);
  if (const json::Array *array = value.getAsArray()) {
    SmallVector<Attribute> entries =
        llvm::map_to_vector(*array, [&](const json::Value &entry) { return toAttribute(builder, entry); });
    return llvm::is_contained(entries, Attribute()) ? Attribute() : builder.getArrayAttr(entries);
  }
  const json::Object *object = value.getAsObject();
  if (!object)
    return {};
  SmallVector<NamedAttribute> entries;
  for (const auto &[name, entry] : *object) {
    Attribute attribute = toAttribute(builder, entry);
    if (!attribute)
      return {};
    entries.push_back(builder.getNamedAttr(StringRef(name), attribute));
  }
  return builder.getDictionaryAttr(entries);
}

FailureOr<DictionaryAttr> parseObject(ModuleOp module, StringRef what, StringRef text) {
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return module.emitError(what) << ": " << llvm::toString(parsed.takeError());
  Builder builder(module.getContext());
  if (auto object = dyn_cast_or_null<DictionaryAttr>(toAttribute(builder, *parsed)))
    return object;
  return module.emitError(what) << ": expected an object of strings, integers, booleans, arrays and objects, found "
                                << text;
}

FailureOr<TargetAttr> parseTarget(ModuleOp module, StringRef text) {
  FailureOr<DictionaryAttr> properties = parseObject(module, "target", text);
  if (failed(properties))
    return failure();
  auto name = properties->getAs<StringAttr>("name");
  if (!name)
    return module.emitError("target: expected an object with a name, found ") << text;
  return TargetAttr::get(module.getContext(), name.getValue(), *properties);
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

bool isFp8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }

/// The feature that multiplies these types on tensor cores; empty when none does.
StringRef tensorCoreFeature(tile::MmaOp op) {
  Type lhs = op.getLhs().getType().getElementType(), rhs = op.getRhs().getType().getElementType(),
       acc = cast<RankedTensorType>(op.getType()).getElementType();
  if (isFp8(lhs) && isFp8(rhs) && acc.isF32())
    return "fp8_mma";
  if (lhs != rhs)
    return "";
  if (lhs.isF16() && (acc.isF32() || acc.isF16()))
    return "mma_f16";
  if (lhs.isBF16() && acc.isF32())
    return "mma_bf16";
  if (lhs.isF32() && acc.isF32() && op.getAllowTf32())
    return "mma_tf32";
  return lhs.isInteger(8) && acc.isInteger(32) ? "mma_i8" : "";
}

/// The unit for this product: tensor cores where they take the types and the shape divides into fragments.
MmaKind chooseKind(tile::MmaOp op, TargetAttr target) {
  StringRef feature = tensorCoreFeature(op);
  if (feature.empty() || !target.has(feature))
    return MmaKind::fma;
  constexpr int64_t kM = 16, kN = 8, kStepBits = 256; // m16n8 with 32 bytes of K
  RankedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  bool divides = lhs.getDimSize(0) % kM == 0 && rhs.getDimSize(1) % kN == 0 &&
                 lhs.getDimSize(1) * lhs.getElementTypeBitWidth() % kStepBits == 0;
  return divides ? MmaKind::mma_sync : MmaKind::fma;
}

/// True when `value` is computed from the result of a product: its fragments are in registers already.
bool comesFromProduct(Value value) {
  llvm::SetVector<Operation *> slice;
  auto follow = [&](Value operand) {
    if (Operation *op = operand.getDefiningOp(); op && isa<RankedTensorType>(operand.getType()))
      slice.insert(op);
  };
  follow(value);
  for (size_t i = 0; i < slice.size(); ++i) {
    if (isa<tile::MmaOp, MmaOp>(slice[i]))
      return true;
    llvm::for_each(slice[i]->getOperands(), follow);
    for (Region &region : slice[i]->getRegions()) // a loop's or branch's results
      for (Block &block : region)
        llvm::for_each(block.getTerminator()->getOperands(), follow);
  }
  return false;
}

/// The contiguous dimension of a tile in the memory that it was loaded from, else the last one.
int64_t contiguousDim(Value tile) {
  Operation *op = tile.getDefiningOp();
  int64_t last = cast<RankedTensorType>(tile.getType()).getRank() - 1;
  if (!op)
    return last;
  if (auto load = loadBehind(tile); load && !isa<tile::LoadOp>(op)) {
    auto kept = *keptDims(load.getType().getShape(), cast<RankedTensorType>(tile.getType()).getShape());
    auto place = llvm::find(kept, contiguousDim(load.getResult()));
    return place == kept.end() ? last : place - kept.begin();
  }
  if (isa<tile::LoadOp>(op))
    return GlobalAccess::of(op)->dim.value_or(last);
  if (auto permute = dyn_cast<tile::PermuteOp>(op)) {
    ArrayRef<int64_t> order = permute.getOrder();
    return llvm::find(order, contiguousDim(permute.getSource())) - order.begin();
  }
  if (op->hasTrait<OpTrait::Elementwise>())
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        return contiguousDim(operand);
  return last;
}

/// Contiguous along `inner`, with the widest swizzle that its rows allow.
SmemType smemType(RankedTensorType tile, int64_t inner) {
  const int64_t swizzle = widestSwizzle(tile.getDimSize(inner) * llvm::divideCeil(tile.getElementTypeBitWidth(), 8));
  SmallVector<int64_t> order{inner};
  for (int64_t dim : rowMajor(tile.getRank()))
    if (dim != inner)
      order.push_back(dim);
  return SmemType::get(tile.getContext(), tile.getShape(), tile.getElementType(),
                       SharedAttr::get(tile.getContext(), order, swizzle));
}

/// Contiguous as in global memory, where the tensor cores can transpose: 16-bit elements. Others need K contiguous.
int64_t innerDim(Value tile, int64_t kDim, MmaKind kind) {
  bool transposes = cast<RankedTensorType>(tile.getType()).getElementTypeBitWidth() == 16;
  return kind == MmaKind::fma || transposes ? contiguousDim(tile) : kDim;
}

/// True when an asynchronous product can read the operand where it arrives: the copy engine fetches it, or it is
/// computed anyway. A load by threads is better off with copies ahead and mma.sync.
bool isReadAsynchronously(Value operand, int64_t kDim) {
  auto tile = cast<RankedTensorType>(operand.getType());
  SmemType shared = smemType(tile, innerDim(operand, kDim, MmaKind::wgmma));
  if (shared.getLayout().getSwizzle() == 0 ||
      tile.getNumElements() / tile.getDimSize(shared.getLayout().getOrder().front()) % kSwizzleRows != 0)
    return false;
  tile::LoadOp load = loadBehind(operand);
  return !load || std::holds_alternative<TmaAccess>(TmaAccess::of(load, shared));
}

/// True when warpgroups can multiply asynchronously: tiles of 64 rows each, both operands at hand.
bool fitsWgmma(tile::MmaOp op, TargetAttr target) {
  constexpr int64_t kM = 64;
  const bool accumulatesWide = cast<RankedTensorType>(op.getType()).getElementTypeBitWidth() == 32;
  return target.has("wgmma") && accumulatesWide && chooseKind(op, target) == MmaKind::mma_sync &&
         op.getLhs().getType().getDimSize(0) % kM == 0 &&
         (comesFromProduct(op.getLhs()) || isReadAsynchronously(op.getLhs(), /*kDim=*/1)) &&
         isReadAsynchronously(op.getRhs(), /*kDim=*/0);
}

/// The warps that multiply if all products of the kernel fit wgmma: one or two warpgroups, each with 64 rows or a
/// multiple of every accumulator. 0 if one does not fit.
int64_t warpsForAsyncProducts(ArrayRef<tile::MmaOp> products, TargetAttr target, int64_t requested) {
  constexpr int64_t kWarpgroup = 4, kRowsOfWarp = 16;
  if (products.empty() || !llvm::all_of(products, [&](tile::MmaOp op) { return fitsWgmma(op, target); }))
    return 0;
  auto divides = [&](int64_t warps) {
    return llvm::all_of(
        products, [&](tile::MmaOp op) { return op.getLhs().getType().getDimSize(0) % (kRowsOfWarp * warps) == 0; });
  };
  const int64_t warps = requested ? requested : divides(2 * kWarpgroup) ? 2 * kWarpgroup : kWarpgroup;
  return (warps == kWarpgroup || warps == 2 * kWarpgroup) && divides(warps) ? warps : 0;
}

class ProductRewriter {
public:
  ProductRewriter(tile::KernelOp kernel, TargetAttr target, bool async)
      : builder(kernel.getContext()), target(target), async(async) {}

  void rewrite(tile::MmaOp op) {
    MmaKind kind = async ? MmaKind::wgmma : chooseKind(op, target);
    Value lhs = op.getLhs();
    if (kind == MmaKind::fma || !comesFromProduct(lhs))
      lhs = inSharedMemory(op, lhs, innerDim(lhs, /*kDim=*/1, kind));
    Value rhs = inSharedMemory(op, op.getRhs(), innerDim(op.getRhs(), /*kDim=*/0, kind));
    builder.setInsertionPoint(op);
    auto product = MmaOp::create(builder, op.getLoc(), op.getType(), lhs, rhs, op.getAcc(), kind, op.getAllowTf32(),
                                 op.getLhsUnsigned(), op.getRhsUnsigned());
    op.replaceAllUsesWith(product.getResult());
    op.erase();
  }

private:
  /// A copy of `tile` in shared memory, contiguous along `inner`. A tile from outside the product's block is copied
  /// where it is made, once; others just before the product, after all loads are on their way.
  Value inSharedMemory(tile::MmaOp user, Value tile, int64_t inner) {
    LocalAllocOp &known = copies[{tile, inner}];
    if (known && known->getBlock()->findAncestorOpInBlock(*user))
      return known;
    Operation *source = tile.getDefiningOp();
    if (source && source->getBlock() != user->getBlock())
      builder.setInsertionPointAfter(source);
    else
      builder.setInsertionPoint(user);
    auto type = cast<RankedTensorType>(tile.getType());
    known = LocalAllocOp::create(builder, user.getLoc(), smemType(type, inner), tile, /*async_readers=*/async);
    return known;
  }

  OpBuilder builder;
  TargetAttr target;
  bool async;
  DenseMap<std::pair<Value, int64_t>, LocalAllocOp> copies;
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct TileToTileGPU : PassWrapper<TileToTileGPU, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TileToTileGPU)
  TileToTileGPU() = default;
  TileToTileGPU(const TileToTileGPU &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "convert-tile-to-tilegpu"; }
  StringRef getDescription() const final { return "attach the target, choose warps and the units that multiply"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<TileGPUDialect>(); }

  void runOnOperation() final {
    ModuleOp module = getOperation();
    if (!target.empty()) {
      FailureOr<TargetAttr> parsed = parseTarget(module, target);
      if (failed(parsed))
        return signalPassFailure();
      module->setAttr(TileGPUDialect::kTarget, *parsed);
    }
    TargetAttr attribute = TargetAttr::of(module);
    if (!attribute) {
      module.emitError("the module names no target and the pass was given none");
      return signalPassFailure();
    }
    DictionaryAttr decisions;
    if (!plan.empty()) {
      FailureOr<DictionaryAttr> parsed = parseObject(module, "plan", plan);
      if (failed(parsed))
        return signalPassFailure();
      decisions = *parsed;
    }
    for (auto kernel : module.getOps<tile::KernelOp>()) {
      if (decisions)
        kernel->setAttr(TileGPUDialect::kPlan, decisions);
      if (failed(convert(kernel, attribute)))
        return signalPassFailure();
    }
  }

  LogicalResult convert(tile::KernelOp kernel, TargetAttr attribute) {
    if (failed(prepareDebugging(kernel)))
      return failure();
    auto hint = kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::kNumWarps);
    const int64_t requested = numWarps ? numWarps : hint ? hint.getInt() : 0;
    SmallVector<tile::MmaOp> products;
    kernel.walk([&](tile::MmaOp op) { products.push_back(op); });
    const int64_t asyncWarps = warpsForAsyncProducts(products, attribute, requested ? requested : plannedWarps(kernel));
    FailureOr<int64_t> warps = chooseNumWarps(kernel, asyncWarps ? asyncWarps : requested);
    if (failed(warps))
      return failure();
    kernel->setAttr(TileGPUDialect::kNumWarps, Builder(&getContext()).getI64IntegerAttr(*warps));
    if (int64_t ctas = chooseResidentCtas(kernel, *warps, attribute.limit("registers_per_sm")); ctas > 1)
      kernel->setAttr(TileGPUDialect::kResidentCtas, Builder(&getContext()).getI64IntegerAttr(ctas));
    ProductRewriter rewriter(kernel, attribute, asyncWarps != 0);
    for (tile::MmaOp op : products)
      rewriter.rewrite(op);
    return success();
  }

  /// Warps of a program under the planned schedule; 0 without one.
  static int64_t plannedWarps(tile::KernelOp kernel) {
    constexpr int64_t kWarpgroup = 4;
    std::optional<Schedule> schedule = TilePlan::of(kernel).schedule;
    return !schedule ? 0 : *schedule == Schedule::cooperative ? 2 * kWarpgroup : kWarpgroup;
  }

  Option<std::string> target{*this, "target", llvm::cl::desc("the target's entry, as JSON; default: the module's")};
  Option<std::string> plan{*this, "plan", llvm::cl::desc("what was decided with the tile, as JSON")};
  Option<int64_t> numWarps{*this, "num-warps", llvm::cl::desc("warps of a CTA; 0: from the tiles"), llvm::cl::init(0)};
};
} // namespace

std::unique_ptr<Pass> tilec::createTileToTileGPUPass(const json::Value &target, int64_t numWarps,
                                                     const json::Value &plan) {
  auto pass = std::make_unique<TileToTileGPU>();
  if (target.kind() != json::Value::Null)
    pass->target = llvm::formatv("{0}", target).str();
  if (plan.kind() != json::Value::Null)
    pass->plan = llvm::formatv("{0}", plan).str();
  pass->numWarps = numWarps;
  return pass;
}

void tilec::registerTileToTileGPUPass() { PassRegistration<TileToTileGPU>(); }
