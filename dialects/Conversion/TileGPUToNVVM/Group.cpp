//===- Group.cpp - The table of a grouped launch ---------------------------===//
//
// A grouped launch passes a table in global memory: for every problem a row with
// what other launches pass as parameters, and the number of its first tile among
// the tiles of all. A problem's pointers, extents, strides and scalars are cells
// of eight bytes in the order of the arguments; its tensor maps come behind them,
// where the copy engine reads them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;

namespace {
constexpr int64_t kCellBytes = 8, kStartBytes = 4;
constexpr int64_t kMapBytes = 128; // and their alignment, as the fence of Tma.cpp takes them
constexpr StringLiteral kRowBytes = "tilegpu.row_bytes";

/// Parameters that an argument takes in other launches.
int64_t numCells(Type type) {
  auto partition = dyn_cast<tile::PartitionType>(type);
  auto view = partition ? partition.getView() : dyn_cast<tile::ViewType>(type);
  return view ? 1 + view.getRank() + llvm::count_if(view.getStrides(), [](int64_t stride) { return stride != 1; }) : 1;
}

/// Reads what nobody writes while the kernel runs.
Value readTable(OpBuilder &builder, Location loc, Type type, Value address) {
  return LLVM::LoadOp::create(builder, loc, type, address, /*alignment=*/bytesOf(type), /*isVolatile=*/false,
                              /*isNonTemporal=*/false, /*isInvariant=*/true);
}

Value groupParameter(Operation *op, unsigned number) {
  return op->getParentOfType<LLVM::LLVMFuncOp>().getArgument(number);
}

struct GroupTiles : OpConversionPattern<tilegpu::GroupTilesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::GroupTilesOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOp(op, groupParameter(op, kGroupTiles));
    return success();
  }
};

/// The last problem of the list whose first tile is `number` or before it, and that first tile. Each step reads three
/// of the list at once and leaves a quarter of it: what takes time is waiting for memory.
class ProblemSearch {
public:
  ProblemSearch(Location loc, Value starts, Value number) : loc(loc), starts(starts), number(number) {}

  std::pair<Value, Value> run(OpBuilder &builder, Value count) {
    Type i32 = builder.getI32Type();
    Value zero = constantI32(builder, loc, 0); // is also where the first problem starts
    auto isOpen = [&](OpBuilder &at, Location, ValueRange state) {
      Value distance = arith::SubIOp::create(at, loc, state[1], state[0]);
      Value open = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::ugt, distance, constantI32(at, loc, 1));
      scf::ConditionOp::create(at, loc, open, state);
    };
    auto step = [&](OpBuilder &at, Location, ValueRange state) { scf::YieldOp::create(at, loc, narrow(at, state)); };
    auto search =
        scf::WhileOp::create(builder, loc, TypeRange{i32, i32, i32}, ValueRange{zero, count, zero}, isOpen, step);
    return {search.getResult(0), search.getResult(2)};
  }

private:
  /// `state`: the problem is from state[0] on and before state[1]; state[0] starts at tile state[2].
  SmallVector<Value> narrow(OpBuilder &at, ValueRange state) {
    Value low = state[0], high = state[1], start = state[2];
    Value distance = arith::SubIOp::create(at, loc, high, low);
    SmallVector<Value> pivots, starts;
    for (int64_t quarters : {1, 2, 3}) {
      Value scaled = arith::MulIOp::create(at, loc, distance, constantI32(at, loc, quarters));
      Value part = arith::ShRUIOp::create(at, loc, scaled, constantI32(at, loc, 2));
      pivots.push_back(arith::AddIOp::create(at, loc, low, part));
    }
    for (Value pivot : pivots)
      starts.push_back(startOf(at, pivot));
    Value end = pivots.front(); // of what begins at the last problem that was found to start early enough
    for (size_t k = 0; k < pivots.size(); ++k) {
      Value isBefore = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::ule, starts[k], number);
      low = arith::SelectOp::create(at, loc, isBefore, pivots[k], low);
      start = arith::SelectOp::create(at, loc, isBefore, starts[k], start);
      end = arith::SelectOp::create(at, loc, isBefore, k + 1 < pivots.size() ? pivots[k + 1] : high, end);
    }
    return {low, end, start};
  }

  Value startOf(OpBuilder &at, Value problem) {
    Value offset = arith::MulIOp::create(at, loc, problem, constantI32(at, loc, kStartBytes));
    return readTable(at, loc, at.getI32Type(), offsetPointer(at, loc, starts, offset));
  }

  Location loc;
  Value starts, number;
};

