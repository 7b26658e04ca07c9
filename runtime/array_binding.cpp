//===- array_binding.cpp - From Python objects to array views
//--------------===//

#include "array_binding.h"

#include "errors.h"
#include "markers.h"

#include <cstring>
#include <limits>
#include <string>
#include <unordered_map>

using namespace tilec::runtime;

//===----------------------------------------------------------------------===//
// Type profiles
//===----------------------------------------------------------------------===//

namespace {

/// The table behind `type(array).__dlpack_c_exchange_api__`, or null when this
/// version of it is unknown to us or lacks the borrowing call.
const dlpack::ExchangeApi *exchangeApiOf(PyTypeObject *type) {
  Ref capsule = optionalAttribute(reinterpret_cast<PyObject *>(type), "__dlpack_c_exchange_api__");
  constexpr const char *name = "dlpack_exchange_api";
  if (!capsule || !PyCapsule_IsValid(capsule.get(), name))
    return nullptr;
  auto *header = static_cast<dlpack::ExchangeApi::Header *>(PyCapsule_GetPointer(capsule.get(), name));
  while (header && header->version.major != dlpack::majorVersion)
    header = header->previous;
  auto *api = reinterpret_cast<const dlpack::ExchangeApi *>(header);
  return api && api->tensorFromObject && api->currentWorkStream ? api : nullptr;
}

struct KindName {
  const char *name;
  ValueKind kind;
  ArrayProtocol protocol;
};

/// The words tilec.arrays.registry answers with.
constexpr KindName kindNames[] = {
    {"exchange", ValueKind::array, ArrayProtocol::exchange},
    {"dlpack", ValueKind::array, ArrayProtocol::dlpack},
    {"cuda_array_interface", ValueKind::array, ArrayProtocol::cudaInterface},
    {"array_interface", ValueKind::array, ArrayProtocol::hostInterface},
    {"description", ValueKind::array, ArrayProtocol::description},
    {"boolean", ValueKind::boolean, {}},
    {"integer", ValueKind::integer, {}},
    {"real", ValueKind::real, {}},
    {"constant", ValueKind::constant, {}},
    {"proxy", ValueKind::proxy, {}},
    {"unsupported", ValueKind::unsupported, {}},
};

void classify(TypeProfile &profile, PyObject *example) {
  static PyObject *function = importAttribute("tilec.arrays.registry", "classify").release();
  profile.exchange = exchangeApiOf(profile.type);
  Ref answer =
      Ref::steal(PyObject_CallFunctionObjArgs(function, example, profile.exchange ? Py_True : Py_False, nullptr));
  const char *name = nullptr;
  PyObject *deviceOf = nullptr;
  PyObject *streamOf = nullptr;
  if (!PyArg_ParseTuple(answer.get(), "sOO", &name, &deviceOf, &streamOf))
    throw ErrorSet{};
  for (const KindName &entry : kindNames)
    if (std::strcmp(name, entry.name) == 0) {
      profile.kind = entry.kind;
      profile.protocol = entry.protocol;
    }
  if (deviceOf != Py_None)
    profile.deviceOf = Ref::share(deviceOf).release();
  if (streamOf != Py_None)
    profile.streamOf = Ref::share(streamOf).release();
}

TypeProfile makeProfile(PyObject *value) {
  PyTypeObject *type = Py_TYPE(value);
  TypeProfile profile{};
  profile.type = type;
  if (type == &PyBool_Type)
    profile.kind = ValueKind::boolean;
  else if (type == &PyLong_Type)
    profile.kind = ValueKind::integer;
  else if (type == &PyFloat_Type)
    profile.kind = ValueKind::real;
  else if (type == Py_TYPE(Py_None))
    profile.kind = ValueKind::constant;
  else if (type == &PyTuple_Type || type == &PyList_Type)
    profile.kind = ValueKind::sequence;
  else if (isMarker(type))
    profile.kind = ValueKind::marker;
  else
    classify(profile, value);
  return profile;
}

} // namespace

