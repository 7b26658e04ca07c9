//===- FaultInjection.cpp - Failing on purpose ----------------------------===//
#include "dialects/Pipelines/Pipelines.h"

#include "mlir/Pass/Pass.h"

#include <chrono>
#include <csignal>
#include <thread>

using namespace mlir;

namespace {
struct InjectFault : PassWrapper<InjectFault, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InjectFault)
  InjectFault() = default;
  explicit InjectFault(StringRef kind) { this->kind = kind.str(); }
  InjectFault(const InjectFault &other) : PassWrapper(other) { kind = other.kind; }
  StringRef getArgument() const final { return "tilec-inject-fault"; }
  StringRef getDescription() const final { return "fail on purpose, to test containment"; }

  void runOnOperation() override {
    if (kind == "abort")
      std::abort();
    if (kind == "segv")
      std::raise(SIGSEGV);
    while (kind == "hang")
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    getOperation().emitError("unknown fault '") << kind << "'";
    signalPassFailure();
  }

  Option<std::string> kind{*this, "kind", llvm::cl::desc("abort, segv or hang")};
};
} // namespace

std::unique_ptr<Pass> tilec::createInjectFaultPass(StringRef kind) { return std::make_unique<InjectFault>(kind); }

namespace tilec {
void registerInjectFaultPass() { PassRegistration<InjectFault>(); }
} // namespace tilec
