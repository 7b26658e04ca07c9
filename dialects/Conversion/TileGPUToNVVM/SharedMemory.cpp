//===- SharedMemory.cpp - Tiles in shared memory --------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Coords;
using tilegpu::Layout;

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

SharedPlacement SharedPlacement::of(tilegpu::SmemType type) {
  ArrayRef<int64_t> order = type.getLayout().getOrder();
  const int64_t swizzle = type.getLayout().getSwizzle();
  SmallVector<int64_t> panel(type.getShape());
  if (swizzle != 0)
    panel[order.front()] = (kChunkBytes << swizzle) / type.getElementBytes();
  SharedPlacement placement = dense(panel, order, type.getElementBytes());
  placement.swizzle = swizzle;
  placement.rowBytes = panel[order.front()] * type.getElementBytes();
  placement.panelBytes = ShapedType::getNumElements(panel) * type.getElementBytes();
  return placement;
}

SharedPlacement SharedPlacement::dense(ArrayRef<int64_t> extents, ArrayRef<int64_t> order, int64_t bytes) {
  SharedPlacement placement;
  placement.contiguous = order.front();
  placement.pitches.resize(extents.size());
  for (int64_t dim : order) {
    placement.pitches[dim] = bytes;
    bytes *= extents[dim];
  }
  return placement;
}

int64_t SharedPlacement::offset(ArrayRef<int64_t> coords) const {
  int64_t start = 0, byte = coords[contiguous] * elementBytes();
  for (auto [dim, pitch] : llvm::enumerate(pitches))
    if (static_cast<int64_t>(dim) != contiguous)
      start += coords[dim] * pitch;
  if (swizzle == 0)
    return start + byte;
  int64_t exchange = start / rowBytes / phase() % (int64_t(1) << swizzle) * kChunkBytes;
  return byte / rowBytes * panelBytes + start + (byte % rowBytes ^ exchange);
}

bool SharedPlacement::carries(const Layout &layout) const {
  return swizzle != 0 && layout.groupStep(contiguous) * elementBytes() % rowBytes != 0;
}

