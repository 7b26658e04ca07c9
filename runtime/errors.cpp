//===- errors.cpp - Raising errors of the tilec family
//---------------------===//

#include "errors.h"

#include "driver.h"

using namespace tilec::runtime;

namespace {

/// The exception classes live in Python; each is looked up once and kept for
/// the life of the process.
PyObject *errorClass(const char *name) { return importAttribute("tilec.diagnostics", name).release(); }

PyObject *launchErrorClass() {
  static PyObject *type = errorClass("LaunchError");
  return type;
}

PyObject *driverErrorClass() {
  static PyObject *type = errorClass("DriverError");
  return type;
}

Ref makeError(PyObject *type, const std::string &message, const std::string &hint) {
  Ref text = Ref::steal(PyUnicode_FromStringAndSize(message.data(), static_cast<Py_ssize_t>(message.size())));
  if (hint.empty())
    return Ref::steal(PyObject_CallOneArg(type, text.get()));
  Ref args = Ref::steal(PyTuple_Pack(1, text.get()));
  Ref kwargs = Ref::steal(Py_BuildValue("{s:s}", "hint", hint.c_str()));
  return Ref::steal(PyObject_Call(type, args.get(), kwargs.get()));
}

[[noreturn]] void raise(PyObject *type, const std::string &message, const std::string &hint) {
  Ref error = makeError(type, message, hint);
  PyErr_SetObject(type, error.get());
  throw ErrorSet{};
}

} // namespace

void tilec::runtime::raiseLaunchError(const std::string &message, const std::string &hint) {
  raise(launchErrorClass(), message, hint);
}

void tilec::runtime::raiseLaunchErrorFromCurrent(const std::string &message) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback)
    PyException_SetTraceback(value, traceback);
  Py_XDECREF(traceback);
  Py_XDECREF(type);
  Ref cause = Ref::steal(value);
  // KeyboardInterrupt and its like are nobody's bad argument, and an error of
  // our own says already what is wrong.
  static PyObject *family = errorClass("TilecError");
  if (!PyObject_IsInstance(cause.get(), PyExc_Exception) || PyObject_IsInstance(cause.get(), family)) {
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(cause.get())), cause.get());
    throw ErrorSet{};
  }
  Ref text = Ref::steal(PyObject_Str(cause.get()));
  const char *utf8 = PyUnicode_AsUTF8(text.get());
  std::string full = message + ": " + (utf8 ? utf8 : "");
  Ref error = makeError(launchErrorClass(), full, {});
  PyException_SetCause(error.get(), cause.release());
  PyErr_SetObject(launchErrorClass(), error.get());
  throw ErrorSet{};
}

void tilec::runtime::raiseLaunchErrorWithPrefix(const std::string &prefix) {
  if (!PyErr_ExceptionMatches(launchErrorClass()))
    throw ErrorSet{};
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref error = Ref::steal(value);
  Py_XDECREF(traceback);
  Py_XDECREF(type);
  Ref message = Ref::steal(PyObject_GetAttrString(error.get(), "message"));
  Ref hint = Ref::steal(PyObject_GetAttrString(error.get(), "hint"));
  auto text = [](const Ref &object) -> std::string {
    const char *utf8 = PyUnicode_Check(object.get()) ? PyUnicode_AsUTF8(object.get()) : "";
    return utf8 ? utf8 : "";
  };
  Ref longer = makeError(launchErrorClass(), prefix + text(message), text(hint));
  if (PyObject *cause = PyException_GetCause(error.get()))
    PyException_SetCause(longer.get(), cause);
  PyErr_SetObject(launchErrorClass(), longer.get());
  throw ErrorSet{};
}

void tilec::runtime::raiseDriverError(const std::string &message, const std::string &hint) {
  raise(driverErrorClass(), message, hint);
}

void tilec::runtime::raiseDriverCallError(driver::Result result, const char *function, const std::string &context) {
  std::string message = std::string(function) + " failed with " + Driver::get().nameOf(result);
  if (!context.empty())
    message += " while " + context;
  raise(driverErrorClass(), message, {});
}

std::string tilec::runtime::describe(PyObject *object) {
  constexpr size_t limit = 60;
  Ref text = Ref::steal(PyObject_Repr(object));
  const char *utf8 = PyUnicode_AsUTF8(text.get());
  if (!utf8)
    throw ErrorSet{};
  std::string result = utf8;
  if (result.size() > limit)
    result = result.substr(0, limit) + "…";
  return result;
}

std::string tilec::runtime::tupleText(const int64_t *values, int count) {
  std::string text = "(";
  for (int k = 0; k < count; ++k)
    text += (k ? ", " : "") + std::to_string(values[k]);
  return text + (count == 1 ? ",)" : ")");
}
