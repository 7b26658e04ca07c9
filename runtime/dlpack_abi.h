//===- dlpack_abi.h - The binary layout of DLPack 1
//------------------------===//
//
// Source: https://dmlc.github.io/data-api and the dlpack.h that PyTorch ships.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>

namespace tilec::runtime::dlpack {

constexpr uint32_t majorVersion = 1;

enum DeviceType : int32_t {
  cpu = 1,
  cuda = 2,
  cudaHost = 3,
  cudaManaged = 13,
};

enum TypeCode : uint8_t {
  signedInteger = 0,
  unsignedInteger = 1,
  ieeeFloat = 2,
  bfloat = 4,
  complexFloat = 5,
  boolean = 6,
  float8e4m3fn = 10,
  float8e5m2 = 12,
};

struct Version {
  uint32_t major, minor;
};

struct Device {
  int32_t type, id;
};

struct Type {
  uint8_t code, bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t rank;
  Type dtype;
  const int64_t *shape;
  const int64_t *strides; // in elements; null: contiguous (before 1.2)
  uint64_t byteOffset;
};
static_assert(sizeof(Tensor) == 48);

/// What a capsule named "dltensor" holds.
struct ManagedTensor {
  Tensor tensor;
  void *context;
  void (*deleter)(ManagedTensor *);
};

constexpr uint64_t flagReadOnly = 1;

/// What a capsule named "dltensor_versioned" holds.
struct ManagedTensorVersioned {
  Version version;
  void *context;
  void (*deleter)(ManagedTensorVersioned *);
  uint64_t flags;
  Tensor tensor;
};
static_assert(offsetof(ManagedTensorVersioned, tensor) == 32);

/// The table in `type(array).__dlpack_c_exchange_api__`.
struct ExchangeApi {
  struct Header {
    Version version;
    Header *previous;
  } header;
  void *managedTensorAllocator;
  void *managedTensorFromObject;
  void *managedTensorToObject;
  /// Fills a tensor that borrows from the object; may be null.
  int (*tensorFromObject)(void *object, Tensor *out);
  int (*currentWorkStream)(int32_t deviceType, int32_t deviceId, void **out);
};
static_assert(offsetof(ExchangeApi, tensorFromObject) == 40);

} // namespace tilec::runtime::dlpack
