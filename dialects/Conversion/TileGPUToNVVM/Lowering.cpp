//===- Lowering.cpp - What the lowering's op families share ---------------===//
#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"

#include "dialects/TileGPU/IR/Scratch.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Layout;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

TileTypeConverter::TileTypeConverter() {
  addConversion([](Type type) { return type; });
  addConversion([](RankedTensorType type, SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
    if (!isa_and_nonnull<tilegpu::LayoutAttr>(type.getEncoding()))
      return failure();
    types.append(Layout::of(type).numRegisters(), type.getElementType());
    return success();
  });
  auto addView = [](tile::ViewType type, SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
    MLIRContext *context = type.getContext();
    types.push_back(LLVM::LLVMPointerType::get(context, kGlobalSpace));
    int64_t dynamicStrides = llvm::count_if(type.getStrides(), [](int64_t stride) { return stride != 1; });
    types.append(type.getRank() + dynamicStrides, IntegerType::get(context, 64));
    return success();
  };
  addConversion(addView);
  addConversion(
      [addView](tile::PartitionType type, SmallVectorImpl<Type> &types) { return addView(type.getView(), types); });
  addConversion(
      [](tilegpu::SmemType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext(), kSharedSpace); });
  addConversion([](tilegpu::TensorMapType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext()); });
  addConversion(
      [](tilegpu::ProblemType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext(), kGlobalSpace); });
  addConversion([](tilegpu::TurnType type, SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
    types.push_back(LLVM::LLVMPointerType::get(type.getContext(), kSharedSpace));
    types.push_back(LLVM::LLVMPointerType::get(type.getContext()));
    return success();
  });
  addConversion([](tilegpu::QueueType type, SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
    types.push_back(LLVM::LLVMPointerType::get(type.getContext(), kSharedSpace));
    types.append(kQueueCursors, LLVM::LLVMPointerType::get(type.getContext()));
    return success();
  });
}

ViewValues lowering::unpackView(OpBuilder &builder, Location loc, tile::ViewType type, ValueRange values) {
  ViewValues view;
  view.pointer = values.front();
  values = values.drop_front();
  llvm::append_range(view.dims, values.take_front(type.getRank()));
  values = values.drop_front(type.getRank());
  for (int64_t stride : type.getStrides()) {
    if (stride == 1) {
      view.strides.push_back(constantI64(builder, loc, 1));
      continue;
    }
    view.strides.push_back(values.front());
    values = values.drop_front();
  }
  return view;
}

//===----------------------------------------------------------------------===//
// Where a thread stands
//===----------------------------------------------------------------------===//

Roles Roles::of(Operation *kernel) {
  auto number = [&](StringRef name, int64_t absent) {
    auto attr = kernel->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : absent;
  };
  return {number(tilegpu::TileGPUDialect::kNumWarps, 0), number(tilegpu::TileGPUDialect::kProducerWarps, 0),
          number(tilegpu::TileGPUDialect::kPrograms, 1), number(tilegpu::TileGPUDialect::kCluster, 1)};
}

Roles Roles::at(OpBuilder &builder) {
  Operation *op = builder.getInsertionBlock()->getParentOp();
  while (!isa<tile::KernelOp, LLVM::LLVMFuncOp>(op))
    op = op->getParentOp();
  return of(op);
}

ThreadId lowering::threadId(OpBuilder &builder, Location loc) {
  Type i32 = builder.getI32Type();
  Value tid = NVVM::ThreadIdXOp::create(builder, loc, i32);
  Value lane = arith::AndIOp::create(builder, loc, tid, constantI32(builder, loc, tilegpu::kLanes - 1));
  Value warp = arith::ShRUIOp::create(builder, loc, tid, constantI32(builder, loc, tilegpu::kLaneBits));
  if (Roles roles = Roles::at(builder); roles.programs > 1)
    warp = arith::AndIOp::create(builder, loc, warp, constantI32(builder, loc, roles.programWarps - 1));
  return {lane, warp};
}

