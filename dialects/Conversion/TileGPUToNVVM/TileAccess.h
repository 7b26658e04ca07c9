//===- TileAccess.h - How a thread walks a tile in global memory -*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILEGPUTONVVM_TILEACCESS_H
#define TILEC_CONVERSION_TILEGPUTONVVM_TILEACCESS_H

#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"
#include "dialects/TileGPU/IR/GlobalAccess.h"

namespace tilec::lowering {

/// Where a tile lies in an array and how this thread walks it.
class TileAccess {
public:
  struct Bounds {
    bool lower = true,
         upper = true; ///< which of the two must be tested, a dimension
  };

  TileAccess(mlir::OpBuilder &builder, mlir::Location loc, tile::ViewType type, const ViewValues &view,
             mlir::RankedTensorType tile, mlir::ValueRange indices, llvm::ArrayRef<int64_t> step,
             llvm::ArrayRef<Bounds> bounds, tilegpu::Move move);

  int64_t vectorElems() const { return vector.elems; }
  int64_t vectorBytes() const { return vector.elems * bytes; }
  int64_t numVectors() const { return layout.numRegisters() / vector.elems; }
  /// Vectors start at multiples of their size.
  bool isAligned() const { return vector.aligned; }
  /// Vectors lie wholly inside or wholly outside; otherwise `inside` speaks of the first element.
  bool isWhole() const { return vector.whole; }

  /// Address of the first element of vector `number`.
  mlir::Value address(int64_t number);
  /// i1: vector `number` lies inside array and tile. Null when it always does.
  mlir::Value inside(int64_t number);
  /// i32: how many elements of vector `number` lie inside array and tile along its dimension, where it is not whole.
  /// It may be negative or more than the vector has.
  mlir::Value count(int64_t number);
  /// i1: this thread owns what it holds. Null when every thread does.
  mlir::Value owner() { return isOwner(builder, loc, layout, threadId); }

private:
  void chooseVector(llvm::ArrayRef<int64_t> step, tilegpu::Move move);
  void place(const ViewValues &view, mlir::ValueRange indices, llvm::ArrayRef<int64_t> step,
             llvm::ArrayRef<Bounds> bounds);
  mlir::Value clamp(mlir::Value bound, int64_t dim);
  bool isSeparate(int64_t dim, const tilegpu::Coords &atom) const;
  mlir::Value offset(int64_t value);
  mlir::Value multiply(mlir::Value lhs, mlir::Value rhs);
  mlir::Value narrow(mlir::Value i64);
  mlir::Value widen(mlir::Value i32);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  tile::ViewType type;
  tilegpu::Layout layout;
  llvm::SmallVector<int64_t> shape;
  int64_t bytes;
  mlir::Type offsetType; ///< of byte offsets inside the tile
  tilegpu::Run vector;
  int64_t vectorDim = 0;
  ThreadId threadId;
  llvm::SmallVector<mlir::Value> thread, strideBytes, upper, lower;
  mlir::Value threadPointer;
};

} // namespace tilec::lowering

#endif // TILEC_CONVERSION_TILEGPUTONVVM_TILEACCESS_H