const TypeProfile &tilec::runtime::profileOf(PyObject *value) {
  PyTypeObject *type = Py_TYPE(value);
  // Never freed: profiles are referred to from every kernel, and types are few.
  static auto *profiles = new std::unordered_map<PyTypeObject *, TypeProfile *>;
  auto known = profiles->find(type);
  // An object may offer what another one of its type did not.
  if (known != profiles->end() && known->second->kind != ValueKind::unsupported)
    return *known->second;
  TypeProfile made = makeProfile(value);
  auto [place, isNew] = profiles->try_emplace(type, nullptr);
  if (isNew) {
    place->second = new TypeProfile;
    Py_INCREF(type); // its address must not be reused
  }
  *place->second = made;
  return *place->second;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void tilec::runtime::describeMemory(ArrayView &view, uint64_t pointer, DType dtype, int64_t rank, const int64_t *shape,
                                    const int64_t *strides) {
  if (rank > maxRank)
    throw ArgumentProblem{"has " + std::to_string(rank) + " dimensions, expected at most " + std::to_string(maxRank)};
  view.pointer = pointer;
  view.dtype = dtype;
  view.rank = static_cast<uint8_t>(rank);
  view.tile = nullptr;
  view.readOnly = false;
  view.hasStream = false;

  bool empty = false;
  for (int64_t dim = 0; dim < rank; ++dim)
    empty |= shape[dim] == 0;

  // The stride of a dimension of length 1, and any stride of an empty array,
  // is never used and often nonsense; the contiguous one keeps such arrays on
  // the variant that their well-behaved siblings use.
  int64_t before = 0, after = 0;
  uint64_t contiguous = 1;
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    int64_t extent = shape[dim];
    int64_t stride = !strides || extent == 1 || empty ? static_cast<int64_t>(contiguous) : strides[dim];
    view.shape[dim] = extent;
    view.strides[dim] = stride;
    contiguous = static_cast<uint64_t>(stride) * static_cast<uint64_t>(extent);
    int64_t reach = empty ? 0 : stride * (extent - 1);
    (reach < 0 ? before : after) += reach;
  }
  int64_t bytes = bytesOf(dtype);
  view.low = pointer + static_cast<uint64_t>(before * bytes);
  view.high = empty ? view.low : pointer + static_cast<uint64_t>((after + 1) * bytes);
}

void tilec::runtime::bindDLTensor(const dlpack::Tensor &tensor, ArrayView &view) {
  std::optional<DType> dtype = dtypeFromDLPack(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  if (!dtype)
    throw ArgumentProblem{std::string("has an element type that kernels do not know: ") +
                          (tensor.dtype.code == dlpack::complexFloat
                               ? "complex" + std::to_string(tensor.dtype.bits)
                               : "DLPack code " + std::to_string(tensor.dtype.code) + ", " +
                                     std::to_string(tensor.dtype.bits) + " bits, " +
                                     std::to_string(tensor.dtype.lanes) + " lanes")};
  switch (tensor.device.type) {
  case dlpack::cpu:
  case dlpack::cudaHost:
    view.device = hostDevice;
    break;
  case dlpack::cuda:
  case dlpack::cudaManaged:
    view.device = tensor.device.id;
    break;
  default:
    throw ArgumentProblem{"is on a device that tilec does not drive (DLPack "
                          "device type " +
                          std::to_string(tensor.device.type) + "), expected a CUDA device or host memory"};
  }
  describeMemory(view, reinterpret_cast<uint64_t>(tensor.data) + tensor.byteOffset, *dtype, tensor.rank, tensor.shape,
                 tensor.strides);
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

namespace {

void bindExchange(PyObject *object, const TypeProfile &profile, BindRequest &request, ArrayView &view) {
  const dlpack::ExchangeApi *api = profile.exchange;
  dlpack::Tensor tensor;
  if (api->tensorFromObject(object, &tensor) != 0)
    throw ErrorSet{};
  bindDLTensor(tensor, view);
  if (view.device == hostDevice || request.hasStream)
    return;
  if (request.asked != api || request.askedDevice != view.device) {
    void *stream = nullptr;
    if (api->currentWorkStream(tensor.device.type, tensor.device.id, &stream) != 0)
      throw ErrorSet{};
    request.asked = api;
    request.askedDevice = view.device;
    request.askedStream = reinterpret_cast<uintptr_t>(stream);
  }
  view.hasStream = true;
  view.stream = request.askedStream;
}

} // namespace

void tilec::runtime::bindArray(PyObject *object, const TypeProfile &profile, BindRequest &request, Keepers &keepers,
                               ArrayView &view) {
  switch (profile.protocol) {
  case ArrayProtocol::exchange:
    return bindExchange(object, profile, request, view);
  case ArrayProtocol::dlpack:
    return bindDLPack(object, profile, request, keepers, view);
  case ArrayProtocol::cudaInterface:
  case ArrayProtocol::hostInterface:
    return bindInterface(object, profile, request, view);
  case ArrayProtocol::description:
    return bindDescription(object, view);
  }
}
