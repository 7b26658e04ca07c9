//===- driver_api.h - The few types and constants of the CUDA driver
//-------===//
//
// Declared here so that building needs no CUDA toolkit. The layouts are those
// of CUDA 12.0 and later (they are frozen by the driver's ABI).
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstddef>
#include <cstdint>

namespace tilec::runtime::driver {

using Result = int;
using Device = int;
using Context = struct ContextHandle *;
using Stream = struct StreamHandle *;
using Library = struct LibraryHandle *;
using Kernel = struct KernelHandle *;
using Function = struct FunctionHandle *;
using MemoryPool = struct MemoryPoolHandle *;
using Graph = struct GraphHandle *;
using UserObject = struct UserObjectHandle *;

constexpr Result success = 0;
constexpr Result errorNoDevice = 100;

/// The two predefined streams; 0 also means the legacy one here.
constexpr uintptr_t legacyStream = 1;
constexpr uintptr_t perThreadStream = 2;

enum DeviceAttribute : int {
  maxSharedBytesPerBlockOptin = 97,
  multiprocessorCount = 16,
  computeCapabilityMajor = 75,
  computeCapabilityMinor = 76,
};

constexpr int functionMaxDynamicSharedBytes = 8;
constexpr int pointerDeviceOrdinal = 9;
constexpr int captureModeRelaxed = 2;
constexpr unsigned defaultSharedBytes = 48 * 1024;

enum JitOption : int { jitErrorLogBuffer = 5, jitErrorLogBufferBytes = 6 };

constexpr int attributeClusterDimension = 4;

struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);
static_assert(offsetof(LaunchConfig, stream) == 32);

/// Of a pool of device memory.
struct MemoryPoolProperties {
  int allocationType;
  int handleTypes;
  int locationType;
  int locationId;
  void *securityAttributes;
  size_t maxSize; // 0: the driver's default
  unsigned char reserved[56];
};
static_assert(sizeof(MemoryPoolProperties) == 88);

constexpr int pinnedAllocation = 1;
constexpr int deviceLocation = 1;
constexpr int poolReleaseThreshold = 4;
constexpr int captureActive = 1;
constexpr unsigned userObjectNoDestructorSync = 1;
constexpr unsigned graphUserObjectMove = 1;

/// A CUtensorMap: how TMA finds the elements of a tensor; opaque.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

enum TensorMapDataType : int { tensorMapU8 = 0, tensorMapU16 = 1, tensorMapU32 = 2, tensorMapU64 = 4 };

constexpr int tensorMapInterleaveNone = 0;
constexpr int tensorMapPromotion128Bytes = 2; // of L2 sectors
constexpr int tensorMapFillZeros = 0;

} // namespace tilec::runtime::driver
