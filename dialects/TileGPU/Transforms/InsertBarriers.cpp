//===- InsertBarriers.cpp - Order between warps ---------------------------===//
//
// Warps run at their own pace. Where one op writes bytes of shared memory that an earlier op read or
// wrote, or reads bytes that one wrote, a barrier must lie on every path between the two.
//
//===----------------------------------------------------------------------===//
#include "dialects/TileGPU/IR/Scratch.h"
#include "dialects/TileGPU/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include <set>

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
/// Bytes of shared memory, the end not included.
using Bytes = std::pair<int64_t, int64_t>;

struct Accesses {
  std::set<Bytes> reads, writes;

  bool operator==(const Accesses &other) const { return reads == other.reads && writes == other.writes; }
  void add(const Accesses &other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
  }
};

bool overlap(const std::set<Bytes> &a, const std::set<Bytes> &b) {
  return llvm::any_of(a, [&](const Bytes &x) {
    return llvm::any_of(b, [&](const Bytes &y) { return x.first < y.second && y.first < x.second; });
  });
}

bool conflict(const Accesses &earlier, const Accesses &later) {
  return overlap(earlier.writes, later.reads) || overlap(earlier.writes, later.writes) ||
         overlap(earlier.reads, later.writes);
}

int64_t offsetOf(Operation *op) { return op->getAttrOfType<IntegerAttr>(TileGPUDialect::kSharedOffset).getInt(); }

/// The memory that a shared-memory tile views: of a ring, all of it unless the stage is constant.
Bytes memoryOf(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto slot = dyn_cast<RingSlotOp>(op)) {
    int64_t bytes = slot.getType().getBytes(), offset = offsetOf(slot.getRing().getDefiningOp());
    if (APInt stage; matchPattern(slot.getStage(), m_ConstantInt(&stage)))
      return {offset + stage.getSExtValue() * bytes, offset + (stage.getSExtValue() + 1) * bytes};
  }
  while (!isa<LocalAllocOp, RingOp>(op))
    op = op->getOperand(0).getDefiningOp();
  int64_t offset = offsetOf(op);
  return {offset, offset + cast<SmemType>(op->getResult(0).getType()).getBytes()};
}

class BarrierInsertion {
public:
  /// Inserts barriers in `block`, entered with `pending` accesses since the last barrier; returns those at its end.
  Accesses visit(Block &block, Accesses pending) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(&op, pending);
    return pending;
  }

private:
  void visit(Operation *op, Accesses &pending) {
    if (isa<BarrierOp>(op)) {
      pending = {};
    } else if (auto roles = dyn_cast<RolesOp>(op)) { // the producer is one thread, ordered by its queues
      pending = visit(roles.getConsumer().front(), pending);
    } else if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
      visitBranch(branch, pending);
    } else if (int64_t bytes = scratchBytes(op)) {
      // Written, then read behind a barrier of its own.
      std::set<Bytes> scratch{{offsetOf(op), offsetOf(op) + bytes}};
      order(op, pending, {{}, scratch});
      pending = {scratch, {}};
    } else if (Accesses own = accessesOf(op); !(own == Accesses())) {
      order(op, pending, own);
      // Readers of a ring wait for what fills it by themselves; later writers must wait for that as for a reader.
      if (isa<CopyAsyncOp, LocalStoreOp>(op))
        std::swap(own.reads, own.writes);
      pending.add(own);
    }
  }

  /// Any region may follow the op's start; in a loop also any region.
  void visitBranch(RegionBranchOpInterface op, Accesses &pending) {
    // What a loop needs from before it is ordered once, outside.
    if (op.hasLoop())
      order(op, pending, accessesInside(op));
    for (bool changed = true; changed;) {
      Accesses before = pending, after = pending;
      for (Region &region : op->getRegions())
        if (!region.empty())
          after.add(visit(region.front(), before));
      pending = after;
      changed = op.hasLoop() && !(before == after);
    }
  }

  static Accesses accessesInside(Operation *op) {
    Accesses all;
    op->walk([&](Operation *inner) {
      all.add(accessesOf(inner));
      if (int64_t bytes = scratchBytes(inner))
        all.writes.insert({offsetOf(inner), offsetOf(inner) + bytes});
    });
    return all;
  }

  static Accesses accessesOf(Operation *op) {
    Accesses accesses;
    if (auto alloc = dyn_cast<LocalAllocOp>(op))
      accesses.writes.insert(memoryOf(alloc));
    else if (auto copy = dyn_cast<CopyAsyncOp>(op))
      accesses.writes.insert(memoryOf(copy.getDest()));
    else if (auto store = dyn_cast<LocalStoreOp>(op))
      accesses.writes.insert(memoryOf(store.getDest()));
    else if (isa<LocalLoadOp, MmaOp>(op))
      for (Value operand : op->getOperands())
        if (isa<SmemType>(operand.getType()))
          accesses.reads.insert(memoryOf(operand));
    return accesses;
  }

  static void order(Operation *op, Accesses &pending, const Accesses &own) {
    if (!conflict(pending, own))
      return;
    OpBuilder builder(op);
    BarrierOp::create(builder, op->getLoc());
    pending = {};
  }
};

struct InsertBarriers : PassWrapper<InsertBarriers, OperationPass<tile::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InsertBarriers)
  StringRef getArgument() const final { return "tilegpu-insert-barriers"; }
  StringRef getDescription() const final { return "order accesses to shared memory between warps"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<TileGPUDialect>(); }

  void runOnOperation() final { BarrierInsertion().visit(getOperation().getBody().front(), {}); }
};
} // namespace

std::unique_ptr<Pass> tilec::createInsertBarriersPass() { return std::make_unique<InsertBarriers>(); }

void tilec::registerTileGPUPasses() {
  registerPass(createAssignLayoutsPass);
  registerPass(createRemoveConversionsPass);
  registerPass(createAllocateSharedPass);
  registerPass(createInsertBarriersPass);
  registerPass(createBulkStoresPass);
  registerPass(createScheduleProductsPass);
  registerPass(createSplitDepthPass);
  registerPass(createFindProblemsPass);
  registerPass([] { return createPipelineLoopsPass(); });
  registerPass([] { return createSpecializePass(); });
}