int64_t SharedPlacement::accessElems(const Layout &layout, ArrayRef<int64_t> shape) const {
  int64_t elems = std::min(layout.contiguity(contiguous), kChunkBytes / elementBytes());
  auto fits = [&] {
    if (shape[contiguous] % elems != 0) // else an access would be partly dead
      return false;
    for (auto [dim, pitch] : llvm::enumerate(pitches))
      if (static_cast<int64_t>(dim) != contiguous && pitch % (elems * elementBytes()) != 0)
        return false;
    return true;
  };
  while (elems > 1 && !fits())
    elems /= 2;
  return elems;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

namespace {
/// `sum + value * factor`, where a null sum is zero.
Value addScaled(OpBuilder &builder, Location loc, Value sum, Value value, int64_t factor) {
  if (factor == 0)
    return sum;
  if (factor != 1)
    value = arith::MulIOp::create(builder, loc, value, constantI32(builder, loc, factor));
  return sum ? Value(arith::AddIOp::create(builder, loc, sum, value)) : value;
}

Value addConstant(OpBuilder &builder, Location loc, Value value, int64_t constant) {
  return constant == 0 ? value : Value(arith::AddIOp::create(builder, loc, value, constantI32(builder, loc, constant)));
}
} // namespace

SharedAddresses::SharedAddresses(OpBuilder &builder, Location loc, SharedPlacement placement, Value base,
                                 ArrayRef<Value> thread)
    : builder(builder), loc(loc), placement(std::move(placement)), base(base) {
  Value start;
  for (auto [dim, pitch] : llvm::enumerate(this->placement.pitches)) {
    if (static_cast<int64_t>(dim) == this->placement.contiguous) {
      byte = addScaled(builder, loc, Value(), thread[dim], pitch);
      continue;
    }
    start = addScaled(builder, loc, start, thread[dim], pitch);
    if (this->placement.swizzle != 0)
      row = addScaled(builder, loc, row, thread[dim], pitch / this->placement.rowBytes);
  }
  if (this->placement.swizzle != 0) {
    // Constants never carry into a panel: they are multiples of what threads span, or share no bits with it.
    Value panel =
        arith::ShRUIOp::create(builder, loc, byte, constantI32(builder, loc, llvm::Log2_64(this->placement.rowBytes)));
    start = addScaled(builder, loc, start, panel, this->placement.panelBytes);
    byte = arith::AndIOp::create(builder, loc, byte, constantI32(builder, loc, this->placement.rowBytes - 1));
  }
  if (start)
    this->base = offsetPointer(builder, loc, base, start);
  if (!row)
    row = constantI32(builder, loc, 0);
}

Value SharedAddresses::swizzled(int64_t rowPart, int64_t bytePart) {
  Value &address = cache[{rowPart, bytePart}];
  if (address)
    return address;
  Value offset = addConstant(builder, loc, byte, bytePart);
  if (placement.swizzle != 0) {
    Value exchange = addConstant(builder, loc, row, rowPart);
    // Division by the phase and multiplication by the chunk are one shift.
    int64_t shift = llvm::Log2_64(kChunkBytes) - static_cast<int64_t>(llvm::Log2_64(placement.phase()));
    int64_t mask = ((int64_t(1) << placement.swizzle) - 1) * kChunkBytes;
    if (shift > 0)
      exchange = arith::ShLIOp::create(builder, loc, exchange, constantI32(builder, loc, shift));
    else if (shift < 0)
      exchange = arith::ShRUIOp::create(builder, loc, exchange, constantI32(builder, loc, -shift));
    exchange = arith::AndIOp::create(builder, loc, exchange, constantI32(builder, loc, mask));
    offset = arith::XOrIOp::create(builder, loc, offset, exchange);
  }
  return address = offsetPointer(builder, loc, base, offset);
}

Value SharedAddresses::at(ArrayRef<int64_t> constant) {
  int64_t start = 0, bytes = constant[placement.contiguous] * placement.elementBytes();
  for (auto [dim, pitch] : llvm::enumerate(placement.pitches))
    if (static_cast<int64_t>(dim) != placement.contiguous)
      start += constant[dim] * pitch;
  // What the exchange does not see is a plain offset.
  int64_t rowPart = 0, bytePart = 0, immediate = start + bytes;
  if (placement.swizzle != 0) {
    rowPart = start / placement.rowBytes % placement.period();
    bytePart = bytes % placement.rowBytes;
    immediate = start + bytes / placement.rowBytes * placement.panelBytes;
  }
  Value address = swizzled(rowPart, bytePart);
  return immediate == 0 ? address : offsetPointer(builder, loc, address, constantI32(builder, loc, immediate));
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

namespace {
/// The part of a register's atom coordinates that shares bits with the
/// threads'.
Coords entangled(const Layout &layout, int64_t reg) {
  Coords coords = layout.registerAtom(reg);
  for (auto [dim, coord] : llvm::enumerate(coords)) {
    int64_t bits = 0;
    for (const tilegpu::Basis &basis : layout.lanes)
      bits |= basis[dim];
    for (const tilegpu::Basis &basis : layout.warps)
      bits |= basis[dim];
    coord &= bits;
  }
  return coords;
}
} // namespace

ThreadAddresses::ThreadAddresses(OpBuilder &builder, Location loc, const SharedPlacement &placement, Value base,
                                 const Layout &layout, ThreadId threadId)
    : builder(builder), loc(loc), placement(placement), base(base), layout(layout),
      thread(threadCoords(builder, loc, layout, threadId)), carries(placement.carries(layout)) {}

Value ThreadAddresses::at(int64_t reg, ArrayRef<int64_t> origin) {
  Coords exchanged = entangled(layout, reg);
  Coords constant = layout.registerRepeat(reg);
  for (auto [sum, atom, bits] : llvm::zip_equal(constant, layout.registerAtom(reg), exchanged))
    sum += atom & ~bits;
  for (auto [sum, start] : llvm::zip(constant, origin))
    sum += start;
  const int64_t moved = carries ? std::exchange(constant[placement.contiguous], 0) : 0;
  auto it = addresses.find({exchanged, moved});
  if (it == addresses.end()) {
    SmallVector<Value> start;
    for (auto [coord, bits] : llvm::zip_equal(thread, exchanged))
      start.push_back(bits == 0 ? coord
                                : Value(arith::XOrIOp::create(builder, loc, coord, constantI32(builder, loc, bits))));
    start[placement.contiguous] = addConstant(builder, loc, start[placement.contiguous], moved);
    it = addresses.emplace(std::pair(exchanged, moved), SharedAddresses(builder, loc, placement, base, start)).first;
  }
  return it->second.at(constant);
}

SharedWalk::SharedWalk(OpBuilder &builder, Location loc, const SharedPlacement &placement, Value base,
                       const Layout &layout, ArrayRef<int64_t> shape, ThreadId threadId, int64_t vector)
    : builder(builder), loc(loc), base(base), layout(layout), shape(shape),
      vector(vector != 0 ? vector : placement.accessElems(layout, shape)),
      addresses(builder, loc, placement, base, layout, threadId) {}

Value SharedWalk::live(int64_t number) {
  int64_t reg = number * vector;
  return isLive(builder, loc, layout, shape, elementCoords(builder, loc, layout, addresses.coords(), reg), reg);
}

void SharedWalk::store(ValueRange registers) {
  for (int64_t number = 0; number < numVectors(); ++number) {
    Value to = address(number); // before the branch: addresses share what they compute
    guarded(builder, loc, live(number),
            [&] { storeShared(builder, loc, to, registers.slice(number * vector, vector)); });
  }
}

SmallVector<Value> SharedWalk::load(Type elementType) {
  SmallVector<Value> registers;
  for (int64_t number = 0; number < numVectors(); ++number) {
    Value from = address(number);
    // Dead elements read any address that exists.
    if (Value inside = live(number))
      from = arith::SelectOp::create(builder, loc, inside, from, base);
    llvm::append_range(registers, loadShared(builder, loc, from, vector, elementType));
  }
  return registers;
}

//===----------------------------------------------------------------------===//
// Single accesses
//===----------------------------------------------------------------------===//

namespace {
Type accessType(OpBuilder &builder, int64_t bytes) {
  if (bytes <= 4)
    return builder.getIntegerType(8 * bytes);
  return VectorType::get(bytes / 4, builder.getI32Type());
}
} // namespace

void lowering::storeShared(OpBuilder &builder, Location loc, Value address, ValueRange scalars) {
  int64_t bytes = scalars.size() * bytesOf(scalars.front().getType());
  SmallVector<Value> words = packWords(builder, loc, scalars);
  Type type = accessType(builder, bytes);
  Value value = words.front();
  if (bytes < 4)
    value = arith::TruncIOp::create(builder, loc, type, value);
  if (bytes > 4) {
    value = LLVM::UndefOp::create(builder, loc, type);
    for (auto [i, word] : llvm::enumerate(words))
      value = LLVM::InsertElementOp::create(builder, loc, value, word, constantI32(builder, loc, i));
  }
  LLVM::StoreOp::create(builder, loc, value, address, /*alignment=*/bytes);
}

SmallVector<Value> lowering::loadShared(OpBuilder &builder, Location loc, Value address, int64_t count,
                                        Type elementType) {
  int64_t bytes = count * bytesOf(elementType);
  Value value = LLVM::LoadOp::create(builder, loc, accessType(builder, bytes), address, /*alignment=*/bytes);
  SmallVector<Value> words;
  if (bytes < 4)
    value = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), value);
  if (bytes <= 4)
    words.push_back(value);
  else
    for (int64_t i = 0; i < bytes / 4; ++i)
      words.push_back(LLVM::ExtractElementOp::create(builder, loc, value, constantI32(builder, loc, i)));
  SmallVector<Value> scalars = unpackWords(builder, loc, words, elementType);
  scalars.truncate(count);
  return scalars;
}

