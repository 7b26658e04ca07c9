//===- TilecInit.cpp - Dialect registration for the Python bindings -------===//
//
// Loaded while tilec._mlir.ir is still being imported, so it may only register; type classes
// would import that module again.
//
//===----------------------------------------------------------------------===//
#include "dialects/python/CAPI.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

NB_MODULE(_tilecInit, m) {
  m.def("register_dialects", [](MlirDialectRegistry registry) { tilecRegisterDialects(registry); });
}
