//===- Debug.cpp - Printing and assertions --------------------------------===//
//
// Both call functions that the driver provides in device code: vprintf takes a format and a buffer
// of arguments, promoted and aligned as in C, and __assertfail ends the launch with an error.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"
#include "dialects/Tile/IR/SourceFrames.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Layout;

namespace {
//===----------------------------------------------------------------------===//
// Functions and texts of the device
//===----------------------------------------------------------------------===//

void callDevice(OpBuilder &builder, Location loc, StringRef name, Type result, ValueRange arguments) {
  auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(arguments.getTypes()));
    function = LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
  }
  LLVM::CallOp::create(builder, loc, function, arguments);
}

/// The address of a constant text, !llvm.ptr. Equal texts are one.
Value addressOf(OpBuilder &builder, Location loc, StringRef text) {
  auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string terminated = text.str();
  terminated.push_back('\0');
  StringAttr value = builder.getStringAttr(terminated);
  LLVM::GlobalOp found;
  int64_t count = 0;
  for (auto global : module.getOps<LLVM::GlobalOp>())
    if (global.getValueAttr()) {
      ++count;
      found = global.getValueAttr() == value ? global : found;
    }
  if (!found) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
    found = LLVM::GlobalOp::create(builder, module.getLoc(), bytes, /*isConstant=*/true, LLVM::Linkage::Internal,
                                   llvm::formatv("tilec_text_{0}", count).str(), value, /*alignment=*/1, kGlobalSpace);
  }
  auto global = LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace);
  Value address = LLVM::AddressOfOp::create(builder, loc, global, found.getSymName());
  return LLVM::AddrSpaceCastOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), address);
}

/// i1: this is the thread that speaks for its program.
Value isSpeaker(OpBuilder &builder, Location loc) {
  ThreadId thread = threadId(builder, loc);
  Value either = arith::OrIOp::create(builder, loc, thread.lane, thread.warp);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, either, constantI32(builder, loc, 0));
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// What C passes for a value whose parameter has no type, and how printf spells it.
struct Promoted {
  Value value;
  std::string conversion;
};

/// Decimal digits that tell neighbouring values of a type apart: 9 for f32.
std::string floatConversion(FloatType type) {
  const double kDigitsPerBit = 0.30103;
  unsigned bits = llvm::APFloat::semanticsPrecision(type.getFloatSemantics());
  return llvm::formatv("%.{0}g", static_cast<int64_t>(2 + bits * kDigitsPerBit)).str();
}

Promoted promote(OpBuilder &builder, Location loc, Value value, bool isUnsigned) {
  Type type = value.getType(), i32 = builder.getI32Type();
  if (auto real = dyn_cast<FloatType>(type)) {
    if (type.getIntOrFloatBitWidth() < 32)
      value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
    if (!type.isF64())
      value = arith::ExtFOp::create(builder, loc, builder.getF64Type(), value);
    return {value, floatConversion(real)};
  }
  if (type.isInteger(1)) {
    Value yes = addressOf(builder, loc, "True"), no = addressOf(builder, loc, "False");
    return {arith::SelectOp::create(builder, loc, value, yes, no), "%s"};
  }
  if (type.isIndex())
    return {arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value), "%lld"};
  if (type.getIntOrFloatBitWidth() < 32)
    value = isUnsigned ? Value(arith::ExtUIOp::create(builder, loc, i32, value))
                       : Value(arith::ExtSIOp::create(builder, loc, i32, value));
  std::string length = type.isInteger(64) ? "ll" : "";
  return {value, "%" + length + (isUnsigned ? "u" : "d")};
}

/// A line in the making: its format, and the arguments that it takes.
class Line {
public:
  Line(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  void text(StringRef plain) {
    for (char c : plain)
      format.append(c == '%' ? 2 : 1, c);
  }
  void value(Value value, bool isUnsigned = false) {
    Promoted promoted = promote(builder, loc, value, isUnsigned);
    format += promoted.conversion;
    arguments.push_back(promoted.value);
  }
  /// As Python shows a tuple.
  void tuple(ValueRange values) {
    text("(");
    for (auto [number, coordinate] : llvm::enumerate(values)) {
      text(number ? ", " : "");
      value(coordinate);
    }
    text(values.size() == 1 ? ",)" : ")");
  }

  /// Prints the line; `buffer` is memory for the arguments of any line of this print.
  void emit(Value buffer) {
    int64_t end = 0;
    for (Value argument : arguments) {
      int64_t bytes = sizeOf(argument.getType()), offset = llvm::alignTo(end, bytes);
      Value address = offset ? offsetPointer(builder, loc, buffer, constantI32(builder, loc, offset)) : buffer;
      LLVM::StoreOp::create(builder, loc, argument, address, /*alignment=*/bytes);
      end = offset + bytes;
    }
    callDevice(builder, loc, "vprintf", builder.getI32Type(), {addressOf(builder, loc, format + "\n"), buffer});
  }

private:
  static int64_t sizeOf(Type promoted) { return promoted.isInteger(32) ? 4 : 8; }

  OpBuilder &builder;
  Location loc;
  std::string format;
  SmallVector<Value> arguments;
};

struct Print : OpConversionPattern<tilegpu::PrintOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::PrintOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    Value buffer = argumentBuffer(op, rewriter);
    SmallVector<ArrayRef<int64_t>> shapes = op.getTileShapes();
    for (ArrayRef<int64_t> shape : shapes)
      printElements(op, adaptor, shape, buffer, rewriter);
    if (shapes.empty())
      guarded(rewriter, loc, isSpeaker(rewriter, loc), [&] {
        Line line = begin(op, adaptor, rewriter);
        finish(line, op, adaptor, /*shape=*/std::nullopt, /*reg=*/0, buffer);
      });
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Allocated once, however often a loop prints.
  static Value argumentBuffer(tilegpu::PrintOp op, ConversionPatternRewriter &rewriter) {
    OpBuilder::InsertionGuard guard(rewriter);
    auto function = op->getParentOfType<FunctionOpInterface>();
    rewriter.setInsertionPointToStart(&function.getFunctionBody().front());
    int64_t rank = 0;
    for (ArrayRef<int64_t> shape : op.getTileShapes())
      rank = std::max<int64_t>(rank, shape.size());
    constexpr int64_t kArgumentBytes = 8;
    int64_t bytes = std::max<int64_t>(op.getProgram().size() + rank + op.getValues().size(), 1) * kArgumentBytes;
    return LLVM::AllocaOp::create(rewriter, op.getLoc(), LLVM::LLVMPointerType::get(op.getContext()),
                                  rewriter.getI8Type(), constantI32(rewriter, op.getLoc(), bytes), kArgumentBytes);
  }

