//===- Mma.cpp - Matrix products on mma.sync ------------------------------===//
//
// Every type's instruction takes 32 bytes of K a step: eight 16-byte rows of an
// operand are one ldmatrix matrix, and a thread holds four neighbouring bytes
// of a row. Operands come from shared memory right before they are multiplied;
// the assembler overlaps the steps.
//
// Source: PTX ISA, "Matrix Fragments for mma.m16n8k8 / k16 / k32" and
// "ldmatrix".
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Mma.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Basis;
using tilegpu::Layout;

namespace {
constexpr int64_t kInstructionM = 16, kInstructionN = 8, kStepBytes = 32;
/// Accumulators a thread holds for one instruction.
constexpr int64_t kInstructionAccs = 4;

Basis along(int64_t dim, int64_t value) {
  Basis basis(2, 0);
  basis[dim] = value;
  return basis;
}

//===----------------------------------------------------------------------===//
// The instruction
//===----------------------------------------------------------------------===//

/// PTX's name of an operand's element type; nothing when no mma.sync takes it.
std::optional<NVVM::MMATypes> operandType(Type type, bool isUnsigned) {
  if (type.isF16())
    return NVVM::MMATypes::f16;
  if (type.isBF16())
    return NVVM::MMATypes::bf16;
  if (type.isF32())
    return NVVM::MMATypes::tf32;
  if (type.isInteger(8))
    return isUnsigned ? NVVM::MMATypes::u8 : NVVM::MMATypes::s8;
  return std::nullopt;
}

/// fp8 products are not in the NVVM dialect.
StringRef fp8Name(Type type) { return isa<Float8E4M3FNType>(type) ? "e4m3" : isa<Float8E5M2Type>(type) ? "e5m2" : ""; }

class Instruction {
public:
  Instruction(OpBuilder &builder, tilegpu::MmaOp op, Type lhs, Type rhs, Type acc)
      : builder(builder), loc(op.getLoc()), lhs(lhs), rhs(rhs), acc(acc),
        lhsType(operandType(lhs, op.getLhsUnsigned())), rhsType(operandType(rhs, op.getRhsUnsigned())) {}

  /// Why no instruction multiplies these types, or nothing.
  StringRef unsupported() const {
    if (lhs.getIntOrFloatBitWidth() != rhs.getIntOrFloatBitWidth() || lhs.isInteger() != rhs.isInteger())
      return "operands must be of one kind and width";
    if (isFp8())
      return acc.isF32() ? "" : "fp8 accumulates in f32";
    if (!lhsType || !rhsType)
      return "no mma.sync multiplies the operands' type";
    if (lhs.isInteger())
      return acc.isInteger(32) ? "" : "i8 accumulates in i32";
    if (lhs != rhs)
      return "operands must have one type";
    return acc.isF32() || (lhs.isF16() && acc.isF16()) ? "" : "no mma.sync accumulates in this type";
  }

  /// `a`: 4 words, `b`: 2 words, `c`: 4 accumulators, replaced.
  void emit(ArrayRef<Value> a, ArrayRef<Value> b, MutableArrayRef<Value> c) {
    if (isFp8())
      return emitFp8(a, b, c);
    SmallVector<Value> accs = accOperands(c);
    SmallVector<Type> resultTypes = llvm::map_to_vector(accs, [](Value value) { return value.getType(); });
    Type result = LLVM::LLVMStructType::getLiteral(builder.getContext(), resultTypes);
    int64_t k = kStepBytes * 8 / lhs.getIntOrFloatBitWidth();
    auto overflow = lhs.isInteger() ? std::optional(NVVM::MMAIntOverflow::wrapped) : std::nullopt;
    Value product = NVVM::MmaOp::create(builder, loc, result, operands(a, lhs), operands(b, rhs), accs,
                                        ArrayRef<int64_t>{kInstructionM, kInstructionN, k}, std::nullopt, overflow,
                                        std::array<NVVM::MMATypes, 2>{*lhsType, *rhsType},
                                        std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
    SmallVector<Value> results;
    for (size_t i = 0; i < resultTypes.size(); ++i)
      results.push_back(LLVM::ExtractValueOp::create(builder, loc, product, i));
    takeAccs(results, c);
  }

private:
  bool isFp8() const { return !fp8Name(lhs).empty() && !fp8Name(rhs).empty(); }

  /// f16 operands are pairs; every other type's are plain words.
  SmallVector<Value> operands(ArrayRef<Value> words, Type type) {
    if (!type.isF16())
      return SmallVector<Value>(words);
    return llvm::map_to_vector(words, [&](Value word) -> Value {
      return LLVM::BitcastOp::create(builder, loc, VectorType::get(2, type), word);
    });
  }

  SmallVector<Value> accOperands(ArrayRef<Value> c) {
    if (!acc.isF16())
      return SmallVector<Value>(c);
    return operands(packWords(builder, loc, c), acc);
  }

  void takeAccs(ArrayRef<Value> results, MutableArrayRef<Value> c) {
    SmallVector<Value> scalars(results);
    if (acc.isF16()) {
      SmallVector<Value> words = llvm::map_to_vector(results, [&](Value pair) -> Value {
        return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), pair);
      });
      scalars = unpackWords(builder, loc, words, acc);
    }
    llvm::copy(scalars, c.begin());
  }

