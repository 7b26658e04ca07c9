//===- TmaStore.cpp - Products to global memory by the copy engine --------===//
//
// A warpgroup takes its rows of the tile block by block: it waits until the
// engine has read the buffer that the block before last was in, writes the
// block, and has one thread start the copy. Warpgroups do not wait for each
// other, and the copies run on behind the op.
//
// Source: PTX ISA, "cp.async.bulk.tensor", "stmatrix".
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"

#include "dialects/TileGPU/IR/Scratch.h"
#include "dialects/TileGPU/IR/TmaAccess.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Layout;

namespace {
constexpr int64_t kWarpgroupWarps = 4;

class BlockStore {
public:
  BlockStore(OpBuilder &builder, Location loc, tilegpu::TmaStoreOp op)
      : builder(builder), loc(loc), type(op.getValue().getType()), transposed(op.getTransposed()),
        staging(tilegpu::storeStaging(type, transposed)), layout(Layout::of(type)), thread(threadId(builder, loc)) {
    Value number = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
    Value shifted = arith::ShRUIOp::create(builder, loc, number, constantI32(builder, loc, 7));
    warpgroup = uniform(builder, loc, shifted);
    speaks = speaksForWarpgroup(builder, loc);
    buffers = offsetPointer(
        builder, loc, sharedMemory(builder, loc, sharedOffset(op)),
        arith::MulIOp::create(builder, loc, warpgroup, constantI32(builder, loc, staging.warpgroupBytes)));
    thread.warp = arith::AndIOp::create(builder, loc, thread.warp, constantI32(builder, loc, kWarpgroupWarps - 1));
  }

  void run(ValueRange registers, Value map, ValueRange start) {
    const int64_t columns = type.getDimSize(1), rowsOfProgram = layout.numWarps() * 16;
    // Rows of this warpgroup among those of its program's. Of several programs each has a power of two.
    Value own = warpgroup;
    if (Roles::at(builder).programs > 1)
      own = arith::AndIOp::create(builder, loc, warpgroup,
                                  constantI32(builder, loc, layout.numWarps() / kWarpgroupWarps - 1));
    // Where rows and columns of the accumulator run in the array.
    const int64_t rowAxis = transposed ? 0 : 1, columnAxis = 1 - rowAxis;
    Value row =
        arith::AddIOp::create(builder, loc, start[rowAxis],
                              arith::MulIOp::create(builder, loc, own, constantI32(builder, loc, tilegpu::kStoreRows)));
    const int64_t blockRegisters = staging.columns / 8 * 4, blocks = registers.size() / blockRegisters;
    int64_t number = 0;
    for (int64_t m = 0; m < layout.repeat[0]; ++m)
      for (int64_t column = 0; column < columns; column += staging.columns, ++number) {
        Value buffer = offsetPointer(
            builder, loc, buffers,
            constantI32(builder, loc,
                        number % tilegpu::kStoreBuffers * staging.warpgroupBytes / tilegpu::kStoreBuffers));
        // The block before may still be read, unless it was the last of another tile and in this buffer.
        const bool mayBeMine = number == 0 && blocks % tilegpu::kStoreBuffers != 0;
        const int64_t pending = mayBeMine ? 0 : tilegpu::kStoreBuffers - 1;
        onSpeaker(llvm::formatv("cp.async.bulk.wait_group.read {0};", pending).str(), "", {});
        warpgroupBarrier(builder, loc, warpgroup);
        write(buffer, registers.slice(number * blockRegisters, blockRegisters));
        NVVM::FenceProxyOp::create(builder, loc, NVVM::ProxyKind::async_shared,
                                   NVVM::SharedSpaceAttr::get(builder.getContext(), NVVM::SharedSpace::shared_cta));
        warpgroupBarrier(builder, loc, warpgroup);
        SmallVector<Value> corner(start);
        corner[columnAxis] = add(start[columnAxis], column);
        corner[rowAxis] = add(row, m * rowsOfProgram);
        for (int64_t box = 0; box < staging.boxes; ++box) {
          Value part =
              offsetPointer(builder, loc, buffer, constantI32(builder, loc, box * staging.blockBytes / staging.boxes));
          SmallVector<Value> place(corner);
          place[0] = add(place[0], box * staging.lineElems);
          send(part, map, place);
        }
        onSpeaker("cp.async.bulk.commit_group;", "", {});
      }
  }

private:
  Value add(Value value, int64_t constant) {
    return constant == 0 ? value
                         : Value(arith::AddIOp::create(builder, loc, value, constantI32(builder, loc, constant)));
  }

