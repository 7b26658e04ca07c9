//===- problem.h - What a tile is planned for ------------------------------===//
//
// The kernel in terms of its tile's dimensions (dialects/Plan/Summary.h), met
// with the arrays of one launch and one GPU. Plain C++: neither Python nor LLVM.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilec::tiling {

constexpr int maxRank = 8;

/// Extents of a tile, one a dimension.
using Tile = std::vector<int64_t>;

/// An extent that is the tile's, or that the author fixed.
struct Extent {
  int dim = -1; // of the tile; -1: fixed
  int64_t fixed = 1;

  int64_t in(const Tile &tile) const { return dim < 0 ? fixed : tile[static_cast<size_t>(dim)]; }
};

/// What the units that multiply tell apart.
enum class ElementKind : uint8_t { f16, bf16, f8, i8, tf32, f64, other };

/// One side of a product.
struct Operand {
  int argument = -1;        // that it is loaded from; -1: it is computed
  bool computed = false;    // changed between the load and the product
  bool describable = false; // TMA can read it
  bool kContiguous = false; // its elements along K are neighbours
  double straddling = 0;    // the part of its 128-byte rows that touch two lines of the cache
};

struct Product {
  ElementKind kind = ElementKind::other;
  int bits = 16;     // an element of the operands
  int registers = 1; // an element of the accumulator
  Extent m, n;
  int64_t kStep = 1;  // a trip
  double trips = 1;   // of all the loops around it
  bool loops = false; // one loop walks along K
  int64_t accumulator = 0;
  Operand a, b;

  double kBytes() const { return static_cast<double>(kStep) * bits / 8 * trips; }
  int64_t stepBytes() const { return kStep * bits / 8; }
};

/// A load or store.
struct Access {
  int argument = 0;
  int contiguousDim = -1; // the tile's dimension along which neighbours are neighbours in memory
  int bits = 32;
  bool store = false;
  bool inLoop = false;
  bool covers = false; // it touches one element for each of the tile's
};

/// A value of the kernel.
struct Value {
  std::vector<Extent> shape;
  int bits = 32;
};

struct Problem {
  int64_t copies = 1;           // of all this that one launch has, on arrays of their own
  std::vector<int64_t> extents; // of the partitions' arrays
  std::vector<bool> ragged;     // dimensions of which that is the mean over the copies
  std::vector<bool> whole;      // dimensions that cannot be divided
  std::vector<Product> products;
  std::vector<Access> accesses;
  std::vector<Value> values;
  bool computes = false;  // on tiles, beside products and conversions
  int64_t arrayBytes = 0; // of all arrays that are loaded or stored, once
  int numWarps = 0;       // the author's hints; 0: none
  int numStages = 0;
};

/// What code generation can make of a GPU.
struct Device {
  int multiprocessors = 1;
  double dramBytesPerCycle = 1;    // of all multiprocessors together
  int64_t sharedBytes = 48 * 1024; // of a CTA
  bool wgmma = false, threeConsumers = false, clusters = false, splitK = false;
  bool workspace = false; // programs can add up in global memory
  bool mmaF16 = false, mmaBf16 = false, mmaF8 = false, mmaI8 = false, mmaTf32 = false, mmaF64 = false;
};

} // namespace tilec::tiling
