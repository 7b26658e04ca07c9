//===- Memory.cpp - Tiles to and from global memory -----------------------===//
//
// Each thread moves the elements of its registers in vectors of up to 16 bytes. One comparison a
// vector and dimension decides between inside and outside: the bound is the smaller of the array's
// rest and the tile's extent, so it drops padding of the layout as well.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Coords;
using tilegpu::Layout;

namespace {
constexpr int64_t kMaxAccessBytes = 16;

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
  std::string instruction =
      "st.global" + accessSuffix(bytes) + " [$0], " + registerList(1, count) + ";";
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
// One tile's accesses
//===----------------------------------------------------------------------===//

/// Where a tile lies in an array and how this thread walks it.
class TileAccess {
public:
  struct Bounds {
    bool lower = true, upper = true; ///< which of the two must be tested, a dimension
  };

  TileAccess(OpBuilder &builder, Location loc, tile::ViewType type, const ViewValues &view, RankedTensorType tile,
             ValueRange indices, ArrayRef<int64_t> step, ArrayRef<Bounds> bounds)
      : builder(builder), loc(loc), type(type), layout(Layout::of(tile)), shape(tile.getShape()),
        bytes(type.getElementBytes()) {
    offsetType = type.getIndexBits() == 32 ? builder.getI32Type() : builder.getI64Type();
    chooseVector(step);
    threadId = lowering::threadId(builder, loc);
    thread = threadCoords(builder, loc, layout, threadId);
    place(view, indices, step, bounds);
  }

  int64_t vectorElems() const { return vector; }
  int64_t vectorBytes() const { return vector * bytes; }
  int64_t numVectors() const { return layout.numRegisters() / vector; }

  /// Address of the first element of vector `number`.
  Value address(int64_t number) {
    int64_t reg = number * vector;
    Coords atom = layout.registerAtom(reg), repeat = layout.registerRepeat(reg);
    int64_t constant = 0;
    Value dynamic;
    for (int64_t dim = 0; dim < layout.rank(); ++dim) {
      Value part;
      if (isSeparate(dim, atom)) {
        int64_t extra = atom[dim] + repeat[dim];
        if (type.hasUnitStride(dim)) {
          constant += extra * bytes;
          continue;
        }
        if (extra == 0)
          continue;
        part = multiply(offset(extra), strideBytes[dim]);
      } else {
        Value coord = elementCoords(builder, loc, layout, thread, reg)[dim];
        part = multiply(widen(arith::SubIOp::create(builder, loc, coord, thread[dim])), strideBytes[dim]);
      }
      dynamic = dynamic ? Value(arith::AddIOp::create(builder, loc, dynamic, part)) : part;
    }
    Value pointer = dynamic ? offsetPointer(builder, loc, threadPointer, dynamic) : threadPointer;
    return constant == 0 ? pointer : offsetPointer(builder, loc, pointer, constantI32(builder, loc, constant));
  }

  /// i1: vector `number` lies inside array and tile. Null when it always does.
  Value inside(int64_t number) {
    SmallVector<Value> coords = elementCoords(builder, loc, layout, thread, number * vector);
    Value mask;
    for (int64_t dim = 0; dim < layout.rank(); ++dim) {
      if (upper[dim])
        mask = andAlso(builder, loc, mask,
                       arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, coords[dim], upper[dim]));
      if (lower[dim])
        mask = andAlso(builder, loc, mask,
                       arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, coords[dim], lower[dim]));
    }
    return mask;
  }

  Value owner() { return isOwner(builder, loc, layout, threadId); }

