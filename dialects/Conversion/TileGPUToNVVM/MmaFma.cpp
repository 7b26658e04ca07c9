//===- MmaFma.cpp - Matrix products of any type and shape -----------------===//
//
// Scalar fused multiply-adds in the accumulator's type. A loop over K; each
// turn a thread reads every row of the left and every column of the right
// operand that its accumulators need, once.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Mma.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Basis;
using tilegpu::Layout;

namespace {
/// Steps of K that one turn of the loop takes at most: one 16-byte access of
/// narrow elements.
constexpr int64_t kMaxUnroll = 8;
/// Keeps the elements read in a turn from crowding out the accumulators.
constexpr int64_t kMaxFragment = 64;

/// One operand: its elements along the dimension it shares with the
/// accumulator, which a thread knows by number, and along K.
class Operand {
public:
  /// `dim` is the shared dimension: 0 for the left operand, 1 for the right
  /// one.
  Operand(OpBuilder &builder, Location loc, tilegpu::SmemType type, Value base, int64_t dim, const Layout &acc,
          ThreadId thread)
      : builder(builder), loc(loc), type(type), placement(SharedPlacement::of(type)), base(base), dim(dim), acc(acc),
        coords(threadCoords(builder, loc, acc, thread)) {
    for (int64_t reg = 0; reg < acc.numRegisters(); ++reg) {
      int64_t coord = acc.registerAtom(reg)[dim] + acc.registerRepeat(reg)[dim];
      auto [it, isNew] = numbers.try_emplace(coord, lines.size());
      if (isNew)
        lines.push_back({coord, reg});
      lineOfRegister.push_back(it->second);
    }
  }

  /// The number of the row or column that a register of the accumulator needs.
  int64_t line(int64_t reg) const { return lineOfRegister[reg]; }
  int64_t numLines() const { return lines.size(); }

  /// False when a register's coordinate is no sum of a thread's and its own
  /// part.
  bool isSeparable() const {
    int64_t bits = 0;
    for (const Basis &basis : acc.lanes)
      bits |= basis[dim];
    for (const Basis &basis : acc.warps)
      bits |= basis[dim];
    return llvm::all_of(acc.registers, [&](const Basis &basis) { return (basis[dim] & bits) == 0; });
  }

  /// Elements [line][step] of `steps` steps from `k` on.
  SmallVector<SmallVector<Value>> load(Value k, int64_t steps) {
    SmallVector<Value> start(2);
    start[dim] = coords[dim];
    start[1 - dim] = k;
    SharedAddresses addresses(builder, loc, placement, base, start);
    const bool carries = placement.carries(acc);
    SmallVector<SmallVector<Value>> elements(lines.size());
    const bool alongK = placement.contiguous != dim;
    const int64_t width = alongK ? alignedRun(steps) : alignedRun(acc.contiguity(dim));
    for (size_t line = 0; line < lines.size(); line += alongK ? 1 : width) {
      Value inside = live(lines[line]);
      for (int64_t step = 0; step < steps; step += alongK ? width : 1) {
        int64_t constant[2];
        constant[dim] = lines[line].coord;
        constant[1 - dim] = step;
        Value address = carries ? movedTo(start, constant) : addresses.at(constant);
        if (inside) // dead rows read any address that exists
          address = arith::SelectOp::create(builder, loc, inside, address, base);
        SmallVector<Value> loaded = loadShared(builder, loc, address, width, type.getElementType());
        for (auto [i, value] : llvm::enumerate(loaded))
          elements[alongK ? line : line + i].push_back(value);
      }
    }
    return elements;
  }

private:
  struct Line {
    int64_t coord; ///< the registers' part
    int64_t reg;   ///< the first register that needs it
  };

  /// Elements of one access when `run` neighbours are wanted.
  int64_t alignedRun(int64_t run) const {
    int64_t elems = std::min(run, kChunkBytes / placement.elementBytes());
    int64_t other = placement.pitches[1 - placement.contiguous];
    while (elems > 1 &&
           (other % (elems * placement.elementBytes()) != 0 || type.getShape()[placement.contiguous] % elems != 0))
      elems /= 2;
    return elems;
  }

  /// The address of `start` and `constant` together, where constants may carry into the next panel of `dim`.
  Value movedTo(SmallVector<Value> start, ArrayRef<int64_t> constant) {
    int64_t rest[] = {constant[0], constant[1]};
    start[dim] =
        arith::AddIOp::create(builder, loc, start[dim], constantI32(builder, loc, std::exchange(rest[dim], 0)));
    return SharedAddresses(builder, loc, placement, base, start).at(rest);
  }

