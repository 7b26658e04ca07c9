//===- errors.h - Raising errors of the tilec family
//-----------------------===//

#pragma once

#include "driver_api.h"
#include "python_support.h"

#include <string>

namespace tilec::runtime {

/// Raises tilec.diagnostics.LaunchError: the arguments of a launch are wrong.
[[noreturn]] void raiseLaunchError(const std::string &message, const std::string &hint = {});

/// Raises LaunchError with the Python error that is set as its cause.
[[noreturn]] void raiseLaunchErrorFromCurrent(const std::string &message);

/// Raises the error that is set once more; a LaunchError begins with `prefix` then.
[[noreturn]] void raiseLaunchErrorWithPrefix(const std::string &prefix);

/// Raises tilec.diagnostics.DriverError: the driver is missing or refused.
[[noreturn]] void raiseDriverError(const std::string &message, const std::string &hint = {});

/// Raises DriverError for the failed call `function`, with the driver's own
/// name and text for `result`; `context` says what was being done.
[[noreturn]] void raiseDriverCallError(driver::Result result, const char *function, const std::string &context = {});

/// A problem with one argument, thrown where the argument's name is not known;
/// the binder adds it and raises LaunchError.
struct ArgumentProblem {
  std::string message;
  std::string hint;
};

/// The repr of a Python object for an error text, cut to a readable length.
std::string describe(PyObject *object);

/// "(64, 128)": numbers as Python shows a tuple of them.
std::string tupleText(const int64_t *values, int count);

} // namespace tilec::runtime
