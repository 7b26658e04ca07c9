//===- Axes.h - Which axes of tiles have one extent -------------*- C++ -*-===//
#ifndef TILEC_PLAN_AXES_H
#define TILEC_PLAN_AXES_H

#include "dialects/Tile/IR/TileDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/IntEqClasses.h"
#include <optional>

namespace tilec {

/// Classes of axes that have the same extent whatever the tile is, because one operation ties
/// them: the operands of a sum, the two sides of a product, what a loop carries. The dimensions of
/// the kernel's own tile are tied to the axes that are stored to it, or loaded at its coordinates.
class Axes {
public:
  explicit Axes(tile::KernelOp kernel);

  /// Extents of the tile that the kernel was traced at.
  llvm::ArrayRef<int64_t> tile() const { return tileShape; }

  /// The tile's dimension that an axis of a value runs along.
  std::optional<int64_t> tileDim(mlir::Value value, int64_t axis);

  bool tied(mlir::Value a, int64_t axisA, mlir::Value b, int64_t axisB) { return leader(a, axisA) == leader(b, axisB); }

  /// Values with one number are one accumulator: products add to it in turn.
  unsigned accumulator(mlir::Value value) { return leader(value, kWhole); }

private:
  /// Stands for a value as a whole in place of an axis.
  static constexpr int64_t kWhole = -1;

  unsigned idOf(mlir::Value value, int64_t axis);
  unsigned leader(mlir::Value value, int64_t axis) { return classes.findLeader(idOf(value, axis)); }
  void tie(mlir::Value a, int64_t axisA, mlir::Value b, int64_t axisB) { classes.join(idOf(a, axisA), idOf(b, axisB)); }
  void tieToTile(mlir::Value value, int64_t axis, int64_t dim) { classes.join(idOf(value, axis), dim); }
  void tieAll(mlir::Value a, mlir::Value b);
  void tieCarried(mlir::Value a, mlir::Value b);

  void visit(mlir::Operation *op);
  void visitLoad(tile::LoadOp op);
  void visitReduce(tile::ReduceOp op);
  void visitReshape(tile::ReshapeOp op);
  void visitLoop(mlir::LoopLikeOpInterface op);
  void visitElementwise(mlir::Operation *op);

  llvm::SmallVector<int64_t> tileShape;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, unsigned> ids;
  llvm::IntEqClasses classes;
};

} // namespace tilec

#endif // TILEC_PLAN_AXES_H
