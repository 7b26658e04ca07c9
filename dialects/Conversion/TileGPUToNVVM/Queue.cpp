//===- Queue.cpp - Warp roles and the queues between them -----------------===//
//
// A queue's stage has two barriers in shared memory. `filled` counts the
// producer's announcement and the bytes that arrive; `free` counts the readers.
// A waiter names the parity of the phase it waits for: the producer starts
// with 1, because a fresh barrier counts as one that has just been passed.
//
// Cursors are stack slots of the kernel: LLVM turns them into registers, and
// every role keeps those that it moves.
//
// Source: PTX ISA, "mbarrier" and "setmaxnreg".
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Queue.h"

#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;

namespace {
constexpr int64_t kBarrierBytes = 8, kWarpgroup = 4;
/// Registers of a thread that only fetches.
constexpr int64_t kProducerRegisters = 24;
constexpr int64_t kRegisterUnit = 8, kMostRegisters = 240;

void initializeBarrier(OpBuilder &builder, Location loc, Value barrier, int64_t arrivals) {
  inlineAsm(builder, loc, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,n,~{memory}",
            {barrier, constantI32(builder, loc, arrivals)}, {}, /*sideEffects=*/true);
}

void waitAtBarrier(OpBuilder &builder, Location loc, Value barrier, Value parity) {
  inlineAsm(builder, loc,
            "{\n.reg .pred arrived;\nwait_${:uid}:\n"
            "mbarrier.try_wait.parity.shared::cta.b64 arrived, [$0], $1;\n@!arrived bra wait_${:uid};\n}",
            "r,r,~{memory}", {barrier, parity}, {}, /*sideEffects=*/true);
}

void arriveAtBarrier(OpBuilder &builder, Location loc, Value barrier, Value condition) {
  inlineAsm(builder, loc, "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}", {barrier, condition}, {},
            /*sideEffects=*/true);
}

/// i1: the thread whose number is `number`.
Value isThread(OpBuilder &builder, Location loc, Value thread, int64_t number) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, constantI32(builder, loc, number));
}

Value threadOfWarpgroup(OpBuilder &builder, Location loc) {
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  return arith::AndIOp::create(builder, loc, thread, constantI32(builder, loc, kWarpgroup * tilegpu::kLanes - 1));
}

/// A queue's converted values.
class Queue {
public:
  Queue(OpBuilder &builder, Location loc, tilegpu::QueueType type, ValueRange values)
      : builder(builder), loc(loc), stages(type.getStages()), barriers(values[0]), producer{values[1], values[2]},
        consumer{values[3], values[4]}, release{values[5], Value()} {}

  Value acquire(int64_t bytes) {
    Value stage = read(producer.stage);
    Value barrier = free(stage), parity = read(producer.parity);
    waitAtBarrier(builder, loc, barrier, parity);
    inlineAsm(builder, loc, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}",
              {filled(stage), constantI32(builder, loc, bytes)}, {}, /*sideEffects=*/true);
    advance(producer, stage);
    return stage;
  }

  Value wait() {
    Value stage = read(consumer.stage);
    Value barrier = filled(stage), parity = read(consumer.parity);
    waitAtBarrier(builder, loc, barrier, parity);
    advance(consumer, stage);
    return stage;
  }

  /// One thread speaks for its warpgroup. Predicated, so that products in flight stay in one basic block.
  void releaseIf(Value condition, int64_t cluster) {
    Value stage = read(release.stage), barrier = free(stage);
    if (cluster == 1)
      arriveAtBarrier(builder, loc, barrier, andAlso(builder, loc, speaksForWarpgroup(builder, loc), condition));
    else
      arriveInCluster(barrier, condition, cluster);
    Value next = after(stage).first;
    write(release.stage, condition ? Value(arith::SelectOp::create(builder, loc, condition, next, stage)) : next);
  }

  void skip(Value count) {
    auto move = [&](Value stage) {
      Value moved = arith::AddIOp::create(builder, loc, stage, count), all = constantI32(builder, loc, stages);
      Value rounds = arith::DivUIOp::create(builder, loc, moved, all);
      return std::pair(Value(arith::RemUIOp::create(builder, loc, moved, all)), rounds);
    };
    auto [next, rounds] = move(read(consumer.stage));
    write(consumer.stage, next);
    Value flip = arith::AndIOp::create(builder, loc, rounds, constantI32(builder, loc, 1));
    write(consumer.parity, arith::XOrIOp::create(builder, loc, read(consumer.parity), flip));
    write(release.stage, move(read(release.stage)).first);
  }

  void initialize(int64_t readers) {
    for (Value slot : {producer.stage, consumer.stage, consumer.parity, release.stage})
      write(slot, constantI32(builder, loc, 0));
    write(producer.parity, constantI32(builder, loc, 1));
    Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
    guarded(builder, loc, isThread(builder, loc, thread, 0), [&] {
      for (int64_t number = 0; number < stages; ++number) {
        Value stage = constantI32(builder, loc, number);
        initializeBarrier(builder, loc, filled(stage), 1);
        initializeBarrier(builder, loc, free(stage), readers);
      }
    });
  }

  Value filled(Value stage) { return barrier(stage, 0); }

