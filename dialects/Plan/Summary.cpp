//===- Summary.cpp - What a plan needs to know of a kernel ----------------===//
#include "dialects/Plan/Summary.h"

#include "dialects/Plan/Axes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
namespace json = llvm::json;

namespace {
/// How far an operand of a product is followed back to the load it comes from.
constexpr size_t kMaxChain = 64;

/// An argument as a view shows it.
struct ViewSource {
  int64_t arg;
  SmallVector<int64_t> dims; // the argument's dimension behind each of the view's
};

std::optional<ViewSource> sourceOf(Value view) {
  if (auto argument = dyn_cast<BlockArgument>(view)) {
    if (!isa<tile::KernelOp>(argument.getOwner()->getParentOp()))
      return std::nullopt;
    Type type = view.getType();
    auto partition = dyn_cast<tile::PartitionType>(type);
    const int64_t rank = partition ? partition.getRank() : cast<tile::ViewType>(type).getRank();
    return ViewSource{argument.getArgNumber(), llvm::to_vector(llvm::seq<int64_t>(rank))};
  }
  if (auto whole = view.getDefiningOp<tile::ViewOfOp>())
    return sourceOf(whole.getPartition());
  if (auto weaker = view.getDefiningOp<tile::ViewCastOp>())
    return sourceOf(weaker.getView());
  auto permuted = view.getDefiningOp<tile::PermuteViewOp>();
  std::optional<ViewSource> inner = permuted ? sourceOf(permuted.getView()) : std::nullopt;
  if (!inner)
    return std::nullopt;
  return ViewSource{inner->arg,
                    llvm::map_to_vector(permuted.getOrder(), [&](int64_t dim) { return inner->dims[dim]; })};
}

Value withoutCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::optional<int64_t> constantOf(Value value) { return getConstantIntValue(withoutCasts(value)); }

std::string elementName(Value tile) {
  std::string name;
  llvm::raw_string_ostream(name) << cast<RankedTensorType>(tile.getType()).getElementType();
  return name;
}

class Summarizer {
public:
  explicit Summarizer(tile::KernelOp kernel) : kernel(kernel), axes(kernel) {}

  json::Object run() {
    kernel.walk([&](Operation *op) {
      if (auto mma = dyn_cast<tile::MmaOp>(op))
        addProduct(mma);
      else if (auto reduce = dyn_cast<tile::ReduceOp>(op))
        needWhole(reduce.getSources().front(), reduce.getAxis());
      else if (auto load = dyn_cast<tile::LoadOp>(op))
        addAccess(op, load.getView(), load.getResult(), /*store=*/false);
      else if (auto store = dyn_cast<tile::StoreOp>(op))
        addAccess(op, store.getDest(), store.getValue(), /*store=*/true);
      else if (auto gather = dyn_cast<tile::GatherOp>(op))
        addAccess(op, gather.getView(), /*tile=*/nullptr, /*store=*/false);
      computes |= computesOnTiles(op);
      for (Value result : op->getResults())
        addTile(result);
    });
    json::Array wholeDims(whole.getArrayRef());
    json::Value partition = nullptr;
    for (auto [number, type] : llvm::enumerate(kernel.getArgumentTypes()))
      if (isa<tile::PartitionType>(type) && partition.kind() == json::Value::Null)
        partition = static_cast<int64_t>(number);
    return json::Object{{"partition", std::move(partition)},
                        {"rank", static_cast<int64_t>(axes.tile().size())},
                        {"whole", std::move(wholeDims)},
                        {"products", std::move(products)},
                        {"accesses", std::move(accesses)},
                        {"tiles", std::move(tiles)},
                        {"computes", computes}};
  }

private:
  /// Arithmetic on tiles, other than to change their elements' type.
  static bool computesOnTiles(Operation *op) {
    return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
           isa<RankedTensorType>(op->getResult(0).getType()) && !isa<arith::TruncFOp, arith::ExtFOp>(op);
  }

  json::Value extent(Value value, int64_t axis) {
    if (std::optional<int64_t> dim = axes.tileDim(value, axis))
      return json::Object{{"dim", *dim}};
    return cast<RankedTensorType>(value.getType()).getDimSize(axis);
  }

  /// The whole of an axis is combined. An extent that is equal to one of the tile's counts as that: the author took
  /// it from the tile's shape, even where nothing else ties the two.
  void needWhole(Value value, int64_t axis) {
    if (std::optional<int64_t> dim = axes.tileDim(value, axis)) {
      whole.insert(*dim);
      return;
    }
    const int64_t extent = cast<RankedTensorType>(value.getType()).getDimSize(axis);
    for (auto [dim, own] : llvm::enumerate(axes.tile()))
      if (own == extent && own > 1)
        whole.insert(dim);
  }

