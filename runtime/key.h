//===- key.h - The packed facts that select a variant
//----------------------===//
//
// A launch is looked up by a sequence of 64-bit words, one per argument in
// depth-first order, after one for the device. A word holds exactly the facts
// of its specification (tilec/trace/signature.py), so a variant made from the
// decoded words is right for every launch that has the same words. The
// sequence needs no separators: each word says what follows it.
//
//   array    1 | dtype:5 rank:4 access:2 align:3 wide:1 | 8 × dimension:6
//            (then, of a partition, one word per tile extent, or a zero word for
//            tl.AUTO)
//   others   0 | tag:7 | payload:56
//
// A launch with tl.AUTO is looked up twice: by these words and the extents of
// all its arrays for the tile, which is cheap to plan again, and then by the
// words that the same launch would have with that tile written out, followed
// by the plan's other decisions. A grouped launch has the words that hold for all
// of its problems, and a group word behind them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "array.h"

#include <cstddef>
#include <cstdint>

namespace tilec::runtime {

enum class KeyTag : uint8_t {
  device,   // payload: the ordinal, or hostKey / noDeviceKey
  scalar,   // payload: the dtype
  constant, // payload: the number of the interned constant
  sequence, // payload: the number of items that follow
  plan,     // payload: the number of the interned decisions beside the tile
  group,    // payload: 0; the variant takes a list of problems
};

/// In place of the extents of a tile that is yet to be chosen.
constexpr uint64_t automaticTileWord = 0;

constexpr uint64_t arrayBit = uint64_t(1) << 63;
constexpr int tagShift = 56;
constexpr uint64_t payloadMask = (uint64_t(1) << tagShift) - 1;
constexpr uint64_t hostKey = 0xFFFF;

constexpr uint64_t makeWord(KeyTag tag, uint64_t payload) { return static_cast<uint64_t>(tag) << tagShift | payload; }

/// `address` is that of the first element, or a number that is only as well
/// aligned as the variant may rely on.
uint64_t packArray(const ArrayView &view, uint64_t address);

/// The facts of one dimension, decoded.
struct DimensionFacts {
  bool unitStride;
  int divisible;        // 1 … 16
  int strideAlignBytes; // 1 … 128
};

/// The facts of an array word, decoded.
struct ArrayFacts {
  DType dtype;
  int rank;
  Access access;
  int alignBytes;
  int indexBits;
  DimensionFacts dimensions[maxRank];
};

ArrayFacts unpackArray(uint64_t word);

/// The word of these facts.
uint64_t packFacts(const ArrayFacts &facts);

uint64_t hashWords(const uint64_t *words, size_t count);

} // namespace tilec::runtime
