//===- FragmentLayouts.cpp - Layouts of the tensor cores' operands --------===//
//
// A thread of mma.sync and of wgmma holds neighbours along K of row l / 4, packed into words, and
// accumulators of two neighbouring columns in rows l / 4 and l / 4 + 8. "Row" and "column" are the
// instruction's: which of the tile's they are is ours to choose.
//
// Source: PTX ISA, "Matrix Fragments for mma.m16n8k4 ... k32", "Register Fragments for wgmma".
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/IR/Layout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilec::tilegpu;

namespace {
constexpr int64_t kRows = 16, kColumns = 8;
constexpr int64_t kWordBits = 32, kStepBits = 256, kStepF64 = 16;

Basis along(int64_t dim, int64_t value) {
  Basis basis(2, 0);
  basis[dim] = value;
  return basis;
}

/// Warps along a dimension: a power of two, in groups.
struct Share {
  int64_t warps = 1, groups = 1;
  int64_t count() const { return warps * groups; }
};

/// Warps along M and N.
struct Division {
  Share m, n;
};

/// The division by which a warp reads the fewest operand elements, M/m + N/n, among those that leave no warp idle.
Division divideWarps(ArrayRef<int64_t> shape, int64_t numWarps, bool wholeRows, int64_t rows, int64_t columns) {
  Division best;
  int64_t bestCost = std::numeric_limits<int64_t>::max();
  auto consider = [&](Share alongM, Share alongN) {
    const int64_t m = alongM.count(), n = alongN.count();
    if (shape[0] % (kRows * m) != 0 || shape[1] % (kColumns * n) != 0)
      return;
    if (wholeRows && n > 1 && shape[0] % (kRows * numWarps) == 0)
      return;
    // An order that does not fit costs about half as many more reads.
    const bool ordered = shape[0] % (rows * m) == 0 && shape[1] % (columns * n) == 0;
    int64_t cost = (shape[0] / m + shape[1] / n) * (numWarps / (m * n)) * (ordered ? 2 : 3);
    if (cost < bestCost)
      std::tie(best, bestCost) = std::pair(Division{alongM, alongN}, cost);
  };
  const WarpCount warps(numWarps);
  for (int64_t m = 1; m <= int64_t(1) << warps.bits; m *= 2)
    for (int64_t n = 1; m * n <= int64_t(1) << warps.bits; n *= 2) {
      consider({m, 1}, {n, 1});
      if (warps.groups == 1)
        continue;
      consider({m, warps.groups}, {n, 1});
      consider({m, 1}, {n, warps.groups});
    }
  return best;
}

void addWarps(Layout &layout, int64_t dim, Share share, int64_t &extent) {
  for (int64_t warps = 1; warps < share.warps; warps *= 2, extent *= 2)
    layout.warps.push_back(along(dim, extent));
}

/// Once all warps that bits number are there.
void addGroups(Layout &layout, int64_t dim, Share share, int64_t &extent) {
  if (share.groups == 1)
    return;
  layout.group[dim] = extent;
  extent *= share.groups;
}

/// As many warps as `count` says, of which those that are missing, and the groups, hold what others hold.
void fillUp(Layout &layout, WarpCount count) {
  while (static_cast<int64_t>(layout.warps.size()) < count.bits)
    layout.warps.push_back(Basis(2, 0));
  layout.groups = count.groups;
  layout.group.assign(count.groups == 1 ? 0 : 2, 0);
}

/// The warps of `acc`, as far as they are along `accDim`, along `dim`.
void followWarps(Layout &layout, int64_t dim, const Layout &acc, int64_t accDim) {
  for (const Basis &basis : acc.warps)
    layout.warps.push_back(along(dim, basis[accDim]));
  layout.groups = acc.groups;
  if (layout.groups != 1)
    layout.group = along(dim, acc.groupStep(accDim));
}

/// Words of neighbours along K, four threads a row; then what the instruction takes beside.
struct Depth {
  SmallVector<int64_t> inWord, lanes, words;

