//===- scalars.cpp - Run-time numbers
//--------------------------------------===//

#include "scalars.h"

#include "errors.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

using namespace tilec::runtime;

namespace {

ScalarValue bindInteger(PyObject *object) {
  ScalarValue value{};
  int overflow = 0;
  value.integer = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (value.integer == -1 && !overflow && PyErr_Occurred())
    throw ErrorSet{};
  if (!overflow) {
    bool narrow =
        value.integer >= std::numeric_limits<int32_t>::min() && value.integer <= std::numeric_limits<int32_t>::max();
    value.dtype = narrow ? DType::i32 : DType::i64;
    return value;
  }
  if (overflow > 0) {
    value.unsignedInteger = PyLong_AsUnsignedLongLong(object);
    if (!PyErr_Occurred()) {
      value.dtype = DType::u64;
      return value;
    }
    PyErr_Clear();
  }
  throw ArgumentProblem{"is " + describe(object) + ", expected an integer from -2**63 to 2**64 - 1"};
}

[[noreturn]] void outOfRange(const std::string &value, DType dtype) {
  throw ArgumentProblem{"is " + value + ", which is out of the range of " + nameOf(dtype)};
}

template <typename T> void storeInteger(const ScalarValue &value, DType dtype, uint64_t &out) {
  if (value.dtype == DType::u64) {
    if (value.unsignedInteger > static_cast<uint64_t>(std::numeric_limits<T>::max()))
      outOfRange(std::to_string(value.unsignedInteger), dtype);
  } else {
    bool below =
        std::is_unsigned_v<T> ? value.integer < 0 : value.integer < static_cast<int64_t>(std::numeric_limits<T>::min());
    bool above = value.integer > 0 &&
                 static_cast<uint64_t>(value.integer) > static_cast<uint64_t>(std::numeric_limits<T>::max());
    if (below || above)
      outOfRange(std::to_string(value.integer), dtype);
  }
  T narrow = static_cast<T>(value.integer);
  std::memcpy(&out, &narrow, sizeof narrow);
}

double realOf(const ScalarValue &value) {
  if (value.dtype == DType::f32)
    return value.real;
  return value.dtype == DType::u64 ? static_cast<double>(value.unsignedInteger) : static_cast<double>(value.integer);
}

void storeFloat32(double real, uint64_t &out) {
  float narrow = static_cast<float>(real);
  if (std::isinf(narrow) && !std::isinf(real)) {
    char text[32];
    PyOS_snprintf(text, sizeof text, "%g", real);
    outOfRange(text, DType::f32);
  }
  std::memcpy(&out, &narrow, sizeof narrow);
}

} // namespace

ScalarValue tilec::runtime::bindScalar(PyObject *object, ValueKind kind) {
  ScalarValue value{};
  if (kind == ValueKind::boolean) {
    value.dtype = DType::boolean;
    int truth = PyObject_IsTrue(object);
    check(truth);
    value.integer = truth;
    return value;
  }
  if (kind == ValueKind::real) {
    value.dtype = DType::f32;
    value.real = PyFloat_AsDouble(object);
    if (value.real == -1.0 && PyErr_Occurred())
      throw ErrorSet{};
    return value;
  }
  if (PyLong_CheckExact(object))
    return bindInteger(object);
  Ref index = Ref::steal(PyNumber_Index(object)); // NumPy's integers
  return bindInteger(index.get());
}

void tilec::runtime::storeScalar(const ScalarValue &value, DType dtype, uint64_t &out) {
  bool integral = value.dtype != DType::f32;
  out = 0;
  if (dtype == DType::f32)
    return storeFloat32(realOf(value), out);
  if (dtype == DType::f64) {
    double real = realOf(value);
    std::memcpy(&out, &real, sizeof real);
    return;
  }
  if (!integral)
    throw ArgumentProblem{std::string("is a float, expected a value of ") + nameOf(dtype)};
  switch (dtype) {
  case DType::boolean:
  case DType::i8:
    return storeInteger<int8_t>(value, dtype, out);
  case DType::i16:
    return storeInteger<int16_t>(value, dtype, out);
  case DType::i32:
    return storeInteger<int32_t>(value, dtype, out);
  case DType::i64:
    return storeInteger<int64_t>(value, dtype, out);
  case DType::u8:
    return storeInteger<uint8_t>(value, dtype, out);
  case DType::u16:
    return storeInteger<uint16_t>(value, dtype, out);
  case DType::u32:
    return storeInteger<uint32_t>(value, dtype, out);
  case DType::u64:
    return storeInteger<uint64_t>(value, dtype, out);
  default:
    throw ArgumentProblem{std::string("cannot be passed to a kernel as ") + nameOf(dtype)};
  }
}
