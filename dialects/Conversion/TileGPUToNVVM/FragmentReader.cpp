//===- FragmentReader.cpp - Operands of the tensor cores ------------------===//
//
// Source: PTX ISA, "ldmatrix", "prmt".
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/FragmentReader.h"

#include "dialects/TileGPU/IR/LayoutConversion.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Basis;
using tilegpu::Coords;
using tilegpu::Layout;

namespace {
constexpr int64_t kRegisterBytes = 4;
/// Rows of 16 bytes of one ldmatrix matrix, and matrices of one instruction.
constexpr int64_t kMatrixRows = 8, kMostMatrices = 4;
/// Rows of four bytes that a transposition in registers takes.
constexpr int64_t kByteRows = 4;

Basis along(int64_t dim, int64_t value) {
  Basis basis(2, 0);
  basis[dim] = value;
  return basis;
}
} // namespace

FragmentReader::FragmentReader(OpBuilder &builder, Location loc, tilegpu::SmemType type, Value base,
                               const Layout &fragment, int64_t kDim, ThreadId thread)
    : builder(builder), loc(loc), type(type), placement(SharedPlacement::of(type)), layout(fragment), thread(thread),
      wordBits(llvm::Log2_64(std::max<int64_t>(1, kRegisterBytes / type.getElementBytes()))),
      transposes(placement.contiguous != kDim) {
  layout.repeat.assign(layout.rank(), 1);
  way = choose(kDim);
  if (way == Way::bytes)
    skewRows(kDim);
  addresses.emplace(builder, loc, placement, base, way == Way::matrices ? matrixRows(kDim) : layout, thread);
  if (way == Way::bytes) { // pairs of rows, then pairs of pairs
    selectors = {selector(0, 0x5140, 0x1504), selector(0, 0x7362, 0x3726)};
    selectors.append({selector(1, 0x5410, 0x1054), selector(1, 0x7632, 0x3276)});
  }
}

SmallVector<Value> FragmentReader::load(ArrayRef<int64_t> origin) {
  switch (way) {
  case Way::matrices:
    return loadMatrices(origin);
  case Way::words:
    return loadWords(origin);
  case Way::bytes:
    return loadBytes(origin);
  case Way::elements:
    return loadElements(origin);
  }
  llvm_unreachable("unknown way to read a fragment");
}

//===----------------------------------------------------------------------===//
// Which way
//===----------------------------------------------------------------------===//

FragmentReader::Way FragmentReader::choose(int64_t kDim) {
  if (hasMatrices(kDim))
    return Way::matrices;
  if (!transposes || wordBits == 0) {
    findNeighbours(int64_t(1) << wordBits);
    return Way::words;
  }
  findNeighbours(/*unitElems=*/1);
  return type.getElementBytes() == 1 && neighbours.size() >= 2 ? Way::bytes : Way::elements;
}

/// True when every word of the fragment is one matrix of ldmatrix, with eight rows of 16 bytes as they lie in memory.
bool FragmentReader::hasMatrices(int64_t kDim) const {
  const int64_t packed = int64_t(1) << wordBits;
  if (type.getElementBytes() > kRegisterBytes || layout.lanes[0] != along(kDim, packed) ||
      layout.lanes[1] != along(kDim, 2 * packed))
    return false;
  if (!transposes)
    return true;
  return type.getElementBytes() == 2 && layout.lanes[2] == along(1 - kDim, 1) &&
         layout.lanes[3] == along(1 - kDim, 2) && layout.lanes[4] == along(1 - kDim, 4);
}

/// Finds words that are neighbours in memory, units of `unitElems` elements, as far as one access may take them.
void FragmentReader::findNeighbours(int64_t unitElems) {
  const int64_t dim = placement.contiguous;
  int64_t bytes = unitElems * type.getElementBytes();
  auto aligned = [&](int64_t bytes) {
    const int64_t elems = bytes / type.getElementBytes();
    auto divides = [&](const Basis &basis) { return basis[dim] % elems == 0; };
    for (auto [other, pitch] : llvm::enumerate(placement.pitches))
      if (static_cast<int64_t>(other) != dim && pitch % bytes != 0)
        return false;
    return llvm::all_of(layout.lanes, divides) && llvm::all_of(layout.warps, divides);
  };
  for (int64_t distance = unitElems; 2 * bytes <= kChunkBytes && aligned(2 * bytes); distance *= 2, bytes *= 2) {
    auto found = llvm::find(layout.registers, along(dim, distance));
    if (found == layout.registers.end() || found - layout.registers.begin() < wordBits)
      return;
    neighbours.push_back(found - layout.registers.begin() - wordBits);
  }
}

/// Lanes that would read from the same banks take the four rows of a word in different orders.
void FragmentReader::skewRows(int64_t kDim) {
  auto skewed = [&](int64_t first, int64_t second) {
    Layout result = layout;
    result.lanes[0][kDim] ^= first;
    result.lanes[1][kDim] ^= second;
    return result;
  };
  const int64_t bytes = int64_t(1) << neighbours.size();
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t number = 0; number < kByteRows * kByteRows; ++number) {
    Layout candidate = skewed(number / kByteRows, number % kByteRows);
    int64_t wavefronts = 0;
    for (int64_t row = 0; row < kByteRows; ++row) {
      SmallVector<int64_t> lanes;
      for (int64_t lane = 0; lane < tilegpu::kLanes; ++lane)
        lanes.push_back(placement.offset(candidate.coords(row, lane, /*warp=*/0)));
      wavefronts += tilegpu::countWavefronts(lanes, bytes);
    }
    if (wavefronts < least) {
      least = wavefronts;
      skew = {number / kByteRows, number % kByteRows};
    }
  }
  layout = skewed(skew[0], skew[1]);
}

