//===- TileToTileGPU.cpp - tile to tilegpu --------------------------------===//
//
// Says which GPU the module is for and how many warps run each kernel, and chooses the unit that
// multiplies. All other ops mean the same in both dialects and stay.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileToTileGPU/TileToTileGPU.h"

#include "dialects/Conversion/TileToTileGPU/Debugging.h"
#include "dialects/Conversion/TileToTileGPU/NumWarps.h"
#include "dialects/Conversion/TileToTileGPU/TransposeProducts.h"
#include "dialects/TileGPU/IR/Decisions.h"
#include "dialects/TileGPU/IR/GlobalAccess.h"
#include "dialects/TileGPU/IR/Layout.h"
#include "dialects/TileGPU/IR/TileGPUDialect.h"
#include "dialects/TileGPU/IR/TilePlan.h"
#include "dialects/TileGPU/IR/TmaAccess.h"
#include "dialects/TileGPU/Transforms/RegisterNeeds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
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
  if (lhs.isF64() && acc.isF64())
    return "mma_f64";
  return lhs.isInteger(8) && acc.isInteger(32) ? "mma_i8" : "";
}

/// Types as authors know them.
std::string elementText(Type type, bool isTf32) {
  if (isTf32)
    return "tf32";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string elementsText(tile::MmaOp op) {
  const bool isTf32 = op.getAllowTf32();
  return elementText(op.getLhs().getType().getElementType(), isTf32) + " x " +
         elementText(op.getRhs().getType().getElementType(), isTf32) + " into " +
         elementText(cast<RankedTensorType>(op.getType()).getElementType(), false);
}

/// M, N and K of a product.
std::array<int64_t, 3> extentsOf(tile::MmaOp op) {
  RankedTensorType lhs = op.getLhs().getType();
  return {lhs.getDimSize(0), op.getRhs().getType().getDimSize(1), lhs.getDimSize(1)};
}

std::string timesText(ArrayRef<int64_t> extents) {
  return llvm::join(llvm::map_range(extents, [](int64_t extent) { return std::to_string(extent); }), " x ");
}

/// Why instructions of `unit`, which have `rows` rows, eight columns and 32 bytes of K, do not divide a product. What
/// is nearest has a multiple of `columns` columns as well.
std::optional<Obstacle> whyNotDivided(tile::MmaOp op, StringRef unit, int64_t rows, int64_t columns = 1) {
  constexpr int64_t kColumns = 8, kStepBits = 256;
  const std::array<int64_t, 3> found = extentsOf(op),
                               steps{rows, kColumns, kStepBits / op.getLhs().getType().getElementTypeBitWidth()};
  if (found[0] % steps[0] == 0 && found[1] % steps[1] == 0 && found[2] % steps[2] == 0)
    return std::nullopt;
  std::array<int64_t, 3> nearest = steps;
  nearest[1] = std::max(nearest[1], columns);
  for (auto [extent, near] : llvm::zip_equal(found, nearest))
    near = std::max<int64_t>((extent + near / 2) / near, 1) * near;
  return Obstacle{llvm::formatv("{0} multiplies M x N x K in multiples of {1}, found {2}", unit, timesText(steps),
                                timesText(found)),
                  llvm::formatv("the nearest that {0} multiplies is {1}", unit, timesText(nearest))};
}

/// Why tensor cores do not multiply elements of these types.
std::optional<Obstacle> whyNotOfTypes(tile::MmaOp op, TargetAttr target) {
  constexpr std::pair<StringLiteral, StringLiteral> kTypes[] = {
      {"mma_f16", "f16"}, {"mma_bf16", "bf16"},      {"mma_tf32", "tf32"},
      {"mma_f64", "f64"}, {"mma_i8", "i8 into i32"}, {"fp8_mma", "e4m3 and e5m2 into f32"}};
  StringRef feature = tensorCoreFeature(op);
  if (!feature.empty() && target.has(feature))
    return std::nullopt;
  SmallVector<StringRef> has;
  for (const auto &[name, types] : kTypes)
    if (target.has(name))
      has.push_back(types);
  Type lhs = op.getLhs().getType().getElementType();
  return Obstacle{llvm::formatv("the tensor cores of {0} do not multiply {1}, they multiply {2}", target.getName(),
                                elementsText(op), has.empty() ? "nothing" : llvm::join(has, ", ")),
                  lhs.isF32() || lhs.isF64() ? "the nearest dtype is tf32: x.to(tl.tfloat32) on both operands" : ""};
}

/// Why tensor cores do not multiply, warp by warp.
std::optional<Obstacle> whyNotMmaSync(tile::MmaOp op, TargetAttr target) {
  constexpr int64_t kRows = 16;
  std::optional<Obstacle> why = whyNotOfTypes(op, target);
  return why ? why : whyNotDivided(op, "mma.sync", kRows);
}

/// The unit for this product: tensor cores where they take the types and the shape divides into fragments.
MmaKind chooseKind(tile::MmaOp op, TargetAttr target) {
  return whyNotMmaSync(op, target) ? MmaKind::fma : MmaKind::mma_sync;
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

/// Elements of a row of whole 32 bytes that is nearest to those of `tile` along `inner`.
int64_t rowOf32Bytes(RankedTensorType tile, int64_t inner) {
  const int64_t step = 32 * 8 / tile.getElementTypeBitWidth();
  return std::max<int64_t>((tile.getDimSize(inner) + step / 2) / step, 1) * step;
}

/// True when fragments can be read from a tile whose contiguous dimension is not K: wgmma transposes 16-bit elements,
/// mma.sync any, of 8 bits those whose neighbours a warp has enough of.
bool transposesOnReading(RankedTensorType tile, int64_t kDim, MmaKind kind) {
  constexpr int64_t kColumnsOfBytes = 32;
  const int64_t bits = tile.getElementTypeBitWidth();
  return bits == 16 || (kind == MmaKind::mma_sync && (bits != 8 || tile.getDimSize(1 - kDim) % kColumnsOfBytes == 0));
}

/// The dimension of an operand that is contiguous in shared memory: as in global memory where that can be read.
int64_t innerDim(Value tile, int64_t kDim, MmaKind kind) {
  bool keeps = kind == MmaKind::fma || transposesOnReading(cast<RankedTensorType>(tile.getType()), kDim, kind);
  return keeps ? contiguousDim(tile) : kDim;
}

/// True for a left operand that tensor cores cannot read from shared memory as it is stored, while threads can, into
/// registers that a product takes it from: elements of 32 bits that do not lie along K.
bool goesThroughRegisters(Value lhs) {
  return cast<RankedTensorType>(lhs.getType()).getElementTypeBitWidth() == 32 && loadBehind(lhs) &&
         contiguousDim(lhs) == 0;
}

/// The contiguous dimension of an operand of an asynchronous product in shared memory.
int64_t innerDimAsync(Value operand, int64_t kDim) {
  return kDim == 1 && goesThroughRegisters(operand) ? 0 : innerDim(operand, kDim, MmaKind::wgmma);
}

std::string byThreads(StringRef side, StringRef reason) {
  return llvm::formatv("threads load its {0} operand, and copies ahead serve mma.sync better: {1}", side, reason);
}

/// Why an asynchronous product cannot read the operand where it arrives; nothing if the copy engine fetches it, or if
/// it is computed anyway. A load by threads is better off with copies ahead and mma.sync.
std::optional<Obstacle> whyNotReadAsynchronously(StringRef side, Value operand, int64_t kDim) {
  auto tile = cast<RankedTensorType>(operand.getType());
  const int64_t inner = innerDimAsync(operand, kDim);
  SmemType shared = smemType(tile, inner);
  if (shared.getLayout().getSwizzle() == 0)
    return Obstacle{llvm::formatv("the rows of its {0} operand are no multiple of 32 bytes", side),
                    llvm::formatv("the nearest is a tile of {0} elements a row", rowOf32Bytes(tile, inner))};
  if (tile.getNumElements() / tile.getDimSize(inner) % kSwizzleRows != 0)
    return Obstacle{llvm::formatv("its {0} operand has no multiple of eight rows", side), ""};
  tile::LoadOp load = loadBehind(operand);
  if (!load)
    return std::nullopt;
  std::variant<TmaAccess, std::string> access = TmaAccess::of(load, shared);
  auto *reason = std::get_if<std::string>(&access);
  if (!reason)
    return std::nullopt;
  if (inner != contiguousDim(operand))
    return Obstacle{llvm::formatv("8- and 32-bit operands have to lie along K, its {0} one does not", side),
                    "store it transposed and load its .T"};
  return Obstacle{byThreads(side, *reason), ""};
}

/// The same for an operand whose array no tile of it lets the copy engine take.
std::optional<Obstacle> whyNotMappedOperand(StringRef side, Value operand) {
  tile::LoadOp load = loadBehind(operand);
  std::optional<Obstacle> why = load ? whyNotMapped(load.getView()) : std::nullopt;
  if (why)
    why->reason = byThreads(side, why->reason);
  return why;
}

/// Why tiles of 64 rows do not divide the product. The rows of a right operand that lies along N are of 32 bytes.
std::optional<Obstacle> whyNotDividedByWgmma(tile::MmaOp op) {
  constexpr int64_t kRows = 64, kRowBits = 256;
  RankedTensorType rhs = op.getRhs().getType();
  const bool liesAlongN = innerDim(op.getRhs(), /*kDim=*/0, MmaKind::wgmma) == 1;
  return whyNotDivided(op, "wgmma", kRows, liesAlongN ? kRowBits / rhs.getElementTypeBitWidth() : 1);
}

/// Why warpgroups cannot multiply asynchronously: they take tiles of 64 rows each, both operands at hand.
std::optional<Obstacle> whyNotWgmma(tile::MmaOp op, TargetAttr target) {
  if (!target.has("wgmma"))
    return Obstacle{llvm::formatv("{0} has no wgmma", target.getName()), ""};
  if (auto why = whyNotOfTypes(op, target))
    return why;
  if (cast<RankedTensorType>(op.getType()).getElementTypeBitWidth() != 32)
    return Obstacle{"accumulators of wgmma have to be 32 bits wide", "accumulate in tl.float32"};
  const bool leftIsLoaded = !comesFromProduct(op.getLhs());
  if (auto why = leftIsLoaded ? whyNotMappedOperand("left", op.getLhs()) : std::nullopt)
    return why;
  if (auto why = whyNotMappedOperand("right", op.getRhs()))
    return why;
  if (auto why = whyNotDividedByWgmma(op))
    return why;
  if (auto why = leftIsLoaded ? whyNotReadAsynchronously("left", op.getLhs(), /*kDim=*/1) : std::nullopt)
    return why;
  return whyNotReadAsynchronously("right", op.getRhs(), /*kDim=*/0);
}

/// True when one warpgroup can hold the accumulators of all products, each once.
bool fitsOneWarpgroup(ArrayRef<tile::MmaOp> products) {
  int64_t elements = 0;
  for (tile::MmaOp op : products)
    if (!op.getAcc().getDefiningOp<tile::MmaOp>()) // else it is the same accumulator
      elements += op.getType().getNumElements();
  return elements <= kMostAccumulators * kWarpgroup * kLanes;
}

/// The warps that multiply if all products of the kernel fit wgmma: one to three warpgroups, each with 64 rows or a
/// multiple of every accumulator. 0 if one does not fit.
int64_t warpsForAsyncProducts(ArrayRef<tile::MmaOp> products, TargetAttr target, int64_t requested) {
  constexpr int64_t kMostWarpgroups = 3, kRowsOfWarp = 16;
  if (products.empty() || !llvm::all_of(products, [&](tile::MmaOp op) { return !whyNotWgmma(op, target); }))
    return 0;
  auto divides = [&](int64_t warps) {
    return llvm::all_of(
        products, [&](tile::MmaOp op) { return op.getLhs().getType().getDimSize(0) % (kRowsOfWarp * warps) == 0; });
  };
  const int64_t warps = requested                                                ? requested
                        : divides(2 * kWarpgroup)                                ? 2 * kWarpgroup
                        : divides(3 * kWarpgroup) && !fitsOneWarpgroup(products) ? 3 * kWarpgroup
                                                                                 : kWarpgroup;
  return warps % kWarpgroup == 0 && warps <= kMostWarpgroups * kWarpgroup && divides(warps) ? warps : 0;
}

/// Tells which unit multiplies, and what stood in the way of a better one.
void explainProducts(ArrayRef<tile::MmaOp> products, TargetAttr target, int64_t asyncWarps, int64_t requested,
                     bool isTransposed) {
  for (tile::MmaOp op : products) {
    std::array<int64_t, 3> extents = extentsOf(op);
    if (isTransposed)
      std::swap(extents[0], extents[1]);
    SmallVector<std::pair<StringRef, std::string>> facts{{"shape", timesText(extents)}, {"elements", elementsText(op)}};
    if (isTransposed)
      facts.push_back({"operands", "exchanged, the result is transposed"});
    if (asyncWarps != 0) {
      tellPassed(op, "product", "wgmma", facts);
      continue;
    }
    const bool isFma = chooseKind(op, target) == MmaKind::fma;
    std::optional<Obstacle> why = isFma ? whyNotMmaSync(op, target) : whyNotWgmma(op, target);
    if (std::optional<Obstacle> async =
            isFma && target.has("wgmma") && !whyNotOfTypes(op, target) ? whyNotDividedByWgmma(op) : std::nullopt)
      why = Obstacle{why->reason + "; " + async->reason, why->nearest + "; " + async->nearest};
    if (!why && llvm::any_of(products, [&](tile::MmaOp other) { return whyNotWgmma(other, target).has_value(); }))
      why = Obstacle{"another product of the kernel does not fit wgmma", ""};
    if (!why)
      why = Obstacle{llvm::formatv("{0} warps do not share it by warpgroups of 64 rows", requested),
                     "num_warps=4, or 8 or 12 where every product has a multiple of 128 or 192 rows"};
    tellMissed(op, "product", isFma ? "FMA" : "mma.sync", *why, facts);
  }
}

class ProductRewriter {
public:
  ProductRewriter(tile::KernelOp kernel, TargetAttr target, bool async)
      : builder(kernel.getContext()), target(target), async(async) {}

  void rewrite(tile::MmaOp op) {
    MmaKind kind = async ? MmaKind::wgmma : chooseKind(op, target);
    Value lhs = op.getLhs();
    if (kind == MmaKind::fma || !comesFromProduct(lhs))
      lhs = inSharedMemory(op, lhs, async ? innerDimAsync(lhs, /*kDim=*/1) : innerDim(lhs, /*kDim=*/1, kind));
    if (async && goesThroughRegisters(op.getLhs())) {
      builder.setInsertionPoint(op);
      lhs = LocalLoadOp::create(builder, op.getLoc(), op.getLhs().getType(), lhs);
    }
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
    SmallVector<tile::MmaOp> products = productsOf(kernel);
    const int64_t wantedWarps = requested ? requested : plannedWarps(kernel);
    int64_t asyncWarps = warpsForAsyncProducts(products, attribute, wantedWarps);
    bool isTransposed = false;
    if (asyncWarps == 0 && !products.empty() && attribute.has("wgmma")) {
      OwningOpRef<tile::KernelOp> other = kernel.clone();
      transposeProducts(*other);
      SmallVector<tile::MmaOp> transposed = productsOf(*other);
      if (int64_t otherWarps = warpsForAsyncProducts(transposed, attribute, wantedWarps)) {
        kernel.getBody().takeBody(other->getBody());
        products = std::move(transposed);
        asyncWarps = otherWarps;
        isTransposed = true;
      }
    }
    FailureOr<int64_t> warps = chooseNumWarps(kernel, asyncWarps ? asyncWarps : requested);
    if (failed(warps))
      return failure();
    kernel->setAttr(TileGPUDialect::kNumWarps, Builder(&getContext()).getI64IntegerAttr(*warps));
    const std::optional<int64_t> occupancy = TilePlan::of(kernel).asked.occupancy;
    const int64_t ctas =
        occupancy ? *occupancy : chooseResidentCtas(kernel, *warps, attribute.limit("registers_per_sm"));
    if (ctas > 1) {
      tellChoice(kernel, "resident CTAs", llvm::formatv("{0} a multiprocessor", ctas).str(),
                 occupancy ? "occupancy" : "as its tiles fit registers");
      kernel->setAttr(TileGPUDialect::kResidentCtas, Builder(&getContext()).getI64IntegerAttr(ctas));
    }
    if (isAskedAbout(kernel)) {
      tellChoice(kernel, "warps", llvm::formatv("{0} a program", *warps).str(),
                 requested == *warps ? "num_warps"
                 : asyncWarps        ? "wgmma takes whole warpgroups"
                                     : "from the size of its largest tile");
      explainProducts(products, attribute, asyncWarps, requested, isTransposed);
    }
    ProductRewriter rewriter(kernel, attribute, asyncWarps != 0);
    for (tile::MmaOp op : products)
      rewriter.rewrite(op);
    return success();
  }

  static SmallVector<tile::MmaOp> productsOf(tile::KernelOp kernel) {
    SmallVector<tile::MmaOp> products;
    kernel.walk([&](tile::MmaOp op) { products.push_back(op); });
    return products;
  }

  /// Warps of a program under the planned schedule; 0 without one.
  static int64_t plannedWarps(tile::KernelOp kernel) {
    const TilePlan plan = TilePlan::of(kernel);
    return !plan.schedule                            ? 0
           : *plan.schedule == Schedule::cooperative ? plan.warps.value_or(2 * kWarpgroup)
                                                     : kWarpgroup;
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
