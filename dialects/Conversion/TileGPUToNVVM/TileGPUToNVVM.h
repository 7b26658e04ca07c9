//===- TileGPUToNVVM.h - tilegpu to NVVM ------------------------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILEGPUTONVVM_TILEGPUTONVVM_H
#define TILEC_CONVERSION_TILEGPUTONVVM_TILEGPUTONVVM_H

#include "mlir/Pass/Pass.h"

namespace tilec {

std::unique_ptr<mlir::Pass> createConvertTileGPUToNVVMPass();
void registerConvertTileGPUToNVVMPass();

/// Lets loops carry words instead of the bytes and halves in them.
std::unique_ptr<mlir::Pass> createPackCarriedPass();
void registerPackCarriedPass();

/// Moves every scalar computation to just before its first use.
std::unique_ptr<mlir::Pass> createSinkToUsesPass();
void registerSinkToUsesPass();

} // namespace tilec

#endif // TILEC_CONVERSION_TILEGPUTONVVM_TILEGPUTONVVM_H
