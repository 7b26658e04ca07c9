//===- ClusterSum.cpp - Tiles added up over a cluster ---------------------===//
//
// Every CTA puts its registers into its own shared memory, four of a thread side
// by side. Then each adds up a part of the registers over all CTAs: the columns
// that it goes on with, or some that it puts back for the first to collect.
// Threads read what the same threads of other CTAs have put.
//
// Source: PTX ISA, "mapa", "barrier.cluster", ".shared::cluster".
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Coords;
using tilegpu::Layout;

namespace {
/// Registers that one access moves.
constexpr int64_t kWordBytes = 4, kMostWords = 4;
/// Registers of a thread for parts that are on their way.
constexpr int64_t kMostReadWords = 64;

class ClusterSumLowering {
public:
  ClusterSumLowering(OpBuilder &builder, tilegpu::ClusterSumOp op, ValueRange own)
      : builder(builder), loc(op.getLoc()), own(own), element(op.getType().getElementType()), roles(Roles::at(builder)),
        leavesOpen(roles.producerWarps > 0) {
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      leavesOpen &= !isa<tilegpu::ClusterSumOp>(next);
    while (own.size() % words != 0)
      words /= 2;
    ThreadId thread = threadId(builder, loc);
    Value warp = arith::MulIOp::create(builder, loc, thread.warp, constantI32(builder, loc, tilegpu::kLanes));
    Value place = arith::MulIOp::create(builder, loc, arith::AddIOp::create(builder, loc, warp, thread.lane),
                                        constantI32(builder, loc, words * kWordBytes));
    base = offsetPointer(builder, loc, programMemory(builder, loc, op), place);
    pitch = roles.programWarps * tilegpu::kLanes * words * kWordBytes;
  }

  /// Where the columns of every CTA are: the registers of the first CTA's, and how the others' follow.
  struct Columns {
    SmallVector<int64_t> registers;
    int64_t unitRegisters = 0;   // from a unit of columns to the next
    int64_t width = 0, last = 0; // units of a CTA's columns, and the first of the last CTA's
  };

  static Columns columnsOf(tilegpu::ClusterSumOp op) {
    constexpr int64_t kUnit = 8;
    const Layout source = Layout::of(op.getSource().getType()), result = Layout::of(op.getType());
    std::map<Coords, int64_t> places;
    for (int64_t reg = 0; reg < source.numRegisters(); ++reg)
      places[source.coords(reg, /*lane=*/0, /*warp=*/0)] = reg;
    const int64_t width = op.getType().getDimSize(1), columns = op.getSource().getType().getDimSize(1);
    Columns found;
    for (int64_t reg = 0; reg < result.numRegisters(); ++reg)
      found.registers.push_back(places.at(result.coords(reg, 0, 0)));
    found.unitRegisters = columns == kUnit ? 0 : places.at({0, kUnit});
    found.width = width / kUnit;
    found.last = (columns - width) / kUnit;
    return found;
  }

  /// The sum of this CTA's columns.
  SmallVector<Value> runScattered(const Columns &columns) {
    Value rank = clusterRank(builder, loc);
    const int64_t groups = own.size() / words;
    for (int64_t group = 0; group < groups; ++group)
      put(base, group, own.slice(group * words, words));
    meet();
    Value first = arith::MulIOp::create(builder, loc, rank, constantI32(builder, loc, columns.width));
    first = arith::MinUIOp::create(builder, loc, first, constantI32(builder, loc, columns.last));
    Value start = offsetPointer(
        builder, loc, base,
        arith::MulIOp::create(builder, loc, first, constantI32(builder, loc, columns.unitRegisters / words * pitch)));
    Value here = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), start);
    SmallVector<SmallVector<Value>> parts;
    for (int64_t cta = 0; cta < roles.cluster; ++cta) {
      Value there = remote(here, cta);
      for (size_t reg = 0; reg < columns.registers.size(); reg += words)
        parts.push_back(get(there, columns.registers[reg] / words));
    }
    const size_t own = columns.registers.size() / words;
    SmallVector<Value> sums;
    for (size_t group = 0; group < own; ++group) {
      SmallVector<Value> sum = parts[group];
      for (int64_t cta = 1; cta < roles.cluster; ++cta)
        add(sum, parts[cta * own + group]);
      llvm::append_range(sums, sum);
    }
    if (!leavesOpen)
      leaveCluster(builder, loc);
    return sums;
  }

  SmallVector<Value> run() {
    Value rank = clusterRank(builder, loc);
    const int64_t groups = own.size() / words;
    for (int64_t group = 0; group < groups; ++group)
      put(base, group, own.slice(group * words, words));
    meet();
    const int64_t share = llvm::divideCeil(groups, roles.cluster);
    sumPart(rank, share, groups);
    meet();
    SmallVector<Value> sums = collect(rank, share, groups);
    if (!leavesOpen)
      leaveCluster(builder, loc);
    return sums;
  }

