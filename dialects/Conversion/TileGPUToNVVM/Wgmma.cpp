//===- Wgmma.cpp - Matrix products of a warpgroup -------------------------===//
//
// The tensor cores read operands from shared memory through descriptors, or the
// left one from registers. Accumulators are scalar registers, each tied to its
// input: the assembler keeps products in flight only if nothing moves them.
//
// Source: PTX ISA, "wgmma.mma_async" and "Matrix Descriptor Format".
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Layout;

namespace {
constexpr int64_t kM = 64, kMostN = 256, kNUnit = 8, kStepBytes = 32;
constexpr int64_t kWarpsOfProduct = 4;
/// Accumulators a thread holds for eight columns.
constexpr int64_t kAccsOfColumns = 4;

std::string numbered(StringRef prefix, int64_t first, int64_t count) {
  std::string list;
  for (int64_t i = 0; i < count; ++i)
    list += llvm::formatv("{0}{1}{2}", i ? "," : "", prefix, first + i).str();
  return list;
}

std::string repeated(StringRef constraint, int64_t count) {
  std::string list;
  for (int64_t i = 0; i < count; ++i)
    list += (i ? "," : "") + constraint.str();
  return list;
}

/// Results tied to `tiles`, behind `instruction`: whoever reads them cannot be moved before it.
SmallVector<Value> tieThrough(OpBuilder &builder, Location loc, StringRef instruction, ValueRange tiles) {
  std::string outputs, inputs;
  SmallVector<Type> types;
  for (auto [number, value] : llvm::enumerate(tiles)) {
    outputs += llvm::formatv("={0},", value.getType().isInteger() ? "r" : "f").str();
    inputs += llvm::formatv("{0},", number).str();
    types.push_back(value.getType());
  }
  return inlineAsm(builder, loc, instruction, outputs + inputs + "~{memory}", tiles, types, /*sideEffects=*/true);
}

/// An operand in shared memory and the descriptors of its parts.
class Operand {
public:
  /// `other` is the dimension that is not K; `warpgroup` (null: the first) has `kM` of it.
  Operand(OpBuilder &builder, Location loc, tilegpu::SmemType type, Value base, int64_t kDim, Value warpgroup)
      : builder(builder), loc(loc), placement(SharedPlacement::of(type)), kDim(kDim),
        elementBytes(type.getElementBytes()) {
    Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), base);
    if (warpgroup)
      address = arith::AddIOp::create(
          builder, loc, address,
          arith::MulIOp::create(builder, loc, warpgroup, constantI32(builder, loc, offset(/*step=*/0, kM))));
    Value low =
        arith::AndIOp::create(builder, loc, arith::ShRUIOp::create(builder, loc, address, constantI32(builder, loc, 4)),
                              constantI32(builder, loc, 0x3FFF));
    low = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), low);
    const int64_t mode = 4 - placement.swizzle; // 128-, 64-, 32-byte swizzle: 1, 2, 3
    const int64_t leading = isTransposed() ? placement.panelBytes : 16, stride = 8 * placement.rowBytes;
    descriptor = arith::OrIOp::create(
        builder, loc, low, constantI64(builder, loc, mode << 62 | (stride >> 4) << 32 | (leading >> 4) << 16));
  }

  /// K is not the contiguous dimension.
  bool isTransposed() const { return placement.contiguous != kDim; }

  /// Of the part that starts at K step `step` and at `other` along the other dimension.
  Value at(int64_t step, int64_t other) {
    int64_t bytes = offset(step, other);
    return bytes == 0 ? descriptor
                      : Value(arith::AddIOp::create(builder, loc, descriptor, constantI64(builder, loc, bytes >> 4)));
  }

private:
  int64_t offset(int64_t step, int64_t other) const {
    SmallVector<int64_t> coords(2);
    coords[kDim] = step * kStepBytes / elementBytes;
    coords[1 - kDim] = other;
    // Parts start at whole swizzle patterns and at bytes of a row: exchanging chunks is the hardware's business.
    const int64_t byte = coords[placement.contiguous] * elementBytes;
    return byte / placement.rowBytes * placement.panelBytes + coords[1 - placement.contiguous] * placement.rowBytes +
           byte % placement.rowBytes;
  }

  OpBuilder &builder;
  Location loc;
  SharedPlacement placement;
  int64_t kDim, elementBytes;
  Value descriptor;
};

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