Value lowering::programNumber(OpBuilder &builder, Location loc) {
  const Roles roles = Roles::at(builder);
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  int64_t bits = tilegpu::kLaneBits + llvm::Log2_64(roles.programWarps);
  return uniform(builder, loc, arith::ShRUIOp::create(builder, loc, thread, constantI32(builder, loc, bits)));
}

namespace {
/// Exclusive or of `bases[bit][dim]` over the set bits of `number`. Neighbouring bits whose bases double
/// are moved together: one mask and one shift.
template <typename Bases>
Value combineBits(OpBuilder &builder, Location loc, Value number, const Bases &bases, int64_t dim, Value sum) {
  for (size_t bit = 0; bit < bases.size();) {
    int64_t first = bases[bit][dim];
    size_t end = bit + 1;
    if (first == 0) {
      bit = end;
      continue;
    }
    while (end < bases.size() && llvm::isPowerOf2_64(first) && bases[end][dim] == first << (end - bit))
      ++end;
    Value part = number;
    if (llvm::isPowerOf2_64(first)) {
      int64_t shift = static_cast<int64_t>(llvm::Log2_64(first)) - static_cast<int64_t>(bit);
      int64_t mask = ((int64_t(1) << (end - bit)) - 1) << bit;
      part = arith::AndIOp::create(builder, loc, part, constantI32(builder, loc, mask));
      if (shift > 0)
        part = arith::ShLIOp::create(builder, loc, part, constantI32(builder, loc, shift));
      else if (shift < 0)
        part = arith::ShRUIOp::create(builder, loc, part, constantI32(builder, loc, -shift));
    } else {
      part = arith::ShRUIOp::create(builder, loc, part, constantI32(builder, loc, bit));
      part = arith::AndIOp::create(builder, loc, part, constantI32(builder, loc, 1));
      part = arith::MulIOp::create(builder, loc, part, constantI32(builder, loc, first));
    }
    sum = sum ? Value(arith::XOrIOp::create(builder, loc, sum, part)) : part;
    bit = end;
  }
  return sum;
}

/// What the group of the thread's warp adds along `dim` to `sum`, whose bits are below.
Value addGroup(OpBuilder &builder, Location loc, Value warp, const Layout &layout, int64_t dim, Value sum) {
  const int64_t step = layout.groupStep(dim);
  if (step == 0)
    return sum;
  Value group = arith::ShRUIOp::create(builder, loc, warp, constantI32(builder, loc, layout.warps.size()));
  Value part = arith::MulIOp::create(builder, loc, group, constantI32(builder, loc, step));
  return sum ? Value(arith::AddIOp::create(builder, loc, sum, part)) : part;
}

/// Coordinate bits that threads set along `dim`, below what their groups add.
int64_t threadBits(const Layout &layout, int64_t dim) {
  int64_t bits = 0;
  for (const tilegpu::Basis &basis : layout.lanes)
    bits |= basis[dim];
  for (const tilegpu::Basis &basis : layout.warps)
    bits |= basis[dim];
  return bits;
}
} // namespace

SmallVector<Value> lowering::threadCoords(OpBuilder &builder, Location loc, const Layout &layout, ThreadId thread) {
  SmallVector<Value> coords;
  for (int64_t dim = 0; dim < layout.rank(); ++dim) {
    Value coord = combineBits(builder, loc, thread.lane, layout.lanes, dim, Value());
    coord = combineBits(builder, loc, thread.warp, layout.warps, dim, coord);
    coord = addGroup(builder, loc, thread.warp, layout, dim, coord);
    coords.push_back(coord ? coord : constantI32(builder, loc, 0));
  }
  return coords;
}