  void emitFp8(ArrayRef<Value> a, ArrayRef<Value> b, MutableArrayRef<Value> c) {
    std::string text = llvm::formatv("mma.sync.aligned.m16n8k32.row.col.f32.{0}.{1}.f32 {{$0, $1, $2, $3}, "
                                     "{{$4, $5, $6, $7}, {{$8, $9}, {{$0, $1, $2, $3};",
                                     fp8Name(lhs), fp8Name(rhs));
    SmallVector<Value> inputs(a);
    llvm::append_range(inputs, b);
    llvm::append_range(inputs, c);
    SmallVector<Value> results = inlineAsm(builder, loc, text, "=f,=f,=f,=f,r,r,r,r,r,r,0,1,2,3", inputs,
                                           SmallVector<Type>(kInstructionAccs, acc), /*sideEffects=*/false);
    llvm::copy(results, c.begin());
  }

  OpBuilder &builder;
  Location loc;
  Type lhs, rhs, acc;
  std::optional<NVVM::MMATypes> lhsType, rhsType;
};

//===----------------------------------------------------------------------===//
// Operands in shared memory
//===----------------------------------------------------------------------===//

/// Reads fragments with ldmatrix: lane l gives the address of row l % 8 of
/// matrix l / 8.
class FragmentLoader {
public:
  /// Which dimension of the operand is K, and how its four matrices follow one
  /// another: the lane's bit 3 and bit 4 each choose the other half of K or of
  /// the other dimension.
  FragmentLoader(OpBuilder &builder, Location loc, tilegpu::SmemType type, Value base, int64_t kDim, bool halvesFirst,
                 bool twoHalves, const Layout &acc, ThreadId thread)
      : builder(builder), loc(loc), transposed(SharedPlacement::of(type).contiguous != kDim),
        matrices(twoHalves ? 4 : 2),
        addresses(builder, loc, SharedPlacement::of(type), base,
                  threadCoords(builder, loc, lanes(type, kDim, halvesFirst, twoHalves, acc), thread)) {}

  /// The words of the fragment whose first element is at `origin`.
  SmallVector<Value> load(ArrayRef<int64_t> origin) {
    MLIRContext *context = builder.getContext();
    Type i32 = builder.getI32Type();
    Type result = LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(matrices, i32));
    auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
    Value loaded =
        NVVM::LdMatrixOp::create(builder, loc, result, addresses.at(origin), matrices, layout,
                                 NVVM::LdStMatrixShapeAttr::get(context, 8, 8), NVVM::LdStMatrixEltType::B16);
    SmallVector<Value> words;
    for (int64_t i = 0; i < matrices; ++i)
      words.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
    return words;
  }

private:
  static Layout lanes(tilegpu::SmemType type, int64_t kDim, bool halvesFirst, bool twoHalves, const Layout &acc) {
    const int64_t other = 1 - kDim, halfK = kChunkBytes / type.getElementBytes();
    const int64_t rows = SharedPlacement::of(type).contiguous == kDim ? other : kDim;
    Layout layout;
    for (int64_t row = 1; row < 8; row *= 2)
      layout.lanes.push_back(along(rows, row));
    Basis nextK = along(kDim, halfK), nextOther = along(other, twoHalves ? 8 : 0);
    layout.lanes.push_back(halvesFirst ? nextOther : nextK);
    layout.lanes.push_back(halvesFirst ? nextK : nextOther);
    for (const Basis &basis : acc.warps)
      layout.warps.push_back(along(other, basis[other]));
    layout.repeat = {1, 1};
    return layout;
  }

  OpBuilder &builder;
  Location loc;
  bool transposed;
  int64_t matrices;
  SharedAddresses addresses;
};

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

