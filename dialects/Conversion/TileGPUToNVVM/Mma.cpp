//===- Mma.cpp - Matrix products on mma.sync ------------------------------===//
//
// An instruction of up to 32 bits takes 32 bytes of K: a thread holds words of neighbours along K.
// f64 takes as many elements in instructions of 4 to 16. Fragments come from shared memory right
// before they are multiplied; the assembler overlaps the steps.
//
// Source: PTX ISA, "Matrix Fragments for mma.m8n8k4 / m16n8k4 / k8 / k16 / k32".
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Mma.h"

#include "dialects/Conversion/TileGPUToNVVM/FragmentReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Layout;

namespace {
constexpr int64_t kInstructionM = 16, kInstructionN = 8, kFewestK = 4;
/// Accumulators a thread holds for one instruction.
constexpr int64_t kInstructionAccs = 4;

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

/// One m16n8 product, of as much K as mmaStep says.
class Instruction {
public:
  Instruction(OpBuilder &builder, tilegpu::MmaOp op, Type lhs, Type rhs, Type acc, int64_t step)
      : builder(builder), loc(op.getLoc()), lhs(lhs), rhs(rhs), acc(acc), step(step),
        lhsType(operandType(lhs, op.getLhsUnsigned())), rhsType(operandType(rhs, op.getRhsUnsigned())) {
    tilegpu::TargetAttr target = tilegpu::TargetAttr::of(op);
    tallF64 = target && target.has("mma_f64_m16");
  }

  /// Why no instruction multiplies these types, or nothing.
  StringRef unsupported() const {
    if (lhs.getIntOrFloatBitWidth() != rhs.getIntOrFloatBitWidth() || lhs.isInteger() != rhs.isInteger())
      return "operands must be of one kind and width";
    if (isFp8())
      return acc.isF32() ? "" : "fp8 accumulates in f32";
    if (lhs.isF64())
      return acc.isF64() ? "" : "f64 accumulates in f64";
    if (!lhsType || !rhsType)
      return "no mma.sync multiplies the operands' type";
    if (lhs.isInteger())
      return acc.isInteger(32) ? "" : "i8 accumulates in i32";
    if (lhs != rhs)
      return "operands must have one type";
    return acc.isF32() || (lhs.isF16() && acc.isF16()) ? "" : "no mma.sync accumulates in this type";
  }

  /// Words of each operand that a thread holds.
  int64_t lhsWords() const { return 2 * rhsWords(); }
  int64_t rhsWords() const { return lhs.isF64() ? step / 4 : 2; }