  static Line begin(tilegpu::PrintOp op, OneToNOpAdaptor adaptor, OpBuilder &builder) {
    Line line(builder, op.getLoc());
    line.text("program ");
    SmallVector<Value> program;
    for (ValueRange coordinate : adaptor.getProgram())
      program.push_back(coordinate.front());
    line.tuple(program);
    return line;
  }

  /// Fills the places of the format: with scalars, and with register `reg` of tiles of this shape.
  static void finish(Line &line, tilegpu::PrintOp op, OneToNOpAdaptor adaptor, std::optional<ArrayRef<int64_t>> shape,
                     int64_t reg, Value buffer) {
    line.text(": ");
    auto [text, rest] = op.getFormat().split("{}");
    line.text(text);
    for (auto [value, registers, isUnsigned] :
         llvm::zip_equal(op.getValues(), adaptor.getValues(), op.getIsUnsigned())) {
      auto tile = dyn_cast<RankedTensorType>(value.getType());
      if (!tile)
        line.value(registers.front(), isUnsigned);
      else if (tile.getShape() == *shape)
        line.value(registers[reg], isUnsigned);
      else
        line.text("[...]");
      std::tie(text, rest) = rest.split("{}");
      line.text(text);
    }
    line.emit(buffer);
  }

  /// Every element of tiles of this shape, by the thread that owns it.
  static void printElements(tilegpu::PrintOp op, OneToNOpAdaptor adaptor, ArrayRef<int64_t> shape, Value buffer,
                            ConversionPatternRewriter &rewriter) {
    Location loc = op.getLoc();
    auto isOfShape = [&](Type type) {
      auto tile = dyn_cast<RankedTensorType>(type);
      return tile && tile.getShape() == shape;
    };
    Layout layout = Layout::of(*llvm::find_if(op.getValues().getTypes(), isOfShape));
    ThreadId id = threadId(rewriter, loc);
    SmallVector<Value> thread = threadCoords(rewriter, loc, layout, id);
    Value owner = isOwner(rewriter, loc, layout, id);
    for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
      SmallVector<Value> coords = elementCoords(rewriter, loc, layout, thread, reg);
      Value live = isLive(rewriter, loc, layout, shape, coords, reg);
      guarded(rewriter, loc, andAlso(rewriter, loc, live, owner), [&] {
        Line line = begin(op, adaptor, rewriter);
        line.text(", element ");
        line.tuple(coords);
        finish(line, op, adaptor, shape, reg, buffer);
      });
    }
  }
};

//===----------------------------------------------------------------------===//
// Assertions
//===----------------------------------------------------------------------===//

/// Every thread has the condition.
struct Assert : OpConversionPattern<tile::AssertOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::AssertOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    if (!op.getCondition().getType().isInteger(1))
      return rewriter.notifyMatchFailure(op, "the condition is a tile: run convert-tile-to-tilegpu first");
    Location loc = op.getLoc();
    Value holds = adaptor.getCondition().front(),
          no = arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(false));
    Value fails = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, holds, no);
    guarded(rewriter, loc, andAlso(rewriter, loc, fails, isSpeaker(rewriter, loc)), [&] {
      SmallVector<tile::SourceFrame> frames = tile::sourceFrames(op.getLoc());
      tile::SourceFrame place = frames.empty() ? tile::SourceFrame{"<unknown>", 0, 0, ""} : frames.front();
      StringRef function =
          place.function.empty() ? op->getParentOfType<FunctionOpInterface>().getName() : place.function;
      Value characterBytes = constantI64(rewriter, loc, 1);
      callDevice(rewriter, loc, "__assertfail", LLVM::LLVMVoidType::get(op.getContext()),
                 {addressOf(rewriter, loc, op.getMessage()), addressOf(rewriter, loc, place.file),
                  constantI32(rewriter, loc, place.line), addressOf(rewriter, loc, function), characterBytes});
    });
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void tilec::lowering::populateDebugPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Print, Assert>(types, patterns.getContext());
}
