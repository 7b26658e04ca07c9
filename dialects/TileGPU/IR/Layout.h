//===- Layout.h - Computing with layouts ------------------------*- C++ -*-===//
//
// The value form of #tilegpu.layout: an F2-linear atom over register, lane and warp bits, repeated
// along one dimension in groups of warps, where their number is no power of two, and along each in
// registers. Free of IR, so that tests can enumerate it.
//
//===----------------------------------------------------------------------===//
#ifndef TILEC_TILEGPU_IR_LAYOUT_H
#define TILEC_TILEGPU_IR_LAYOUT_H

#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "llvm/ADT/SmallVector.h"
#include <array>
#include <optional>

namespace tilec::tilegpu {

using Coords = llvm::SmallVector<int64_t, 4>;

inline constexpr int64_t kLaneBits = 5;
inline constexpr int64_t kLanes = 32;
/// Warps that issue a wgmma together.
inline constexpr int64_t kWarpgroup = 4;
/// No CTA has more.
inline constexpr int64_t kMaxWarps = 32;

/// What one bit of a register, lane or warp number adds to the coordinates.
using Basis = Coords;

/// Warps as groups of a power of two: 12 are three groups of four.
struct WarpCount {
  int64_t bits = 0, groups = 1;

  explicit WarpCount(int64_t numWarps);
};

/// Which rows of a tile are the rows of an instruction's left operand; for the right operand, which columns. Products
/// do not care, as long as the accumulator agrees; reading fragments from shared memory does.
struct FragmentOrder {
  std::array<int64_t, 3> lanes = {1, 2, 4}; ///< what the three lane bits that number rows add
  int64_t half = 8;                         ///< what the second eight rows add; there are no more than eight columns
  llvm::SmallVector<int64_t, 2> runs;       ///< what the bits of further instructions add

  enum class Side { rows, columns };
  /// The order in which an operand in swizzled shared memory is read without bank conflicts. `alongK`: K is its
  /// contiguous dimension; otherwise neighbours in memory are in one thread where that makes larger accesses.
  static FragmentOrder of(Side side, int64_t elementBits, bool alongK);
  /// Rows or columns that it spans.
  int64_t extent(Side side) const { return (side == Side::rows ? 16 : 8) << runs.size(); }
};

class Layout {
public:
  llvm::SmallVector<Basis, 8> registers;
  llvm::SmallVector<Basis, 5> lanes;
  llvm::SmallVector<Basis, 4> warps;
  /// Groups of the warps that the bits tell apart, and what each adds to the one before: what the atom spans along one
  /// dimension, or nothing (empty, or zeros).
  int64_t groups = 1;
  Basis group;
  Coords repeat;

  Layout() = default;
  explicit Layout(LayoutAttr attr);
  LayoutAttr attr(mlir::MLIRContext *context) const;
  /// The layout in a tile's encoding; the tile must have one.
  static Layout of(mlir::Type tile);

  //===--- Constructors: the named families ------------------------------===//

  /// 16-byte style accesses along `order[0]`: `vector` neighbouring elements a thread (a power of two that
  /// divides the extent), lanes along the contiguous dimension first, warps along the slowest first,
  /// then repeats until `shape` is covered.
  static Layout blocked(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order, int64_t vector, int64_t numWarps);
  /// Accumulator fragments of mma.sync m16n8 over `numWarps` warps (PTX ISA, "Matrix fragments for mma.m16n8k16").
  /// `shape` is (M, N), multiples of 16 and 8. With `wholeRows` warps divide M first: what is computed along a
  /// row, and the left operand that the accumulator then becomes, stay inside a warp. `rows` and `columns` say which
  /// of the tile an instruction's are, where a warp has as many.
  static Layout mmaAcc(llvm::ArrayRef<int64_t> shape, int64_t numWarps, bool wholeRows = false, FragmentOrder rows = {},
                       FragmentOrder columns = {});
  /// Accumulator fragments of wgmma m64nN (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16"): warps divide
  /// M. `shape` is (M, N), multiples of 16 `numWarps` and 8. `rows` says which of the tile an instruction's are when
  /// the left operand comes from registers; warps take the places that it leaves.
  static Layout wgmmaAcc(llvm::ArrayRef<int64_t> shape, int64_t numWarps, FragmentOrder rows = {});
  /// Accumulators of scalar multiply-adds: a thread has a block of rows and columns, so that it uses every
  /// operand element it reads several times.
  static Layout outerProduct(llvm::ArrayRef<int64_t> shape, int64_t numWarps);
  /// Left operand fragments (M, K) that go with `acc`, fragment by fragment in the instruction's order.
  /// `elementBits` 8, 16, 32 or 64.
  static Layout mmaLhs(const Layout &acc, llvm::ArrayRef<int64_t> shape, int64_t elementBits);
  /// Right operand fragments (K, N), likewise.
  static Layout mmaRhs(const Layout &acc, llvm::ArrayRef<int64_t> shape, int64_t elementBits);
  /// Every thread holds every element of a `rank`-dimensional tile of extent 1. Rank 0 does not know its warps.
  static Layout replicated(int64_t rank, int64_t numWarps);