  Depth(int64_t k, int64_t elementBits) {
    if (elementBits == 64) { // K in an order of its own, by which two neighbours are read at a time
      const int64_t step = mmaStep(k, elementBits);
      lanes = step > 4 ? SmallVector<int64_t>{2, 4} : SmallVector<int64_t>{1, 2};
      if (step > 4)
        words.push_back(1);
      if (step > 8)
        words.push_back(8);
      return;
    }
    const int64_t packed = kWordBits / elementBits;
    for (int64_t place = 1; place < packed; place *= 2)
      inWord.push_back(place);
    lanes = {packed, 2 * packed};
    words = {4 * packed};
  }
};
} // namespace

FragmentOrder FragmentOrder::of(Side side, int64_t elementBits, bool alongK) {
  // Eight rows of a swizzled panel exchange their chunks of 16 bytes by their number modulo 8. Lane bits that number
  // K and those that number rows or columns must not change the same bits of a chunk's place: where K is not
  // contiguous, one of the latter chooses between chunks 0 and 4.
  const FragmentOrder plain;
  if (elementBits == 64)
    return alongK ? FragmentOrder{{4, 1, 2}, 8, {}} : side == Side::rows ? FragmentOrder{{2, 4, 8}, 1, {}} : plain;
  if (alongK || elementBits == 16) // ldmatrix, which transposes 16 bits
    return plain;
  if (elementBits == 8) // words of four neighbours
    return side == Side::rows ? FragmentOrder{{4, 8, 16}, 1, {2}} : FragmentOrder{{4, 8, 16}, 8, {1, 2}};
  // Registers of an operand that are neighbours take neighbours in memory; others would have to be moved.
  return side == Side::rows ? FragmentOrder{{2, 16, 4}, 1, {8}} : FragmentOrder{{1, 2, 16}, 8, {4, 8}};
}

int64_t tilec::tilegpu::mmaStep(int64_t k, int64_t elementBits) {
  return elementBits == 64 ? std::min(kStepF64, k & -k) : kStepBits / elementBits;
}

MmaAtom::MmaAtom(const Layout &acc) {
  auto isRow = [](const Basis &basis) { return basis[0] != 0; };
  // The first row bit, and the column bit before it.
  row = llvm::find_if(acc.registers, isRow) - acc.registers.begin();
  column = row - 1;
  for (auto [bit, basis] : llvm::enumerate(acc.registers))
    if (static_cast<int64_t>(bit) != row && static_cast<int64_t>(bit) != column)
      (isRow(basis) ? rowRuns : columnRuns).push_back(bit);
}

Layout Layout::mmaAcc(ArrayRef<int64_t> shape, int64_t numWarps, bool wholeRows, FragmentOrder rows,
                      FragmentOrder columns) {
  using Side = FragmentOrder::Side;
  const Division warps =
      divideWarps(shape, numWarps, wholeRows, rows.extent(Side::rows), columns.extent(Side::columns));
  const int64_t rowsOfWarp = shape[0] / warps.m.count(), columnsOfWarp = shape[1] / warps.n.count();
  if (rowsOfWarp % rows.extent(Side::rows) != 0)
    rows = {};
  if (columnsOfWarp % columns.extent(Side::columns) != 0)
    columns = {};
  if (columns.runs.empty() && columnsOfWarp % (2 * kColumns) == 0) // two instructions: one ldmatrix.x4
    columns.runs.push_back(kColumns);
  Layout layout;
  auto addColumns = [&](auto which) {
    for (int64_t place : columns.runs)
      if (which(place))
        layout.registers.push_back(along(1, place));
  };
  // Neighbours first; MmaAtom finds the instruction's own by the order.
  addColumns([&](int64_t place) { return place < columns.lanes[0]; });
  layout.registers.push_back(along(1, columns.lanes[0]));
  layout.registers.push_back(along(0, rows.half));
  for (int64_t place : rows.runs)
    layout.registers.push_back(along(0, place));
  addColumns([&](int64_t place) { return place > columns.lanes[0]; });
  layout.lanes = {along(1, columns.lanes[1]), along(1, columns.lanes[2])};
  for (int64_t place : rows.lanes)
    layout.lanes.push_back(along(0, place));
  int64_t rowExtent = rows.extent(Side::rows), columnExtent = columns.extent(Side::columns);
  addWarps(layout, 1, warps.n, columnExtent);
  addWarps(layout, 0, warps.m, rowExtent);
  fillUp(layout, WarpCount(numWarps));
  addGroups(layout, 1, warps.n, columnExtent);
  addGroups(layout, 0, warps.m, rowExtent);
  layout.repeat = {static_cast<int64_t>(llvm::divideCeil(shape[0], rowExtent)),
                   static_cast<int64_t>(llvm::divideCeil(shape[1], columnExtent))};
  return layout;
}