private:
  struct Cursor {
    Value stage, parity;
  };

  Value free(Value stage) { return barrier(stage, stages); }

  /// Thread i of a warpgroup speaks to CTA i. Without `.release.cluster`, which would fence all memory: what was read
  /// has been read when products are complete.
  void arriveInCluster(Value barrier, Value condition, int64_t cluster) {
    Value cta = threadOfWarpgroup(builder, loc);
    Value speaks =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, cta, constantI32(builder, loc, cluster));
    inlineAsm(builder, loc,
              "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, $0, $1;\n"
              "@$2 mbarrier.arrive.shared::cluster.b64 _, [remote];\n}",
              "r,r,b,~{memory}", {barrier, cta, andAlso(builder, loc, speaks, condition)}, {}, /*sideEffects=*/true);
  }

  Value read(Value slot) { return LLVM::LoadOp::create(builder, loc, builder.getI32Type(), slot); }
  void write(Value slot, Value value) { LLVM::StoreOp::create(builder, loc, value, slot); }

  Value barrier(Value stage, int64_t first) {
    Value base = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), barriers);
    Value offset = arith::MulIOp::create(builder, loc, stage, constantI32(builder, loc, kBarrierBytes));
    Value address = arith::AddIOp::create(builder, loc, base, offset);
    return first == 0
               ? address
               : Value(arith::AddIOp::create(builder, loc, address, constantI32(builder, loc, first * kBarrierBytes)));
  }

  /// The stage behind `stage`, and whether that is the first one again.
  std::pair<Value, Value> after(Value stage) {
    Value next = arith::AddIOp::create(builder, loc, stage, constantI32(builder, loc, 1));
    Value wraps =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next, constantI32(builder, loc, stages));
    return {arith::SelectOp::create(builder, loc, wraps, constantI32(builder, loc, 0), next), wraps};
  }

  void advance(Cursor cursor, Value stage) {
    auto [next, wraps] = after(stage);
    write(cursor.stage, next);
    Value flip = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), wraps);
    write(cursor.parity, arith::XOrIOp::create(builder, loc, read(cursor.parity), flip));
  }

  OpBuilder &builder;
  Location loc;
  int64_t stages;
  Value barriers;
  Cursor producer, consumer, release;
};

//===----------------------------------------------------------------------===//
// Queues
//===----------------------------------------------------------------------===//

struct DeclareQueue : OpConversionPattern<tilegpu::QueueOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::QueueOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    SmallVector<Value> values{sharedMemory(rewriter, loc, sharedOffset(op))};
    auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext());
    Value one = constantI32(rewriter, loc, 1);
    for (unsigned cursor = 0; cursor < kQueueCursors; ++cursor)
      values.push_back(LLVM::AllocaOp::create(rewriter, loc, pointer, rewriter.getI32Type(), one));
    Queue(rewriter, loc, op.getType(), values).initialize(op.getReaders() * op.getCluster());
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

int64_t bytesOfStage(Value queue) { return queue.getDefiningOp<tilegpu::QueueOp>().getBytes(); }