void lowering::guarded(OpBuilder &builder, Location loc, Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

namespace {
void namedBarrier(OpBuilder &builder, Location loc, Value id, int64_t warps) {
  inlineAsm(builder, loc, llvm::formatv("barrier.sync.aligned $0, {0};", warps * tilegpu::kLanes).str(), "r,~{memory}",
            {id}, {}, /*sideEffects=*/true);
}
} // namespace

Value lowering::programBarrierNumber(OpBuilder &builder, Location loc) {
  const Roles roles = Roles::at(builder);
  if (roles.producerWarps == 0) // the whole CTA's
    return constantI32(builder, loc, 0);
  Value id = constantI32(builder, loc, 1);
  if (roles.programs > 1)
    id = arith::AddIOp::create(builder, loc, programNumber(builder, loc), id);
  return id;
}

void lowering::programBarrier(OpBuilder &builder, Location loc) {
  const Roles roles = Roles::at(builder);
  if (roles.producerWarps == 0)
    NVVM::Barrier0Op::create(builder, loc);
  else
    namedBarrier(builder, loc, programBarrierNumber(builder, loc), roles.programWarps);
}

void lowering::warpgroupBarrier(OpBuilder &builder, Location loc, Value warpgroup) {
  const int64_t first = 1 + Roles::at(builder).programs; // behind the programs'
  namedBarrier(builder, loc, arith::AddIOp::create(builder, loc, warpgroup, constantI32(builder, loc, first)),
               /*warps=*/4);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// Threads that hold `tile` put it where `base` says.
void storeTile(OpBuilder &builder, Location loc, Value tile, ValueRange registers, tilegpu::SmemType type, Value base) {
  Layout layout = Layout::of(tile.getType());
  ThreadId thread = threadId(builder, loc);
  SharedWalk walk(builder, loc, SharedPlacement::of(type), base, layout, type.getShape(), thread);
  guarded(builder, loc, isOwner(builder, loc, layout, thread), [&] { walk.store(registers); });
}

struct LocalStore : OpConversionPattern<tilegpu::LocalStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::LocalStoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    storeTile(rewriter, op.getLoc(), op.getSource(), adaptor.getSource(), op.getDest().getType(),
              adaptor.getDest().front());
    rewriter.eraseOp(op);
    return success();
  }
};

