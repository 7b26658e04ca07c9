//===- tensor_map.h - Arrays as TMA sees them
//------------------------------===//

#pragma once

#include "array.h"
#include "driver.h"

#include <string>
#include <vector>

namespace tilec::runtime {

constexpr int maxTensorMapRank = 5;

/// How a launch plan wants one array described to TMA.
struct TensorMapFormat {
  int rank;
  uint8_t order[maxTensorMapRank]; // the array's dimensions, innermost first
  uint32_t box[maxTensorMapRank];  // in that order, in elements
  unsigned swizzleBytes;
  unsigned elementBytes;
};

/// The tensor maps that one parameter of a variant was launched with. Encoding
/// one costs more than the rest of a launch's packing, and programs come back
/// to the same arrays: the last `capacity` maps are kept. Guarded by the GIL.
class TensorMapCache {
public:
  explicit TensorMapCache(const TensorMapFormat &format) : format(format) {}

  /// Copies the map of an array to `map`; encodes it when it is new. A copy,
  /// because the entry may be replaced as soon as the GIL is released. `name`
  /// gives the argument's name for a LaunchError.
  template <typename Name> void describe(Driver &driver, const ArrayView &view, driver::TensorMap &map, Name name) {
    Facts facts(format, view);
    if (const Entry *known = find(facts))
      map = known->map;
    else
      map = encodeAndKeep(driver, view, facts, name());
  }

private:
  /// All that a map depends on besides its format; zeros beyond the rank.
  struct Facts {
    Facts(const TensorMapFormat &format, const ArrayView &view);
    bool operator==(const Facts &other) const;

    uint64_t pointer;
    uint64_t extents[maxTensorMapRank] = {};
    uint64_t strideBytes[maxTensorMapRank - 1] = {}; // of all but the innermost
  };
  static constexpr size_t capacity = 128;
  static constexpr size_t bucketCount = 256;
  static constexpr uint8_t none = UINT8_MAX;
  static_assert(capacity < none);

  struct Entry {
    Facts facts;
    uint8_t next; // in the same bucket
    driver::TensorMap map;
  };

  static size_t bucketOf(const Facts &facts);
  const Entry *find(const Facts &facts) const;
  const driver::TensorMap &encodeAndKeep(Driver &driver, const ArrayView &view, const Facts &facts,
                                         const std::string &name);
  driver::TensorMap encode(Driver &driver, const ArrayView &view, const Facts &facts, const std::string &name) const;
  uint8_t freeEntry();

  TensorMapFormat format;
  std::vector<Entry> entries;
  std::vector<uint8_t> buckets; // the first entry of each; empty before the first use
  uint8_t oldest = 0;           // of a full cache
};

/// Whether a tensor map can describe this array, if its alignment allows it:
/// what lies outside of an array must be outside of its map as well, TMA's
/// coordinates have 32 bits, and its strides 40 and no sign. Strides of zero are
/// not known to be taken.
bool fitsTensorMap(const ArrayView &view);

} // namespace tilec::runtime
