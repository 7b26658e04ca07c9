//===- scalars.h - Run-time numbers
//----------------------------------------===//

#pragma once

#include "array_binding.h"

namespace tilec::runtime {

/// A bound scalar argument. Its dtype is the narrowest of the weak ones that
/// holds the value: bool, i32, i64, u64, or f32 for every float.
struct ScalarValue {
  DType dtype;
  union {
    int64_t integer; // bool, i32, i64
    uint64_t unsignedInteger;
    double real;
  };
};

/// Throws ArgumentProblem for an integer beyond 64 bits.
ScalarValue bindScalar(PyObject *object, ValueKind kind);

/// Writes the value as `dtype` into a kernel parameter of at most 8 bytes.
/// Throws ArgumentProblem when it is out of that type's range.
void storeScalar(const ScalarValue &value, DType dtype, uint64_t &out);

} // namespace tilec::runtime
