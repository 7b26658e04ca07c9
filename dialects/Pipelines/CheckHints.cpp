//===- CheckHints.cpp - Hints that were not honoured ----------------------===//
//
// Whether there is memory for an author's stages, and whether as many CTAs fit
// as he asks for, is known when all is placed. Then he is told.
//
//===----------------------------------------------------------------------===//
#include "dialects/Pipelines/Pipelines.h"

#include "dialects/TileGPU/IR/Layout.h"
#include "dialects/TileGPU/IR/TilePlan.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
int64_t kernelAttr(tile::KernelOp kernel, StringRef name, int64_t absent = 0) {
  auto attr = kernel->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : absent;
}

/// Slots of the kernel's rings, the fewest; nothing without rings.
std::optional<int64_t> stagesOf(tile::KernelOp kernel) {
  std::optional<int64_t> stages;
  kernel.walk([&](RingOp ring) {
    const int64_t slots = ring.getType().getShape().front();
    stages = std::min(stages.value_or(slots), slots);
  });
  return stages;
}

/// Why a multiprocessor does not hold `ctas` CTAs of the kernel; empty if it does.
std::string whyNotResident(tile::KernelOp kernel, TargetAttr target, int64_t ctas) {
  if (ctas > 1 && kernelAttr(kernel, TileGPUDialect::kProducerWarps) != 0)
    return "a CTA whose warps have roles takes a multiprocessor";
  const int64_t threads = kernelAttr(kernel, TileGPUDialect::kNumWarps) * kLanes,
                mostThreads = target.limit("threads_per_sm"), mostCtas = target.limit("blocks_per_sm");
  if (ctas > mostCtas)
    return llvm::formatv("a multiprocessor holds at most {0} CTAs", mostCtas);
  if (ctas * threads > mostThreads)
    return llvm::formatv("its CTAs have {0} threads, a multiprocessor holds {1}", threads, mostThreads);
  const int64_t bytes = kernelAttr(kernel, TileGPUDialect::kSharedBytes) + target.limit("shared_reserved_bytes"),
                mostBytes = target.limit("shared_per_sm_bytes");
  if (ctas * bytes > mostBytes)
    return llvm::formatv("its CTAs take {0} bytes of shared memory, a multiprocessor has {1}", bytes, mostBytes);
  return "";
}

struct CheckHints : PassWrapper<CheckHints, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckHints)
  StringRef getArgument() const final { return "tilec-check-hints"; }
  StringRef getDescription() const final { return "warn of hints that were not honoured"; }

  void runOnOperation() final {
    tile::KernelOp kernel = getOperation();
    const Asked asked = TilePlan::of(kernel).asked;
    if (asked.stages)
      checkStages(*asked.stages);
    TargetAttr target = TargetAttr::of(kernel);
    if (!asked.occupancy || !target)
      return;
    if (std::string why = whyNotResident(kernel, target, *asked.occupancy); !why.empty()) {
      warnOfHint(kernel, "occupancy", *asked.occupancy, why);
      kernel->removeAttr(TileGPUDialect::kResidentCtas);
    }
  }

  void checkStages(int64_t asked) {
    tile::KernelOp kernel = getOperation();
    const std::optional<int64_t> stages = stagesOf(kernel);
    if (!stages && asked > 1)
      warnOfHint(kernel, "num_stages", asked, "no loop of the kernel copies operands of products ahead");
    else if (stages.value_or(asked) < asked)
      warnOfHint(kernel, "num_stages", asked, "shared memory has room for " + Twine(*stages));
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createCheckHintsPass() { return std::make_unique<CheckHints>(); }
