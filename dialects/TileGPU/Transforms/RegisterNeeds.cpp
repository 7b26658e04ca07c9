//===- RegisterNeeds.cpp - Registers that products take -------------------===//
#include "dialects/TileGPU/Transforms/RegisterNeeds.h"

#include "dialects/TileGPU/IR/Layout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// Accumulators that a thread may hold beside what else it needs.
constexpr int64_t kMostAccumulators = 192;

/// Accumulators that fit into the registers that 384 threads start with.
constexpr int64_t kMostStartingAccumulators = 144;

/// Where results are computed on before they are stored, fewer.
constexpr int64_t kMostBesideArithmetic = 96;

/// True when tiles are computed on, beside products and conversions of their elements.
bool computesOnTiles(tile::KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        const bool computes = op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
                              isa<RankedTensorType>(op->getResult(0).getType()) &&
                              !isa<arith::TruncFOp, arith::ExtFOp>(op);
        return computes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Elements of all accumulators of a kernel.
int64_t accumulatorElements(tile::KernelOp kernel) {
  int64_t elements = 0;
  kernel.walk([&](MmaOp product) {
    if (!isa_and_nonnull<MmaOp>(product.getAcc().getDefiningOp())) // else it is the same accumulator
      elements += product.getAcc().getType().getNumElements();
  });
  return elements;
}

/// Elements of left operands that products take from registers; the next turn's are on their way by then.
int64_t leftElements(tile::KernelOp kernel) {
  int64_t elements = 0;
  kernel.walk([&](LocalLoadOp load) { elements += 2 * cast<RankedTensorType>(load.getType()).getNumElements(); });
  return elements;
}
} // namespace

bool tilec::tilegpu::fitsOneWarpgroup(tile::KernelOp kernel) {
  return accumulatorElements(kernel) <= kMostAccumulators * kWarpgroup * kLanes;
}

bool tilec::tilegpu::needsMoreRegisters(tile::KernelOp kernel, int64_t warps) {
  const int64_t most = computesOnTiles(kernel) ? kMostBesideArithmetic : kMostStartingAccumulators;
  return accumulatorElements(kernel) + leftElements(kernel) > most * warps * kLanes;
}
