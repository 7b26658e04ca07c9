//===- WorkspaceSum.cpp - Tiles added up in global memory -----------------===//
//
// Every CTA of a tile writes its registers to the launch's workspace, four of a
// thread side by side and threads next to each other. Then one thread counts the
// CTA at the tile's counter, which wraps to zero behind the last. That one reads
// what all have written: each thread what the same threads of the others have
// put, so no layout matters.
//
// Source: PTX ISA, "Memory Consistency Model", "atom", "barrier{.cta}.red".
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"

#include "dialects/TileGPU/IR/Scratch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;

namespace {
constexpr int64_t kCounterBytes = 4, kPartWordBytes = 4;
/// Registers that one access moves at most.
constexpr int64_t kMostPartWords = 4;
/// Registers of a thread for parts that are on their way.
constexpr int64_t kMostWordsOnTheWay = 64;

class WorkspaceSumLowering {
public:
  WorkspaceSumLowering(OpBuilder &builder, tilegpu::WorkspaceSumOp op, ArrayRef<ValueRange> tiles)
      : builder(builder), loc(op.getLoc()), parts(op.getParts()), partBytes(tilegpu::workspaceBytes(op)) {
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    workspace = function.getArgument(function.getNumArguments() - 2);
    counters = function.getArgument(function.getNumArguments() - 1);
    const Roles roles = Roles::at(builder);
    programThreads = roles.programWarps * tilegpu::kLanes;
    int64_t offset = 0;
    for (auto [tile, source] : llvm::zip_equal(tiles, op.getSources())) {
      int64_t words = kMostPartWords;
      while (tile.size() % words != 0)
        words /= 2;
      Type element = cast<RankedTensorType>(source.getType()).getElementType();
      for (size_t reg = 0; reg < tile.size(); reg += words) {
        groups.push_back({words, offset, element});
        offset += words * programThreads * kPartWordBytes;
        llvm::append_range(own, tile.slice(reg, words));
      }
    }
    ThreadId id = threadId(builder, loc);
    Value warp = arith::MulIOp::create(builder, loc, id.warp, constantI32(builder, loc, tilegpu::kLanes));
    thread = arith::AddIOp::create(builder, loc, warp, id.lane);
    cta = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  }

  /// The registers of all tiles, and whether this CTA is the last.
  std::pair<SmallVector<Value>, Value> run() {
    Value mine = partOf(cta);
    ArrayRef<Value> rest(own);
    for (const Group &group : groups) {
      write(group, mine, rest.take_front(group.words));
      rest = rest.drop_front(group.words);
    }
    programBarrier(builder, loc); // the thread that counts speaks for what all have written
    Value isLast = arrive();
    auto branch = scf::IfOp::create(builder, loc, ValueRange(own).getTypes(), isLast, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      Value rank = arith::RemUIOp::create(builder, loc, cta, constantI32(builder, loc, parts));
      SmallVector<Value> sums = addParts(partOf(arith::SubIOp::create(builder, loc, cta, rank)));
      scf::YieldOp::create(builder, loc, sums);
      builder.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(builder, loc, own);
    }
    return {SmallVector<Value>(branch.getResults()), isLast};
  }

private:
  /// Registers that lie side by side in a thread's part of a tile.
  struct Group {
    int64_t words, offset;
    Type element;
  };

