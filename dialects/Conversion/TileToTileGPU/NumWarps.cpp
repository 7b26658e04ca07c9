//===- NumWarps.cpp - How many warps a kernel gets ------------------------===//
#include "dialects/Conversion/TileToTileGPU/NumWarps.h"

#include "dialects/TileGPU/IR/Layout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilec;

namespace {
/// Registers of 32 bits that the largest tile should take of a thread: a few such tiles live at a time.
constexpr int64_t kTileRegisters = 64;
constexpr int64_t kMaxChosenWarps = 16;
/// What a thread needs beside its largest tile: operands on their way, addresses, partial results.
constexpr int64_t kOtherRegisters = 56;
/// Registers of a thread come in units.
constexpr int64_t kRegisterUnit = 8;
/// An accumulator is the one large tile of its kernel.
constexpr int64_t kAccRegisters = 64;
constexpr int64_t kMinMmaWarps = 4, kMaxMmaWarps = 8;
/// Elements of a fragment of mma.sync m16n8: fewer would leave a warp idle.
constexpr int64_t kFragmentElems = 16 * 8;
/// Beyond this a tile only spills, and the code grows with it.
constexpr int64_t kMaxTileRegisters = 512;

int64_t registersOf(RankedTensorType tile) {
  return tile.getNumElements() * llvm::divideCeil(tile.getElementTypeBitWidth(), 32);
}

int64_t warpsFor(int64_t registers, int64_t perThread) {
  return llvm::PowerOf2Ceil(llvm::divideCeil(registers, perThread * tilegpu::kLanes));
}

int64_t fromTiles(int64_t largestTile, int64_t largestAcc) {
  if (largestAcc == 0)
    return std::clamp<int64_t>(warpsFor(largestTile, kTileRegisters), 1, kMaxChosenWarps);
  int64_t fragments = llvm::PowerOf2Ceil(llvm::divideCeil(largestAcc, kFragmentElems));
  return std::clamp(warpsFor(largestAcc, kAccRegisters), std::min(kMinMmaWarps, fragments), kMaxMmaWarps);
}
} // namespace

int64_t tilec::chooseResidentCtas(tile::KernelOp kernel, int64_t numWarps, int64_t registersPerMultiprocessor) {
  int64_t largestTile = 0;
  bool multiplies = false;
  kernel.walk([&](Operation *op) {
    multiplies |= isa<tile::MmaOp>(op);
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type))
        largestTile = std::max(largestTile, registersOf(tile));
  });
  const int64_t threads = numWarps * tilegpu::kLanes, perThread = llvm::divideCeil(largestTile, threads);
  if (multiplies || perThread > kTileRegisters) // a product wants its registers; a larger tile has to spread out
    return 1;
  const int64_t needed = llvm::alignTo(perThread + kOtherRegisters, kRegisterUnit);
  return std::max<int64_t>(registersPerMultiprocessor / (threads * needed), 1);
}

FailureOr<int64_t> tilec::chooseNumWarps(tile::KernelOp kernel, int64_t requested) {
  if (requested != 0 && (requested < 0 || requested > tilegpu::kMaxWarps || !llvm::isPowerOf2_64(requested)))
    return kernel.emitError("num_warps must be a power of two from 1 to ")
           << tilegpu::kMaxWarps << ", found " << requested;
  int64_t largestTile = 0, largestAcc = 0;
  Operation *source = nullptr;
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(type); tile && registersOf(tile) > largestTile) {
        largestTile = registersOf(tile);
        source = op;
      }
    if (auto mma = dyn_cast<tile::MmaOp>(op))
      largestAcc = std::max(largestAcc, registersOf(cast<RankedTensorType>(mma.getType())));
  });
  int64_t numWarps = requested ? requested : fromTiles(largestTile, largestAcc);
  int64_t perThread = llvm::divideCeil(largestTile, numWarps * tilegpu::kLanes);
  if (perThread <= kMaxTileRegisters)
    return numWarps;
  for (Type type : source->getResultTypes())
    if (auto tile = dyn_cast<RankedTensorType>(type); tile && registersOf(tile) == largestTile) {
      InFlightDiagnostic error = source->emitError("tile of shape (");
      llvm::interleaveComma(tile.getShape(), error);
      error << ") takes " << perThread << " registers of each of " << numWarps * tilegpu::kLanes
            << " threads, expected at most " << kMaxTileRegisters;
      return error;
    }
  return failure();
}
