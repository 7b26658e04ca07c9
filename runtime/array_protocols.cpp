//===- array_protocols.cpp - Arrays shown through Python objects
//-----------===//
//
// The slower ways in: DLPack capsules and the two array interfaces.
//
//===----------------------------------------------------------------------===//

#include "array_binding.h"
#include "driver.h"
#include "errors.h"

#include <limits>
#include <string>

using namespace tilec::runtime;

namespace {

int64_t toInteger(PyObject *object) {
  long long value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred())
    throw ErrorSet{};
  return value;
}

uint64_t toAddress(PyObject *object) {
  unsigned long long value = PyLong_AsUnsignedLongLong(object);
  if (value == static_cast<unsigned long long>(-1) && PyErr_Occurred())
    throw ErrorSet{};
  return value;
}

/// The library's current stream of a device; asked once a launch.
uintptr_t currentStream(const TypeProfile &profile, int device, BindRequest &request) {
  if (request.asked != profile.streamOf || request.askedDevice != device) {
    Ref stream = Ref::steal(PyObject_CallFunction(profile.streamOf, "i", device));
    request.askedStream = static_cast<uintptr_t>(toAddress(stream.get()));
    request.asked = profile.streamOf;
    request.askedDevice = device;
  }
  return request.askedStream;
}

std::string toText(PyObject *object) {
  const char *utf8 = PyUnicode_AsUTF8(object);
  if (!utf8)
    throw ErrorSet{};
  return utf8;
}

/// Reads a tuple of integers into `out` (of maxRank elements).
void readExtents(PyObject *tuple, int64_t *out) {
  for (Py_ssize_t dim = 0; dim < PyTuple_GET_SIZE(tuple); ++dim)
    out[dim] = toInteger(PyTuple_GET_ITEM(tuple, dim));
}

} // namespace

//===----------------------------------------------------------------------===//
// DLPack
//===----------------------------------------------------------------------===//

namespace {

/// Calls array.__dlpack__(stream=…, max_version=(1, 0)); without max_version
/// for libraries that predate it.
Ref callDLPack(PyObject *object, PyObject *stream) {
  Ref method = Ref::steal(PyObject_GetAttrString(object, "__dlpack__"));
  Ref noArgs = Ref::steal(PyTuple_New(0));
  Ref keywords = Ref::steal(Py_BuildValue("{s:O,s:(ii)}", "stream", stream, "max_version", 1, 0));
  PyObject *capsule = PyObject_Call(method.get(), noArgs.get(), keywords.get());
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    check(PyDict_DelItemString(keywords.get(), "max_version"));
    capsule = PyObject_Call(method.get(), noArgs.get(), keywords.get());
  }
  return Ref::steal(capsule);
}

/// The device of an array, as (DLPack type, ordinal).
dlpack::Device deviceOf(PyObject *object) {
  Ref pair = Ref::steal(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  Ref tuple = Ref::steal(PySequence_Tuple(pair.get()));
  if (PyTuple_GET_SIZE(tuple.get()) != 2)
    throw ArgumentProblem{"has a __dlpack_device__ that is not a pair"};
  // The type is an enum in some libraries.
  Ref type = Ref::steal(PyNumber_Long(PyTuple_GET_ITEM(tuple.get(), 0)));
  Ref id = Ref::steal(PyNumber_Long(PyTuple_GET_ITEM(tuple.get(), 1)));
  return {static_cast<int32_t>(toInteger(type.get())), static_cast<int32_t>(toInteger(id.get()))};
}

} // namespace

