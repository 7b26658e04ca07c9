//===- NumWarps.cpp - How many warps a kernel gets ------------------------===//
#include "dialects/Conversion/TileToTileGPU/NumWarps.h"

#include "dialects/TileGPU/IR/Layout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilec;

namespace {
/// Registers of 32 bits that the largest tile should take of a thread: a few such tiles live at a time.
constexpr int64_t kTileRegisters = 64;
/// Where there are reductions and four warps: one tile lives across them, fewer warps have less to combine, and more
/// programs fit.
constexpr int64_t kReducedTileRegisters = 128;
constexpr int64_t kMaxChosenWarps = 16;
/// What a thread needs beside its largest tile: operands on their way, addresses, partial results.
constexpr int64_t kOtherRegisters = 56, kOtherReducedRegisters = 40;
/// Registers of a thread come in units.
constexpr int64_t kRegisterUnit = 8;
/// Parts of a multiprocessor that issue for warps of their own.
constexpr int64_t kQuarters = 4;
/// An accumulator is the one large tile of its kernel.
constexpr int64_t kAccRegisters = 64;
constexpr int64_t kMinMmaWarps = 4, kMaxMmaWarps = 8;
/// Elements of a fragment of mma.sync m16n8: fewer would leave a warp idle.
constexpr int64_t kFragmentElems = 16 * 8;
/// The one number that is no power of two: warpgroups that share tiles of 192 rows.
constexpr int64_t kThreeWarpgroups = 3 * tilegpu::kWarpgroup;
/// Beyond this a tile only spills, and the code grows with it.
constexpr int64_t kMaxTileRegisters = 512;

int64_t registersOf(RankedTensorType tile) {
  return tile.getNumElements() * llvm::divideCeil(tile.getElementTypeBitWidth(), 32);
}

int64_t warpsFor(int64_t registers, int64_t perThread) {
  return llvm::PowerOf2Ceil(llvm::divideCeil(registers, perThread * tilegpu::kLanes));
}

/// What of a kernel's tiles decides how many registers a thread needs.
struct Tiles {
  explicit Tiles(tile::KernelOp kernel) {
    kernel.walk([&](Operation *op) {
      reduces |= isa<tile::ReduceOp>(op);
      for (Type type : op->getResultTypes())
        if (auto tile = dyn_cast<RankedTensorType>(type); tile && registersOf(tile) > largest) {
          largest = registersOf(tile);
          source = op;
        }
      if (auto mma = dyn_cast<tile::MmaOp>(op))
        largestAcc = std::max(largestAcc, registersOf(cast<RankedTensorType>(mma.getType())));
    });
  }

  int64_t besides() const { return reduces ? kOtherReducedRegisters : kOtherRegisters; }

  int64_t warps() const {
    if (largestAcc == 0) {
      int64_t warps = warpsFor(largest, kTileRegisters);
      if (reduces && warps > kQuarters)
        warps = std::max(kQuarters, warpsFor(largest, kReducedTileRegisters));
      return std::clamp<int64_t>(warps, 1, kMaxChosenWarps);
    }
    int64_t fragments = llvm::PowerOf2Ceil(llvm::divideCeil(largestAcc, kFragmentElems));
    return std::clamp(warpsFor(largestAcc, kAccRegisters), std::min(kMinMmaWarps, fragments), kMaxMmaWarps);
  }

  int64_t largest = 0, largestAcc = 0;
  Operation *source = nullptr;
  bool reduces = false;
};
} // namespace

int64_t tilec::chooseResidentCtas(tile::KernelOp kernel, int64_t numWarps, int64_t registersPerMultiprocessor) {
  const Tiles tiles(kernel);
  const int64_t threads = numWarps * tilegpu::kLanes, perThread = llvm::divideCeil(tiles.largest, threads);
  // A product wants its registers; a larger tile has to spread out.
  if (tiles.largestAcc > 0 || perThread > (tiles.reduces ? kReducedTileRegisters : kTileRegisters))
    return 1;
  const int64_t needed = llvm::alignTo(perThread + tiles.besides(), kRegisterUnit);
  // A multiprocessor has quarters with registers of their own: warps are dealt out evenly.
  const int64_t warps = registersPerMultiprocessor / (needed * tilegpu::kLanes);
  return std::max<int64_t>(warps / kQuarters * kQuarters / numWarps, 1);
}

FailureOr<int64_t> tilec::chooseNumWarps(tile::KernelOp kernel, int64_t requested) {
  const bool isPower = requested > 0 && requested <= tilegpu::kMaxWarps && llvm::isPowerOf2_64(requested);
  if (requested != 0 && requested != kThreeWarpgroups && !isPower)
    return kernel.emitError("num_warps must be ")
           << kThreeWarpgroups << " or a power of two from 1 to " << tilegpu::kMaxWarps << ", found " << requested;
  const Tiles tiles(kernel);
  int64_t numWarps = requested ? requested : tiles.warps();
  int64_t perThread = llvm::divideCeil(tiles.largest, numWarps * tilegpu::kLanes);
  if (perThread <= kMaxTileRegisters)
    return numWarps;
  for (Type type : tiles.source->getResultTypes())
    if (auto tile = dyn_cast<RankedTensorType>(type); tile && registersOf(tile) == tiles.largest) {
      InFlightDiagnostic error = tiles.source->emitError("tile of shape (");
      llvm::interleaveComma(tile.getShape(), error);
      error << ") takes " << perThread << " registers of each of " << numWarps * tilegpu::kLanes
            << " threads, expected at most " << kMaxTileRegisters;
      return error;
    }
  return failure();
}