  //===--- Derived layouts ------------------------------------------------===//

  /// After a reduction that keeps `axis` with extent 1: what the remaining elements have as owners.
  Layout reduced(int64_t axis) const;
  /// For a tile broadcast to this layout's: reduced along every dimension where `source` has extent 1.
  Layout broadcastSource(llvm::ArrayRef<int64_t> source, llvm::ArrayRef<int64_t> shape) const;
  /// Dimension d of the result is dimension order[d] of this.
  Layout permuted(llvm::ArrayRef<int64_t> order) const;
  /// The layout under which a row-major reshape renames registers and moves nothing, if there is one.
  std::optional<Layout> reshaped(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) const;

  //===--- Queries --------------------------------------------------------===//

  int64_t rank() const { return repeat.size(); }
  int64_t numWarps() const { return groups << warps.size(); }
  /// Registers of the atom alone.
  int64_t atomRegisters() const { return int64_t(1) << registers.size(); }
  int64_t numRegisters() const;
  /// Extent of the atom along a dimension: a power of two.
  int64_t atomExtent(int64_t dim) const;
  /// How far apart groups of warps are along a dimension; 0 where they are not.
  int64_t groupStep(int64_t dim) const { return group.empty() ? 0 : group[dim]; }
  /// What all warps span along a dimension, and how far apart its repeats are.
  int64_t repeatStep(int64_t dim) const { return atomExtent(dim) * (groupStep(dim) == 0 ? 1 : groups); }
  /// Covered extent along a dimension, at least the tile's.
  int64_t extent(int64_t dim) const { return repeatStep(dim) * repeat[dim]; }
  /// What the atom part of register `reg` contributes, to be combined with the thread's by exclusive or.
  Coords registerAtom(int64_t reg) const;
  /// What the repeats of register `reg` add: multiples of what the warps span.
  Coords registerRepeat(int64_t reg) const;
  /// Coordinates of an element.
  Coords coords(int64_t reg, int64_t lane, int64_t warp) const;
  /// How many consecutive registers, starting at multiples of that number, hold elements that are
  /// consecutive along `dim` in every thread: a power of two.
  int64_t contiguity(int64_t dim) const;
  /// Bits of the lane (warp) number that do not choose elements, those of a group's number among them.
  int64_t freeLaneMask() const;
  int64_t freeWarpMask() const;
  /// True when no register of the tile of this shape is dead in any thread.
  bool covers(llvm::ArrayRef<int64_t> shape) const;

  bool operator==(const Layout &other) const;
  bool operator!=(const Layout &other) const { return !(*this == other); }
};

/// Which bits of the register number tell an instruction's four accumulators apart; the others count instructions.
struct MmaAtom {
  int64_t column = 0, row = 0;
  llvm::SmallVector<int64_t, 2> columnRuns, rowRuns;

  explicit MmaAtom(const Layout &acc);
  int64_t numInstructions() const { return int64_t(1) << (columnRuns.size() + rowRuns.size()); }
};

/// Elements of K that one instruction, or a few of f64, take of operands with `k` of them.
int64_t mmaStep(int64_t k, int64_t elementBits);

/// `vector`, or less where so many elements a thread would leave threads of the CTA without any.
int64_t vectorForTile(llvm::ArrayRef<int64_t> shape, int64_t vector, int64_t numWarps);

} // namespace tilec::tilegpu

#endif // TILEC_TILEGPU_IR_LAYOUT_H