private:
  /// All CTAs see what all have put. A fence of the cluster is one of the whole GPU in machine code and takes longer
  /// than all the rest; shared memory has no copies that could be out of date, so what has arrived in the CTA's own is
  /// there for the others too.
  void meet() {
    inlineAsm(builder, loc, "fence.acq_rel.cta;", "~{memory}", {}, {}, /*sideEffects=*/true);
    clusterBarrier(builder, loc);
  }

  /// Where group `group` of this thread lies behind `start`.
  Value address(Value start, int64_t group) {
    return offsetPointer(builder, loc, start, constantI32(builder, loc, group * pitch));
  }

  void put(Value start, int64_t group, ValueRange registers) {
    storeShared(builder, loc, address(start, group), registers);
  }

  /// Adds up groups rank · share … of all CTAs, in the order of the CTAs, into this CTA's.
  void sumPart(Value rank, int64_t share, int64_t groups) {
    Value first = arith::MulIOp::create(builder, loc, rank, constantI32(builder, loc, share));
    Value start =
        offsetPointer(builder, loc, base, arith::MulIOp::create(builder, loc, first, constantI32(builder, loc, pitch)));
    Value here = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), start);
    SmallVector<Value> there;
    for (int64_t cta = 0; cta < roles.cluster; ++cta)
      there.push_back(remote(here, cta));
    // What is read together is on its way together.
    const int64_t together = std::max<int64_t>(1, kMostReadWords / (words * roles.cluster));
    for (int64_t begin = 0; begin < share; begin += together) {
      const int64_t end = std::min(begin + together, share);
      if (share * roles.cluster == groups) {
        sumGroups(start, there, begin, end);
        continue;
      }
      // The last CTAs may have fewer groups.
      Value left = arith::SubIOp::create(builder, loc, constantI32(builder, loc, groups), first);
      auto reaches = [&](arith::CmpIPredicate predicate, int64_t group) -> Value {
        return arith::CmpIOp::create(builder, loc, predicate, left, constantI32(builder, loc, group));
      };
      guarded(builder, loc, reaches(arith::CmpIPredicate::sge, end), [&] { sumGroups(start, there, begin, end); });
      guarded(builder, loc, reaches(arith::CmpIPredicate::slt, end), [&] {
        for (int64_t group = begin; group + 1 < end; ++group)
          guarded(builder, loc, reaches(arith::CmpIPredicate::sgt, group),
                  [&] { sumGroups(start, there, group, group + 1); });
      });
    }
  }

  /// Groups `begin` … of this CTA's part, which starts at `start`.
  void sumGroups(Value start, ArrayRef<Value> there, int64_t begin, int64_t end) {
    SmallVector<SmallVector<Value>> parts;
    for (int64_t group = begin; group < end; ++group)
      for (Value from : there)
        parts.push_back(get(from, group));
    ArrayRef<SmallVector<Value>> rest(parts);
    for (int64_t group = begin; group < end; ++group) {
      SmallVector<Value> sums = rest.front();
      for (const SmallVector<Value> &part : rest.slice(1, there.size() - 1))
        add(sums, part);
      put(start, group, sums);
      rest = rest.drop_front(there.size());
    }
  }

  void add(MutableArrayRef<Value> sums, ArrayRef<Value> parts) {
    for (auto [sum, part] : llvm::zip_equal(sums, parts))
      sum = isa<FloatType>(element) ? Value(arith::AddFOp::create(builder, loc, sum, part))
                                    : Value(arith::AddIOp::create(builder, loc, sum, part));
  }

  /// The sums, in the first CTA.
  SmallVector<Value> collect(Value rank, int64_t share, int64_t groups) {
    Value takes = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rank, constantI32(builder, loc, 0));
    SmallVector<Type> types(own.size(), element);
    auto branch = scf::IfOp::create(builder, loc, types, takes, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value here = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), base), there;
    SmallVector<Value> sums;
    for (int64_t group = 0; group < groups; ++group) {
      if (group % share == 0)
        there = remote(here, group / share);
      llvm::append_range(sums, get(there, group));
    }
    scf::YieldOp::create(builder, loc, sums);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, own);
    return branch.getResults();
  }

  Value remote(Value here, int64_t cta) {
    return inlineAsm(builder, loc, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r",
                     {here, constantI32(builder, loc, cta)}, builder.getI32Type(), /*sideEffects=*/false)
        .front();
  }

  SmallVector<Value> get(Value there, int64_t group) {
    std::string list, constraints;
    for (int64_t word = 0; word < words; ++word) {
      list += llvm::formatv("{0}${1}", word ? ", " : "", word).str();
      constraints += "=r,";
    }
    std::string text = llvm::formatv("ld.shared::cluster{0}.b32 {1}{2}{3}, [${4}+{5}];",
                                     words == 1 ? "" : llvm::formatv(".v{0}", words).str(), words == 1 ? "" : "{", list,
                                     words == 1 ? "" : "}", words, group * pitch);
    SmallVector<Type> types(words, builder.getI32Type());
    SmallVector<Value> read =
        inlineAsm(builder, loc, text, constraints + "r,~{memory}", {there}, types, /*sideEffects=*/true);
    return unpackWords(builder, loc, read, element);
  }

  OpBuilder &builder;
  Location loc;
  ValueRange own;
  Type element;
  Roles roles;
  /// CTAs keep what they have put until they meet at the kernel's end, as they do where warps have roles; or here, if
  /// there is another sum.
  bool leavesOpen;
  int64_t words = kMostWords, pitch = 0;
  Value base;
};

