//===- Reduce.cpp - Reductions along an axis ------------------------------===//
//
// Elements that meet along the axis are combined where they are: in a thread as
// a tree, in a warp by butterfly shuffles, between warps through shared memory.
// Every thread ends with the results of its rows, and all replicas combine the
// same values in the same order, so they agree bit by bit.
//
//===----------------------------------------------------------------------===//
#include "dialects/Conversion/TileGPUToNVVM/SharedMemory.h"
#include "dialects/TileGPU/IR/Scratch.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::lowering;
using tilegpu::Basis;
using tilegpu::Coords;
using tilegpu::Layout;
using tilegpu::ReduceScratch;

namespace {
constexpr int64_t kAllLanes = -1, kLastLane = tilegpu::kLanes - 1;

/// One value an operand: what the combiner takes and gives.
using Element = SmallVector<Value, 2>;

/// True when a bit that moves along the axis moves along nothing else.
bool isSeparable(const Layout &layout, int64_t axis) {
  auto separable = [&](const Basis &basis) { return basis[axis] == 0 || llvm::count(basis, 0) == layout.rank() - 1; };
  return llvm::all_of(layout.registers, separable) && llvm::all_of(layout.lanes, separable) &&
         llvm::all_of(layout.warps, separable);
}

/// The register of `layout.reduced(axis)` that takes in register `reg`.
int64_t reducedRegister(const Layout &layout, int64_t axis, int64_t reg) {
  int64_t atom = 0, bits = 0;
  for (auto [bit, basis] : llvm::enumerate(layout.registers))
    if (basis[axis] == 0)
      atom |= (reg >> bit & 1) << bits++;
  int64_t repeat = 0, factor = 1, index = reg / layout.atomRegisters();
  for (int64_t dim = layout.rank() - 1; dim >= 0; --dim) {
    int64_t digit = index % layout.repeat[dim];
    index /= layout.repeat[dim];
    if (dim == axis)
      continue;
    repeat += digit * factor;
    factor *= layout.repeat[dim];
  }
  return repeat << bits | atom;
}

class Reduction {
public:
  Reduction(tile::ReduceOp op, ConversionPatternRewriter &rewriter)
      : op(op), rewriter(rewriter), loc(op.getLoc()), axis(op.getAxis()),
        layout(Layout::of(op.getSources().front().getType())), reduced(layout.reduced(axis)),
        thread(threadId(rewriter, loc)) {}

  /// Results, an operand each, in the registers of the reduced layout.
  SmallVector<SmallVector<Value>> run(ArrayRef<ValueRange> sources) {
    inThread(liveElements(sources));
    for (auto [bit, basis] : llvm::enumerate(layout.lanes))
      if (basis[axis] != 0)
        acrossLanes(int64_t(1) << bit);
    if (ReduceScratch scratch = tilegpu::reduceScratch(op); scratch.warpsAlongAxis > 1)
      acrossWarps(scratch);
    SmallVector<SmallVector<Value>> results(sources.size());
    for (size_t operand = 0; operand < results.size(); ++operand)
      results[operand] = column(operand);
    return results;
  }

private:
  /// The elements of every register, padding replaced by the identities.
  SmallVector<Element> liveElements(ArrayRef<ValueRange> sources) {
    SmallVector<Element> elements(layout.numRegisters());
    for (ValueRange registers : sources)
      for (auto [reg, value] : llvm::enumerate(registers))
        elements[reg].push_back(value);
    // Only padding along the axis reaches a live result.
    SmallVector<int64_t> shape;
    for (int64_t dim = 0; dim < layout.rank(); ++dim)
      shape.push_back(layout.extent(dim));
    shape[axis] = cast<RankedTensorType>(op.getSources().front().getType()).getShape()[axis];
    if (layout.covers(shape))
      return elements;
    Element identities;
    for (Attribute identity : op.getIdentities())
      identities.push_back(arith::ConstantOp::create(rewriter, loc, cast<TypedAttr>(identity)));
    SmallVector<Value> coords = threadCoords(rewriter, loc, layout, thread);
    for (auto [reg, element] : llvm::enumerate(elements)) {
      Value live = isLive(rewriter, loc, layout, shape, elementCoords(rewriter, loc, layout, coords, reg), reg);
      if (!live)
        continue;
      for (auto [value, identity] : llvm::zip_equal(element, identities))
        value = arith::SelectOp::create(rewriter, loc, live, value, identity);
    }
    return elements;
  }

