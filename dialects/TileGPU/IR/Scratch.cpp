//===- Scratch.cpp - Shared memory that single ops work in ----------------===//
#include "dialects/TileGPU/IR/Scratch.h"

#include "dialects/TileGPU/IR/TmaAccess.h"

using namespace mlir;
using namespace tilec::tilegpu;

int64_t tilec::tilegpu::elementBytes(Type elementType) {
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

ReduceScratch tilec::tilegpu::reduceScratch(Operation *op) {
  auto reduce = cast<tile::ReduceOp>(op);
  const int64_t axis = reduce.getAxis();
  const Layout source = Layout::of(reduce.getSources().front().getType());
  ReduceScratch scratch;
  for (auto [bit, basis] : llvm::enumerate(source.warps))
    if (basis[axis] != 0) {
      scratch.warpBits.push_back(bit);
      scratch.warpsAlongAxis *= 2;
    }
  if (source.groupStep(axis) != 0)
    scratch.warpsAlongAxis *= source.groups;
  if (scratch.warpsAlongAxis == 1)
    return scratch;
  const Layout reduced = source.reduced(axis);
  int64_t elements = 1;
  for (int64_t dim = 0; dim < reduced.rank(); ++dim) {
    scratch.extents.push_back(reduced.extent(dim));
    elements *= reduced.extent(dim);
  }
  for (Value operand : reduce.getSources()) {
    scratch.offsets.push_back(scratch.bytes);
    int64_t bytes =
        elements * scratch.warpsAlongAxis * elementBytes(cast<RankedTensorType>(operand.getType()).getElementType());
    scratch.bytes += llvm::alignTo(bytes, kScratchAlignment);
  }
  return scratch;
}

ConversionPlan tilec::tilegpu::conversionPlan(Operation *op) {
  auto convert = cast<ConvertLayoutOp>(op);
  auto source = cast<RankedTensorType>(convert.getSource().getType());
  return planConversion(Layout::of(source), Layout::of(convert.getType()), elementBytes(source.getElementType()));
}

StoreStaging tilec::tilegpu::storeStaging(RankedTensorType tile, bool transposed) {
  constexpr int64_t kBlockBytes = 8192, kColumnUnit = 8;
  StoreStaging staging;
  const int64_t bytes = elementBytes(tile.getElementType()), columns = tile.getDimSize(1);
  staging.swizzle = widestSwizzle((transposed ? kStoreRows : columns) * bytes);
  staging.lineElems = (16 << staging.swizzle) / bytes;
  if (transposed) {
    staging.boxes = kStoreRows / staging.lineElems;
    for (staging.columns = kBlockBytes / (kStoreRows * bytes); columns % staging.columns != 0;)
      staging.columns -= kColumnUnit;
    staging.linesPerBox = staging.columns;
  } else {
    staging.columns = staging.lineElems;
    staging.linesPerBox = kStoreRows;
  }
  staging.blockBytes = kStoreRows * staging.columns * bytes;
  // A swizzle starts anew with every buffer.
  staging.warpgroupBytes = kStoreBuffers * llvm::alignTo(staging.blockBytes, kTileAlignment);
  return staging;
}

int64_t tilec::tilegpu::scratchBytes(Operation *op) {
  if (isa<tile::ReduceOp>(op))
    return reduceScratch(op).bytes;
  if (isa<ConvertLayoutOp>(op))
    return conversionPlan(op).trip.bytes;
  if (auto sum = dyn_cast<ClusterSumOp>(op)) {
    const Layout layout = Layout::of(sum.getSource().getType());
    return layout.numRegisters() * layout.numWarps() * kLanes * elementBytes(sum.getType().getElementType());
  }
  return 0;
}

int64_t tilec::tilegpu::workspaceBytes(WorkspaceSumOp op) {
  int64_t bytes = 0;
  for (Value source : op.getSources()) {
    const Layout layout = Layout::of(cast<RankedTensorType>(source.getType()));
    bytes += layout.numRegisters() * layout.numWarps() * kLanes * 4;
  }
  return bytes;
}

int64_t tilec::tilegpu::programBytes(Operation *op) {
  if (auto alloc = dyn_cast<LocalAllocOp>(op))
    return llvm::alignTo(alloc.getType().getBytes(), kTileAlignment);
  return llvm::alignTo(scratchBytes(op), kScratchAlignment);
}
