//===- TmaAccess.cpp - Tiles that the copy engine can fetch ---------------===//
#include "dialects/TileGPU/IR/TmaAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
constexpr int64_t kMaxRank = 5;

bool isZero(Value pad) { return !pad || matchPattern(pad, m_PosZeroFloat()) || matchPattern(pad, m_Zero()); }

/// The kernel's argument that a view is of; `dims[d]` becomes the argument's dimension of the view's dimension d.
Value rootOf(Value view, SmallVectorImpl<int64_t> &dims) {
  Operation *op = view.getDefiningOp();
  if (!op || isa<ArgumentsOp>(op))
    return view;
  Value root = rootOf(op->getOperand(0), dims);
  if (auto permute = dyn_cast<tile::PermuteViewOp>(op)) {
    SmallVector<int64_t> inner(dims.begin(), dims.end());
    for (auto [dim, source] : llvm::enumerate(permute.getOrder()))
      dims[dim] = inner[source];
  }
  return root;
}

tile::ViewType viewOf(Value root) {
  auto partition = dyn_cast<tile::PartitionType>(root.getType());
  return partition ? partition.getView() : dyn_cast<tile::ViewType>(root.getType());
}

/// True when no tile's elements decide the values: a thread without tiles can compute them.
bool isIndependentOfTiles(ValueRange values) {
  return llvm::none_of(sourcesOf(values), [](Value value) { return isa<RankedTensorType, SmemType>(value.getType()); });
}

/// Loops whose number of turns is not known from the start have no place for a fetch ahead.
bool isInsideWhile(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (auto loop = dyn_cast<LoopLikeOpInterface>(parent); loop && !loop.getLoopInductionVars())
      return true;
  return false;
}

/// Finds the array behind `view` and checks that a map can describe it with dimensions in `order`, of the view.
std::optional<std::string> describe(TmaAccess &access, Value view, ArrayRef<int64_t> order) {
  const int64_t rank = order.size();
  SmallVector<int64_t> rootDims = llvm::to_vector(llvm::seq<int64_t>(rank));
  access.root = rootOf(view, rootDims);
  tile::ViewType root = viewOf(access.root);
  if (!root || !argumentNumber(access.root))
    return "its view is chosen at run time";
  if (rank > kMaxRank)
    return "its array has more than five dimensions";
  if (root.getAlign() % kTmaAlignment != 0)
    return llvm::formatv("its array is aligned to {0} bytes, expected 16", root.getAlign()).str();
  for (auto [place, dim] : llvm::enumerate(order)) {
    const int64_t rootDim = rootDims[dim];
    access.dims.push_back(dim);
    access.order.push_back(rootDim);
    if (place == 0 && !root.hasUnitStride(rootDim))
      return llvm::formatv("neighbours along dimension {0} of its array are not adjacent", rootDim).str();
    if (place != 0 && root.getStrideAlign()[rootDim] % kTmaAlignment != 0)
      return llvm::formatv("the stride of dimension {0} of its array is a multiple of {1} bytes, expected 16", rootDim,
                           root.getStrideAlign()[rootDim])
          .str();
  }
  return std::nullopt;
}
} // namespace

std::optional<int64_t> tilec::tilegpu::argumentNumber(Value root) {
  if (auto argument = dyn_cast<BlockArgument>(root))
    return argument.getArgNumber();
  if (root.getDefiningOp<ArgumentsOp>())
    return cast<OpResult>(root).getResultNumber();
  return std::nullopt;
}

TensorMapOp tilec::tilegpu::createTensorMap(OpBuilder &builder, Location loc, Value root, ArrayRef<int64_t> order,
                                            ArrayRef<int64_t> box, int64_t swizzle) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(root);
  auto arguments = root.getDefiningOp<ArgumentsOp>();
  return TensorMapOp::create(builder, loc, TensorMapType::get(builder.getContext()), root,
                             arguments ? arguments.getProblem() : Value(), order, box, swizzle);
}