class SyncProduct {
public:
  SyncProduct(tilegpu::MmaOp op, tilegpu::MmaOp::GenericAdaptor<ArrayRef<ValueRange>> adaptor, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()), acc(Layout::of(op.getAcc().getType())),
        thread(threadId(builder, loc)), accs(adaptor.getAcc()), lhsRegisters(adaptor.getLhs()),
        instruction(builder, op, elementType(op.getLhs()), elementType(op.getRhs()), elementType(op.getAcc())) {
    stepElems = kStepBytes / bytesOf(elementType(op.getRhs()));
    runs = acc.atomRegisters() / kInstructionAccs;
    if (auto lhs = dyn_cast<tilegpu::SmemType>(op.getLhs().getType()))
      lhsLoader.emplace(builder, loc, lhs, adaptor.getLhs().front(), /*kDim=*/1,
                        /*halvesFirst=*/true,
                        /*twoHalves=*/true, acc, thread);
    rhsLoader.emplace(builder, loc, op.getRhs().getType(), adaptor.getRhs().front(), /*kDim=*/0,
                      /*halvesFirst=*/false,
                      /*twoHalves=*/runs == 2, acc, thread);
  }

  StringRef unsupported() {
    ArrayRef<int64_t> rhsShape = op.getRhs().getType().getShape();
    ArrayRef<int64_t> accShape = op.getAcc().getType().getShape();
    if (StringRef why = instruction.unsupported(); !why.empty())
      return why;
    if (rhsShape[0] % stepElems != 0)
      return "K must be a multiple of the instruction's";
    if (accShape[0] % kInstructionM != 0 || accShape[1] % kInstructionN != 0 || !acc.covers(accShape))
      return "M and N must be multiples of the instruction's";
    return "";
  }

  SmallVector<Value> run() {
    const int64_t steps = op.getRhs().getType().getShape()[0] / stepElems;
    for (int64_t step = 0; step < steps; ++step) {
      SmallVector<SmallVector<Value>> lhs, rhs;
      for (int64_t m = 0; m < acc.repeat[0]; ++m)
        lhs.push_back(lhsFragment(m, step, steps));
      for (int64_t n = 0; n < acc.repeat[1]; ++n)
        rhs.push_back(rhsLoader->load({step * stepElems, n * acc.atomExtent(1)}));
      for (int64_t m = 0; m < acc.repeat[0]; ++m)
        for (int64_t n = 0; n < acc.repeat[1]; ++n)
          for (int64_t run = 0; run < runs; ++run)
            instruction.emit(lhs[m], ArrayRef(rhs[n]).slice(2 * run, 2), accumulators(m, n, run));
    }
    return std::move(accs);
  }

private:
  static Type elementType(Value tile) {
    if (auto smem = dyn_cast<tilegpu::SmemType>(tile.getType()))
      return smem.getElementType();
    return cast<RankedTensorType>(tile.getType()).getElementType();
  }

  SmallVector<Value> lhsFragment(int64_t m, int64_t step, int64_t steps) {
    if (lhsLoader)
      return lhsLoader->load({m * acc.atomExtent(0), step * stepElems});
    // Under mmaLhs the registers of a fragment follow one another in the
    // instruction's order.
    int64_t registers = 4 * (4 / bytesOf(elementType(op.getLhs())));
    return packWords(builder, loc, lhsRegisters.slice((m * steps + step) * registers, registers));
  }

  MutableArrayRef<Value> accumulators(int64_t m, int64_t n, int64_t run) {
    int64_t first = ((m * acc.repeat[1] + n) * runs + run) * kInstructionAccs;
    return MutableArrayRef<Value>(accs).slice(first, kInstructionAccs);
  }

  tilegpu::MmaOp op;
  OpBuilder &builder;
  Location loc;
  Layout acc;
  ThreadId thread;
  SmallVector<Value> accs;
  ValueRange lhsRegisters;
  Instruction instruction;
  int64_t stepElems; ///< K of one instruction
  int64_t runs;      ///< instructions along N that the atom of the accumulator's
                     ///< layout spans
  std::optional<FragmentLoader> lhsLoader, rhsLoader;
};

struct Mma : OpConversionPattern<tilegpu::MmaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::MmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    if (op.getKind() != tilegpu::MmaKind::mma_sync)
      return rewriter.notifyMatchFailure(op, "not for mma.sync");
    SyncProduct product(op, adaptor, rewriter);
    if (StringRef why = product.unsupported(); !why.empty())
      return op.emitOpError("kind mma_sync: ") << why;
    rewriter.replaceOpWithMultiple(op, {product.run()});
    return success();
  }
};
} // namespace

void tilec::lowering::populateMmaPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Mma>(types, patterns.getContext());
  populateFmaPatterns(types, patterns);
}
