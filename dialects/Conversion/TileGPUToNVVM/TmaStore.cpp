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
      : builder(builder), loc(loc), type(op.getValue().getType()), staging(tilegpu::storeStaging(type)),
        layout(Layout::of(type)), thread(threadId(builder, loc)) {
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
    // Rows of this warpgroup among those of its program's.
    Value own = arith::AndIOp::create(builder, loc, warpgroup,
                                      constantI32(builder, loc, layout.numWarps() / kWarpgroupWarps - 1));
    Value row =
        arith::AddIOp::create(builder, loc, start[1],
                              arith::MulIOp::create(builder, loc, own, constantI32(builder, loc, tilegpu::kStoreRows)));
    const int64_t blockRegisters = staging.columns / 8 * 4, blocks = registers.size() / blockRegisters;
    int64_t number = 0;
    for (int64_t m = 0; m < layout.repeat[0]; ++m)
      for (int64_t column = 0; column < columns; column += staging.columns, ++number) {
        Value buffer = offsetPointer(builder, loc, buffers,
                                     constantI32(builder, loc, number % tilegpu::kStoreBuffers * staging.blockBytes));
        // The block before may still be read, unless it was the last of another tile and in this buffer.
        const bool mayBeMine = number == 0 && blocks % tilegpu::kStoreBuffers != 0;
        const int64_t pending = mayBeMine ? 0 : tilegpu::kStoreBuffers - 1;
        onSpeaker(llvm::formatv("cp.async.bulk.wait_group.read {0};", pending).str(), "", {});
        warpgroupBarrier(builder, loc, warpgroup);
        write(buffer, registers.slice(number * blockRegisters, blockRegisters));
        NVVM::FenceProxyOp::create(builder, loc, NVVM::ProxyKind::async_shared,
                                   NVVM::SharedSpaceAttr::get(builder.getContext(), NVVM::SharedSpace::shared_cta));
        warpgroupBarrier(builder, loc, warpgroup);
        SmallVector<Value> corner{add(start[0], column), add(row, m * rowsOfProgram)};
        llvm::append_range(corner, start.drop_front(2));
        send(buffer, map, corner);
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

  /// Two columns of a row are neighbours in a thread; of 16-bit elements, stmatrix takes eight rows of 16 bytes.
  void write(Value buffer, ValueRange registers) {
    auto shared =
        tilegpu::SmemType::get(builder.getContext(), {tilegpu::kStoreRows, staging.columns}, type.getElementType(),
                               tilegpu::SharedAttr::get(builder.getContext(), {1, 0}, staging.swizzle));
    SharedPlacement placement = SharedPlacement::of(shared);
    if (type.getElementTypeBitWidth() != 16 || staging.columns % 16 != 0) {
      Layout block = Layout::wgmmaAcc({tilegpu::kStoreRows, staging.columns}, kWarpgroupWarps);
      SharedWalk(builder, loc, placement, buffer, block, shared.getShape(), thread).store(registers);
      return;
    }
    // Lane l gives the address of row l % 16, in the left or right half of 16 columns.
    Value rowInWarp = arith::AndIOp::create(builder, loc, thread.lane, constantI32(builder, loc, 15));
    Value warpRow = arith::ShLIOp::create(builder, loc, thread.warp, constantI32(builder, loc, 4));
    Value half = arith::ShRUIOp::create(builder, loc, thread.lane, constantI32(builder, loc, 4));
    Value rowCoord = arith::OrIOp::create(builder, loc, warpRow, rowInWarp);
    Value columnCoord = arith::ShLIOp::create(builder, loc, half, constantI32(builder, loc, 3));
    SharedAddresses addresses(builder, loc, placement, buffer, {rowCoord, columnCoord});
    for (int64_t column = 0; column < staging.columns; column += 16) {
      SmallVector<Value> words = packWords(builder, loc, registers.slice(column / 8 * 4, 8));
      NVVM::StMatrixOp::create(builder, loc, addresses.at({0, column}), words, NVVM::MMALayout::row,
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
    onSpeaker("cp.async.bulk.commit_group;", "", {});
  }

  OpBuilder &builder;
  Location loc;
  RankedTensorType type;
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
