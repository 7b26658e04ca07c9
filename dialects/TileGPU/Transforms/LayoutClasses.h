//===- LayoutClasses.h - Tiles that share a layout --------------*- C++ -*-===//
#ifndef TILEC_TILEGPU_TRANSFORMS_LAYOUTCLASSES_H
#define TILEC_TILEGPU_TRANSFORMS_LAYOUTCLASSES_H

#include "dialects/TileGPU/IR/Layout.h"

#include "llvm/ADT/IntEqClasses.h"

namespace tilec::tilegpu {

/// The layout that the accumulator of `product` must have.
Layout accumulatorLayout(MmaOp product, int64_t numWarps, bool wholeRows);

/// True when some product of the kernel takes its left operand from registers: rows then stay inside a warp.
bool keepsRowsWhole(tile::KernelOp kernel);

/// Layout::reshaped for a CTA of `numWarps`.
std::optional<Layout> reshapedLayout(const Layout &layout, llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                                     int64_t numWarps);

/// Classes of tiles of one shape that must or had better have one layout: operands and results of
/// elementwise ops, and what control flow carries. Each class gets the layout of its strongest anchor.
class LayoutClasses {
public:
  LayoutClasses(tile::KernelOp kernel, int64_t numWarps);

  /// The layout chosen for `tile`.
  const Layout &operator[](mlir::Value tile) const { return *classes[find(tile)].layout; }

private:
  struct TileClass {
    llvm::SmallVector<int64_t> shape;
    std::optional<Layout> layout;
    /// A part of a larger tile: what a reduction leaves, or what is broadcast. It follows the larger one, so that
    /// neither op moves anything.
    bool narrow = false;
    bool gathered = false;
    llvm::SmallVector<mlir::Operation *> accesses; ///< loads into it and stores from it

    int64_t numElements() const { return mlir::ShapedType::getNumElements(shape); }
  };

  void number(mlir::Value tile);
  void join(mlir::Value a, mlir::Value b);
  void joinAll(mlir::Operation *op);
  void buildClasses();
  void markNarrow();
  void anchorProducts();
  void anchorAccesses(bool narrow);
  /// Carries layouts over reductions, broadcasts, permutations and reshapes until nothing changes.
  void propagate();
  bool propagateOver(mlir::Operation *op);
  bool offer(mlir::Value tile, std::optional<Layout> layout);
  std::optional<Layout> accessLayout(const TileClass &tiles) const;

  int64_t find(mlir::Value tile) const { return joined[numbers.lookup(tile)]; }
  TileClass &classOf(mlir::Value tile) { return classes[find(tile)]; }

  tile::KernelOp kernel;
  int64_t numWarps;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::SmallVector<mlir::Value> tiles; ///< by number
  llvm::SmallVector<std::pair<unsigned, unsigned>> equal;
  llvm::IntEqClasses joined;
  std::vector<TileClass> classes;
  llvm::SmallVector<mlir::Operation *> links; ///< ops that carry a layout from one class to another
};

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_TRANSFORMS_LAYOUTCLASSES_H
