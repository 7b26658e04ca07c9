//===- Containment.h - Surviving compiler faults ----------------*- C++ -*-===//
#ifndef TILEC_TARGET_CONTAINMENT_H
#define TILEC_TARGET_CONTAINMENT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <string>

namespace tilec {

/// Runs `work` on a thread of its own under a crash recovery context. A failed assertion, an LLVM
/// fatal error or a segmentation fault ends the work, not the process. Returns what happened, or
/// nothing when the work ended by itself. After a fault, whatever the work had touched must not be
/// used again.
std::optional<std::string> runContained(llvm::function_ref<void()> work);

} // namespace tilec

#endif // TILEC_TARGET_CONTAINMENT_H