void tilec::runtime::bindDLPack(PyObject *object, const TypeProfile &profile, BindRequest &request, Keepers &keepers,
                                ArrayView &view) {
  dlpack::Device device = deviceOf(object);
  bool onGpu = device.type == dlpack::cuda || device.type == dlpack::cudaManaged;
  // The stream that the producer must be ordered before: that of the launch.
  // A library with a current stream of its own launches there, without any
  // synchronization (-1); any other is asked for the stream that the arguments
  // before it call for, or else for the legacy default one.
  uintptr_t stream = driver::legacyStream;
  bool synchronize = true;
  if (request.hasStream) {
    stream = request.stream ? request.stream : driver::legacyStream;
  } else if (onGpu && profile.streamOf) {
    stream = currentStream(profile, device.id, request);
    synchronize = false;
  } else if (onGpu && request.hasCurrent) {
    stream = request.current ? request.current : driver::legacyStream;
  }
  Ref streamObject = !onGpu ? Ref::share(Py_None)
                            : Ref::steal(synchronize ? PyLong_FromUnsignedLongLong(stream) : PyLong_FromLong(-1));
  Ref capsule = callDLPack(object, streamObject.get());
  bool readOnly = false;
  if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned")) {
    auto *managed =
        static_cast<dlpack::ManagedTensorVersioned *>(PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
    if (managed->version.major != dlpack::majorVersion)
      throw ArgumentProblem{"speaks DLPack " + std::to_string(managed->version.major) + ", expected version 1"};
    bindDLTensor(managed->tensor, view);
    readOnly = (managed->flags & dlpack::flagReadOnly) != 0;
  } else if (PyCapsule_IsValid(capsule.get(), "dltensor")) {
    auto *managed = static_cast<dlpack::ManagedTensor *>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
    bindDLTensor(managed->tensor, view);
  } else {
    throw ArgumentProblem{"has a __dlpack__ that returns " + describe(capsule.get()) + ", expected a DLPack capsule"};
  }
  view.readOnly = readOnly;
  if (onGpu && !request.hasStream) {
    view.hasStream = true;
    view.stream = stream;
  }
  // An unconsumed capsule frees its tensor when it goes.
  keepers.keep(std::move(capsule));
}

//===----------------------------------------------------------------------===//
// __cuda_array_interface__ and __array_interface__
//===----------------------------------------------------------------------===//

namespace {

/// The keys of an interface and the attributes that hold one, as interned
/// strings: made once, so that a launch makes none.
struct InterfaceNames {
  PyObject *cuda = PyUnicode_InternFromString("__cuda_array_interface__");
  PyObject *host = PyUnicode_InternFromString("__array_interface__");
  PyObject *shape = PyUnicode_InternFromString("shape");
  PyObject *typestr = PyUnicode_InternFromString("typestr");
  PyObject *data = PyUnicode_InternFromString("data");
  PyObject *strides = PyUnicode_InternFromString("strides");
  PyObject *stream = PyUnicode_InternFromString("stream");
  PyObject *mask = PyUnicode_InternFromString("mask");

  static const InterfaceNames &get() {
    static const InterfaceNames *names = new InterfaceNames;
    return *names;
  }
};

PyObject *item(PyObject *interface, PyObject *key) {
  PyObject *value = PyDict_GetItemWithError(interface, key);
  if (!value && PyErr_Occurred())
    throw ErrorSet{};
  return value == Py_None ? nullptr : value;
}

PyObject *requiredItem(PyObject *interface, PyObject *key) {
  PyObject *value = item(interface, key);
  if (!value)
    throw ArgumentProblem{"has an array interface without " + describe(key)};
  return value;
}

DType interfaceDType(PyObject *object, PyObject *interface) {
  std::string text = toText(requiredItem(interface, InterfaceNames::get().typestr));
  if (std::optional<DType> dtype = dtypeFromTypeString(text))
    return *dtype;
  // The protocol has no words for bfloat16 and the 8-bit floats; the library's
  // own dtype object knows them.
  bool swapped = text[0] == '>';
  std::string name = text;
  if (Ref dtype = optionalAttribute(object, "dtype")) {
    if (Ref dtypeName = optionalAttribute(dtype.get(), "name"))
      name = toText(dtypeName.get());
    if (!swapped)
      if (std::optional<DType> known = dtypeFromNumpyName(name))
        return *known;
  }
  throw ArgumentProblem{"has an element type that kernels do not know: " + name + " (" + text + ")",
                        swapped ? "convert it to native byte order" : ""};
}

/// Strides in bytes → elements; nothing is copied when they are absent.
void stridesInElements(PyObject *tuple, DType dtype, int64_t *out) {
  int64_t bytes = bytesOf(dtype);
  readExtents(tuple, out);
  for (Py_ssize_t dim = 0; dim < PyTuple_GET_SIZE(tuple); ++dim) {
    if (out[dim] % bytes != 0)
      throw ArgumentProblem{"has a stride of " + std::to_string(out[dim]) + " bytes, expected a multiple of its " +
                                std::to_string(bytes) + "-byte elements",
                            "copy it to a contiguous array"};
    out[dim] /= bytes;
  }
}

int cudaDeviceOf(PyObject *object, const TypeProfile &profile, const ArrayView &view) {
  if (profile.deviceOf) {
    Ref ordinal = Ref::steal(PyObject_CallOneArg(profile.deviceOf, object));
    return static_cast<int>(toInteger(ordinal.get()));
  }
  if (view.pointer == 0)
    return anyDevice;
  int device = Driver::get().deviceOf(view.pointer);
  if (device < 0)
    throw ArgumentProblem{"has a __cuda_array_interface__ whose pointer the "
                          "driver does not know"};
  return device;
}

void cudaStreamOf(PyObject *interface, const TypeProfile &profile, BindRequest &request, ArrayView &view) {
  if (view.device < 0 || request.hasStream)
    return;
  if (profile.streamOf) {
    view.stream = currentStream(profile, view.device, request);
    view.hasStream = true;
  } else if (PyObject *stream = item(interface, InterfaceNames::get().stream)) {
    // 1 and 2 are the legacy and the per-thread stream, as in the driver.
    view.stream = static_cast<uintptr_t>(toAddress(stream));
    view.hasStream = true;
  }
}

} // namespace