llvm::SetVector<Value> tilec::tilegpu::sourcesOf(ValueRange values) {
  llvm::SetVector<Value> sources(values.begin(), values.end());
  auto insertBounds = [&](std::optional<SmallVector<OpFoldResult>> bounds) {
    for (OpFoldResult bound : bounds.value_or(SmallVector<OpFoldResult>()))
      if (auto source = dyn_cast<Value>(bound))
        sources.insert(source);
  };
  auto insertCarried = [&](LoopLikeOpInterface loop, BlockArgument argument) {
    sources.insert(loop.getTiedLoopInit(argument)->get());
    sources.insert(loop.getTiedLoopYieldedValue(argument)->get());
  };
  auto insertAll = [&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        sources.insert(block.getTerminator()->operand_begin(), block.getTerminator()->operand_end());
    sources.insert(op->operand_begin(), op->operand_end());
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    Value value = sources[i];
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    auto loop = dyn_cast<LoopLikeOpInterface>(op);
    if (!loop || !loop.getLoopInductionVars()) {
      if (!isa<tile::KernelOp>(op)) // whose arguments come from nothing
        insertAll(op);
    } else if (!argument) {
      insertCarried(loop, loop.getTiedLoopRegionIterArg(cast<OpResult>(value)));
      insertBounds(loop.getLoopLowerBounds());
      insertBounds(loop.getLoopUpperBounds());
      insertBounds(loop.getLoopSteps());
    } else if (loop.getTiedLoopInit(argument)) {
      insertCarried(loop, argument);
    } else {
      insertBounds(loop.getLoopLowerBounds());
      insertBounds(loop.getLoopSteps());
    }
  }
  return sources;
}

SmallVector<Value> tilec::tilegpu::controlOf(Operation *op) {
  SmallVector<Value> control;
  for (Operation *parent = op->getParentOp(); !isa<tile::KernelOp>(parent); parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<LoopLikeOpInterface>(parent); loop && loop.getLoopInductionVars()) {
      for (auto bounds : {loop.getLoopLowerBounds(), loop.getLoopUpperBounds(), loop.getLoopSteps()})
        for (OpFoldResult bound : *bounds)
          if (auto value = dyn_cast<Value>(bound))
            control.push_back(value);
      continue;
    }
    llvm::append_range(control, parent->getOperands());
  }
  return control;
}

std::optional<Obstacle> tilec::tilegpu::whyNotMapped(Value view) {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(kMaxRank));
  tile::ViewType root = viewOf(rootOf(view, dims));
  if (!root)
    return Obstacle{"its view is chosen at run time", ""};
  if (root.getAlign() % kTmaAlignment != 0)
    return Obstacle{llvm::formatv("its array is aligned to {0} bytes, expected 16", root.getAlign()), ""};
  bool hasRows = false;
  for (int64_t dim = 0; dim < root.getRank(); ++dim) {
    hasRows |= root.hasUnitStride(dim);
    if (!root.hasUnitStride(dim) && root.getStrideAlign()[dim] % kTmaAlignment != 0)
      return Obstacle{llvm::formatv("the stride of dimension {0} of its array is a multiple of {1} bytes, expected 16",
                                    dim, root.getStrideAlign()[dim]),
                      llvm::formatv("allocate {0} with rows of a multiple of {1} elements", arrayName(view),
                                    kTmaAlignment / root.getElementBytes())};
  }
  return hasRows ? std::nullopt : std::optional(Obstacle{"no stride of its array is 1", ""});
}

int64_t tilec::tilegpu::widestSwizzle(int64_t rowBytes) {
  int64_t swizzle = 3;
  while (swizzle > 0 && rowBytes % (16 << swizzle) != 0)
    --swizzle;
  return swizzle;
}

std::optional<SmallVector<int64_t>> tilec::tilegpu::keptDims(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<int64_t> kept;
  for (auto [dim, extent] : llvm::enumerate(from)) {
    const size_t next = kept.size();
    if (next < to.size() && to[next] == extent && (extent != 1 || from.size() - dim <= to.size() - next))
      kept.push_back(dim);
    else if (extent != 1)
      return std::nullopt;
  }
  return kept.size() == to.size() ? std::optional(kept) : std::nullopt;
}

