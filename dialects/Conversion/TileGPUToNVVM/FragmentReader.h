//===- FragmentReader.h - Operands of the tensor cores ----------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILEGPUTONVVM_FRAGMENTREADER_H
#define TILEC_CONVERSION_TILEGPUTONVVM_FRAGMENTREADER_H

#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"

namespace tilec::lowering {

/// Reads fragments of a matrix in shared memory, however it lies there: by
/// ldmatrix, which transposes 16-bit elements; by accesses of whole words; or,
/// where neighbours in memory are 8-bit elements of different words, four words
/// at a time whose bytes change places in registers.
///
///     Layout layout = Layout::mmaLhs(acc, {m, mmaStep(k, bits)}, bits);
///     FragmentReader reader(builder, loc, smemType, base, layout, /*kDim=*/1, threadId(builder, loc));
///     SmallVector<Value> words = reader.load({row, step * mmaStep(k, bits)});
///
/// Neighbours along K share a word, so `layout`'s lowest register bits are those.
/// FragmentOrder::of says which accumulator layouts read without bank conflicts.
class FragmentReader {
public:
  /// `layout`'s repeats are left out: a fragment is its atom.
  FragmentReader(mlir::OpBuilder &builder, mlir::Location loc, tilegpu::SmemType type, mlir::Value base,
                 const tilegpu::Layout &layout, int64_t kDim, ThreadId thread);

  /// The fragment whose first element is at `origin`: i32 words in the order of the layout's registers; elements as
  /// they are if a word does not hold one.
  llvm::SmallVector<mlir::Value> load(llvm::ArrayRef<int64_t> origin);

private:
  enum class Way { matrices, words, bytes, elements };

  Way choose(int64_t kDim);
  bool hasMatrices(int64_t kDim) const;
  void findNeighbours(int64_t unitElems);
  void skewRows(int64_t kDim);
  tilegpu::Layout matrixRows(int64_t kDim) const;
  mlir::Value selector(int64_t bit, int64_t plain, int64_t swapped);

  llvm::SmallVector<mlir::Value> loadMatrices(llvm::ArrayRef<int64_t> origin);
  llvm::SmallVector<mlir::Value> loadWords(llvm::ArrayRef<int64_t> origin);
  llvm::SmallVector<mlir::Value> loadBytes(llvm::ArrayRef<int64_t> origin);
  llvm::SmallVector<mlir::Value> loadElements(llvm::ArrayRef<int64_t> origin);
  std::array<mlir::Value, 4> transposed(llvm::ArrayRef<mlir::Value> rows);

  int64_t numWords() const { return layout.atomRegisters() >> wordBits; }
  /// The word that is `neighbour` places behind word `word` in memory.
  int64_t neighbourOf(int64_t word, int64_t neighbour) const;
  /// True when `word` comes first in its access.
  bool leads(int64_t word) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  tilegpu::SmemType type;
  SharedPlacement placement;
  tilegpu::Layout layout; ///< by which threads read; with rows exchanged between lanes it is no longer what they hold
  ThreadId thread;
  int64_t wordBits; ///< register bits inside a word
  bool transposes;  ///< K is not the contiguous dimension
  /// Bits of the word's number that choose neighbours in memory, the nearest first.
  llvm::SmallVector<int64_t, 2> neighbours;
  std::array<int64_t, 2> skew = {0, 0}; ///< exclusive or of a word's row by the lanes' first two bits
  Way way;
  std::optional<ThreadAddresses> addresses;
  llvm::SmallVector<mlir::Value, 4> selectors; ///< of the byte permutations
};

} // namespace tilec::lowering

#endif // TILEC_CONVERSION_TILEGPUTONVVM_FRAGMENTREADER_H