struct FindProblem : OpConversionPattern<tilegpu::FindProblemOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::FindProblemOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    auto rowBytes = op->getAttrOfType<IntegerAttr>(kRowBytes);
    if (!rowBytes)
      return rewriter.notifyMatchFailure(op, "the rows of its kernel are not laid out");
    Value number = adaptor.getNumber().front();
    ProblemSearch search(loc, groupParameter(op, kGroupStarts), number);
    auto [found, start] = search.run(rewriter, groupParameter(op, kGroupCount));
    Value tile = arith::SubIOp::create(rewriter, loc, number, start);
    Value wide = arith::ExtUIOp::create(rewriter, loc, rewriter.getI64Type(), found);
    Value offset = arith::MulIOp::create(rewriter, loc, wide, constantI64(rewriter, loc, rowBytes.getInt()));
    rewriter.replaceOp(op, {offsetPointer(rewriter, loc, groupParameter(op, kGroupRows), offset), tile});
    return success();
  }
};

struct Arguments : OpConversionPattern<tilegpu::ArgumentsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::ArgumentsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    Value row = adaptor.getProblem().front();
    SmallVector<SmallVector<Value>> values;
    int64_t cell = 0;
    for (Type type : op.getResultTypes()) {
      SmallVector<Type> parts;
      if (failed(getTypeConverter()->convertType(type, parts)))
        return rewriter.notifyMatchFailure(op, "its argument types do not convert");
      SmallVector<Value> &read = values.emplace_back();
      for (Type part : parts) {
        Value address = offsetPointer(rewriter, loc, row, constantI32(rewriter, loc, kCellBytes * cell++));
        read.push_back(readCell(rewriter, loc, part, address));
      }
    }
    rewriter.replaceOpWithMultiple(op, values);
    return success();
  }

private:
  static Value readCell(OpBuilder &builder, Location loc, Type type, Value address) {
    if (isa<LLVM::LLVMPointerType>(type)) {
      Value number = readTable(builder, loc, builder.getI64Type(), address);
      return LLVM::IntToPtrOp::create(builder, loc, type, number);
    }
    if (!type.isInteger(1))
      return readTable(builder, loc, type, address);
    Value byte = readTable(builder, loc, builder.getI8Type(), address);
    return arith::TruncIOp::create(builder, loc, type, byte);
  }
};
} // namespace

SmallVector<Type> lowering::groupParameters(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context, kGlobalSpace), i32 = IntegerType::get(context, 32);
  return {pointer, pointer, i32, i32};
}

RowLayout RowLayout::of(tile::KernelOp kernel, size_t tensorMaps) {
  RowLayout row;
  for (Type type : kernel.getArgumentTypes())
    for (int64_t cell = 0; cell < numCells(type); ++cell, row.bytes += kCellBytes)
      row.cells.push_back(row.bytes);
  for (size_t map = 0; map < tensorMaps; ++map) {
    row.maps.push_back(llvm::alignTo(row.bytes, kMapBytes));
    row.bytes = row.maps.back() + kMapBytes;
  }
  return row;
}

void lowering::layOutRows(tile::KernelOp kernel, const RowLayout &row) {
  auto bytes = Builder(kernel.getContext()).getI64IntegerAttr(row.bytes);
  kernel.walk([&](tilegpu::FindProblemOp op) { op->setAttr(kRowBytes, bytes); });
}

void tilec::lowering::populateGroupPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<GroupTiles, FindProblem, Arguments>(types, patterns.getContext());
}
