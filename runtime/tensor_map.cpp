//===- tensor_map.cpp - Arrays as TMA sees them
//----------------------------===//

#include "tensor_map.h"

#include "errors.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace tilec::runtime;

namespace {

constexpr uint64_t maxExtent = std::numeric_limits<int32_t>::max();
constexpr uint64_t strideLimitBytes = uint64_t(1) << 40;

driver::TensorMapDataType dataTypeOf(unsigned elementBytes) {
  switch (elementBytes) {
  case 1:
    return driver::tensorMapU8;
  case 2:
    return driver::tensorMapU16;
  case 4:
    return driver::tensorMapU32;
  default:
    return driver::tensorMapU64;
  }
}

/// The driver counts swizzles: none, 32, 64 and 128 bytes.
int swizzleCode(unsigned bytes) { return bytes == 0 ? 0 : __builtin_ctz(bytes) - 4; }

[[noreturn]] void raiseNotDescribable(const ArrayView &view, const std::string &name, const std::string &reason) {
  int64_t strideBytes[maxRank];
  for (int dim = 0; dim < view.rank; ++dim)
    strideBytes[dim] = view.strides[dim] * static_cast<int64_t>(bytesOf(view.dtype));
  uint64_t alignBytes = view.pointer & (~view.pointer + 1);
  raiseLaunchError("argument " + name + " cannot be described to TMA: shape " + tupleText(view.shape, view.rank) +
                       ", strides of " + tupleText(strideBytes, view.rank) + " bytes, a pointer aligned to " +
                       std::to_string(std::min<uint64_t>(alignBytes ? alignBytes : 128, 128)) +
                       " bytes; expected extents of at most 2147483647, a pointer and strides (but the innermost one) "
                       "that are multiples of 16 bytes, and strides from 0 to below 2^40 bytes (" +
                       reason + ")",
                   "pass a contiguous copy");
}

} // namespace

bool tilec::runtime::fitsTensorMap(const ArrayView &view) {
  const uint64_t strideLimit = strideLimitBytes / bytesOf(view.dtype);
  bool fits = !view.empty();
  for (int dim = 0; dim < view.rank; ++dim)
    fits &= view.strides[dim] != 0 && static_cast<uint64_t>(view.strides[dim]) < strideLimit &&
            static_cast<uint64_t>(view.shape[dim]) <= maxExtent;
  return fits;
}

TensorMapCache::Facts::Facts(const TensorMapFormat &format, const ArrayView &view) : pointer(view.pointer) {
  for (int k = 0; k < format.rank; ++k) {
    int dim = format.order[k];
    extents[k] = std::max<uint64_t>(static_cast<uint64_t>(view.shape[dim]), 1); // 0 is illegal in a map
    if (k > 0)
      strideBytes[k - 1] = static_cast<uint64_t>(view.strides[dim]) * format.elementBytes;
  }
}

bool TensorMapCache::Facts::operator==(const Facts &other) const {
  static_assert(sizeof(Facts) == sizeof(uint64_t) * 2 * maxTensorMapRank); // no padding
  return std::memcmp(this, &other, sizeof(Facts)) == 0;
}

size_t TensorMapCache::bucketOf(const Facts &facts) {
  uint64_t hash = facts.pointer;
  for (int k = 0; k < maxTensorMapRank; ++k)
    hash ^= facts.extents[k] << (12 * k + 3) | facts.extents[k] >> (61 - 12 * k);
  constexpr uint64_t odd = 0x9E3779B97F4A7C15;
  static_assert(bucketCount == 256);
  return hash * odd >> 56;
}

const TensorMapCache::Entry *TensorMapCache::find(const Facts &facts) const {
  if (buckets.empty())
    return nullptr;
  for (uint8_t k = buckets[bucketOf(facts)]; k != none; k = entries[k].next)
    if (entries[k].facts == facts)
      return &entries[k];
  return nullptr;
}

/// Once the cache is full, entries are replaced in the order they came in.
uint8_t TensorMapCache::freeEntry() {
  if (entries.size() < capacity)
    return static_cast<uint8_t>(entries.size());
  uint8_t victim = oldest;
  oldest = static_cast<uint8_t>((oldest + 1) % capacity);
  uint8_t *link = &buckets[bucketOf(entries[victim].facts)];
  while (*link != victim)
    link = &entries[*link].next;
  *link = entries[victim].next;
  return victim;
}

const driver::TensorMap &TensorMapCache::encodeAndKeep(Driver &driver, const ArrayView &view, const Facts &facts,
                                                       const std::string &name) {
  Entry fresh{facts, none, encode(driver, view, facts, name)};
  if (buckets.empty())
    buckets.assign(bucketCount, none);
  uint8_t place = freeEntry();
  uint8_t &first = buckets[bucketOf(facts)];
  fresh.next = first;
  if (place == entries.size())
    entries.push_back(fresh);
  else
    entries[place] = fresh;
  first = place;
  return entries[place].map;
}

driver::TensorMap TensorMapCache::encode(Driver &driver, const ArrayView &view, const Facts &facts,
                                         const std::string &name) const {
  auto encodeTiled = driver.TensorMapEncodeTiled();
  // The driver takes twice as much, but no coordinate reaches there.
  for (uint64_t extent : facts.extents)
    if (extent > maxExtent)
      raiseNotDescribable(view, name, "coordinates have 32 bits");
  constexpr uint32_t elementStrides[maxTensorMapRank] = {1, 1, 1, 1, 1};
  driver::TensorMap map;
  driver::Result result =
      encodeTiled(&map, dataTypeOf(format.elementBytes), static_cast<uint32_t>(format.rank),
                  reinterpret_cast<void *>(facts.pointer), facts.extents, facts.strideBytes, format.box, elementStrides,
                  driver::tensorMapInterleaveNone, swizzleCode(format.swizzleBytes), driver::tensorMapPromotion128Bytes,
                  driver::tensorMapFillZeros);
  if (result != driver::success)
    raiseNotDescribable(view, name, "cuTensorMapEncodeTiled failed with " + driver.nameOf(result));
  return map;
}
