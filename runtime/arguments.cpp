//===- arguments.cpp - Binding the arguments of one launch
//-----------------===//

#include "arguments.h"

#include "errors.h"
#include "markers.h"

#include <algorithm>

using namespace tilec::runtime;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

uint64_t ConstantTable::idOf(PyObject *value) {
  static PyObject *keyFunction = importAttribute("tilec.jit.constants", "constant_key").release();
  if (!ids)
    ids = Ref::steal(PyDict_New());
  // 1, 1.0 and True are equal but different constants; so are 0.0 and -0.0.
  bool plain = PyLong_CheckExact(value) || PyUnicode_CheckExact(value) || PyBool_Check(value) || value == Py_None;
  Ref key = plain ? Ref::steal(PyTuple_Pack(2, reinterpret_cast<PyObject *>(Py_TYPE(value)), value))
                  : Ref::steal(PyObject_CallOneArg(keyFunction, value));
  if (PyObject *known = PyDict_GetItemWithError(ids.get(), key.get()))
    return PyLong_AsUnsignedLongLong(known);
  if (PyErr_Occurred())
    throw ErrorSet{};
  uint64_t id = values.size();
  Ref number = Ref::steal(PyLong_FromUnsignedLongLong(id));
  check(PyDict_SetItem(ids.get(), key.get(), number.get()));
  values.push_back(Ref::share(value));
  return id;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {

/// Looks for the flat argument number `left` within one value; appends the
/// path to it when it is there, else takes off the arguments it passed.
bool findFlat(PyObject *value, size_t &left, std::string &path) {
  const TypeProfile &profile = profileOf(value);
  if (profile.kind == ValueKind::constant)
    return false;
  if (profile.kind != ValueKind::sequence)
    return left-- == 0;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(value); ++k) {
    std::string inner = path + "[" + std::to_string(k) + "]";
    if (findFlat(PySequence_Fast_GET_ITEM(value, k), left, inner)) {
      path = inner;
      return true;
    }
  }
  return false;
}

std::string textOf(const Ref &name) {
  const char *utf8 = PyUnicode_AsUTF8(name.get());
  if (!utf8)
    throw ErrorSet{};
  return utf8;
}

} // namespace

std::string tilec::runtime::nameOfArgument(const KernelSignature &signature, const Frame &frame, size_t flatIndex) {
  size_t left = flatIndex;
  for (size_t k = 0; k < signature.parameters.size(); ++k) {
    if (signature.parameters[k].constant)
      continue;
    std::string path = textOf(signature.parameters[k].name);
    if (findFlat(frame.values[k], left, path))
      return "'" + path + "'";
  }
  return "?";
}

//===----------------------------------------------------------------------===//
// Matching arguments to parameters
//===----------------------------------------------------------------------===//

namespace {

std::string parameterList(const KernelSignature &signature, bool positional) {
  std::string list;
  for (const Parameter &parameter : signature.parameters)
    if (!positional || !parameter.keywordOnly)
      list += (list.empty() ? "" : ", ") + textOf(parameter.name);
  return list;
}

bool sameName(PyObject *a, PyObject *b) { return a == b || PyUnicode_Compare(a, b) == 0; }

struct LaunchKeywords {
  PyObject *stream = PyUnicode_InternFromString("stream");
  PyObject *grid = PyUnicode_InternFromString("grid");
};

void assignKeyword(const KernelSignature &signature, PyObject *name, PyObject *value, Frame &frame) {
  for (size_t k = 0; k < signature.parameters.size(); ++k) {
    if (!sameName(signature.parameters[k].name.get(), name))
      continue;
    if (frame.values[k])
      raiseLaunchError(signature.kernelName + " got two values for '" + textOf(signature.parameters[k].name) + "'");
    frame.values[k] = value;
    return;
  }
  static const LaunchKeywords keywords;
  if (sameName(keywords.stream, name))
    frame.streamObject = value;
  else if (sameName(keywords.grid, name))
    frame.gridObject = value;
  else
    raiseLaunchError(signature.kernelName + " has no parameter " + describe(name),
                     "its parameters are " + parameterList(signature, false) +
                         "; a launch also takes stream= and grid=");
}

void assignValues(const KernelSignature &signature, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                  Frame &frame) {
  size_t given = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  if (given > signature.positionalCount)
    raiseLaunchError(signature.kernelName + " takes " + std::to_string(signature.positionalCount) +
                     " positional arguments (" + parameterList(signature, true) + "), found " + std::to_string(given));
  for (size_t k = 0; k < signature.parameters.size(); ++k)
    frame.values.push(k < given ? args[k] : nullptr);
  Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t k = 0; k < keywords; ++k)
    assignKeyword(signature, PyTuple_GET_ITEM(kwnames, k), args[given + k], frame);
  for (size_t k = 0; k < signature.parameters.size(); ++k) {
    if (frame.values[k])
      continue;
    const Parameter &parameter = signature.parameters[k];
    if (!parameter.defaultValue)
      raiseLaunchError(signature.kernelName + " misses its argument '" + textOf(parameter.name) + "'");
    frame.values[k] = parameter.defaultValue.get();
  }
}