SmallVector<Value> lowering::elementCoords(OpBuilder &builder, Location loc, const Layout &layout,
                                           ArrayRef<Value> thread, int64_t reg) {
  SmallVector<Value> coords;
  tilegpu::Coords atom = layout.registerAtom(reg), repeat = layout.registerRepeat(reg);
  for (auto [dim, base] : llvm::enumerate(thread)) {
    Value coord = base;
    int64_t add = repeat[dim];
    if ((atom[dim] & threadBits(layout, dim)) == 0)
      add += atom[dim]; // no common bits: the sum is the exclusive or, and folds into addresses
    else
      coord = arith::XOrIOp::create(builder, loc, coord, constantI32(builder, loc, atom[dim]));
    if (add != 0)
      coord = arith::AddIOp::create(builder, loc, coord, constantI32(builder, loc, add));
    coords.push_back(coord);
  }
  return coords;
}

Value lowering::isLive(OpBuilder &builder, Location loc, const Layout &layout, ArrayRef<int64_t> shape,
                       ArrayRef<Value> coords, int64_t reg) {
  Value live;
  tilegpu::Coords atom = layout.registerAtom(reg), repeat = layout.registerRepeat(reg);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    // Even the thread with every bit set, of the last group, stays inside: nothing to test.
    const int64_t lastGroup = (layout.groups - 1) * layout.groupStep(dim);
    if (repeat[dim] + lastGroup + (threadBits(layout, dim) | atom[dim]) < size)
      continue;
    Value inside =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, coords[dim], constantI32(builder, loc, size));
    live = andAlso(builder, loc, live, inside);
  }
  return live;
}

Value lowering::isOwner(OpBuilder &builder, Location loc, const Layout &layout, ThreadId thread) {
  Value owner;
  for (auto [number, mask] :
       {std::pair(thread.lane, layout.freeLaneMask()), std::pair(thread.warp, layout.freeWarpMask())}) {
    if (mask == 0)
      continue;
    Value bits = arith::AndIOp::create(builder, loc, number, constantI32(builder, loc, mask));
    Value zero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bits, constantI32(builder, loc, 0));
    owner = andAlso(builder, loc, owner, zero);
  }
  return owner;
}

//===----------------------------------------------------------------------===//
// Small builders
//===----------------------------------------------------------------------===//

Value lowering::constantI32(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value lowering::constantI64(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
}

Value lowering::zeroOf(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

Value lowering::andAlso(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AndIOp::create(builder, loc, lhs, rhs);
}

Value lowering::offsetPointer(OpBuilder &builder, Location loc, Value pointer, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer, ValueRange{bytes});
}

Value lowering::sharedMemory(OpBuilder &builder, Location loc, int64_t bytes) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  Value base = LLVM::AddressOfOp::create(builder, loc, pointer, kSharedSymbol);
  return bytes == 0 ? base : offsetPointer(builder, loc, base, constantI32(builder, loc, bytes));
}

Value lowering::programMemory(OpBuilder &builder, Location loc, Operation *op) {
  Value base = sharedMemory(builder, loc, sharedOffset(op));
  if (Roles::at(builder).programs == 1)
    return base;
  Value distance = constantI32(builder, loc, tilegpu::programBytes(op));
  return offsetPointer(builder, loc, base, arith::MulIOp::create(builder, loc, programNumber(builder, loc), distance));
}

int64_t lowering::sharedOffset(Operation *op) {
  return op->getAttrOfType<IntegerAttr>(tilegpu::TileGPUDialect::kSharedOffset).getInt();
}

int64_t lowering::bytesOf(Type elementType) { return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8); }

namespace {
/// The LLVM-compatible stand-in of a scalar type: fp8 and bool travel as bytes.
Type storageType(Type type) {
  if (type.isInteger(1) || (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8))
    return IntegerType::get(type.getContext(), 8);
  return type;
}

Value toStorage(OpBuilder &builder, Location loc, Value scalar) {
  Type storage = storageType(scalar.getType());
  if (storage == scalar.getType())
    return scalar;
  if (scalar.getType().isInteger(1))
    return arith::ExtUIOp::create(builder, loc, storage, scalar);
  return arith::BitcastOp::create(builder, loc, storage, scalar);
}

Value fromStorage(OpBuilder &builder, Location loc, Value stored, Type type) {
  if (stored.getType() == type)
    return stored;
  if (type.isInteger(1))
    return arith::TruncIOp::create(builder, loc, type, stored);
  return arith::BitcastOp::create(builder, loc, type, stored);
}
} // namespace