  json::Value trip(Operation *loop) {
    auto forOp = dyn_cast<scf::ForOp>(loop);
    if (!forOp)
      return nullptr;
    std::optional<int64_t> from = constantOf(forOp.getLowerBound()), step = constantOf(forOp.getStep());
    if (!from || !step || *step <= 0)
      return nullptr;
    Value end = withoutCasts(forOp.getUpperBound());
    if (std::optional<int64_t> count = constantOf(end))
      return json::Object{{"count", std::max<int64_t>(0, llvm::divideCeilSigned(*count - *from, *step))}};
    auto tilesOp = end.getDefiningOp<tile::NumTilesOp>();
    auto dimOp = end.getDefiningOp<tile::DimOp>();
    if (!tilesOp && !dimOp)
      return nullptr;
    std::optional<ViewSource> view = sourceOf(tilesOp ? tilesOp.getView() : dimOp.getView());
    if (!view)
      return nullptr;
    return json::Object{{"arg", view->arg},
                        {"dim", view->dims[tilesOp ? tilesOp.getDim() : dimOp.getDim()]},
                        {"by", static_cast<int64_t>(tilesOp ? tilesOp.getTile() : 1)},
                        {"from", *from},
                        {"step", *step}};
  }

  json::Array trips(Operation *op) {
    json::Array found;
    for (Operation *outer = op->getParentOp(); outer != kernel; outer = outer->getParentOp())
      if (isa<LoopLikeOpInterface>(outer))
        found.insert(found.begin(), trip(outer));
    return found;
  }

  void addProduct(tile::MmaOp mma) {
    Value lhs = mma.getLhs(), rhs = mma.getRhs();
    needWhole(lhs, 1); // a product with the own tile: the output of another one, say
    json::Object product{{"lhs", elementName(lhs)},
                         {"rhs", elementName(rhs)},
                         {"acc", elementName(mma.getAcc())},
                         {"tf32", mma.getAllowTf32()},
                         {"m", extent(lhs, 0)},
                         {"n", extent(rhs, 1)},
                         {"k_step", cast<RankedTensorType>(lhs.getType()).getDimSize(1)},
                         {"trips", trips(mma)},
                         {"accumulator", static_cast<int64_t>(axes.accumulator(mma.getAcc()))}};
    json::Value walked = nullptr;
    product["a"] = operand(lhs, 0, 1, walked);
    product["b"] = operand(rhs, 1, 0, walked);
    product["k"] = std::move(walked);
    products.push_back(std::move(product));
  }

  json::Object operand(Value value, int64_t outerAxis, int64_t kAxis, json::Value &walked) {
    bool computed = false;
    tile::LoadOp load = loadBehind(value, computed);
    json::Object found{{"arg", nullptr}, {"outer", nullptr}, {"k", nullptr}, {"computed", computed}};
    std::optional<ViewSource> view = load ? sourceOf(load.getView()) : std::nullopt;
    if (!view)
      return found;
    found["arg"] = view->arg;
    for (auto [axis, dim] : llvm::enumerate(view->dims)) {
      if (axes.tied(load.getResult(), axis, value, kAxis)) {
        found["k"] = dim;
        walked = json::Object{{"arg", view->arg}, {"dim", dim}};
      } else if (axes.tied(load.getResult(), axis, value, outerAxis)) {
        found["outer"] = dim;
      }
    }
    return found;
  }

  /// The first load that a value is made of.
  static tile::LoadOp loadBehind(Value value, bool &computed) {
    llvm::SetVector<Operation *> chain;
    if (Operation *op = value.getDefiningOp())
      chain.insert(op);
    for (size_t next = 0; next < chain.size() && chain.size() < kMaxChain; ++next) {
      Operation *op = chain[next];
      if (auto load = dyn_cast<tile::LoadOp>(op))
        return load;
      computed |= !isa<tile::PermuteOp, tile::ReshapeOp>(op);
      for (Value operand : op->getOperands())
        if (Operation *inner = operand.getDefiningOp(); inner && isa<RankedTensorType>(operand.getType()))
          chain.insert(inner);
    }
    computed = true;
    return {};
  }

  /// `tile` has an axis for each dimension of the view; a gather has none, its elements lie anywhere.
  void addAccess(Operation *op, Value view, Value tile, bool store) {
    std::optional<ViewSource> source = sourceOf(view);
    if (!source)
      return;
    json::Array dims;
    for (size_t dim = 0; dim < source->dims.size(); ++dim) {
      const auto *axis = llvm::find(source->dims, static_cast<int64_t>(dim));
      std::optional<int64_t> own = tile ? axes.tileDim(tile, axis - source->dims.begin()) : std::nullopt;
      dims.push_back(own ? json::Value(*own) : json::Value(nullptr));
    }
    accesses.push_back(
        json::Object{{"arg", source->arg}, {"dims", std::move(dims)}, {"store", store}, {"trips", trips(op)}});
  }

  static int64_t bitsOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getElementTypeBitWidth(); }

  void addTile(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getElementType().isIndex())
      return;
    json::Array shape;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      shape.push_back(extent(value, axis));
    json::Value tile = json::Object{{"shape", std::move(shape)}, {"bits", bitsOf(value)}};
    if (known.insert(llvm::formatv("{0}", tile).str()).second)
      tiles.push_back(std::move(tile));
  }

  tile::KernelOp kernel;
  Axes axes;
  llvm::SmallSetVector<int64_t, 4> whole;
  llvm::StringSet<> known;
  json::Array products, accesses, tiles;
  bool computes = false;
};
} // namespace

json::Object tilec::summarize(tile::KernelOp kernel) { return Summarizer(kernel).run(); }