struct LocalAlloc : OpConversionPattern<tilegpu::LocalAllocOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::LocalAllocOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    Value base = programMemory(rewriter, loc, op);
    storeTile(rewriter, loc, op.getSource(), adaptor.getSource(), op.getType(), base);
    if (op.getAsyncReaders())
      NVVM::FenceProxyOp::create(rewriter, loc, NVVM::ProxyKind::async_shared,
                                 NVVM::SharedSpaceAttr::get(rewriter.getContext(), NVVM::SharedSpace::shared_cta));
    rewriter.replaceOp(op, base);
    return success();
  }
};

/// Row-major and unswizzled, the bytes are the same under both shapes.
struct LocalReshape : OpConversionPattern<tilegpu::LocalReshapeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::LocalReshapeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOp(op, adaptor.getSource());
    return success();
  }
};

struct LocalLoad : OpConversionPattern<tilegpu::LocalLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::LocalLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    auto source = cast<tilegpu::SmemType>(op.getSource().getType());
    auto type = cast<RankedTensorType>(op.getType());
    SharedWalk walk(rewriter, loc, SharedPlacement::of(source), adaptor.getSource().front(), Layout::of(type),
                    type.getShape(), threadId(rewriter, loc));
    rewriter.replaceOpWithMultiple(op, {walk.load(type.getElementType())});
    return success();
  }
};

struct Barrier : OpConversionPattern<tilegpu::BarrierOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tilegpu::BarrierOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const final {
    programBarrier(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void tilec::lowering::populateSharedMemoryPatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<LocalAlloc, LocalStore, LocalReshape, LocalLoad, Barrier>(types, patterns.getContext());
}
