//===- PackCarried.cpp - Loops carry words, not parts of words ------------===//
//
// The conversion makes every element of a tile a scalar. Bytes and halves that a loop carries would
// have a register each, and be taken out of words at the end of a turn only to be put into words
// again in the next, as tiles are that wait to be stored to shared memory. Where the elements that a
// turn leaves are neighbours in a word, the loop carries the word.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"
#include "dialects/Conversion/TileGPUToNVVM/TileGPUToNVVM.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tilec;

namespace {
/// A scalar that was taken out of a word.
struct Part {
  Value word;
  int64_t position, count;

  static std::optional<Part> of(Value value) {
    if (auto cast = value.getDefiningOp<arith::BitcastOp>())
      value = cast.getIn();
    auto extract = value.getDefiningOp<LLVM::ExtractElementOp>();
    auto vector = extract ? extract.getVector().getDefiningOp<LLVM::BitcastOp>() : LLVM::BitcastOp();
    APInt position;
    if (!vector || !vector.getArg().getType().isInteger(32) ||
        !matchPattern(extract.getPosition(), m_ConstantInt(&position)))
      return std::nullopt;
    return Part{vector.getArg(), position.getSExtValue(), cast<VectorType>(vector.getType()).getNumElements()};
  }
};

/// Carried values `first` … `first + count - 1` of a loop are the parts of `word` at the end of each turn.
struct Packed {
  unsigned first, count;
  Value word;
};

SmallVector<Packed> findPacked(scf::ForOp loop) {
  SmallVector<Packed> found;
  ValueRange yielded = loop.getYieldedValues();
  for (unsigned first = 0; first < yielded.size();) {
    std::optional<Part> part = Part::of(yielded[first]);
    const unsigned count = part && part->position == 0 ? part->count : 0;
    unsigned same = 0;
    for (; same < count && first + same < yielded.size(); ++same) {
      std::optional<Part> next = Part::of(yielded[first + same]);
      if (!next || next->word != part->word || next->position != same ||
          yielded[first + same].getType() != yielded[first].getType())
        break;
    }
    const bool whole = count > 0 && same == count;
    if (whole)
      found.push_back({first, count, part->word});
    first += whole ? count : 1;
  }
  return found;
}

void pack(scf::ForOp loop, ArrayRef<Packed> packed) {
  IRRewriter rewriter(loop.getContext());
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> initial, words;
  for (const Packed &group : packed) {
    initial.push_back(lowering::packWords(rewriter, loc, loop.getInitArgs().slice(group.first, group.count)).front());
    words.push_back(group.word);
  }
  auto yields = [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return words; };
  auto longer = cast<LoopLikeOpInterface>(loop.getOperation())
                    .replaceWithAdditionalYields(rewriter, initial, /*replaceInitOperandUsesInLoop=*/false, yields);
  loop = cast<scf::ForOp>(longer->getOperation());
  const unsigned added = loop.getNumRegionIterArgs() - packed.size();
  // What is carried twice is unused: it keeps its first value, and goes with the others that nobody needs.
  auto replace = [&](ValueRange parts, Value word) {
    SmallVector<Value> unpacked = lowering::unpackWords(rewriter, loc, word, parts.front().getType());
    for (auto [part, value] : llvm::zip_equal(parts, unpacked))
      rewriter.replaceAllUsesWith(part, value);
  };
  for (auto [number, group] : llvm::enumerate(packed)) {
    for (unsigned i = group.first; i < group.first + group.count; ++i)
      (*loop.getYieldedValuesMutable())[i].set(loop.getInitArgs()[i]);
    rewriter.setInsertionPointToStart(loop.getBody());
    replace(SmallVector<Value>(loop.getRegionIterArgs().slice(group.first, group.count)),
            loop.getRegionIterArgs()[added + number]);
    rewriter.setInsertionPointAfter(loop);
    replace(loop.getResults().slice(group.first, group.count), loop.getResult(added + number));
  }
}

struct PackCarried : PassWrapper<PackCarried, OperationPass<LLVM::LLVMFuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PackCarried)
  StringRef getArgument() const final { return "tilec-pack-carried"; }
  StringRef getDescription() const final { return "carry words through loops instead of their parts"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() final {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (SmallVector<Packed> packed = findPacked(loop); !packed.empty())
        pack(loop, packed);
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createPackCarriedPass() { return std::make_unique<PackCarried>(); }

void tilec::registerPackCarriedPass() { PassRegistration<PackCarried>(); }
