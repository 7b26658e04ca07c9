//===- SharedMemory.h - Tiles in shared memory ------------------*- C++ -*-===//
#ifndef TILEC_CONVERSION_TILEGPUTONVVM_SHAREDMEMORY_H
#define TILEC_CONVERSION_TILEGPUTONVVM_SHAREDMEMORY_H

#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"

#include <map>

namespace tilec::lowering {

/// The widest shared-memory access of a thread, and the unit that swizzling
/// moves.
inline constexpr int64_t kChunkBytes = 16;

/// Where a tile's elements lie: at the sum of their coordinates times the
/// pitches. With a swizzle, rows of the contiguous dimension furthermore are
/// cut into panels and exchange their chunks by the rule of #tilegpu.shared.
struct SharedPlacement {
  int64_t contiguous = 0;             ///< the dimension whose neighbours are adjacent
  llvm::SmallVector<int64_t> pitches; ///< bytes from an element to its neighbour, a dimension
  int64_t rowBytes = 0;               ///< of one row of a panel; matters with a swizzle only
  int64_t panelBytes = 0;             ///< from a panel to the next; matters with a swizzle only
  int64_t swizzle = 0;                ///< bits of the chunk number that rows exchange

  static SharedPlacement of(tilegpu::SmemType type);
  /// Elements of `bytes` bytes without gaps over `extents`, `order` naming the
  /// contiguous dimension first.
  static SharedPlacement dense(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<int64_t> order, int64_t bytes);

  int64_t elementBytes() const { return pitches[contiguous]; }
  /// Neighbouring rows that are exchanged alike.
  int64_t phase() const { return std::max<int64_t>(1, 128 / rowBytes); }
  /// Rows after which the exchange repeats.
  int64_t period() const { return phase() << swizzle; }
  /// Byte offset of an element.
  int64_t offset(llvm::ArrayRef<int64_t> coords) const;
  /// Elements of one access by threads that hold `layout`'s share of a tile of
  /// this shape.
  int64_t accessElems(const tilegpu::Layout &layout, llvm::ArrayRef<int64_t> shape) const;
  /// True when a thread's place in a row of a panel and what its registers add may reach into the next panel: groups
  /// of warps divide the rows.
  bool carries(const tilegpu::Layout &layout) const;
};

/// Addresses of elements `thread + constant`: the thread's part is computed
/// once, constants go into the instructions' immediate offsets as far as the
/// swizzle lets them.
class SharedAddresses {
public:
  SharedAddresses(mlir::OpBuilder &builder, mlir::Location loc, SharedPlacement placement, mlir::Value base,
                  llvm::ArrayRef<mlir::Value> thread);
  mlir::Value at(llvm::ArrayRef<int64_t> constant);

private:
  mlir::Value swizzled(int64_t row, int64_t byte);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  SharedPlacement placement;
  mlir::Value base; ///< with the thread's part along every dimension but the
                    ///< contiguous one
  mlir::Value row;  ///< the thread's part of the row's number
  mlir::Value byte; ///< the thread's part along the contiguous dimension
  /// By the row modulo the period and the byte modulo the exchanged chunks.
  std::map<std::pair<int64_t, int64_t>, mlir::Value> cache;
};

/// Addresses of a tile's elements by who holds them under a layout.
class ThreadAddresses {
public:
  ThreadAddresses(mlir::OpBuilder &builder, mlir::Location loc, const SharedPlacement &placement, mlir::Value base,
                  const tilegpu::Layout &layout, ThreadId thread);
  /// Of this thread's register `reg`, for a tile that starts at `origin` (null: at zero) of what lies at the base.
  /// Along each dimension `origin` is a multiple of what the layout's atom spans, or shares no bit with it.
  mlir::Value at(int64_t reg, llvm::ArrayRef<int64_t> origin = {});
  /// The thread's part of the coordinates.
  llvm::ArrayRef<mlir::Value> coords() const { return thread; }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  SharedPlacement placement;
  mlir::Value base;
  tilegpu::Layout layout;
  llvm::SmallVector<mlir::Value> thread;
  bool carries;
  /// One for every register part of the coordinates that cannot be added to the
  /// thread's, and for every one along the contiguous dimension where that carries.
  std::map<std::pair<tilegpu::Coords, int64_t>, SharedAddresses> addresses;
};

/// The accesses by which threads that hold a tile under `layout` move it to or
/// from shared memory.
class SharedWalk {
public:
  /// `shape` is the tile's; registers outside it are dead. `vector` elements an
  /// access; 0 stands for as many as fit.
  SharedWalk(mlir::OpBuilder &builder, mlir::Location loc, const SharedPlacement &placement, mlir::Value base,
             const tilegpu::Layout &layout, llvm::ArrayRef<int64_t> shape, ThreadId thread, int64_t vector = 0);

  int64_t vectorElems() const { return vector; }
  int64_t numVectors() const { return layout.numRegisters() / vector; }
  mlir::Value address(int64_t number) { return addresses.at(number * vector); }
  /// i1: the access is inside the tile. Null when it is in every thread.
  mlir::Value live(int64_t number);

  void store(mlir::ValueRange registers);
  llvm::SmallVector<mlir::Value> load(mlir::Type elementType);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value base;
  tilegpu::Layout layout;
  llvm::SmallVector<int64_t> shape;
  int64_t vector;
  ThreadAddresses addresses;
};

/// Moves 1, 2, 4, 8 or 16 bytes, aligned to their size.
void storeShared(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address, mlir::ValueRange scalars);
llvm::SmallVector<mlir::Value> loadShared(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                                          int64_t count, mlir::Type elementType);

/// Runs `body` where `condition` holds; null stands for true.
void guarded(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition, llvm::function_ref<void()> body);

/// All warps that run the same tile program meet here.
void programBarrier(mlir::OpBuilder &builder, mlir::Location loc);
/// The number of the barrier where they do, i32.
mlir::Value programBarrierNumber(mlir::OpBuilder &builder, mlir::Location loc);
/// The warps of warpgroup `warpgroup` of the CTA, i32, meet here.
void warpgroupBarrier(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value warpgroup);

} // namespace tilec::lowering

#endif // TILEC_CONVERSION_TILEGPUTONVVM_SHAREDMEMORY_H