struct Acquire : OpConversionPattern<tilegpu::QueueAcquireOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::QueueAcquireOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Queue queue(rewriter, op.getLoc(), op.getQueue().getType(), adaptor.getQueue());
    rewriter.replaceOp(op, queue.acquire(bytesOfStage(op.getQueue())));
    return success();
  }
};

struct Wait : OpConversionPattern<tilegpu::QueueWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::QueueWaitOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOp(op, Queue(rewriter, op.getLoc(), op.getQueue().getType(), adaptor.getQueue()).wait());
    return success();
  }
};

struct Release : OpConversionPattern<tilegpu::QueueReleaseOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::QueueReleaseOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Value condition = op.getWhen() ? adaptor.getWhen().front() : Value();
    Queue(rewriter, op.getLoc(), op.getQueue().getType(), adaptor.getQueue())
        .releaseIf(condition, op.getQueue().getDefiningOp<tilegpu::QueueOp>().getCluster());
    rewriter.eraseOp(op);
    return success();
  }
};

struct Skip : OpConversionPattern<tilegpu::QueueSkipOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::QueueSkipOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Queue(rewriter, op.getLoc(), op.getQueue().getType(), adaptor.getQueue()).skip(adaptor.getCount().front());
    rewriter.eraseOp(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Turns: a barrier for every program, at which the warps of the one before arrive. All of them: a warp that has not
// yet seen its turn must not find that the next one has come and gone.
//===----------------------------------------------------------------------===//

Value turnBarrier(OpBuilder &builder, Location loc, Value barriers, Value program) {
  Value base = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), barriers);
  Value offset = arith::MulIOp::create(builder, loc, program, constantI32(builder, loc, kBarrierBytes));
  return arith::AddIOp::create(builder, loc, base, offset);
}

struct DeclareTurn : OpConversionPattern<tilegpu::TurnOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::TurnOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    const lowering::Roles roles = lowering::Roles::at(rewriter);
    Value barriers = sharedMemory(rewriter, loc, sharedOffset(op));
    Value parity = LLVM::AllocaOp::create(rewriter, loc, LLVM::LLVMPointerType::get(rewriter.getContext()),
                                          rewriter.getI32Type(), constantI32(rewriter, loc, 1));
    // A fresh barrier counts as passed for those that wait with parity 1: the first program.
    Value isFirst = isThread(rewriter, loc, programNumber(rewriter, loc), 0);
    LLVM::StoreOp::create(rewriter, loc, arith::ExtUIOp::create(rewriter, loc, rewriter.getI32Type(), isFirst), parity);
    Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, rewriter.getI32Type());
    guarded(rewriter, loc, isThread(rewriter, loc, thread, 0), [&] {
      for (int64_t program = 0; program < roles.programs; ++program)
        initializeBarrier(rewriter, loc, turnBarrier(rewriter, loc, barriers, constantI32(rewriter, loc, program)),
                          roles.programWarps);
    });
    SmallVector<Value> values{barriers, parity};
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

struct TurnWait : OpConversionPattern<tilegpu::TurnWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::TurnWaitOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    Value slot = adaptor.getTurn()[1], parity = LLVM::LoadOp::create(rewriter, loc, rewriter.getI32Type(), slot);
    Value own = turnBarrier(rewriter, loc, adaptor.getTurn()[0], programNumber(rewriter, loc));
    waitAtBarrier(rewriter, loc, own, parity);
    LLVM::StoreOp::create(rewriter, loc, arith::XOrIOp::create(rewriter, loc, parity, constantI32(rewriter, loc, 1)),
                          slot);
    rewriter.eraseOp(op);
    return success();
  }
};

struct TurnPass : OpConversionPattern<tilegpu::TurnPassOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::TurnPassOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    const lowering::Roles roles = lowering::Roles::at(rewriter);
    Value next = arith::AddIOp::create(rewriter, loc, programNumber(rewriter, loc), constantI32(rewriter, loc, 1));
    Value wraps = isThread(rewriter, loc, next, roles.programs);
    next = arith::SelectOp::create(rewriter, loc, wraps, constantI32(rewriter, loc, 0), next);
    Value speaks = isThread(rewriter, loc, threadId(rewriter, loc).lane, 0);
    arriveAtBarrier(rewriter, loc, turnBarrier(rewriter, loc, adaptor.getTurn()[0], next), speaks);
    rewriter.eraseOp(op);
    return success();
  }
};