void tilec::runtime::bindInterface(PyObject *object, const TypeProfile &profile, BindRequest &request,
                                   ArrayView &view) {
  bool cuda = profile.protocol == ArrayProtocol::cudaInterface;
  const InterfaceNames &names = InterfaceNames::get();
  Ref interface = Ref::steal(PyObject_GetAttr(object, cuda ? names.cuda : names.host));
  if (!PyDict_Check(interface.get()))
    throw ArgumentProblem{"has an array interface that is not a dict"};
  PyObject *shape = requiredItem(interface.get(), names.shape);
  PyObject *data = requiredItem(interface.get(), names.data);
  PyObject *strides = item(interface.get(), names.strides);
  if (!PyTuple_Check(shape) || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2 ||
      (strides && !PyTuple_Check(strides)) || (strides && PyTuple_GET_SIZE(strides) != PyTuple_GET_SIZE(shape)))
    throw ArgumentProblem{"has a malformed array interface"};
  if (cuda && item(interface.get(), names.mask))
    throw ArgumentProblem{"is a masked array, expected a plain one"};

  DType dtype = interfaceDType(object, interface.get());
  Py_ssize_t rank = PyTuple_GET_SIZE(shape);
  int64_t extents[maxRank], steps[maxRank];
  if (rank <= maxRank) {
    readExtents(shape, extents);
    if (strides)
      stridesInElements(strides, dtype, steps);
  }
  describeMemory(view, toAddress(PyTuple_GET_ITEM(data, 0)), dtype, rank, extents, strides ? steps : nullptr);
  int readOnly = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
  check(readOnly);
  view.readOnly = readOnly != 0;
  view.device = hostDevice;
  if (cuda) {
    view.device = cudaDeviceOf(object, profile, view);
    cudaStreamOf(interface.get(), profile, request, view);
  }
}

//===----------------------------------------------------------------------===//
// Descriptions without memory
//===----------------------------------------------------------------------===//

void tilec::runtime::bindDescription(PyObject *object, ArrayView &view) {
  Ref parts = Ref::steal(PyObject_GetAttrString(object, "memory_layout"));
  const char *dtypeName = nullptr;
  PyObject *shape = nullptr;
  PyObject *strides = nullptr;
  long long align = 0;
  if (!PyArg_ParseTuple(parts.get(), "sO!O!L", &dtypeName, &PyTuple_Type, &shape, &PyTuple_Type, &strides, &align))
    throw ErrorSet{};
  std::optional<DType> dtype = dtypeFromName(dtypeName);
  if (!dtype)
    throw ArgumentProblem{std::string("has an element type that arrays cannot "
                                      "have: ") +
                          dtypeName};
  Py_ssize_t rank = PyTuple_GET_SIZE(shape);
  int64_t extents[maxRank], steps[maxRank];
  if (rank <= maxRank) {
    readExtents(shape, extents);
    readExtents(strides, steps);
  }
  // An address with just the promised alignment stands in for the pointer.
  describeMemory(view, static_cast<uint64_t>(align), *dtype, rank, extents, steps);
  view.device = noDevice;
}