  /// One instruction of the thread that speaks for the warpgroup.
  void onSpeaker(StringRef instruction, StringRef constraints, ArrayRef<Value> operands) {
    SmallVector<Value> all(operands);
    all.push_back(speaks);
    inlineAsm(builder, loc, llvm::formatv("@${0} {1}", operands.size(), instruction).str(),
              constraints.str() + "b,~{memory}", all, {}, /*sideEffects=*/true);
  }

  /// Two columns of a row are neighbours in a thread; of 16-bit elements, stmatrix takes eight rows of 16 bytes, or
  /// eight columns.
  void write(Value buffer, ValueRange registers) {
    SmallVector<int64_t> shape{tilegpu::kStoreRows, staging.columns}, axes{0, 1};
    if (transposed) {
      std::swap(shape[0], shape[1]);
      std::swap(axes[0], axes[1]);
    }
    auto shared = tilegpu::SmemType::get(builder.getContext(), shape, type.getElementType(),
                                         tilegpu::SharedAttr::get(builder.getContext(), {1, 0}, staging.swizzle));
    SharedPlacement placement = SharedPlacement::of(shared);
    if (type.getElementTypeBitWidth() != 16 || staging.columns % 16 != 0) {
      Layout block = Layout::wgmmaAcc({tilegpu::kStoreRows, staging.columns}, kWarpgroupWarps).permuted(axes);
      SharedWalk(builder, loc, placement, buffer, block, shape, thread).store(registers);
      return;
    }
    // Four matrices of 8 x 8: rows 0 and 8 of columns 0, then of columns 8. Lane l gives the address of line l % 8 of
    // matrix l / 8.
    auto bit = [&](int64_t number, int64_t place) -> Value {
      Value shifted = arith::ShRUIOp::create(builder, loc, thread.lane, constantI32(builder, loc, number));
      Value single = arith::AndIOp::create(builder, loc, shifted, constantI32(builder, loc, 1));
      return arith::ShLIOp::create(builder, loc, single, constantI32(builder, loc, place));
    };
    Value line = arith::AndIOp::create(builder, loc, thread.lane, constantI32(builder, loc, 7));
    Value row = arith::ShLIOp::create(builder, loc, thread.warp, constantI32(builder, loc, 4)), column = bit(4, 3);
    row = arith::OrIOp::create(builder, loc, row, bit(3, 3));
    Value &along = transposed ? column : row;
    along = arith::OrIOp::create(builder, loc, along, line);
    SmallVector<Value> coordinates{row, column};
    SharedAddresses addresses(builder, loc, placement, buffer, {coordinates[axes[0]], coordinates[axes[1]]});
    for (int64_t first = 0; first < staging.columns; first += 16) {
      SmallVector<Value> words = packWords(builder, loc, registers.slice(first / 8 * 4, 8));
      const int64_t place[] = {0, first};
      NVVM::StMatrixOp::create(builder, loc, addresses.at({place[axes[0]], place[axes[1]]}), words,
                               transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
                               NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8),
                               NVVM::LdStMatrixEltType::B16);
    }
  }

  void send(Value buffer, Value map, ArrayRef<Value> corner) {
    Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), buffer);
    SmallVector<Value> operands{map};
    std::string coordinates, constraints = "l,";
    for (Value coordinate : corner) {
      coordinates += llvm::formatv("{0}${1}", operands.size() == 1 ? "" : ", ", operands.size()).str();
      constraints += "r,";
      operands.push_back(coordinate);
    }
    operands.push_back(address);
    onSpeaker(llvm::formatv("cp.async.bulk.tensor.{0}d.global.shared::cta.bulk_group [$0, {{{1}}], [${2}];",
                            corner.size(), coordinates, operands.size() - 1)
                  .str(),
              constraints + "r,", operands);
  }

  OpBuilder &builder;
  Location loc;
  RankedTensorType type;
  bool transposed;
  tilegpu::StoreStaging staging;
  Layout layout;
  ThreadId thread; ///< inside the warpgroup
  Value warpgroup, speaks, buffers;
};

struct TmaStore : OpConversionPattern<tilegpu::TmaStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::TmaStoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    SmallVector<Value> start;
    for (ValueRange offset : adaptor.getOffsets())
      start.push_back(arith::IndexCastOp::create(rewriter, loc, rewriter.getI32Type(), offset.front()));
    BlockStore(rewriter, loc, op).run(adaptor.getValue(), adaptor.getMap().front(), start);
    rewriter.eraseOp(op);
    return success();
  }
};

struct TmaStoreWait : OpConversionPattern<tilegpu::TmaStoreWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::TmaStoreWaitOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const final {
    inlineAsm(rewriter, op.getLoc(), "cp.async.bulk.wait_group 0;", "~{memory}", {}, {}, /*sideEffects=*/true);
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void tilec::lowering::populateTmaStorePatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<TmaStore, TmaStoreWait>(types, patterns.getContext());
}
