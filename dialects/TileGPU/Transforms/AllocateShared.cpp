//===- AllocateShared.cpp - Places in shared memory -----------------------===//
//
// Each shared-memory tile and each op's scratch is live over an interval of the program's text; two
// whose intervals are apart may have the same bytes. Sharing bytes inside a loop costs barriers every
// turn, so it is done only where memory is short.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/IR/Decisions.h"
#include "dialects/TileGPU/IR/Layout.h"
#include "dialects/TileGPU/IR/Scratch.h"
#include "dialects/TileGPU/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// Blocks that should have room on a multiprocessor at a time.
constexpr int64_t kComfort = 2;
constexpr StringLiteral kSharedLimit = "shared_per_block_bytes";

/// From an op to the end of another's regions, in the numbers of OpOrder.
struct Interval {
  int64_t begin, end;
  bool overlaps(const Interval &other) const { return begin <= other.end && other.begin <= end; }
};

/// Numbers ops in the order of the text; an op with regions spans what is in them.
class OpOrder {
public:
  explicit OpOrder(Operation *root) { visit(root); }
  Interval span(Operation *op) const { return spans.lookup(op); }

private:
  void visit(Operation *op) {
    Interval span{next++, 0};
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          visit(&inner);
    span.end = next++;
    spans[op] = span;
  }

  DenseMap<Operation *, Interval> spans;
  int64_t next = 0;
};

struct Buffer {
  Operation *op;
  Interval live;
  int64_t bytes, alignment, offset = 0;

  Operation *loop() const { return op->getParentOfType<LoopLikeOpInterface>(); }
};

class Allocation {
public:
  explicit Allocation(tile::KernelOp kernel) : kernel(kernel), order(kernel) {}

  LogicalResult run() {
    const int64_t limit = sharedLimit();
    int64_t total = 0;
    do {
      if (failed(collect()))
        return failure();
      // Large ones first: they leave the fewest holes.
      llvm::stable_sort(buffers, [](const Buffer &a, const Buffer &b) { return a.bytes > b.bytes; });
      total = placeAll(/*shareInLoops=*/false);
      if (total > limit / kComfort)
        total = placeAll(/*shareInLoops=*/true);
    } while (total > limit && shortenQueues());
    Builder builder(kernel.getContext());
    for (const Buffer &buffer : buffers)
      buffer.op->setAttr(TileGPUDialect::kSharedOffset, builder.getI64IntegerAttr(buffer.offset));
    kernel->setAttr(TileGPUDialect::kSharedBytes, builder.getI64IntegerAttr(total));
    if (isAskedAbout(kernel))
      explain(total, limit);
    return checkLimit(total, limit);
  }

private:
  /// Takes a stage from every queue; false when one has no second.
  bool shortenQueues() {
    SmallVector<QueueOp> queues(kernel.getBody().getOps<QueueOp>());
    if (queues.empty() || llvm::any_of(queues, [](QueueOp queue) { return queue.getType().getStages() == 1; }))
      return false;
    wasShortened = true;
    for (QueueOp queue : queues) {
      const int64_t stages = queue.getType().getStages() - 1;
      queue.getResult().setType(QueueType::get(kernel.getContext(), stages));
      for (Operation *user : queue->getUsers())
        for (Value stage : user->getResults())
          for (Operation *slot : stage.getUsers())
            if (auto ring = isa<RingSlotOp>(slot) ? cast<RingSlotOp>(slot).getRing() : Value())
              setStages(ring, stages);
    }
    return true;
  }

