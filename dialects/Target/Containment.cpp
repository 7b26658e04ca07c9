//===- Containment.cpp - Surviving compiler faults ------------------------===//
#include "dialects/Target/Containment.h"

#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include <csignal>
#include <mutex>

using namespace llvm;

namespace {
constexpr unsigned kStackBytes = 64u << 20;
constexpr int kFatalErrorCode = 70; // EX_SOFTWARE

/// What LLVM said before it gave up; written by the handler on the contained thread.
thread_local std::string *fatalMessage = nullptr;

void onFatalError(void *, const char *reason, bool) {
  if (fatalMessage)
    *fatalMessage = reason;
  if (CrashRecoveryContext *context = CrashRecoveryContext::GetCurrent())
    context->HandleExit(kFatalErrorCode);
}

/// LLVM's handlers are process-wide: installed only while a compilation runs, and counted, since
/// several threads may compile.
struct Handlers {
  static std::mutex &mutex() {
    static std::mutex instance;
    return instance;
  }
  static int &count() {
    static int instance = 0;
    return instance;
  }
  Handlers() {
    std::lock_guard lock(mutex());
    if (count()++ == 0) {
      CrashRecoveryContext::Enable();
      install_fatal_error_handler(onFatalError);
    }
  }
  ~Handlers() {
    std::lock_guard lock(mutex());
    if (--count() == 0) {
      remove_fatal_error_handler();
      CrashRecoveryContext::Disable();
    }
  }
};

std::string describe(int code, const std::string &message) {
  if (code == kFatalErrorCode && !message.empty())
    return message;
  int number = code >= 128 ? code - 128 : code;
  switch (number) {
  case SIGABRT:
    return "aborted (a failed assertion, or abort)";
  case SIGSEGV:
    return "segmentation fault";
  case SIGBUS:
    return "bus error";
  case SIGFPE:
    return "arithmetic fault";
  case SIGILL:
    return "illegal instruction";
  default:
    return "stopped with code " + std::to_string(code);
  }
}
} // namespace

std::optional<std::string> tilec::runContained(function_ref<void()> work) {
  Handlers handlers;
  std::string message;
  CrashRecoveryContext context;
  bool ended = context.RunSafelyOnThread(
      [&] {
        fatalMessage = &message;
        work();
        fatalMessage = nullptr;
      },
      kStackBytes);
  if (ended)
    return std::nullopt;
  return describe(context.RetCode, message);
}