SmallVector<Value> lowering::packWords(OpBuilder &builder, Location loc, ValueRange scalars) {
  Type i32 = builder.getI32Type();
  SmallVector<Value> stored;
  for (Value scalar : scalars)
    stored.push_back(toStorage(builder, loc, scalar));
  Type element = stored.front().getType();
  int64_t bits = element.getIntOrFloatBitWidth();
  SmallVector<Value> words;
  if (bits == 64) {
    for (Value value : stored) {
      Value pair = LLVM::BitcastOp::create(builder, loc, VectorType::get(2, i32), value);
      for (int64_t half = 0; half < 2; ++half)
        words.push_back(LLVM::ExtractElementOp::create(builder, loc, pair, constantI32(builder, loc, half)));
    }
    return words;
  }
  int64_t perWord = 32 / bits;
  for (size_t first = 0; first < stored.size(); first += perWord) {
    if (perWord == 1) {
      words.push_back(LLVM::BitcastOp::create(builder, loc, i32, stored[first]));
      continue;
    }
    auto vectorType = VectorType::get(perWord, element);
    Value vector = LLVM::UndefOp::create(builder, loc, vectorType);
    for (int64_t i = 0; i < perWord && first + i < stored.size(); ++i)
      vector = LLVM::InsertElementOp::create(builder, loc, vector, stored[first + i], constantI32(builder, loc, i));
    words.push_back(LLVM::BitcastOp::create(builder, loc, i32, vector));
  }
  return words;
}

SmallVector<Value> lowering::unpackWords(OpBuilder &builder, Location loc, ValueRange words, Type elementType) {
  Type element = storageType(elementType);
  int64_t bits = element.getIntOrFloatBitWidth();
  SmallVector<Value> scalars;
  auto take = [&](Value stored) { scalars.push_back(fromStorage(builder, loc, stored, elementType)); };
  if (bits == 64) {
    auto pairType = VectorType::get(2, builder.getI32Type());
    for (size_t i = 0; i < words.size(); i += 2) {
      Value pair = LLVM::UndefOp::create(builder, loc, pairType);
      for (int64_t half = 0; half < 2; ++half)
        pair = LLVM::InsertElementOp::create(builder, loc, pair, words[i + half], constantI32(builder, loc, half));
      take(LLVM::BitcastOp::create(builder, loc, element, pair));
    }
    return scalars;
  }
  int64_t perWord = 32 / bits;
  for (Value word : words) {
    if (perWord == 1) {
      take(LLVM::BitcastOp::create(builder, loc, element, word));
      continue;
    }
    Value vector = LLVM::BitcastOp::create(builder, loc, VectorType::get(perWord, element), word);
    for (int64_t i = 0; i < perWord; ++i)
      take(LLVM::ExtractElementOp::create(builder, loc, vector, constantI32(builder, loc, i)));
  }
  return scalars;
}

SmallVector<Value> lowering::inlineAsm(OpBuilder &builder, Location loc, StringRef text, StringRef constraints,
                                       ValueRange inputs, ArrayRef<Type> resultTypes, bool sideEffects) {
  MLIRContext *context = builder.getContext();
  Type result = resultTypes.empty()       ? Type()
                : resultTypes.size() == 1 ? resultTypes.front()
                                          : Type(LLVM::LLVMStructType::getLiteral(context, resultTypes));
  auto op = LLVM::InlineAsmOp::create(builder, loc, result ? TypeRange(result) : TypeRange(), inputs, text, constraints,
                                      sideEffects, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                      LLVM::AsmDialectAttr::get(context, LLVM::AsmDialect::AD_ATT),
                                      /*operand_attrs=*/ArrayAttr());
  SmallVector<Value> results;
  if (resultTypes.size() == 1)
    results.push_back(op.getRes());
  else
    for (size_t i = 0; i < resultTypes.size(); ++i)
      results.push_back(LLVM::ExtractValueOp::create(builder, loc, op.getRes(), i));
  return results;
}