  Value live(const Line &line) {
    int64_t shape[2] = {acc.extent(0), acc.extent(1)};
    shape[dim] = type.getShape()[dim];
    return isLive(builder, loc, acc, shape, elementCoords(builder, loc, acc, coords, line.reg), line.reg);
  }

  OpBuilder &builder;
  Location loc;
  tilegpu::SmemType type;
  SharedPlacement placement;
  Value base;
  int64_t dim;
  const Layout &acc;
  SmallVector<Value> coords;
  SmallVector<Line> lines;
  SmallVector<int64_t> lineOfRegister;
  std::map<int64_t, int64_t> numbers;
};

class FmaProduct {
public:
  FmaProduct(tilegpu::MmaOp op, tilegpu::MmaOp::GenericAdaptor<ArrayRef<ValueRange>> adaptor, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()), acc(Layout::of(op.getAcc().getType())),
        thread(threadId(builder, loc)), lhsBase(adaptor.getLhs().front()), rhsBase(adaptor.getRhs().front()),
        accs(adaptor.getAcc()), accType(cast<RankedTensorType>(op.getAcc().getType()).getElementType()) {}

  FailureOr<SmallVector<Value>> run() {
    auto lhsType = cast<tilegpu::SmemType>(op.getLhs().getType());
    tilegpu::SmemType rhsType = op.getRhs().getType();
    Operand lhs(builder, loc, lhsType, lhsBase, 0, acc, thread), rhs(builder, loc, rhsType, rhsBase, 1, acc, thread);
    if (!lhs.isSeparable() || !rhs.isSeparable())
      return failure();
    const int64_t depth = lhsType.getShape()[1];
    const int64_t steps = unroll(depth, lhs.numLines() + rhs.numLines());
    auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); };
    auto loop = scf::ForOp::create(builder, loc, index(0), index(depth), index(steps), accs);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value k = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), loop.getInductionVar());
    SmallVector<Value> sums(loop.getRegionIterArgs());
    auto left = widened(lhs.load(k, steps), op.getLhsUnsigned()),
         right = widened(rhs.load(k, steps), op.getRhsUnsigned());
    for (int64_t step = 0; step < steps; ++step)
      for (auto [reg, sum] : llvm::enumerate(sums))
        sum = multiplyAdd(left[lhs.line(reg)][step], right[rhs.line(reg)][step], sum);
    scf::YieldOp::create(builder, loc, sums);
    return SmallVector<Value>(loop.getResults());
  }

private:
  static int64_t unroll(int64_t depth, int64_t lines) {
    int64_t steps = kMaxUnroll;
    while (steps > 1 && (depth % steps != 0 || steps * lines > kMaxFragment))
      steps /= 2;
    return steps;
  }

  SmallVector<SmallVector<Value>> widened(SmallVector<SmallVector<Value>> elements, bool isUnsigned) {
    for (SmallVector<Value> &line : elements)
      for (Value &value : line)
        value = widened(value, isUnsigned);
    return elements;
  }

  Value widened(Value value, bool isUnsigned) {
    if (value.getType() == accType)
      return value;
    if (isa<FloatType>(accType))
      return arith::ExtFOp::create(builder, loc, accType, value);
    if (isUnsigned)
      return arith::ExtUIOp::create(builder, loc, accType, value);
    return arith::ExtSIOp::create(builder, loc, accType, value);
  }

  Value multiplyAdd(Value lhs, Value rhs, Value sum) {
    if (isa<FloatType>(accType))
      return math::FmaOp::create(builder, loc, lhs, rhs, sum);
    return arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, lhs, rhs), sum);
  }

  tilegpu::MmaOp op;
  OpBuilder &builder;
  Location loc;
  Layout acc;
  ThreadId thread;
  Value lhsBase, rhsBase;
  SmallVector<Value> accs;
  Type accType;
};

struct Fma : OpConversionPattern<tilegpu::MmaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::MmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    if (op.getKind() != tilegpu::MmaKind::fma)
      return rewriter.notifyMatchFailure(op, "not for fused multiply-adds");
    FailureOr<SmallVector<Value>> results = FmaProduct(op, adaptor, rewriter).run();
    if (failed(results))
      return rewriter.notifyMatchFailure(op, "the accumulator's layout mixes threads and registers along a "
                                             "dimension");
    rewriter.replaceOpWithMultiple(op, {*results});
    return success();
  }
};
} // namespace

void tilec::lowering::populateFmaPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Fma>(types, patterns.getContext());
}
