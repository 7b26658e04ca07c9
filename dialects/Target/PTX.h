//===- PTX.h - LLVM dialect to PTX ------------------------------*- C++ -*-===//
#ifndef TILEC_TARGET_PTX_H
#define TILEC_TARGET_PTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilec {

/// The LLVM passes a kernel needs, and no more: the default pipelines cost seven times as much
/// for the same machine code.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

struct PTX {
  std::string text;
  std::string llvmIR; ///< optimized; filled when asked for
  double optimizeMs = 0;
  double selectMs = 0;
};

/// Translates a module of the LLVM dialect and selects instructions for `chip` ("sm_90a") with
/// the PTX version `ptxVersion` (86 for 8.6).
mlir::FailureOr<PTX> emitPTX(mlir::ModuleOp module, llvm::StringRef chip, unsigned ptxVersion, bool keepLLVMIR);

} // namespace tilec

#endif // TILEC_TARGET_PTX_H