tile::LoadOp tilec::tilegpu::loadBehind(Value tile) {
  if (auto reshape = tile.getDefiningOp<tile::ReshapeOp>();
      reshape && keptDims(reshape.getSource().getType().getShape(), reshape.getType().getShape()))
    tile = reshape.getSource();
  return tile.getDefiningOp<tile::LoadOp>();
}

std::variant<TmaAccess, std::string> TmaAccess::of(tile::LoadOp load, SmemType dest) {
  tile::ViewType view = load.getView().getType();
  ArrayRef<int64_t> loaded = load.getType().getShape();
  const int64_t swizzle = dest.getLayout().getSwizzle();
  if (!view.isReadOnly())
    return "its array may be written";
  if (!isZero(load.getPad()))
    return "it is padded with other values than zero";
  std::optional<SmallVector<int64_t>> kept = keptDims(loaded, dest.getShape());
  if (dest.getElementType() != view.getElementType() || !kept)
    return "its tile has other dimensions or elements than its array";
  // In the order of shared memory, then those that the destination lacks.
  SmallVector<int64_t> order =
      llvm::map_to_vector(dest.getLayout().getOrder(), [&](int64_t dim) { return (*kept)[dim]; });
  for (int64_t dim : llvm::reverse(llvm::seq<int64_t>(0, view.getRank())))
    if (!llvm::is_contained(*kept, dim))
      order.push_back(dim);
  TmaAccess access;
  if (auto why = describe(access, load.getView(), order))
    return *why;
  for (int64_t dim : access.dims)
    access.extent.push_back(loaded[dim]);
  if (swizzle == 0)
    return "its rows are no multiple of 32 bytes";
  access.box = access.extent;
  access.box.front() = (16 << swizzle) / dest.getElementBytes();
  if (ShapedType::getNumElements(ArrayRef(access.extent).drop_front()) % kSwizzleRows != 0)
    return "its rows are no multiple of eight";
  // A tile beyond a box takes several, each of which has to lie in one piece: none behind a divided dimension.
  bool divided = false;
  for (int64_t &extent : MutableArrayRef(access.box).drop_front()) {
    if (divided)
      extent = 1;
    for (divided |= extent > kMaxBoxExtent; extent > kMaxBoxExtent; extent /= 2)
      if (extent % 2 != 0)
        return "its extent has no divisor that fits into a box";
  }
  if (isInsideWhile(load))
    return "it is inside a while loop";
  if (!isIndependentOfTiles(controlOf(load)))
    return "the elements of a tile decide how often it is loaded";
  if (!isIndependentOfTiles(load.getIndices()))
    return "its place depends on the elements of a tile";
  return access;
}

std::variant<TmaAccess, std::string> TmaAccess::ofStore(Value dest, ArrayRef<int64_t> shape, RankedTensorType type,
                                                        int64_t inner) {
  tile::ViewType view = viewOf(dest);
  const int64_t bytes = view.getElementBytes();
  std::optional<SmallVector<int64_t>> kept = keptDims(shape, type.getShape());
  if (type.getRank() != 2 || type.getElementType() != view.getElementType() || !kept)
    return "its tile is no matrix of the array's elements";
  // The engine writes whole chunks of 16 bytes, also those that the array's rows end in.
  if (view.getDivisible()[(*kept)[inner]] * bytes % kTmaAlignment != 0)
    return "the rows of its array are no multiple of 16 bytes";
  SmallVector<int64_t> order{(*kept)[inner], (*kept)[1 - inner]};
  for (int64_t dim : llvm::reverse(llvm::seq<int64_t>(0, view.getRank())))
    if (!llvm::is_contained(*kept, dim))
      order.push_back(dim);
  TmaAccess access;
  if (auto why = describe(access, dest, order))
    return *why;
  access.extent = llvm::map_to_vector(access.dims, [&](int64_t dim) { return shape[dim]; });
  access.box = access.extent;
  return access;
}