Type elementType(Value tile) {
  if (auto smem = dyn_cast<tilegpu::SmemType>(tile.getType()))
    return smem.getElementType();
  return cast<RankedTensorType>(tile.getType()).getElementType();
}

/// PTX's name of an operand's type; empty when wgmma does not take it.
StringRef typeName(Type type, bool isUnsigned) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF32())
    return "tf32";
  if (type.isInteger(8))
    return isUnsigned ? "u8" : "s8";
  return isa<Float8E4M3FNType>(type) ? "e4m3" : isa<Float8E5M2Type>(type) ? "e5m2" : "";
}

class Product {
public:
  Product(tilegpu::MmaOp op, tilegpu::MmaOp::GenericAdaptor<ArrayRef<ValueRange>> adaptor, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()), acc(Layout::of(op.getAcc().getType())), accs(adaptor.getAcc()),
        lhsRegisters(adaptor.getLhs()), n(op.getRhs().getType().getShape()[1]),
        steps(op.getRhs().getType().getShape()[0] * op.getRhs().getType().getElementBytes() / kStepBytes) {
    Value warpgroup;
    if (acc.numWarps() > kWarpsOfProduct) {
      Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
      warpgroup = uniform(builder, loc, arith::ShRUIOp::create(builder, loc, thread, constantI32(builder, loc, 7)));
    }
    if (auto type = dyn_cast<tilegpu::SmemType>(op.getLhs().getType()))
      lhs.emplace(builder, loc, type, adaptor.getLhs().front(), /*kDim=*/1, warpgroup);
    rhs.emplace(builder, loc, op.getRhs().getType(), adaptor.getRhs().front(), /*kDim=*/0, Value());
    accumulate =
        op.getAccumulate()
            ? Value(arith::ExtUIOp::create(builder, loc, builder.getI32Type(), adaptor.getAccumulate().front()))
            : constantI32(builder, loc, 1);
    for (instructionN = std::min(n, mostColumns()); n % instructionN != 0; instructionN -= kNUnit)
      ;
  }

  StringRef unsupported() {
    Type a = elementType(op.getLhs()), b = elementType(op.getRhs()), c = elementType(op.getAcc());
    if (typeName(a, false).empty() || typeName(b, false).empty() || !(a.isInteger(8) ? c.isInteger(32) : c.isF32()))
      return "no instruction multiplies these types";
    if (acc != Layout::wgmmaAcc(op.getAcc().getType().getShape(), acc.numWarps()) ||
        acc.numWarps() % kWarpsOfProduct != 0 || op.getAcc().getType().getShape()[0] % (16 * acc.numWarps()) != 0)
      return "warpgroups must hold 64 rows each of the accumulator";
    return "";
  }

  SmallVector<Value> run() {
    NVVM::WgmmaFenceAlignedOp::create(builder, loc);
    Value always = constantI32(builder, loc, 1);
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t m = 0; m < acc.repeat[0]; ++m)
        for (int64_t first = 0; first < n; first += instructionN)
          emit(step, m, first, step == 0 ? accumulate : always);
    NVVM::WgmmaGroupSyncAlignedOp::create(builder, loc);
    if (int64_t pending = op.getInFlight()) {
      NVVM::WgmmaWaitGroupSyncOp::create(builder, loc, pending);
      return std::move(accs);
    }
    return tieThrough(builder, loc, "wgmma.wait_group.sync.aligned 0;", accs);
  }