  Value wide(Value number) { return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), number); }

  /// Where this thread's registers lie in the part that CTA `number` writes.
  Value partOf(Value number) {
    Value bytes = arith::MulIOp::create(builder, loc, wide(number), constantI64(builder, loc, partBytes));
    return offsetPointer(builder, loc, workspace, bytes);
  }

  /// The bytes of this thread behind the start of a group of `words`.
  Value place(int64_t words) {
    Value &known = places[words];
    if (!known)
      known = arith::MulIOp::create(builder, loc, thread, constantI32(builder, loc, words * kPartWordBytes));
    return known;
  }

  static std::string list(int64_t words, int64_t first) {
    std::string text;
    for (int64_t word = 0; word < words; ++word)
      text += llvm::formatv("{0}${1}", word ? ", " : "", first + word).str();
    return words == 1 ? text : "{" + text + "}";
  }

  static std::string vectorOf(int64_t words) { return words == 1 ? "" : llvm::formatv(".v{0}", words).str(); }

  void write(const Group &group, Value start, ArrayRef<Value> registers) {
    SmallVector<Value> inputs{offsetPointer(builder, loc, start, place(group.words))};
    llvm::append_range(inputs, packWords(builder, loc, registers));
    std::string text = llvm::formatv("st.global{0}.b32 [$0+{1}], {2};", vectorOf(group.words), group.offset,
                                     list(group.words, /*first=*/1));
    std::string constraints = "l";
    for (int64_t word = 0; word < group.words; ++word)
      constraints += ",r";
    inlineAsm(builder, loc, text, constraints + ",~{memory}", inputs, {}, /*sideEffects=*/true);
  }

  /// Past the first-level cache, which knows nothing of other multiprocessors.
  SmallVector<Value> read(const Group &group, Value start, int64_t offset) {
    Value address = offsetPointer(builder, loc, start, place(group.words));
    std::string text = llvm::formatv("ld.relaxed.gpu.global{0}.b32 {1}, [${2}+{3}];", vectorOf(group.words),
                                     list(group.words, /*first=*/0), group.words, offset + group.offset);
    std::string constraints;
    for (int64_t word = 0; word < group.words; ++word)
      constraints += "=r,";
    SmallVector<Type> types(group.words, builder.getI32Type());
    SmallVector<Value> words =
        inlineAsm(builder, loc, text, constraints + "l,~{memory}", {address}, types, /*sideEffects=*/true);
    return unpackWords(builder, loc, words, group.element);
  }

  /// i1, the same in the whole program: all others have been here. The first thread counts, after and before what the
  /// barriers order for the others, and a barrier tells them.
  Value arrive() {
    Value tile = arith::DivUIOp::create(builder, loc, cta, constantI32(builder, loc, parts));
    Value offset = arith::MulIOp::create(builder, loc, wide(tile), constantI64(builder, loc, kCounterBytes));
    StringRef text = "{ .reg .pred counts, last; .reg .b32 seen; setp.eq.u32 counts, $1, 0; mov.b32 seen, 0; "
                     "@counts atom.acq_rel.gpu.global.inc.u32 seen, [$2], $3; setp.eq.and.u32 last, seen, $3, counts; "
                     "bar.red.or.pred last, $4, $5, last; selp.u32 $0, 1, 0, last; }";
    Value last = inlineAsm(builder, loc, text, "=r,r,l,r,r,r,~{memory}",
                           {thread, offsetPointer(builder, loc, counters, offset), constantI32(builder, loc, parts - 1),
                            programBarrierNumber(builder, loc), constantI32(builder, loc, programThreads)},
                           builder.getI32Type(), /*sideEffects=*/true)
                     .front();
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, uniform(builder, loc, last),
                                 constantI32(builder, loc, 0));
  }

  /// The sums of all parts, of which the first is at `start`. As many parts as there are registers for are on their
  /// way together; a loop keeps the code short.
  SmallVector<Value> addParts(Value start) {
    const int64_t together = std::clamp<int64_t>(kMostWordsOnTheWay / static_cast<int64_t>(own.size()), 1, parts);
    const int64_t before = 1 + (parts - 1) % together; // what the loop leaves over
    SmallVector<Value> sums;
    addSome(sums, start, before);
    if (before == parts)
      return sums;
    auto loop = scf::ForOp::create(builder, loc, constantI32(builder, loc, before), constantI32(builder, loc, parts),
                                   constantI32(builder, loc, together), sums);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value bytes =
        arith::MulIOp::create(builder, loc, wide(loop.getInductionVar()), constantI64(builder, loc, partBytes));
    SmallVector<Value> carried(loop.getRegionIterArgs());
    addSome(carried, offsetPointer(builder, loc, start, bytes), together);
    scf::YieldOp::create(builder, loc, carried);
    return SmallVector<Value>(loop.getResults());
  }

  /// Adds `count` parts from `start` on to `sums`, or begins with the first where there are none yet.
  void addSome(SmallVector<Value> &sums, Value start, int64_t count) {
    SmallVector<Value> added;
    size_t reg = 0;
    for (ArrayRef<Group> rest(groups); !rest.empty();) {
      size_t some = 0;
      for (int64_t words = 0;
           some < rest.size() && (some == 0 || words + rest[some].words * count <= kMostWordsOnTheWay); ++some)
        words += rest[some].words * count;
      SmallVector<SmallVector<Value>> read(count);
      for (int64_t part = 0; part < count; ++part)
        for (const Group &group : rest.take_front(some))
          llvm::append_range(read[part], this->read(group, start, part * partBytes));
      SmallVector<Value> partial =
          sums.empty() ? read.front() : llvm::to_vector(ArrayRef(sums).slice(reg, read.front().size()));
      for (const SmallVector<Value> &part : ArrayRef(read).drop_front(sums.empty() ? 1 : 0))
        for (auto [sum, value] : llvm::zip_equal(partial, part))
          sum = isa<FloatType>(value.getType()) ? Value(arith::AddFOp::create(builder, loc, sum, value))
                                                : Value(arith::AddIOp::create(builder, loc, sum, value));
      reg += partial.size();
      llvm::append_range(added, partial);
      rest = rest.drop_front(some);
    }
    sums = std::move(added);
  }

  OpBuilder &builder;
  Location loc;
  int64_t parts, partBytes, programThreads = 0;
  SmallVector<Group> groups;
  SmallVector<Value> own; // registers of all tiles
  Value workspace, counters, thread, cta;
  llvm::SmallDenseMap<int64_t, Value> places;
};

struct WorkspaceSum : OpConversionPattern<tilegpu::WorkspaceSumOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::WorkspaceSumOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    if (!function || !hasWorkspace(function))
      return rewriter.notifyMatchFailure(op, "its kernel has no 'tilegpu.tile_parts': no workspace is passed to it");
    auto [registers, isLast] = WorkspaceSumLowering(rewriter, op, adaptor.getSources()).run();
    SmallVector<SmallVector<Value>> results;
    ArrayRef<Value> rest(registers);
    for (ValueRange tile : adaptor.getSources()) {
      results.push_back(llvm::to_vector(rest.take_front(tile.size())));
      rest = rest.drop_front(tile.size());
    }
    results.push_back({isLast});
    rewriter.replaceOpWithMultiple(op, results);
    return success();
  }
};
} // namespace

bool lowering::hasWorkspace(Operation *kernel) { return kernel->hasAttr(tilegpu::TileGPUDialect::kTileParts); }

void tilec::lowering::populateWorkspaceSumPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<WorkspaceSum>(types, patterns.getContext());
}