  void inThread(ArrayRef<Element> elements) {
    SmallVector<SmallVector<Element>> groups(reduced.numRegisters());
    for (auto [reg, element] : llvm::enumerate(elements))
      groups[reducedRegister(layout, axis, reg)].push_back(element);
    for (SmallVector<Element> &group : groups)
      partials.push_back(tree(std::move(group)));
  }

  /// Every row's shuffle of a step before the first combination: they do not
  /// wait for each other.
  void acrossLanes(int64_t distance) {
    SmallVector<Element> received(partials.size());
    for (size_t operand = 0; operand < op.getSources().size(); ++operand)
      for (auto [element, value] : llvm::zip_equal(received, shuffled(column(operand), distance)))
        element.push_back(value);
    for (auto [partial, other] : llvm::zip_equal(partials, received))
      partial = combine(partial, other);
  }

  SmallVector<Value> shuffled(ArrayRef<Value> values, int64_t distance) {
    Type i32 = rewriter.getI32Type();
    Value members = constantI32(rewriter, loc, kAllLanes), offset = constantI32(rewriter, loc, distance),
          clamp = constantI32(rewriter, loc, kLastLane);
    SmallVector<Value> words = packWords(rewriter, loc, values);
    for (Value &word : words)
      word = NVVM::ShflOp::create(rewriter, loc, i32, members, word, offset, clamp, NVVM::ShflKind::bfly, UnitAttr());
    SmallVector<Value> result = unpackWords(rewriter, loc, words, values.front().getType());
    result.truncate(values.size()); // the last word may be partly filled
    return result;
  }

  /// One partial a warp and row goes through shared memory; every thread
  /// combines those of its rows. The partials of a row form one more dimension
  /// of the tile there.
  void acrossWarps(const ReduceScratch &scratch) {
    const int64_t count = scratch.warpsAlongAxis;
    // Neighbouring rows together, so that threads move vectors; or, where each
    // has one row, its partials.
    const bool partialsTogether = partials.size() == 1;
    const auto bits = static_cast<int64_t>(scratch.warpBits.size());
    Layout written = stagingLayout(scratch.warpBits), read = collectingLayout(bits, count >> bits, partialsTogether);
    Coords extents(scratch.extents.begin(), scratch.extents.end());
    extents.push_back(count);
    SmallVector<SharedPlacement> placements;
    for (Value value : partials.front())
      placements.push_back(SharedPlacement::dense(extents, stagingOrder(partialsTogether), bytesOf(value.getType())));
    auto walk = [&](size_t operand, const Layout &layout) {
      Value base = offsetPointer(rewriter, loc, programMemory(rewriter, loc, op),
                                 constantI32(rewriter, loc, scratch.offsets[operand]));
      return SharedWalk(rewriter, loc, placements[operand], base, layout, extents, thread);
    };

    guarded(rewriter, loc, isOwner(rewriter, loc, written, thread), [&] {
      for (size_t operand = 0; operand < placements.size(); ++operand)
        walk(operand, written).store(column(operand));
    });
    programBarrier(rewriter, loc);
    SmallVector<SmallVector<Element>> gathered(partials.size(), SmallVector<Element>(count));
    for (size_t operand = 0; operand < placements.size(); ++operand) {
      SmallVector<Value> values = walk(operand, read).load(partials.front()[operand].getType());
      for (auto [index, value] : llvm::enumerate(values)) {
        auto [reg, warp] = collected(index, int64_t(1) << bits, count >> bits);
        gathered[reg][warp].push_back(value);
      }
    }
    for (auto [partial, group] : llvm::zip_equal(partials, gathered))
      partial = tree(std::move(group));
  }

  /// The reduced layout with the warps along the axis as a last dimension.
  Layout stagingLayout(ArrayRef<int64_t> warpBits) const {
    Layout staged = withDimension(reduced);
    for (auto [bit, warp] : llvm::enumerate(warpBits))
      staged.warps[warp].back() = int64_t(1) << bit;
    if (layout.groupStep(axis) != 0)
      staged.group.back() = int64_t(1) << warpBits.size();
    return staged;
  }