private:
  /// Columns of an instruction whose accumulators the assembler can place in the registers that threads start with,
  /// even where they get more later.
  int64_t mostColumns() {
    constexpr int64_t kOtherRegisters = 32;
    const int64_t registers = tilegpu::TargetAttr::of(op).startingRegisters(Roles::at(builder).threads());
    return std::min((registers - kOtherRegisters) / kAccsOfColumns * kNUnit, kMostN);
  }

  void emit(int64_t step, int64_t m, int64_t firstColumn, Value scale) {
    const int64_t count = instructionN / kNUnit * kAccsOfColumns;
    MutableArrayRef<Value> own =
        MutableArrayRef<Value>(accs).slice((m * (n / kNUnit) + firstColumn / kNUnit) * kAccsOfColumns, count);
    Type element = elementType(op.getLhs());
    const bool isInteger = element.isInteger(), transposes = element.getIntOrFloatBitWidth() == 16;
    SmallVector<Value> operands(own);
    std::string constraints = repeated(isInteger ? "=r" : "=f", count) + "," + numbered("", 0, count), left;
    auto add = [&](Value operand, StringRef constraint) {
      constraints += "," + constraint.str();
      operands.push_back(operand);
      return count + static_cast<int64_t>(operands.size()) - 1;
    };
    if (lhs) {
      left = llvm::formatv("${0}", add(lhs->at(step, m * 16 * acc.numWarps()), "l"));
    } else {
      SmallVector<Value> words = fragment(step, m);
      const int64_t start = count + static_cast<int64_t>(operands.size());
      for (Value word : words)
        add(word, "r");
      left = "{" + numbered("$", start, words.size()) + "}";
    }
    const int64_t right = add(rhs->at(step, firstColumn), "l"), flag = add(scale, "r");
    std::string modifiers = isInteger ? "" : ", 1, 1";
    if (transposes)
      modifiers += llvm::formatv("{0}, {1}", lhs ? llvm::formatv(", {0}", int(lhs->isTransposed())).str() : "",
                                 int(rhs->isTransposed()));
    std::string text = llvm::formatv(
        "{{\n.reg .pred scale;\nsetp.ne.b32 scale, ${0}, 0;\nwgmma.mma_async.sync.aligned.m64n{1}k{2}.{3}.{4}.{5} "
        "{{{6}}, {7}, ${8}, scale{9};\n}",
        flag, instructionN, kStepBytes * 8 / element.getIntOrFloatBitWidth(), isInteger ? "s32" : "f32",
        typeName(element, op.getLhsUnsigned()), typeName(elementType(op.getRhs()), op.getRhsUnsigned()),
        numbered("$", 0, count), left, right, modifiers);
    SmallVector<Type> types(count, elementType(op.getAcc()));
    llvm::copy(inlineAsm(builder, loc, text, constraints, operands, types, /*sideEffects=*/true), own.begin());
  }

  /// Under mmaLhs the registers of a fragment follow one another in the instruction's order.
  SmallVector<Value> fragment(int64_t step, int64_t m) {
    int64_t registers = 4 * (4 / bytesOf(elementType(op.getLhs())));
    return packWords(builder, loc, lhsRegisters.slice((m * steps + step) * registers, registers));
  }

  tilegpu::MmaOp op;
  OpBuilder &builder;
  Location loc;
  Layout acc;
  SmallVector<Value> accs;
  ValueRange lhsRegisters;
  int64_t n, steps, instructionN;
  std::optional<Operand> lhs, rhs;
  Value accumulate;
};

struct Wgmma : OpConversionPattern<tilegpu::MmaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::MmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    if (!op.isWgmma())
      return rewriter.notifyMatchFailure(op, "not for wgmma");
    Product product(op, adaptor, rewriter);
    if (StringRef why = product.unsupported(); !why.empty())
      return op.emitOpError("kind wgmma: ") << why;
    rewriter.replaceOpWithMultiple(op, {product.run()});
    return success();
  }
};

struct MmaWait : OpConversionPattern<tilegpu::MmaWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::MmaWaitOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    SmallVector<Value> registers;
    for (ValueRange tile : adaptor.getTiles())
      llvm::append_range(registers, tile);
    SmallVector<Value> tied = tieThrough(rewriter, op.getLoc(), "wgmma.wait_group.sync.aligned 0;", registers);
    SmallVector<SmallVector<Value>> results;
    ArrayRef<Value> rest(tied);
    for (ValueRange tile : adaptor.getTiles()) {
      results.emplace_back(rest.take_front(tile.size()));
      rest = rest.drop_front(tile.size());
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};
} // namespace

void tilec::lowering::populateWgmmaPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Wgmma, MmaWait>(types, patterns.getContext());
}