struct Program : OpConversionPattern<tilegpu::ProgramOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::ProgramOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOp(op, programNumber(rewriter, op.getLoc()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Registers for each thread of the programs when the producer keeps few: the rest of what one CTA can have.
int64_t programRegisters(const lowering::Roles &roles, int64_t registers) {
  int64_t left = registers - roles.producerWarps * tilegpu::kLanes * kProducerRegisters;
  return std::min(left / (roles.computingWarps() * tilegpu::kLanes) / kRegisterUnit * kRegisterUnit, kMostRegisters);
}

struct RolesToBranches : OpConversionPattern<tilegpu::RolesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::RolesOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type();
    lowering::Roles roles = lowering::Roles::at(rewriter);
    const int64_t programThreads = roles.computingWarps() * tilegpu::kLanes;
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    const bool movesRegisters = function && function->hasAttr(tilegpu::TileGPUDialect::kMovesRegisters);
    // The barriers must be there before anybody waits at one.
    inlineAsm(rewriter, loc, "fence.mbarrier_init.release.cluster;", "~{memory}", {}, {}, /*sideEffects=*/true);
    if (roles.cluster > 1)
      clusterBarrier(rewriter, loc);
    else
      NVVM::Barrier0Op::create(rewriter, loc);
    Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, i32);
    Value warpgroup =
        uniform(rewriter, loc, arith::ShRUIOp::create(rewriter, loc, thread, constantI32(rewriter, loc, 7)));
    Value fetches = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::uge, warpgroup,
                                          constantI32(rewriter, loc, roles.computingWarps() / kWarpgroup));
    auto roleBranch = scf::IfOp::create(rewriter, loc, fetches, /*withElseRegion=*/true);
    rewriter.setInsertionPointToStart(roleBranch.thenBlock());
    if (movesRegisters)
      NVVM::SetMaxRegisterOp::create(rewriter, loc, kProducerRegisters, NVVM::SetMaxRegisterAction::decrease);
    Value isFirst = isThread(rewriter, loc, thread, programThreads);
    auto one = scf::IfOp::create(rewriter, loc, isFirst, /*withElseRegion=*/false);
    rewriter.inlineBlockBefore(&op.getProducer().front(), one.thenBlock()->getTerminator());
    rewriter.setInsertionPointToStart(roleBranch.elseBlock());
    if (movesRegisters)
      NVVM::SetMaxRegisterOp::create(rewriter, loc,
                                     programRegisters(roles, tilegpu::TargetAttr::of(op).limit("registers_per_sm")),
                                     NVVM::SetMaxRegisterAction::increase);
    rewriter.inlineBlockBefore(&op.getConsumer().front(), roleBranch.elseBlock()->getTerminator());
    if (roles.cluster > 1) { // until no other CTA can arrive at the barriers of this one, or read its memory
      rewriter.setInsertionPoint(roleBranch.elseBlock()->getTerminator());
      function && function->hasAttr(tilegpu::TileGPUDialect::kSharesTiles) ? leaveCluster(rewriter, loc)
                                                                           : clusterBarrier(rewriter, loc);
    }
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

Value lowering::filledBarrier(OpBuilder &builder, Location loc, tilegpu::QueueType type, ValueRange queue,
                              Value stage) {
  return Queue(builder, loc, type, queue).filled(stage);
}

Value lowering::speaksForWarpgroup(OpBuilder &builder, Location loc) {
  return isThread(builder, loc, threadOfWarpgroup(builder, loc), 0);
}

Value lowering::uniform(OpBuilder &builder, Location loc, Value value) {
  Type i32 = builder.getI32Type();
  return NVVM::ShflOp::create(builder, loc, i32, constantI32(builder, loc, -1), value, constantI32(builder, loc, 0),
                              constantI32(builder, loc, tilegpu::kLanes - 1), NVVM::ShflKind::idx, UnitAttr());
}

void tilec::lowering::populateQueuePatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<DeclareQueue, Acquire, Wait, Release, Skip, DeclareTurn, TurnWait, TurnPass, Program, RolesToBranches>(
      types, patterns.getContext());
}
