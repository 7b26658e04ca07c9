//===- Shape.cpp - Ops that only rename registers -------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/Lowering.h"

#include <map>

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Coords;
using tilegpu::Layout;

namespace {
/// Registers by what they contribute to the coordinates: the atom's part and the repeats' part.
class RegisterIndex {
public:
  explicit RegisterIndex(const Layout &layout) {
    for (int64_t reg = 0; reg < layout.numRegisters(); ++reg)
      index.emplace(std::pair(layout.registerAtom(reg), layout.registerRepeat(reg)), reg);
  }
  std::optional<int64_t> find(const Coords &atom, const Coords &repeat) const {
    auto it = index.find(std::pair(atom, repeat));
    return it == index.end() ? std::nullopt : std::optional(it->second);
  }

private:
  std::map<std::pair<Coords, Coords>, int64_t> index;
};

/// Result register `reg` is the source register found at its coordinates after `toSource`.
LogicalResult renameRegisters(Operation *op, Value source, ValueRange sourceRegisters, Value result,
                              llvm::function_ref<Coords(const Coords &)> toSource,
                              ConversionPatternRewriter &rewriter) {
  Layout from = Layout::of(source.getType()), to = Layout::of(result.getType());
  RegisterIndex index(from);
  SmallVector<Value> registers;
  for (int64_t reg = 0; reg < to.numRegisters(); ++reg) {
    std::optional<int64_t> found = index.find(toSource(to.registerAtom(reg)), toSource(to.registerRepeat(reg)));
    if (!found)
      return op->emitOpError("operand and result layouts differ by more than registers' names: ")
             << source.getType() << " and " << result.getType();
    registers.push_back(sourceRegisters[*found]);
  }
  rewriter.replaceOpWithMultiple(op, {registers});
  return success();
}

struct Broadcast : OpConversionPattern<tile::BroadcastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::BroadcastOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    ArrayRef<int64_t> from = op.getSource().getType().getShape(), to = op.getType().getShape();
    auto toSource = [&](const Coords &coords) {
      Coords source = coords;
      for (size_t dim = 0; dim < from.size(); ++dim)
        if (from[dim] == 1 && to[dim] != 1)
          source[dim] = 0;
      return source;
    };
    return renameRegisters(op, op.getSource(), adaptor.getSource(), op.getResult(), toSource, rewriter);
  }
};

struct Permute : OpConversionPattern<tile::PermuteOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::PermuteOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    auto toSource = [&](const Coords &coords) {
      Coords source(coords.size());
      for (auto [dim, from] : llvm::enumerate(op.getOrder()))
        source[from] = coords[dim];
      return source;
    };
    return renameRegisters(op, op.getSource(), adaptor.getSource(), op.getResult(), toSource, rewriter);
  }
};

/// Layout assignment gives operand and result layouts whose registers correspond one to one.
struct Reshape : OpConversionPattern<tile::ReshapeOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ReshapeOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    if (Layout::of(op.getType()).numRegisters() != static_cast<int64_t>(adaptor.getSource().size()))
      return op.emitOpError("operand and result layouts must hold as many registers: ")
             << op.getSource().getType() << " and " << op.getType();
    rewriter.replaceOpWithMultiple(op, {llvm::to_vector(adaptor.getSource())});
    return success();
  }
};

struct Iota : OpConversionPattern<tile::IotaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::IotaOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const final {
    Location loc = op.getLoc();
    Layout layout = Layout::of(op.getType());
    SmallVector<Value> thread = threadCoords(rewriter, loc, layout, threadId(rewriter, loc));
    Type element = op.getType().getElementType();
    SmallVector<Value> registers;
    for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
      Value coord = elementCoords(rewriter, loc, layout, thread, reg)[op.getAxis()];
      unsigned bits = element.getIntOrFloatBitWidth();
      if (bits > 32)
        coord = arith::ExtUIOp::create(rewriter, loc, element, coord);
      else if (bits < 32)
        coord = arith::TruncIOp::create(rewriter, loc, element, coord);
      registers.push_back(coord);
    }
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

struct Splat : OpConversionPattern<tile::SplatOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::SplatOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    SmallVector<Value> registers(Layout::of(op.getType()).numRegisters(), adaptor.getScalar().front());
    rewriter.replaceOpWithMultiple(op, {registers});
    return success();
  }
};

/// Layout assignment replicates the operand: every thread has the element in its first register.
struct Extract : OpConversionPattern<tile::ExtractOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ExtractOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    rewriter.replaceOp(op, adaptor.getSource().front());
    return success();
  }
};
} // namespace

void tilec::lowering::populateShapePatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Broadcast, Permute, Reshape, Iota, Splat, Extract>(types, patterns.getContext());
}
