//===- key.cpp - The packed facts that select a variant
//--------------------===//

#include "key.h"

#include "tensor_map.h"

#include <algorithm>
#include <limits>

using namespace tilec::runtime;

namespace {

constexpr int maxAlignLog2 = 7;      // 128 bytes
constexpr int maxDivisibleLog2 = 4;  // 16 elements
constexpr int unmappedAlignLog2 = 3; // 8 bytes, where a tensor map wants 16
constexpr int strideCodes = 9;       // 0 … 7: log2 of the alignment; 8: unit
constexpr int unitStrideCode = 8;
constexpr int dimensionBits = 6;
constexpr int headBits = dimensionBits * maxRank; // where the head starts
static_assert((maxDivisibleLog2 + 1) * strideCodes <= 1 << dimensionBits);

/// log2 of the largest power of two that divides `value`, at most `limit`;
/// zero is divisible by everything.
int log2Divisor(uint64_t value, int limit) {
  if (value == 0)
    return limit;
  return std::min(__builtin_ctzll(value), limit);
}

bool needsWideIndices(const ArrayView &view) {
  constexpr uint64_t limit = std::numeric_limits<int32_t>::max();
  if (view.empty())
    return false;
  bool wide = view.high - view.pointer > limit || view.pointer - view.low > limit;
  for (int dim = 0; dim < view.rank; ++dim)
    wide |= static_cast<uint64_t>(view.shape[dim]) > limit;
  return wide;
}

} // namespace

uint64_t tilec::runtime::packArray(const ArrayView &view, uint64_t address) {
  uint64_t bytes = bytesOf(view.dtype);
  uint64_t head = static_cast<uint64_t>(view.dtype);
  head = head << 4 | view.rank;
  head = head << 2 | static_cast<uint64_t>(view.access);
  // A variant may describe what is aligned to 16 bytes to TMA. Weaker facts are
  // true as well, and 8 bytes are enough for vector accesses.
  int alignLimit = fitsTensorMap(view) ? maxAlignLog2 : unmappedAlignLog2;
  head = head << 3 | static_cast<uint64_t>(log2Divisor(address, alignLimit));
  head = head << 1 | static_cast<uint64_t>(needsWideIndices(view));
  uint64_t word = arrayBit | head << headBits;
  for (int dim = 0; dim < view.rank; ++dim) {
    uint64_t stride = static_cast<uint64_t>(view.strides[dim]);
    int strideCode = stride == 1 ? unitStrideCode : log2Divisor(stride * bytes, maxAlignLog2);
    int divisible = log2Divisor(static_cast<uint64_t>(view.shape[dim]), maxDivisibleLog2);
    word |= static_cast<uint64_t>(divisible * strideCodes + strideCode) << (dim * dimensionBits);
  }
  return word;
}

ArrayFacts tilec::runtime::unpackArray(uint64_t word) {
  ArrayFacts facts{};
  uint64_t head = (word & ~arrayBit) >> headBits;
  facts.indexBits = head & 1 ? 64 : 32;
  facts.alignBytes = 1 << (head >> 1 & 7);
  facts.access = static_cast<Access>(head >> 4 & 3);
  facts.rank = static_cast<int>(head >> 6 & 15);
  facts.dtype = static_cast<DType>(head >> 10 & 31);
  for (int dim = 0; dim < facts.rank; ++dim) {
    constexpr uint64_t mask = (1 << dimensionBits) - 1;
    int code = static_cast<int>(word >> (dim * dimensionBits) & mask);
    int strideCode = code % strideCodes;
    DimensionFacts &dimension = facts.dimensions[dim];
    dimension.divisible = 1 << (code / strideCodes);
    dimension.unitStride = strideCode == unitStrideCode;
    dimension.strideAlignBytes = dimension.unitStride ? static_cast<int>(bytesOf(facts.dtype)) : 1 << strideCode;
  }
  return facts;
}

uint64_t tilec::runtime::packFacts(const ArrayFacts &facts) {
  auto log2 = [](int power) { return static_cast<uint64_t>(__builtin_ctz(static_cast<unsigned>(power))); };
  uint64_t head = static_cast<uint64_t>(facts.dtype);
  head = head << 4 | static_cast<uint64_t>(facts.rank);
  head = head << 2 | static_cast<uint64_t>(facts.access);
  head = head << 3 | log2(facts.alignBytes);
  head = head << 1 | static_cast<uint64_t>(facts.indexBits == 64);
  uint64_t word = arrayBit | head << headBits;
  for (int dim = 0; dim < facts.rank; ++dim) {
    const DimensionFacts &dimension = facts.dimensions[dim];
    uint64_t strideCode = dimension.unitStride ? unitStrideCode : log2(dimension.strideAlignBytes);
    word |= (log2(dimension.divisible) * strideCodes + strideCode) << (dim * dimensionBits);
  }
  return word;
}

uint64_t tilec::runtime::hashWords(const uint64_t *words, size_t count) {
  // Multiply and fold the 128-bit product: each input bit reaches all others.
  constexpr uint64_t odd = 0x9E3779B97F4A7C15;
  uint64_t hash = count * odd;
  for (size_t k = 0; k < count; ++k) {
    unsigned __int128 product = static_cast<unsigned __int128>(hash ^ words[k]) * odd;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  return hash;
}