  /// Every thread holds the partials of its rows, one a register: those of the warps of `groups` groups.
  Layout collectingLayout(int64_t bits, int64_t groups, bool partialsTogether) const {
    Layout read = withDimension(reduced);
    SmallVector<Basis> partialBits;
    for (int64_t bit = 0; bit < bits; ++bit) {
      partialBits.emplace_back(read.rank(), 0);
      partialBits.back().back() = int64_t(1) << bit;
    }
    read.registers.insert(partialsTogether ? read.registers.begin() : read.registers.end(), partialBits.begin(),
                          partialBits.end());
    read.repeat.back() = groups;
    return read;
  }

  /// Row and partial in register `index` of the collecting layout, of groups of `warps` warps.
  std::pair<int64_t, int64_t> collected(int64_t index, int64_t warps, int64_t groups) const {
    const int64_t atom = reduced.atomRegisters(), repeat = index / (atom * warps);
    return {repeat / groups * atom + index % atom, repeat % groups * warps + index / atom % warps};
  }

  static Layout withDimension(Layout layout) {
    for (Basis &basis : layout.registers)
      basis.push_back(0);
    for (Basis &basis : layout.lanes)
      basis.push_back(0);
    for (Basis &basis : layout.warps)
      basis.push_back(0);
    if (!layout.group.empty())
      layout.group.push_back(0);
    layout.repeat.push_back(1);
    return layout;
  }

  SmallVector<int64_t> stagingOrder(bool partialsTogether) const {
    const int64_t last = layout.rank(); // the partials' dimension
    int64_t contiguous = last;
    for (int64_t dim = last - 1; dim >= 0 && !partialsTogether; --dim)
      if (contiguous == last || reduced.contiguity(dim) > reduced.contiguity(contiguous))
        contiguous = dim;
    SmallVector<int64_t> order{contiguous};
    for (int64_t dim = last - 1; dim >= 0; --dim)
      if (dim != contiguous)
        order.push_back(dim);
    if (contiguous != last)
      order.push_back(last);
    return order;
  }

  //===--- Combining
  //----------------------------------------------------------===//

  /// The combiner's ops, once more, on scalars.
  Element combine(ArrayRef<Value> lhs, ArrayRef<Value> rhs) {
    Block &body = op.getCombiner().front();
    IRMapping mapping;
    mapping.map(body.getArguments().take_front(lhs.size()), lhs);
    mapping.map(body.getArguments().drop_front(lhs.size()), rhs);
    for (Operation &inner : body.without_terminator()) {
      for (Value operand : inner.getOperands())
        if (!mapping.contains(operand)) // from outside the combiner
          mapping.map(operand, rewriter.getRemappedValue(operand));
      rewriter.clone(inner, mapping);
    }
    return llvm::map_to_vector<2>(body.getTerminator()->getOperands(),
                                  [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  /// Neighbours first: the depth, and with it the error of a sum, grows with
  /// the logarithm.
  Element tree(SmallVector<Element> elements) {
    while (elements.size() > 1) {
      size_t pairs = elements.size() / 2;
      for (size_t i = 0; i < pairs; ++i)
        elements[i] = combine(elements[2 * i], elements[2 * i + 1]);
      if (elements.size() % 2 != 0)
        elements[pairs++] = elements.back();
      elements.truncate(pairs);
    }
    return elements.front();
  }

  /// One operand's partials, a register each.
  SmallVector<Value> column(size_t operand) const {
    return llvm::map_to_vector(partials, [&](const Element &element) { return element[operand]; });
  }

  tile::ReduceOp op;
  ConversionPatternRewriter &rewriter;
  Location loc;
  int64_t axis;
  Layout layout, reduced;
  ThreadId thread;
  SmallVector<Element> partials; ///< of the reduced layout's registers
};

struct Reduce : OpConversionPattern<tile::ReduceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ReduceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    Layout layout = Layout::of(op.getSources().front().getType());
    if (!isSeparable(layout, op.getAxis()))
      return rewriter.notifyMatchFailure(op, "a layout bit moves along the axis and another dimension");
    for (auto [source, output] : llvm::zip_equal(op.getSources(), op.getOutputs()))
      if (Layout::of(source.getType()) != layout || Layout::of(output.getType()) != layout.reduced(op.getAxis()))
        return rewriter.notifyMatchFailure(op, "operands must share a layout and results have its reduced form");
    rewriter.replaceOpWithMultiple(op, Reduction(op, rewriter).run(adaptor.getSources()));
    return success();
  }
};
} // namespace

void tilec::lowering::populateReducePatterns(const TileTypeConverter &types, Patterns &patterns) {
  patterns.add<Reduce>(types, patterns.getContext());
}