//===----------------------------------------------------------------------===//
// Binding values
//===----------------------------------------------------------------------===//

/// Binds the values of one call, in depth-first order.
class Binder {
public:
  Binder(KernelSignature &signature, Frame &frame) : signature(signature), frame(frame) {}

  void bindParameter(Parameter &parameter, PyObject *value) {
    if (parameter.constant)
      return pushConstant(value, &parameter);
    const TypeProfile *profile = parameter.seen;
    if (!profile || profile->type != Py_TYPE(value) || profile->kind == ValueKind::unsupported)
      parameter.seen = profile = &profileOf(value);
    bind(value, *profile, &parameter);
  }

private:
  void bind(PyObject *value, const TypeProfile &profile, Parameter *parameter) {
    switch (profile.kind) {
    case ValueKind::array:
      return pushArray(value, profile, nullptr);
    case ValueKind::marker: {
      auto *marker = reinterpret_cast<Marker *>(value);
      return pushArray(marker->array, profileInMarker(*marker, parameter), marker);
    }
    case ValueKind::boolean:
    case ValueKind::integer:
    case ValueKind::real: {
      frame.flat.push({false, static_cast<uint32_t>(frame.scalars.size()), value});
      ScalarValue &scalar = frame.scalars.grow();
      scalar = bindScalar(value, profile.kind);
      frame.key.push(makeWord(KeyTag::scalar, static_cast<uint64_t>(scalar.dtype)));
      return;
    }
    case ValueKind::sequence:
      return bindSequence(value);
    case ValueKind::constant:
      return pushConstant(value, parameter);
    case ValueKind::proxy:
      frame.flat.push({false, 0, value});
      throw ArgumentProblem{"is a value of a kernel that is being traced",
                            "kernels are launched from the host; share code in "
                            "a plain function"};
    case ValueKind::unsupported:
      frame.flat.push({false, 0, value});
      throw ArgumentProblem{std::string("has type ") + Py_TYPE(value)->tp_name +
                                ", expected an array, a number, None, an enum, a frozen "
                                "dataclass or a tuple of these",
                            "annotate the parameter with tl.Constant to pass a value for "
                            "compile time"};
    }
  }

  void bindSequence(PyObject *value) {
    if (PyList_Check(value)) { // it must not change under our feet
      Ref tuple = Ref::steal(PyList_AsTuple(value));
      value = tuple.get();
      frame.keepers.keep(std::move(tuple));
    }
    Py_ssize_t count = PyTuple_GET_SIZE(value);
    frame.key.push(makeWord(KeyTag::sequence, static_cast<uint64_t>(count)));
    for (Py_ssize_t k = 0; k < count; ++k) {
      PyObject *item = PyTuple_GET_ITEM(value, k);
      bind(item, profileOf(item), nullptr);
    }
  }

  const TypeProfile &profileInMarker(const Marker &marker, Parameter *parameter) {
    PyTypeObject *type = Py_TYPE(marker.array);
    const TypeProfile *seen = parameter ? parameter->seenInMarker : nullptr;
    if (seen && seen->type == type && seen->kind != ValueKind::unsupported)
      return *seen;
    const TypeProfile &profile = profileOf(marker.array);
    if (parameter)
      parameter->seenInMarker = &profile;
    return profile;
  }