Layout Layout::wgmmaAcc(ArrayRef<int64_t> shape, int64_t numWarps, FragmentOrder rows) {
  Layout layout;
  layout.registers = {along(1, 1), along(0, rows.half)};
  layout.lanes = {along(1, 2), along(1, 4)};
  int64_t taken = rows.half, rowExtent = 1;
  for (int64_t place : rows.lanes) {
    layout.lanes.push_back(along(0, place));
    taken |= place;
  }
  const WarpCount count(numWarps);
  for (; static_cast<int64_t>(layout.warps.size()) < count.bits || (taken & rowExtent) != 0; rowExtent *= 2)
    if ((taken & rowExtent) == 0)
      layout.warps.push_back(along(0, rowExtent));
  fillUp(layout, count);
  addGroups(layout, 0, {1, count.groups}, rowExtent);
  layout.repeat = {static_cast<int64_t>(llvm::divideCeil(shape[0], rowExtent)),
                   static_cast<int64_t>(llvm::divideCeil(shape[1], kColumns))};
  return layout;
}

Layout Layout::mmaLhs(const Layout &acc, ArrayRef<int64_t> shape, int64_t elementBits) {
  const Depth depth(shape[1], elementBits);
  const MmaAtom atom(acc);
  Layout layout;
  for (int64_t place : depth.inWord)
    layout.registers.push_back(along(1, place));
  layout.registers.push_back(acc.registers[atom.row]);
  for (int64_t place : depth.words)
    layout.registers.push_back(along(1, place));
  for (int64_t bit : atom.rowRuns)
    layout.registers.push_back(acc.registers[bit]);
  layout.lanes = {along(1, depth.lanes[0]), along(1, depth.lanes[1]), acc.lanes[2], acc.lanes[3], acc.lanes[4]};
  followWarps(layout, 0, acc, 0);
  layout.repeat = {acc.repeat[0], static_cast<int64_t>(llvm::divideCeil(shape[1], mmaStep(shape[1], elementBits)))};
  return layout;
}

Layout Layout::mmaRhs(const Layout &acc, ArrayRef<int64_t> shape, int64_t elementBits) {
  const Depth depth(shape[0], elementBits);
  const MmaAtom atom(acc);
  Layout layout;
  for (int64_t place : depth.inWord)
    layout.registers.push_back(along(0, place));
  for (int64_t place : depth.words)
    layout.registers.push_back(along(0, place));
  for (int64_t bit : atom.columnRuns)
    layout.registers.push_back(acc.registers[bit]);
  layout.lanes = {along(0, depth.lanes[0]), along(0, depth.lanes[1]), acc.registers[atom.column], acc.lanes[0],
                  acc.lanes[1]};
  followWarps(layout, 1, acc, 1);
  layout.repeat = {static_cast<int64_t>(llvm::divideCeil(shape[0], mmaStep(shape[0], elementBits))), acc.repeat[1]};
  return layout;
}