struct ClusterSum : OpConversionPattern<tilegpu::ClusterSumOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::ClusterSumOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    ClusterSumLowering lowering(rewriter, op, adaptor.getSource());
    rewriter.replaceOpWithMultiple(
        op, {op.isScattered() ? lowering.runScattered(ClusterSumLowering::columnsOf(op)) : lowering.run()});
    return success();
  }
};
} // namespace

Value lowering::clusterRank(OpBuilder &builder, Location loc) {
  return inlineAsm(builder, loc, "mov.u32 $0, %cluster_ctarank;", "=r", {}, builder.getI32Type(),
                   /*sideEffects=*/false)
      .front();
}

void lowering::clusterBarrier(OpBuilder &builder, Location loc) {
  for (StringRef half : {"barrier.cluster.arrive.relaxed.aligned;", "barrier.cluster.wait.acquire.aligned;"})
    inlineAsm(builder, loc, half, "~{memory}", {}, {}, /*sideEffects=*/true);
}

void lowering::leaveCluster(OpBuilder &builder, Location loc) {
  for (StringRef half : {"barrier.cluster.arrive.release.aligned;", "barrier.cluster.wait.acquire.aligned;"})
    inlineAsm(builder, loc, half, "~{memory}", {}, {}, /*sideEffects=*/true);
}

void tilec::lowering::populateClusterSumPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<ClusterSum>(types, patterns.getContext());
}