  void pushConstant(PyObject *value, Parameter *parameter) {
    uint64_t id = 0;
    if (parameter && parameter->seenConstant.get() == value) {
      id = parameter->seenConstantId;
    } else {
      id = signature.constants.idOf(value);
      if (parameter) {
        parameter->seenConstant = Ref::share(value);
        parameter->seenConstantId = id;
      }
    }
    frame.key.push(makeWord(KeyTag::constant, id));
  }

  void pushArray(PyObject *object, const TypeProfile &profile, const Marker *marker) {
    frame.flat.push({true, static_cast<uint32_t>(frame.arrays.size()), object});
    frame.flatOfArray.push(static_cast<uint32_t>(frame.flat.size() - 1));
    ArrayView &view = frame.arrays.grow();
    if (profile.kind != ValueKind::array)
      throw ArgumentProblem{std::string("wraps a ") + Py_TYPE(object)->tp_name + ", expected an array"};
    bindArray(object, profile, frame.request, frame.keepers, view);
    if (view.hasStream && !frame.request.hasCurrent) {
      frame.request.hasCurrent = true;
      frame.request.current = view.stream;
    }
    view.access = marker ? marker->access : Access::read;
    if (view.access == Access::exclusive)
      divide(view, *marker);
    bool ignore = frame.ignoreHostAlignment && view.device == hostDevice;
    frame.key.push(packArray(view, ignore ? bytesOf(view.dtype) : view.pointer));
    if (view.access == Access::exclusive)
      pushTile(view);
  }

  void pushTile(const ArrayView &view) {
    if (!view.tile)
      return frame.key.push(automaticTileWord);
    for (int dim = 0; dim < view.rank; ++dim)
      frame.key.push(static_cast<uint64_t>(view.tile[dim]));
  }

  void divide(ArrayView &view, const Marker &marker) {
    view.tile = nullptr;
    if (marker.automatic) {
      frame.automatic = true;
      frame.chosenRank = view.rank;
      return;
    }
    if (marker.tileRank != view.rank)
      throw ArgumentProblem{"is a partition of an array with " + std::to_string(view.rank) +
                            " dimensions into tiles with " + std::to_string(marker.tileRank) + ", expected as many"};
    setTile(view, marker.tile);
  }

  KernelSignature &signature;
  Frame &frame;
};

void bindStream(Frame &frame) {
  PyObject *object = frame.streamObject;
  if (!object || object == Py_None)
    return;
  static PyObject *handleOf = importAttribute("tilec.arrays.streams", "handle_of").release();
  Ref handle = PyLong_CheckExact(object) ? Ref::share(object) : Ref::steal(PyObject_CallOneArg(handleOf, object));
  unsigned long long value = PyLong_AsUnsignedLongLong(handle.get());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    raiseLaunchError("stream= is " + describe(object) + ", expected a handle between 0 and 2**64 - 1");
  }
  frame.request.hasStream = true;
  frame.request.stream = static_cast<uintptr_t>(value);
}

} // namespace

void tilec::runtime::bindArguments(KernelSignature &signature, PyObject *const *args, size_t nargsf, PyObject *kwnames,
                                   Frame &frame) {
  assignValues(signature, args, nargsf, kwnames, frame);
  bindStream(frame);
  frame.key.push(0); // the device, known after the checks
  Binder binder(signature, frame);
  size_t current = 0;
  try {
    for (; current < signature.parameters.size(); ++current)
      binder.bindParameter(signature.parameters[current], frame.values[current]);
  } catch (const ArgumentProblem &problem) {
    raiseLaunchError("argument " + nameOfArgument(signature, frame, frame.flat.size() - 1) + " " + problem.message,
                     problem.hint);
  } catch (const ErrorSet &) {
    // An array library refused, or a value cannot be a constant.
    raiseLaunchErrorFromCurrent("argument '" + textOf(signature.parameters[current].name) + "' cannot be bound");
  }
}