/// `plain` where this lane takes rows in their order, `swapped` where bit `bit` of their number is the other way.
Value FragmentReader::selector(int64_t bit, int64_t plain, int64_t swapped) {
  const int64_t lanes = (skew[0] >> bit & 1) | (skew[1] >> bit & 1) << 1;
  if (lanes == 0)
    return constantI32(builder, loc, plain);
  Layout parity; // of the lane's bits that swap
  for (int64_t lane = 0; lane < tilegpu::kLaneBits; ++lane)
    parity.lanes.push_back({lanes >> lane & 1});
  parity.repeat = {1};
  Value swaps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                      threadCoords(builder, loc, parity, thread).front(), constantI32(builder, loc, 0));
  return arith::SelectOp::create(builder, loc, swaps, constantI32(builder, loc, swapped),
                                 constantI32(builder, loc, plain));
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

/// Lane l gives the address of row l % 8 of matrix l / 8.
Layout FragmentReader::matrixRows(int64_t kDim) const {
  Layout rows;
  for (int64_t bit = 0; bit < 3; ++bit)
    rows.lanes.push_back(transposes ? along(kDim, int64_t(1) << bit) : layout.lanes[bit + 2]);
  for (int64_t bit = wordBits; bit < wordBits + 2; ++bit)
    rows.lanes.push_back(bit < static_cast<int64_t>(layout.registers.size()) ? layout.registers[bit] : Basis(2, 0));
  rows.warps = layout.warps;
  rows.groups = layout.groups;
  rows.group = layout.group;
  rows.repeat = {1, 1};
  return rows;
}

SmallVector<Value> FragmentReader::loadMatrices(ArrayRef<int64_t> origin) {
  MLIRContext *context = builder.getContext();
  const int64_t count = std::min(numWords(), kMostMatrices);
  Type i32 = builder.getI32Type();
  Type result = count == 1 ? i32 : Type(LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(count, i32)));
  SmallVector<Value> words;
  for (int64_t first = 0; first < numWords(); first += count) {
    Coords start = layout.registerAtom(first << wordBits);
    for (auto [sum, part] : llvm::zip_equal(start, origin))
      sum += part;
    Value loaded = NVVM::LdMatrixOp::create(
        builder, loc, result, addresses->at(0, start), count, transposes ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(context, kMatrixRows, kMatrixRows), NVVM::LdStMatrixEltType::B16);
    for (int64_t i = 0; i < count; ++i)
      words.push_back(count == 1 ? loaded : Value(LLVM::ExtractValueOp::create(builder, loc, loaded, i)));
  }
  return words;
}

//===----------------------------------------------------------------------===//
// Plain accesses
//===----------------------------------------------------------------------===//

int64_t FragmentReader::neighbourOf(int64_t word, int64_t neighbour) const {
  for (auto [place, bit] : llvm::enumerate(neighbours))
    word |= (neighbour >> place & 1) << bit;
  return word;
}

bool FragmentReader::leads(int64_t word) const {
  return llvm::all_of(neighbours, [&](int64_t bit) { return (word >> bit & 1) == 0; });
}

SmallVector<Value> FragmentReader::loadWords(ArrayRef<int64_t> origin) {
  SmallVector<Value> words(numWords());
  Type unit = type.getElementBytes() > kRegisterBytes ? type.getElementType() : Type(builder.getI32Type());
  for (int64_t word = 0; word < numWords(); ++word)
    if (leads(word))
      for (auto [place, value] : llvm::enumerate(loadShared(builder, loc, addresses->at(word << wordBits, origin),
                                                            int64_t(1) << neighbours.size(), unit)))
        words[neighbourOf(word, static_cast<int64_t>(place))] = value;
  return words;
}

SmallVector<Value> FragmentReader::loadBytes(ArrayRef<int64_t> origin) {
  SmallVector<Value> words(numWords());
  const int64_t count = (int64_t(1) << neighbours.size()) / kRegisterBytes;
  for (int64_t word = 0; word < numWords(); ++word) {
    if (!leads(word))
      continue;
    SmallVector<SmallVector<Value>> rows;
    for (int64_t row = 0; row < kByteRows; ++row)
      rows.push_back(
          loadShared(builder, loc, addresses->at(word << wordBits | row, origin), count, builder.getI32Type()));
    for (int64_t part = 0; part < count; ++part) {
      SmallVector<Value> taken = llvm::map_to_vector(rows, [&](ArrayRef<Value> row) { return row[part]; });
      for (auto [place, value] : llvm::enumerate(transposed(taken)))
        words[neighbourOf(word, part * kRegisterBytes + static_cast<int64_t>(place))] = value;
    }
  }
  return words;
}

/// Word i of the result has byte i of each of four words.
std::array<Value, 4> FragmentReader::transposed(ArrayRef<Value> rows) {
  auto permute = [&](Value low, Value high, int64_t selector) -> Value {
    return NVVM::PermuteOp::create(builder, loc, builder.getI32Type(), low, high, selectors[selector],
                                   NVVM::PermuteMode::DEFAULT);
  };
  Value low0 = permute(rows[0], rows[1], 0), high0 = permute(rows[0], rows[1], 1);
  Value low1 = permute(rows[2], rows[3], 0), high1 = permute(rows[2], rows[3], 1);
  return {permute(low0, low1, 2), permute(low0, low1, 3), permute(high0, high1, 2), permute(high0, high1, 3)};
}

SmallVector<Value> FragmentReader::loadElements(ArrayRef<int64_t> origin) {
  SmallVector<Value> elements;
  for (int64_t reg = 0; reg < layout.atomRegisters(); ++reg)
    elements.push_back(
        loadShared(builder, loc, addresses->at(reg, origin), /*count=*/1, type.getElementType()).front());
  return packWords(builder, loc, elements);
}
