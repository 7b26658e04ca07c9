//===- Lowering.h - What the lowering's op families share -------*- C++ -*-===//
//
// tilegpu to NVVM is one dialect conversion in which a distributed tile becomes one scalar a
// register (1:N), a tensor view becomes its pointer, dimensions and strides, and a shared-memory
// tile becomes its address. The scalars are computed with arith, math and scf; upstream
// conversions take those to LLVM afterwards.
//
//===----------------------------------------------------------------------===//
#ifndef TILEC_CONVERSION_TILEGPUTONVVM_LOWERING_H
#define TILEC_CONVERSION_TILEGPUTONVVM_LOWERING_H

#include "dialects/TileGPU/IR/Layout.h"
#include "dialects/TileGPU/IR/TileGPUDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tilec::lowering {

/// NVPTX address spaces.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
/// Values that say where a queue's roles stand: see Queue.cpp.
inline constexpr unsigned kQueueCursors = 5;

/// Types on the other side:
///   tensor<…, #layout>  numRegisters() scalars of the element type
///   !tile.view          !llvm.ptr<1>, one i64 a dimension, one i64 a stride that is not statically 1
///   !tile.partition     as its view
///   !tilegpu.smem       !llvm.ptr<3>
///   !tilegpu.queue      its barriers, !llvm.ptr<3>, and its cursors (Queue.cpp)
///   !tilegpu.tensor_map !llvm.ptr
///   !tilegpu.problem    its row of the launch's table, !llvm.ptr<1> (Group.cpp)
///   everything else     itself (index stays index until arith goes to LLVM)
class TileTypeConverter : public mlir::TypeConverter {
public:
  TileTypeConverter();
};

/// A view's converted values, by name.
struct ViewValues {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> dims;    ///< i64, every dimension
  llvm::SmallVector<mlir::Value> strides; ///< i64, in elements; a constant 1 where the stride is statically 1
};
ViewValues unpackView(mlir::OpBuilder &builder, mlir::Location loc, tile::ViewType type, mlir::ValueRange values);

//===--- Where a thread stands ----------------------------------------------===//

/// How the warps of the kernel are divided. A kernel without roles has one program and no producer.
struct Roles {
  int64_t programWarps = 0;  ///< of each program; the first ones of the CTA are the first program's
  int64_t producerWarps = 0; ///< behind those of the programs
  int64_t programs = 1;
  int64_t cluster = 1; ///< CTAs that share what they fetch

  /// Of the kernel around the insertion point, converted or not.
  static Roles at(mlir::OpBuilder &builder);
  static Roles of(mlir::Operation *kernel);
  int64_t computingWarps() const { return programs * programWarps; }
  int64_t threads() const { return (computingWarps() + producerWarps) * tilegpu::kLanes; }
};

/// Number of the CTA in its cluster, i32.
mlir::Value clusterRank(mlir::OpBuilder &builder, mlir::Location loc);
/// All threads of the cluster that have not ended meet here. What they have written is not ordered.
void clusterBarrier(mlir::OpBuilder &builder, mlir::Location loc);
/// Likewise; and what they have read of each other's shared memory has arrived. A relaxed arrival does not wait for it,
/// and memory of a CTA that has ended cannot be read.
void leaveCluster(mlir::OpBuilder &builder, mlir::Location loc);

/// i1: the one thread of its warpgroup that arrives at barriers for all and starts their copies.
mlir::Value speaksForWarpgroup(mlir::OpBuilder &builder, mlir::Location loc);

/// Number of the program in its CTA, i32; uniform.
mlir::Value programNumber(mlir::OpBuilder &builder, mlir::Location loc);

/// Lane and warp number of this thread in its program, i32.
struct ThreadId {
  mlir::Value lane, warp;
};
ThreadId threadId(mlir::OpBuilder &builder, mlir::Location loc);

/// The thread's part of its elements' coordinates, i32 a dimension.
llvm::SmallVector<mlir::Value> threadCoords(mlir::OpBuilder &builder, mlir::Location loc, const tilegpu::Layout &layout,
                                            ThreadId thread);

/// Coordinates of the element in register `reg`, i32 a dimension.
llvm::SmallVector<mlir::Value> elementCoords(mlir::OpBuilder &builder, mlir::Location loc,
                                             const tilegpu::Layout &layout, llvm::ArrayRef<mlir::Value> thread,
                                             int64_t reg);

/// i1: the element lies inside the tile. Null when it does in every thread.
mlir::Value isLive(mlir::OpBuilder &builder, mlir::Location loc, const tilegpu::Layout &layout,
                   llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<mlir::Value> coords, int64_t reg);

/// i1: this thread is the one among those that hold the same elements that has zero in the free
/// lane and warp bits. Null when no two threads hold the same.
mlir::Value isOwner(mlir::OpBuilder &builder, mlir::Location loc, const tilegpu::Layout &layout, ThreadId thread);

