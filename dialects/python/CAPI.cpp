//===- CAPI.cpp - What leaves the shared library --------------------------===//
#include "dialects/python/CAPI.h"

#include "dialects/Pipelines/Pipelines.h"
#include "dialects/Target/Compile.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

static void give(const std::string &text, MlirStringCallback result, void *userData) {
  result(MlirStringRef{text.data(), text.size()}, userData);
}

void tilecRegisterDialects(MlirDialectRegistry registry) { tilec::registerDialects(*unwrap(registry)); }

void tilecCompile(MlirStringRef bytecode, MlirStringRef options, MlirStringCallback result, void *userData) {
  give(tilec::compile(unwrap(bytecode), unwrap(options)), result, userData);
}

void tilecIrKey(MlirStringRef bytecode, MlirStringCallback result, void *userData) {
  give(tilec::irKey(unwrap(bytecode)), result, userData);
}

void tilecSummarize(MlirStringRef bytecode, MlirStringCallback result, void *userData) {
  give(tilec::summarize(unwrap(bytecode)), result, userData);
}

void tilecPrint(MlirStringRef bytecode, bool locations, MlirStringCallback result, void *userData) {
  give(tilec::print(unwrap(bytecode), locations), result, userData);
}

int tilecOptMain(int argc, char **argv) { return tilec::optMain(argc, argv); }