private:
  /// The widest access that the layout, the alignment and the bounds allow.
  void chooseVector(ArrayRef<int64_t> step) {
    for (int64_t dim = 0; dim < layout.rank(); ++dim) {
      if (!type.hasUnitStride(dim))
        continue;
      int64_t width = std::min(layout.contiguity(dim), kMaxAccessBytes / bytes);
      auto fits = [&](int64_t width) {
        // Whole vectors are inside or outside, and start at multiples of their size.
        if (shape[dim] % width != 0 || step[dim] % width != 0 || type.getDivisible()[dim] % width != 0 ||
            type.getAlign() % (width * bytes) != 0)
          return false;
        for (int64_t other = 0; other < layout.rank(); ++other)
          if (other != dim && type.getStrideAlign()[other] % (width * bytes) != 0)
            return false;
        return true;
      };
      while (width > 1 && !fits(width))
        width /= 2;
      vector = std::max(vector, width);
    }
  }

  void place(const ViewValues &view, ValueRange indices, ArrayRef<int64_t> step, ArrayRef<Bounds> bounds) {
    Value start = view.pointer, threadOffset;
    for (int64_t dim = 0; dim < layout.rank(); ++dim) {
      Value index = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), indices[dim]);
      Value first = arith::MulIOp::create(builder, loc, index, constantI64(builder, loc, step[dim]));
      Value stride = arith::MulIOp::create(builder, loc, view.strides[dim], constantI64(builder, loc, bytes));
      start = offsetPointer(builder, loc, start, arith::MulIOp::create(builder, loc, first, stride));
      strideBytes.push_back(narrow(stride));
      Value part = multiply(widen(thread[dim]), strideBytes[dim]);
      threadOffset = threadOffset ? Value(arith::AddIOp::create(builder, loc, threadOffset, part)) : part;

      bool padded = layout.extent(dim) != shape[dim];
      upper.push_back(bounds[dim].upper ? clamp(arith::SubIOp::create(builder, loc, view.dims[dim], first), dim)
                      : padded          ? constantI32(builder, loc, shape[dim])
                                        : Value());
      lower.push_back(bounds[dim].lower ? clamp(arith::SubIOp::create(builder, loc, constantI64(builder, loc, 0), first), dim)
                                        : Value());
    }
    threadPointer = threadOffset ? offsetPointer(builder, loc, start, threadOffset) : start;
  }

  /// A bound relative to the tile's first element, between 0 and the tile's extent.
  Value clamp(Value bound, int64_t dim) {
    bound = arith::MinSIOp::create(builder, loc, bound, constantI64(builder, loc, shape[dim]));
    bound = arith::MaxSIOp::create(builder, loc, bound, constantI64(builder, loc, 0));
    return arith::TruncIOp::create(builder, loc, builder.getI32Type(), bound);
  }

  /// True when a register's part of the coordinate can be added to the thread's.
  bool isSeparate(int64_t dim, const Coords &atom) const {
    int64_t bits = 0;
    for (const tilegpu::Basis &basis : layout.lanes)
      bits |= basis[dim];
    for (const tilegpu::Basis &basis : layout.warps)
      bits |= basis[dim];
    return (bits & atom[dim]) == 0;
  }

  Value offset(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(offsetType, value));
  }
  Value multiply(Value lhs, Value rhs) { return arith::MulIOp::create(builder, loc, lhs, rhs); }
  Value narrow(Value i64) {
    return offsetType.isInteger(64) ? i64 : Value(arith::TruncIOp::create(builder, loc, offsetType, i64));
  }
  Value widen(Value i32) {
    return offsetType.isInteger(32) ? i32 : Value(arith::ExtSIOp::create(builder, loc, offsetType, i32));
  }

  OpBuilder &builder;
  Location loc;
  tile::ViewType type;
  Layout layout;
  SmallVector<int64_t> shape;
  int64_t bytes;
  Type offsetType; ///< of byte offsets inside the tile
  int64_t vector = 1;
  ThreadId threadId;
  SmallVector<Value> thread, strideBytes, upper, lower;
  Value threadPointer;
};

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

SmallVector<Value> firsts(ArrayRef<ValueRange> ranges) {
  return llvm::map_to_vector(ranges, [](ValueRange range) -> Value { return range.front(); });
}

struct Load : OpConversionPattern<tile::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OneToNOpAdaptor adaptor, ConversionPatternRewriter &rewriter) const final {
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
  LogicalResult matchAndRewrite(tile::StoreOp op, OneToNOpAdaptor adaptor, ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    RankedTensorType tile = op.getValue().getType();
    SmallVector<TileAccess::Bounds> bounds;
    SmallVector<Value> indices;
    tile::ViewType type;
    if (auto partition = dyn_cast<tile::PartitionType>(op.getDest().getType())) {
      type = partition.getView();
      auto own = tile::IndexOp::create(rewriter, loc, SmallVector<Type>(type.getRank(), rewriter.getIndexType()), op.getDest());
      llvm::append_range(indices, own.getResults());
      // A program's own tile starts inside; it ends inside when its extent divides the array's.
      for (auto [extent, divisor] : llvm::zip_equal(tile.getShape(), type.getDivisible()))
        bounds.push_back({/*lower=*/false, /*upper=*/divisor % extent != 0});
    } else {
      type = cast<tile::ViewType>(op.getDest().getType());
      llvm::append_range(indices, firsts(adaptor.getIndices()));
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        bounds.push_back({/*lower=*/!isNonNegative(op, dim), /*upper=*/true});
    }
    TileAccess access(rewriter, loc, type, unpackView(rewriter, loc, type, adaptor.getDest()), tile, indices,
                      tile.getShape(), bounds);
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
  LogicalResult matchAndRewrite(tile::GatherOp op, OneToNOpAdaptor adaptor, ConversionPatternRewriter &rewriter) const final {
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
        Value stride = arith::MulIOp::create(rewriter, loc, view.strides[dim], constantI64(rewriter, loc, type.getElementBytes()));
        address = offsetPointer(rewriter, loc, address, arith::MulIOp::create(rewriter, loc, position, stride));
      }
      SmallVector<Value> words = emitLoad(rewriter, loc, address, type.getElementBytes(), inside, padding, type.isReadOnly());
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