/// `value`, which the lanes of a warp agree on, in a form that shows the assembler that they do.
mlir::Value uniform(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

//===--- Facts gathered before the conversion ---------------------------------===//

/// Records on every load and store below `root` which of its tile indices cannot be negative.
void markNonNegativeIndices(mlir::Operation *root);
bool isNonNegative(mlir::Operation *access, int64_t dim);

/// Gives every tensor map below `kernel` its place behind the kernel's own arguments, in the order of the text. In a
/// grouped launch it is one in the row of a problem.
llvm::SmallVector<tilegpu::TensorMapOp> numberTensorMaps(tile::KernelOp kernel);

//===--- Grouped launches ------------------------------------------------------===//

/// The kernel's parameters in a grouped launch: rows and first tiles of the problems, their number, that of all tiles.
inline constexpr unsigned kGroupRows = 0, kGroupStarts = 1, kGroupCount = 2, kGroupTiles = 3;
llvm::SmallVector<mlir::Type> groupParameters(mlir::MLIRContext *context);

/// Where a problem's row of the launch's table has what other launches pass as parameters.
struct RowLayout {
  llvm::SmallVector<int64_t> cells; ///< offset in bytes of each parameter that is no tensor map, in their order
  llvm::SmallVector<int64_t> maps;  ///< and of each tensor map
  int64_t bytes = 0;

  static RowLayout of(tile::KernelOp kernel, size_t tensorMaps);
};

/// Tells the ops of a grouped kernel how its rows are laid out.
void layOutRows(tile::KernelOp kernel, const RowLayout &row);

//===--- Workspace --------------------------------------------------------------===//

/// Whether the launch passes a workspace to the kernel, converted or not: its last parameters, global memory for the
/// parts of tiles and for a counter a tile.
bool hasWorkspace(mlir::Operation *kernel);
inline constexpr unsigned kWorkspaceParameters = 2;

//===--- Small builders --------------------------------------------------------===//

mlir::Value constantI32(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);
mlir::Value constantI64(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);
/// Zero of a float or integer type.
mlir::Value zeroOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type);
/// `lhs && rhs`, where null stands for true.
mlir::Value andAlso(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs, mlir::Value rhs);
/// The byte address `pointer + bytes`; `bytes` i32 or i64.
mlir::Value offsetPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer, mlir::Value bytes);
/// The external array that stands for a CTA's dynamic shared memory.
inline constexpr llvm::StringLiteral kSharedSymbol = "tilec_shared";
/// The CTA's dynamic shared memory plus `bytes`, !llvm.ptr<3>.
mlir::Value sharedMemory(mlir::OpBuilder &builder, mlir::Location loc, int64_t bytes);
/// Where allocation placed what `op` keeps in shared memory for this program.
mlir::Value programMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Operation *op);
/// kSharedOffset of an op that allocation has placed.
int64_t sharedOffset(mlir::Operation *op);
/// Width in memory: i1 takes a byte.
int64_t bytesOf(mlir::Type elementType);

/// Packs scalars of 8, 16, 32 or 64 bits into `words` of type i32 (little endian), and back.
llvm::SmallVector<mlir::Value> packWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange scalars);
llvm::SmallVector<mlir::Value> unpackWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange words,
                                           mlir::Type elementType);

/// Emits one PTX instruction with operands `inputs` ("r", "l", "f", "h", "d" by type) and results of
/// `resultTypes`; `constraints` as in LLVM inline assembly.
llvm::SmallVector<mlir::Value> inlineAsm(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef text,
                                         llvm::StringRef constraints, mlir::ValueRange inputs,
                                         llvm::ArrayRef<mlir::Type> resultTypes, bool sideEffects);

//===--- Op families: one file each ---------------------------------------------===//

using Patterns = mlir::RewritePatternSet;
void populateKernelPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateElementwisePatterns(const TileTypeConverter &types, Patterns &patterns);
void populateShapePatterns(const TileTypeConverter &types, Patterns &patterns);
void populateMemoryPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateReducePatterns(const TileTypeConverter &types, Patterns &patterns);
void populateConvertLayoutPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateSharedMemoryPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateAsyncCopyPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateQueuePatterns(const TileTypeConverter &types, Patterns &patterns);
void populateTmaPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateTmaStorePatterns(const TileTypeConverter &types, Patterns &patterns);
void populateGroupPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateClusterSumPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateWorkspaceSumPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateWgmmaPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateMmaPatterns(const TileTypeConverter &types, Patterns &patterns);
void populateDebugPatterns(const TileTypeConverter &types, Patterns &patterns);

} // namespace tilec::lowering

#endif // TILEC_CONVERSION_TILEGPUTONVVM_LOWERING_H
