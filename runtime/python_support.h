//===- python_support.h - Owned references and Python errors as C++ ones
//---===//
//
// Inside the runtime a Python error travels as the C++ exception ErrorSet (the
// error indicator is set, nothing else is carried); the functions that Python
// calls catch it at the boundary and return null.
//
//===----------------------------------------------------------------------===//

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace tilec::runtime {

/// Thrown while the Python error indicator is set.
struct ErrorSet {};

/// An owned reference, or nothing.
class Ref {
public:
  Ref() = default;
  Ref(Ref &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Ref(const Ref &other) : object(other.object) { Py_XINCREF(object); }
  Ref &operator=(Ref other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Ref() { Py_XDECREF(object); }

  /// Takes over a new reference; a null one means that a call failed.
  static Ref steal(PyObject *object) {
    if (!object)
      throw ErrorSet{};
    return Ref(object);
  }
  static Ref share(PyObject *object) {
    Py_XINCREF(object);
    return Ref(object);
  }

  PyObject *get() const { return object; }
  PyObject *release() { return std::exchange(object, nullptr); }
  explicit operator bool() const { return object != nullptr; }

private:
  explicit Ref(PyObject *object) : object(object) {}
  PyObject *object = nullptr;
};

/// Throws when a call that reports failure by a negative number has failed.
inline void check(int status) {
  if (status < 0)
    throw ErrorSet{};
}

/// The attribute of an object, or nothing when there is none; other errors
/// than AttributeError are thrown.
inline Ref optionalAttribute(PyObject *object, const char *name) {
  PyObject *value = PyObject_GetAttrString(object, name);
  if (value)
    return Ref::steal(value);
  if (!PyErr_ExceptionMatches(PyExc_AttributeError))
    throw ErrorSet{};
  PyErr_Clear();
  return {};
}

inline Ref importAttribute(const char *module, const char *name) {
  Ref owner = Ref::steal(PyImport_ImportModule(module));
  return Ref::steal(PyObject_GetAttrString(owner.get(), name));
}

} // namespace tilec::runtime
