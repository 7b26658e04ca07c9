//===- Memory.cpp - Tiles to and from global memory -----------------------===//
//
// Each thread moves the elements of its registers in vectors of up to 16 bytes. One comparison a
// vector and dimension decides between inside and outside: the bound is the smaller of the array's
// rest and the tile's extent, so it drops padding of the layout as well.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/TileAccess.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Layout;

namespace {
//===----------------------------------------------------------------------===//
// One instruction
//===----------------------------------------------------------------------===//

/// ".v4.b32" and the like for an access of this many bytes; narrow ones use part of a 32-bit register.
std::string accessSuffix(int64_t bytes) {
  switch (bytes) {
  case 1:
    return ".b8";
  case 2:
    return ".b16";
  case 4:
    return ".b32";
  default:
    return llvm::formatv(".v{0}.b32", bytes / 4).str();
  }
}

std::string registerList(int64_t first, int64_t count) {
  std::string list;
  for (int64_t i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? list : "{" + list + "}";
}

std::string repeated(StringRef constraint, int64_t count) {
  std::string all;
  for (int64_t i = 0; i < count; ++i)
    all += (i ? "," : "") + constraint.str();
  return all;
}

int64_t wordCount(int64_t bytes) { return std::max<int64_t>(bytes / 4, 1); }

/// Loads `bytes`; where `mask` (null: always) is false, the result is `padding`, as words.
SmallVector<Value> emitLoad(OpBuilder &builder, Location loc, Value address, int64_t bytes, Value mask,
                            ArrayRef<Value> padding, bool readOnly) {
  int64_t words = wordCount(bytes);
  SmallVector<Type> types(words, builder.getI32Type());
  std::string instruction = (readOnly ? "ld.global.nc" : "ld.global") + accessSuffix(bytes) + " " +
                            registerList(0, words) + llvm::formatv(", [${0}];", words).str();
  std::string constraints = repeated("=r", words) + ",l";
  SmallVector<Value> inputs{address};
  if (mask) {
    instruction = llvm::formatv("@${0} ", words + 1).str() + instruction;
    constraints += ",b";
    inputs.push_back(mask);
    for (int64_t i = 0; i < words; ++i)
      constraints += "," + std::to_string(i);
    llvm::append_range(inputs, padding);
  }
  return inlineAsm(builder, loc, instruction, constraints, inputs, types, /*sideEffects=*/!readOnly);
}

void emitStore(OpBuilder &builder, Location loc, Value address, ArrayRef<Value> words, int64_t bytes, Value mask) {
  int64_t count = words.size();
  std::string instruction = "st.global" + accessSuffix(bytes) + " [$0], " + registerList(1, count) + ";";
  std::string constraints = "l," + repeated("r", count);
  SmallVector<Value> inputs{address};
  llvm::append_range(inputs, words);
  if (mask) {
    instruction = llvm::formatv("@${0} ", count + 1).str() + instruction;
    constraints += ",b";
    inputs.push_back(mask);
  }
  inlineAsm(builder, loc, instruction, constraints + ",~{memory}", inputs, {}, /*sideEffects=*/true);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

SmallVector<Value> firsts(ArrayRef<ValueRange> ranges) {
  return llvm::map_to_vector(ranges, [](ValueRange range) -> Value { return range.front(); });
}

struct Load : OpConversionPattern<tile::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    tile::ViewType type = op.getView().getType();
    SmallVector<int64_t> step(op.getStep() ? *op.getStep() : op.getType().getShape());
    SmallVector<TileAccess::Bounds> bounds;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      bounds.push_back({/*lower=*/!isNonNegative(op, dim), /*upper=*/true});
    TileAccess access(rewriter, loc, type, unpackView(rewriter, loc, type, adaptor.getView()), op.getType(),
                      firsts(adaptor.getIndices()), step, bounds);

    Type element = op.getType().getElementType();
    Value pad = op.getPad() ? adaptor.getPad().front() : zeroOf(rewriter, loc, element);
    SmallVector<Value> padding = packWords(rewriter, loc, SmallVector<Value>(access.vectorElems(), pad));
    SmallVector<Value> registers;
    for (int64_t number = 0; number < access.numVectors(); ++number) {
      SmallVector<Value> words = emitLoad(rewriter, loc, access.address(number), access.vectorBytes(),
                                          access.inside(number), padding, type.isReadOnly());
      SmallVector<Value> scalars = unpackWords(rewriter, loc, words, element);
      registers.append(scalars.begin(), scalars.begin() + access.vectorElems());
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

struct Store : OpConversionPattern<tile::StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    RankedTensorType tile = op.getValue().getType();
    SmallVector<TileAccess::Bounds> bounds;
    SmallVector<Value> indices;
    const ArrayRef<int64_t> step = op.getStep().value_or(tile.getShape());
    tile::ViewType type;
    if (auto partition = dyn_cast<tile::PartitionType>(op.getDest().getType())) {
      type = partition.getView();
      if (op.getIndices().empty())
        llvm::append_range(indices, tile::IndexOp::create(rewriter, loc,
                                                          SmallVector<Type>(type.getRank(), rewriter.getIndexType()),
                                                          op.getDest())
                                        .getResults());
      else
        llvm::append_range(indices, firsts(adaptor.getIndices()));
      // A program's own tile starts inside, and ends inside when its extent divides the array's. A part of it may lie
      // beyond where the whole does not.
      for (auto [extent, divisor] : llvm::zip_equal(partition.getTileShape(), type.getDivisible()))
        bounds.push_back({/*lower=*/false, /*upper=*/divisor % extent != 0});
    } else {
      type = cast<tile::ViewType>(op.getDest().getType());
      llvm::append_range(indices, firsts(adaptor.getIndices()));
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        bounds.push_back({/*lower=*/!isNonNegative(op, dim), /*upper=*/true});
    }
    TileAccess access(rewriter, loc, type, unpackView(rewriter, loc, type, adaptor.getDest()), tile, indices, step,
                      bounds);
    Value owner = access.owner();
    ValueRange registers = adaptor.getValue();
    for (int64_t number = 0; number < access.numVectors(); ++number) {
      ValueRange scalars = registers.slice(number * access.vectorElems(), access.vectorElems());
      emitStore(rewriter, loc, access.address(number), packWords(rewriter, loc, scalars), access.vectorBytes(),
                andAlso(rewriter, loc, access.inside(number), owner));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct Gather : OpConversionPattern<tile::GatherOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::GatherOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    tile::ViewType type = op.getView().getType();
    ViewValues view = unpackView(rewriter, loc, type, adaptor.getView());
    Type element = op.getType().getElementType();
    Value fill = op.getFill() ? adaptor.getFill().front() : zeroOf(rewriter, loc, element);
    SmallVector<Value> padding = packWords(rewriter, loc, fill);
    SmallVector<Value> registers;
    for (int64_t reg = 0; reg < Layout::of(op.getType()).numRegisters(); ++reg) {
      Value inside = op.getMask() ? adaptor.getMask()[reg] : Value();
      Value address = view.pointer;
      for (auto [dim, index] : llvm::enumerate(adaptor.getIndices())) {
        Value position = index[reg];
        if (!position.getType().isInteger(64))
          position = arith::ExtSIOp::create(rewriter, loc, rewriter.getI64Type(), position);
        // Unsigned: a negative index is beyond any extent.
        inside = andAlso(rewriter, loc, inside,
                         arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult, position, view.dims[dim]));
        Value stride =
            arith::MulIOp::create(rewriter, loc, view.strides[dim], constantI64(rewriter, loc, type.getElementBytes()));
        address = offsetPointer(rewriter, loc, address, arith::MulIOp::create(rewriter, loc, position, stride));
      }
      SmallVector<Value> words =
          emitLoad(rewriter, loc, address, type.getElementBytes(), inside, padding, type.isReadOnly());
      registers.push_back(unpackWords(rewriter, loc, words, element).front());
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};
} // namespace

void tilec::lowering::populateMemoryPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Load, Store, Gather>(types, patterns.getContext());
}