  static void setStages(Value ring, int64_t stages) {
    auto type = cast<SmemType>(ring.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = stages;
    ring.setType(SmemType::get(type.getContext(), shape, type.getElementType(), type.getLayout()));
  }

  void explain(int64_t total, int64_t limit) {
    for (QueueOp queue : kernel.getBody().getOps<QueueOp>()) {
      const int64_t stages = queue.getType().getStages();
      tellChoice(kernel, "stages", llvm::formatv("{0} of {1} bytes", stages, queue.getBytes()).str(),
                 wasShortened ? "shared memory has no room for more" : "");
    }
    tellChoice(kernel, "shared memory", llvm::formatv("{0} of {1} bytes", total, limit).str());
  }

  int64_t kernelAttr(StringRef name, int64_t absent) {
    auto attr = kernel->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : absent;
  }
  int64_t warps() { return kernelAttr(TileGPUDialect::kNumWarps, 0); }
  int64_t programs() { return kernelAttr(TileGPUDialect::kPrograms, 1); }

  LogicalResult collect() {
    buffers.clear();
    WalkResult walked = kernel.walk([&](Operation *op) {
      if (isa<LocalAllocOp, RingOp>(op)) {
        Interval live = order.span(op);
        if (failed(extend(op->getResult(0), op, live)))
          return WalkResult::interrupt();
        const int64_t bytes = isa<LocalAllocOp>(op) ? programs() * programBytes(op)
                                                    : cast<SmemType>(op->getResult(0).getType()).getBytes();
        buffers.push_back({op, live, bytes, kTileAlignment});
      } else if (auto queue = dyn_cast<QueueOp>(op)) {
        // Barriers are for good: a role may still look at one that another has left.
        buffers.push_back(
            {op, order.span(kernel), QueueOp::barrierBytes(queue.getType().getStages()), kScratchAlignment});
      } else if (isa<TurnOp>(op)) {
        buffers.push_back({op, order.span(kernel), TurnOp::barrierBytes(programs()), kScratchAlignment});
      } else if (auto store = dyn_cast<TmaStoreOp>(op)) {
        // The copy engine reads the buffers while the program goes on.
        const int64_t warpgroups = programs() * warps() / kWarpgroup;
        const StoreStaging staging = storeStaging(store.getValue().getType(), store.getTransposed());
        buffers.push_back({op, order.span(kernel), warpgroups * staging.warpgroupBytes, kTileAlignment});
      } else if (int64_t bytes = programBytes(op)) {
        Interval live = order.span(op);
        if (isa<ClusterSumOp>(op)) // other CTAs read it while this one goes on
          live.end = order.span(kernel).end;
        buffers.push_back({op, live, programs() * bytes, kScratchAlignment});
      }
      return WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

  /// Extends `live` to every use of `tile`, which views the memory of `alloc`.
  LogicalResult extend(Value tile, Operation *alloc, Interval &live) {
    for (Operation *user : tile.getUsers()) {
      if (isa<RegionBranchOpInterface, RegionBranchTerminatorOpInterface>(user))
        return user->emitOpError("carries a shared-memory tile, expected only distributed tiles and scalars");
      live.end = std::max(live.end, order.span(lastRepeat(user, alloc->getBlock())).end);
      for (Value result : user->getResults())
        if (isa<SmemType>(result.getType()) && failed(extend(result, alloc, live)))
          return failure();
    }
    return success();
  }

  /// The outermost loop around `user` inside `block`, or `user`: a tile read in a loop lives through its last turn.
  static Operation *lastRepeat(Operation *user, Block *block) {
    Operation *last = user;
    for (Operation *op = user; op->getBlock() != block; op = op->getParentOp())
      if (auto branch = dyn_cast<RegionBranchOpInterface>(op->getParentOp()); branch && branch.hasLoop())
        last = branch;
    return last;
  }

  /// Places all buffers and returns the bytes they take together.
  int64_t placeAll(bool shareInLoops) {
    int64_t total = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
      place(buffers[i], ArrayRef(buffers).take_front(i), shareInLoops);
      total = std::max(total, buffers[i].offset + buffers[i].bytes);
    }
    return total;
  }

  /// The lowest place that no buffer live at the same time has.
  static void place(Buffer &buffer, ArrayRef<Buffer> placed, bool shareInLoops) {
    SmallVector<const Buffer *> live;
    Operation *loop = buffer.loop();
    for (const Buffer &other : placed)
      if (buffer.live.overlaps(other.live) || (!shareInLoops && loop && other.loop() == loop))
        live.push_back(&other);
    llvm::sort(live, [](const Buffer *a, const Buffer *b) { return a->offset < b->offset; });
    int64_t offset = 0;
    for (const Buffer *other : live) {
      if (offset + buffer.bytes <= other->offset)
        break;
      offset = std::max<int64_t>(offset, llvm::alignTo(other->offset + other->bytes, buffer.alignment));
    }
    buffer.offset = offset;
  }

  /// Bytes a block may have; without a target there is no limit.
  int64_t sharedLimit() {
    TargetAttr target = TargetAttr::of(kernel);
    int64_t limit = target ? target.limit(kSharedLimit) : 0;
    return limit ? limit : std::numeric_limits<int64_t>::max();
  }

  LogicalResult checkLimit(int64_t total, int64_t limit) {
    if (total <= limit)
      return success();
    InFlightDiagnostic error = kernel.emitError("kernel needs ")
                               << total << " bytes of shared memory, " << TargetAttr::of(kernel).getName() << " has "
                               << limit << " a block: use smaller tiles";
    if (feedsProduct(buffers.front().op))
      error << ", or smaller steps along K";
    const size_t shown = std::min<size_t>(buffers.size(), 4);
    for (const Buffer &buffer : ArrayRef(buffers).take_front(shown))
      error.attachNote(buffer.op->getLoc()) << buffer.bytes << " bytes " << purposeOf(buffer.op);
    int64_t others = 0;
    for (const Buffer &buffer : ArrayRef(buffers).drop_front(shown))
      others += buffer.bytes;
    if (others > 0)
      error.attachNote() << others << " bytes for " << buffers.size() - shown << " others";
    return error;
  }

  /// True for a tile that is in shared memory for a product.
  static bool feedsProduct(Operation *op) {
    return isa<LocalAllocOp, RingOp>(op) && llvm::any_of(op->getUsers(), [](Operation *user) {
             return isa<MmaOp>(user) || (isa<RingSlotOp>(user) && llvm::any_of(user->getUsers(), llvm::IsaPred<MmaOp>));
           });
  }

  /// What an op needs shared memory for.
  static std::string purposeOf(Operation *op) {
    auto tileOf = [](ArrayRef<int64_t> shape, Type element) {
      std::string text = "tile of " + shapeText(shape) + " ";
      llvm::raw_string_ostream(text) << element;
      return text;
    };
    if (auto alloc = dyn_cast<LocalAllocOp>(op))
      return "for a " + tileOf(alloc.getType().getShape(), alloc.getType().getElementType());
    if (auto ring = dyn_cast<RingOp>(op)) {
      SmemType type = ring.getType();
      return llvm::formatv("for {0} of a {1}", type.getShape().front() == 1 ? "1 stage" : "the stages",
                           tileOf(type.getShape().drop_front(), type.getElementType()));
    }
    auto tile =
        op->getNumOperands() == 0 ? RankedTensorType() : dyn_cast<RankedTensorType>(op->getOperand(0).getType());
    if (!tile)
      return "for barriers and scratch";
    StringRef purpose = isa<ConvertLayoutOp>(op)  ? "to rearrange a "
                        : isa<tile::ReduceOp>(op) ? "to reduce a "
                        : isa<TmaStoreOp>(op)     ? "to store a "
                                                  : "to exchange elements of a ";
    return purpose.str() + tileOf(tile.getShape(), tile.getElementType());
  }

  tile::KernelOp kernel;
  OpOrder order;
  SmallVector<Buffer> buffers;
  bool wasShortened = false;
};

struct AllocateShared : PassWrapper<AllocateShared, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AllocateShared)
  StringRef getArgument() const final { return "tilegpu-allocate-shared"; }
  StringRef getDescription() const final { return "place shared-memory tiles and scratch"; }

  void runOnOperation() final {
    if (failed(Allocation(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> tilec::createAllocateSharedPass() { return std::make_unique<AllocateShared>(); }