  /// `a` and `b`: the operands' words; `c`: 4 accumulators, replaced.
  void emit(ArrayRef<Value> a, ArrayRef<Value> b, MutableArrayRef<Value> c) {
    if (isFp8())
      return emitText("m16n8k32", {"f32", fp8Name(lhs), fp8Name(rhs), "f32"}, "f", "r", a, b, c);
    if (lhs.isF64())
      return emitF64(a, b, c);
    SmallVector<Value> accs = accOperands(c);
    SmallVector<Type> resultTypes = llvm::map_to_vector(accs, [](Value value) { return value.getType(); });
    Type result = LLVM::LLVMStructType::getLiteral(builder.getContext(), resultTypes);
    auto overflow = lhs.isInteger() ? std::optional(NVVM::MMAIntOverflow::wrapped) : std::nullopt;
    Value product = NVVM::MmaOp::create(builder, loc, result, operands(a, lhs), operands(b, rhs), accs,
                                        ArrayRef<int64_t>{kInstructionM, kInstructionN, step}, std::nullopt, overflow,
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

  /// Two halves of four K each where there is no taller instruction. K is in the operands' order, whichever that is.
  void emitF64(ArrayRef<Value> a, ArrayRef<Value> b, MutableArrayRef<Value> c) {
    std::array<StringRef, 4> types = {"f64", "f64", "f64", "f64"};
    if (tallF64)
      return emitText(llvm::formatv("m16n8k{0}", step).str(), types, "d", "d", a, b, c);
    for (size_t k = 0; k < b.size(); ++k)
      for (size_t half = 0; half < 2; ++half)
        emitText("m8n8k4", types, "d", "d", a[2 * k + half], b[k], c.slice(2 * half, 2));
  }

  /// An instruction that the NVVM dialect lacks; `types` are those of d, a, b and c.
  void emitText(StringRef shape, std::array<StringRef, 4> types, StringRef accConstraint, StringRef constraint,
                ArrayRef<Value> a, ArrayRef<Value> b, MutableArrayRef<Value> c) {
    std::string constraints;
    size_t next = 0;
    auto list = [&](size_t count, const std::string &each) {
      std::string names;
      for (size_t i = 0; i < count; ++i, ++next) {
        names += llvm::formatv("{0}${1}", i ? ", " : "", next).str();
        constraints += (constraints.empty() ? "" : ",") + each;
      }
      return "{" + names + "}";
    };
    std::string d = list(c.size(), "=" + accConstraint.str());
    std::string text =
        llvm::formatv("mma.sync.aligned.{0}.row.col.{1} {2}, {3}, {4}, {5};", shape, llvm::join(types, "."), d,
                      list(a.size(), constraint.str()), list(b.size(), constraint.str()), d);
    for (size_t i = 0; i < c.size(); ++i)
      constraints += "," + std::to_string(i);
    SmallVector<Value> inputs(a);
    llvm::append_range(inputs, b);
    llvm::append_range(inputs, c);
    llvm::copy(inlineAsm(builder, loc, text, constraints, inputs, SmallVector<Type>(c.size(), acc),
                         /*sideEffects=*/false),
               c.begin());
  }

  OpBuilder &builder;
  Location loc;
  Type lhs, rhs, acc;
  int64_t step; ///< elements of K
  std::optional<NVVM::MMATypes> lhsType, rhsType;
  bool tallF64; ///< f64 in m16n8
};

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

Type elementType(Value tile) {
  if (auto smem = dyn_cast<tilegpu::SmemType>(tile.getType()))
    return smem.getElementType();
  return cast<RankedTensorType>(tile.getType()).getElementType();
}

int64_t bits(Value tile) { return elementType(tile).getIntOrFloatBitWidth(); }

class SyncProduct {
public:
  SyncProduct(tilegpu::MmaOp op, tilegpu::MmaOp::GenericAdaptor<ArrayRef<ValueRange>> adaptor, OpBuilder &builder)
      : op(op), adaptor(adaptor), builder(builder), loc(op.getLoc()), acc(Layout::of(op.getAcc().getType())), atom(acc),
        accs(adaptor.getAcc()), depth(op.getRhs().getType().getShape()[0]),
        stepElems(tilegpu::mmaStep(depth, bits(op.getRhs()))),
        instruction(builder, op, elementType(op.getLhs()), elementType(op.getRhs()), elementType(op.getAcc()),
                    stepElems) {}

  StringRef unsupported() {
    ArrayRef<int64_t> accShape = op.getAcc().getType().getShape();
    if (StringRef why = instruction.unsupported(); !why.empty())
      return why;
    if (depth % stepElems != 0 || stepElems % kFewestK != 0)
      return "K must be a multiple of the instruction's";
    if (accShape[0] % kInstructionM != 0 || accShape[1] % kInstructionN != 0 || !acc.covers(accShape))
      return "M and N must be multiples of the instruction's";
    return "";
  }

  SmallVector<Value> run() {
    makeReaders();
    const int64_t steps = depth / stepElems;
    for (int64_t step = 0; step < steps; ++step) {
      SmallVector<SmallVector<Value>> lhs, rhs;
      for (int64_t m = 0; m < acc.repeat[0]; ++m)
        lhs.push_back(lhsFragment(m, step, steps));
      for (int64_t n = 0; n < acc.repeat[1]; ++n)
        rhs.push_back(rhsReader->load({step * stepElems, n * acc.repeatStep(1)}));
      for (int64_t m = 0; m < acc.repeat[0]; ++m)
        for (int64_t n = 0; n < acc.repeat[1]; ++n)
          multiply(lhs[m], rhs[n], (m * acc.repeat[1] + n) * acc.atomRegisters());
    }
    return std::move(accs);
  }

private:
  void makeReaders() {
    ArrayRef<int64_t> shape = op.getAcc().getType().getShape();
    ThreadId thread = threadId(builder, loc);
    if (auto lhs = dyn_cast<tilegpu::SmemType>(op.getLhs().getType()))
      lhsReader.emplace(builder, loc, lhs, adaptor.getLhs().front(),
                        Layout::mmaLhs(acc, {shape[0], stepElems}, bits(op.getLhs())), /*kDim=*/1, thread);
    rhsReader.emplace(builder, loc, op.getRhs().getType(), adaptor.getRhs().front(),
                      Layout::mmaRhs(acc, {stepElems, shape[1]}, bits(op.getRhs())), /*kDim=*/0, thread);
  }

  SmallVector<Value> lhsFragment(int64_t m, int64_t step, int64_t steps) {
    if (lhsReader)
      return lhsReader->load({m * acc.repeatStep(0), step * stepElems});
    // Under mmaLhs the registers of a fragment follow one another in the
    // instruction's order.
    ValueRange registers = adaptor.getLhs();
    const int64_t count = static_cast<int64_t>(registers.size()) / (acc.repeat[0] * steps);
    registers = registers.slice((m * steps + step) * count, count);
    return bits(op.getLhs()) > 32 ? SmallVector<Value>(registers) : packWords(builder, loc, registers);
  }

  /// All products of a fragment of rows and one of columns, whose accumulators start at register `first`.
  void multiply(ArrayRef<Value> lhs, ArrayRef<Value> rhs, int64_t first) {
    for (int64_t row = 0; row < int64_t(1) << atom.rowRuns.size(); ++row)
      for (int64_t column = 0; column < int64_t(1) << atom.columnRuns.size(); ++column) {
        SmallVector<int64_t, kInstructionAccs> registers;
        SmallVector<Value, kInstructionAccs> own;
        for (int64_t i = 0; i < kInstructionAccs; ++i) {
          registers.push_back(first + scattered(row, atom.rowRuns) + scattered(column, atom.columnRuns) +
                              ((i & 1) << atom.column) + ((i >> 1) << atom.row));
          own.push_back(accs[registers.back()]);
        }
        instruction.emit(lhs.slice(row * instruction.lhsWords(), instruction.lhsWords()),
                         rhs.slice(column * instruction.rhsWords(), instruction.rhsWords()), own);
        for (auto [reg, value] : llvm::zip_equal(registers, own))
          accs[reg] = value;
      }
  }

  /// The bits of `number` at the places `bits`.
  static int64_t scattered(int64_t number, ArrayRef<int64_t> bits) {
    int64_t result = 0;
    for (auto [place, bit] : llvm::enumerate(bits))
      result |= (number >> place & 1) << bit;
    return result;
  }

  tilegpu::MmaOp op;
  tilegpu::MmaOp::GenericAdaptor<ArrayRef<ValueRange>> adaptor;
  OpBuilder &builder;
  Location loc;
  Layout acc;
  tilegpu::MmaAtom atom;
  SmallVector<Value> accs;
  int64_t depth, stepElems; ///< K of the product and of one instruction
  Instruction instruction;
  std::optional<FragmentReader> lhsReader, rhsReader;
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
