//===- PTX.cpp - LLVM dialect to PTX --------------------------------------===//
#include "dialects/Target/PTX.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <chrono>

using namespace mlir;

namespace {
/// Runs `work` and returns its wall time in milliseconds.
template <typename Work> double timedMs(Work work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Errors of LLVM become diagnostics on the module.
struct Handler : llvm::DiagnosticHandler {
  Handler(ModuleOp module, bool &failed) : module(module), failed(failed) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    std::string message;
    llvm::raw_string_ostream stream(message);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    module.emitError(message);
    failed = true;
    return true;
  }
  ModuleOp module;
  bool &failed;
};

const llvm::Target *nvptx(std::string &error) {
  static bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple("nvptx64-nvidia-cuda"), error);
}
} // namespace

FailureOr<tilec::PTX> tilec::emitPTX(ModuleOp module, StringRef chip, unsigned ptxVersion, bool keepLLVMIR) {
  llvm::LLVMContext context;
  // Without a handler of ours, an error of instruction selection ends the process.
  bool failedInLLVM = false;
  auto handler = std::make_unique<Handler>(module, failedInLLVM);
  context.setDiagnosticHandler(std::move(handler));
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, "tilec");
  if (!llvmModule)
    return failure();
  std::string error;
  const llvm::Target *target = nvptx(error);
  if (!target)
    return module.emitError(error), failure();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, chip, ("+ptx" + llvm::Twine(ptxVersion)).str(), {}, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return module.emitError("no NVPTX machine for ") << chip, failure();
  llvmModule->setTargetTriple(triple);
  llvmModule->setDataLayout(machine->createDataLayout());

  PTX result;
  result.optimizeMs = timedMs([&] { optimize(*llvmModule, *machine); });
  if (keepLLVMIR) {
    llvm::raw_string_ostream stream(result.llvmIR);
    llvmModule->print(stream, nullptr);
  }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager selection;
  if (machine->addPassesToEmitFile(selection, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("NVPTX cannot emit assembly"), failure();
  result.selectMs = timedMs([&] { selection.run(*llvmModule); });
  if (failedInLLVM)
    return failure();
  result.text = text.str().str();
  return result;
}
