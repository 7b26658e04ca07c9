//===- CAPI.h - What leaves the shared library ------------------*- C -*-===//
//
// The compiler is one shared library that exports C symbols only; the Python extensions beside it
// reach it through these functions.
//
//===----------------------------------------------------------------------===//
#ifndef TILEC_PYTHON_CAPI_H
#define TILEC_PYTHON_CAPI_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

MLIR_CAPI_EXPORTED void tilecRegisterDialects(MlirDialectRegistry registry);
/// Calls `result` once with the JSON text of tilec::compile.
MLIR_CAPI_EXPORTED void tilecCompile(MlirStringRef bytecode, MlirStringRef options, MlirStringCallback result,
                                     void *userData);
MLIR_CAPI_EXPORTED void tilecIrKey(MlirStringRef bytecode, MlirStringCallback result, void *userData);
MLIR_CAPI_EXPORTED void tilecSummarize(MlirStringRef bytecode, MlirStringCallback result, void *userData);
MLIR_CAPI_EXPORTED void tilecPrint(MlirStringRef bytecode, bool locations, MlirStringCallback result, void *userData);
MLIR_CAPI_EXPORTED int tilecOptMain(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif // TILEC_PYTHON_CAPI_H
