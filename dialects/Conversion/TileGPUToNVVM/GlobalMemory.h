//===- GlobalMemory.h - Vectors to and from global memory -------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILEGPUTONVVM_GLOBALMEMORY_H
#define TILEC_CONVERSION_TILEGPUTONVVM_GLOBALMEMORY_H

#include "dialects/Conversion/TileGPUToNVVM/TileAccess.h"

namespace tilec::lowering {

/// Loads 1, 2, 4, 8 or 16 bytes, aligned to their size; where `mask` (null: always) is false, the result is `padding`,
/// as words.
llvm::SmallVector<mlir::Value> loadGlobal(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                                          int64_t bytes, mlir::Value mask, llvm::ArrayRef<mlir::Value> padding,
                                          bool readOnly);
/// Stores as many, where `mask` (null: always) is true.
void storeGlobal(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address, llvm::ArrayRef<mlir::Value> words,
                 int64_t bytes, mlir::Value mask);

/// Loads vector `number` of `access`, as words; elements outside the array are those of `padding`, a vector of equal
/// elements.
llvm::SmallVector<mlir::Value> loadVector(mlir::OpBuilder &builder, mlir::Location loc, TileAccess &access,
                                          int64_t number, llvm::ArrayRef<mlir::Value> padding, bool readOnly);

} // namespace tilec::lowering

#endif // TILEC_CONVERSION_TILEGPUTONVVM_GLOBALMEMORY_H
