//===- RegisterNeeds.cpp - Registers that products take -------------------===//
#include "dialects/TileGPU/Transforms/RegisterNeeds.h"

#include "dialects/TileGPU/IR/Layout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// Registers that a thread needs beside its accumulators, and where results are computed on before they are stored.
constexpr int64_t kBesideAccumulators = 32, kBesideArithmetic = 72;

/// Registers that each of 384 threads starts with; fewer threads are not let have more.
constexpr int64_t kMostStarting = 168;

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
  const int64_t threads = (warps + kWarpgroup) * kLanes;
  const int64_t starting = std::min(kMostStarting, TargetAttr::of(kernel).startingRegisters(threads));
  const int64_t most = starting - (computesOnTiles(kernel) ? kBesideArithmetic : kBesideAccumulators);
  return accumulatorElements(kernel) + leftElements(kernel) > most * warps * kLanes;
}
