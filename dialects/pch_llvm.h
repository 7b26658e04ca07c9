//===- pch_llvm.h - The same with LLVM's dialects ---------------*- C++ -*-===//
//
// Apart, since they make the compiled header three times as large, and few libraries use them.
//
//===----------------------------------------------------------------------===//
#include "dialects/pch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
