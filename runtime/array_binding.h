//===- array_binding.h - From Python objects to array views
//----------------===//

#pragma once

#include "array.h"
#include "dlpack_abi.h"
#include "inline_vector.h"
#include "python_support.h"

namespace tilec::runtime {

/// What values of one Python type are, to a kernel.
enum class ValueKind : uint8_t {
  array,
  marker,  // partition, accumulate, unchecked
  boolean, // run-time scalars
  integer,
  real,
  sequence, // a tuple or list of arguments
  constant, // None, enums, frozen dataclasses, dtypes, functions
  proxy,    // a value inside a kernel that is being traced
  unsupported,
};

/// How an array type shows its memory, the fastest first.
enum class ArrayProtocol : uint8_t {
  exchange,      // DLPack's C table: no Python call at all
  dlpack,        // __dlpack__ / __dlpack_device__
  cudaInterface, // __cuda_array_interface__
  hostInterface, // __array_interface__
  description,   // shape and dtype without memory (tilec.ArraySpec)
};

/// What is known of one Python type; made once, kept for good.
struct TypeProfile {
  PyTypeObject *type;
  ValueKind kind;
  ArrayProtocol protocol;
  const dlpack::ExchangeApi *exchange;
  PyObject *deviceOf; // Python callable(array) -> device ordinal; may be null
  PyObject *streamOf; // Python callable(device ordinal) -> stream; may be null
};

/// The profile of a value's type, from a table; a type met for the first time,
/// or of unsupported values so far, is classified by tilec.arrays.registry, with
/// the value as an example.
const TypeProfile &profileOf(PyObject *value);

/// Owned Python objects that must outlive a call's use of borrowed memory.
class Keepers {
public:
  ~Keepers() {
    for (PyObject *object : objects)
      Py_DECREF(object);
  }
  void keep(Ref object) { objects.push(object.release()); }

private:
  InlineVector<PyObject *, 8> objects;
};

/// Where a launch will run, as far as binding must know it.
struct BindRequest {
  bool hasStream; // stream= was given, as this handle
  uintptr_t stream;
  // The last answer of a library, so that each is asked once a launch: its
  // exchange table or its function.
  const void *asked;
  int askedDevice;
  uintptr_t askedStream;
  // The stream that an earlier argument calls for, if any: producers without a
  // stream of their own are asked to be ready there.
  bool hasCurrent;
  uintptr_t current;
};

/// Fills `view` (all but access, tile and grid) from an array object.
/// Throws ArgumentProblem or ErrorSet.
void bindArray(PyObject *object, const TypeProfile &profile, BindRequest &request, Keepers &keepers, ArrayView &view);

/// Completes a view from its raw description: checks the rank, normalizes the
/// strides that cannot matter, and computes the byte interval. `strides` is in
/// elements; null means contiguous.
void describeMemory(ArrayView &view, uint64_t pointer, DType dtype, int64_t rank, const int64_t *shape,
                    const int64_t *strides);

/// The protocols that go through Python objects (array_protocols.cpp).
void bindDLPack(PyObject *object, const TypeProfile &profile, BindRequest &request, Keepers &keepers, ArrayView &view);
void bindInterface(PyObject *object, const TypeProfile &profile, BindRequest &request, ArrayView &view);
void bindDescription(PyObject *object, ArrayView &view);

/// Shared by both DLPack paths.
void bindDLTensor(const dlpack::Tensor &tensor, ArrayView &view);

} // namespace tilec::runtime
