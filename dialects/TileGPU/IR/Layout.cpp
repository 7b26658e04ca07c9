//===- Layout.cpp - Computing with layouts --------------------------------===//
#include "dialects/TileGPU/IR/Layout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilec::tilegpu;

namespace {
template <typename Bases> void unflatten(ArrayRef<int64_t> flat, int64_t rank, int64_t count, Bases &bases) {
  for (int64_t bit = 0; bit < count; ++bit)
    bases.emplace_back(flat.begin() + bit * rank, flat.begin() + (bit + 1) * rank);
}

template <typename Bases> SmallVector<int64_t> flatten(const Bases &bases) {
  SmallVector<int64_t> flat;
  for (const Basis &basis : bases)
    flat.append(basis.begin(), basis.end());
  return flat;
}

bool isZero(const Basis &basis) {
  return llvm::all_of(basis, [](int64_t v) { return v == 0; });
}

template <typename Bases> int64_t freeMask(const Bases &bases) {
  int64_t mask = 0;
  for (auto [bit, basis] : llvm::enumerate(bases))
    if (isZero(basis))
      mask |= int64_t(1) << bit;
  return mask;
}

/// Exclusive or of the bases chosen by the bits of `number`.
template <typename Bases> void combine(const Bases &bases, int64_t number, Coords &coords) {
  for (auto [bit, basis] : llvm::enumerate(bases))
    if (number >> bit & 1)
      for (auto [coord, part] : llvm::zip_equal(coords, basis))
        coord ^= part;
}

int64_t floorLog2(int64_t value) { return llvm::Log2_64(value); }
int64_t ceilLog2(int64_t value) { return llvm::Log2_64_Ceil(value); }

Basis unit(int64_t rank, int64_t dim, int64_t value) {
  Basis basis(rank, 0);
  basis[dim] = value;
  return basis;
}
} // namespace

WarpCount::WarpCount(int64_t numWarps) : bits(llvm::countr_zero<uint64_t>(numWarps)), groups(numWarps >> bits) {}

//===----------------------------------------------------------------------===//
// Attribute form
//===----------------------------------------------------------------------===//

Layout::Layout(LayoutAttr attr) : repeat(attr.getRepeat()) {
  int64_t rank = attr.getRank();
  if (rank == 0) { // one element, in every thread
    *this = replicated(0, 1);
    return;
  }
  unflatten(attr.getRegisters(), rank, attr.getRegisters().size() / rank, registers);
  unflatten(attr.getLanes(), rank, attr.getLanes().size() / rank, lanes);
  unflatten(attr.getWarps(), rank, attr.getWarps().size() / rank, warps);
  groups = attr.getGroups();
  group.assign(attr.getGroup().begin(), attr.getGroup().end());
}

LayoutAttr Layout::attr(MLIRContext *context) const {
  return LayoutAttr::get(context, flatten(registers), flatten(lanes), flatten(warps), groups,
                         groups == 1 ? ArrayRef<int64_t>() : ArrayRef<int64_t>(group), repeat);
}

Layout Layout::of(Type tile) { return Layout(cast<LayoutAttr>(cast<RankedTensorType>(tile).getEncoding())); }

//===----------------------------------------------------------------------===//
// Constructors
//===----------------------------------------------------------------------===//

namespace {
/// Hands out lane and warp bits dimension by dimension while `extent` grows towards `shape`.
struct Distribution {
  ArrayRef<int64_t> shape;
  Coords extent;

  explicit Distribution(ArrayRef<int64_t> shape) : shape(shape), extent(shape.size(), 1) {}

  int64_t missing(int64_t dim) const { return llvm::divideCeil(shape[dim], extent[dim]); }

  template <typename Bases> void add(Bases &bases, int64_t dim, int64_t bits) {
    for (int64_t i = 0; i < bits; ++i) {
      bases.push_back(unit(shape.size(), dim, extent[dim]));
      extent[dim] *= 2;
    }
  }
  template <typename Bases> void fillUp(Bases &bases, size_t bits) {
    while (bases.size() < bits)
      bases.push_back(Basis(shape.size(), 0));
  }
  /// Groups of warps divide the first of `dims` that they divide evenly; else the one that misses most, if there is
  /// enough of it for all.
  void addGroups(Layout &layout, int64_t groups, ArrayRef<int64_t> dims) {
    layout.groups = groups;
    if (groups == 1)
      return;
    layout.group.assign(shape.size(), 0);
    std::optional<int64_t> best;
    for (int64_t dim : dims)
      if (missing(dim) % groups == 0) {
        best = dim;
        break;
      } else if (missing(dim) > groups && (!best || missing(dim) > missing(*best))) {
        best = dim;
      }
    if (!best)
      return;
    layout.group[*best] = extent[*best];
    extent[*best] *= groups;
  }
  Coords repeats() const {
    Coords repeat;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      repeat.push_back(missing(dim));
    return repeat;
  }
};
} // namespace

Layout Layout::blocked(ArrayRef<int64_t> shape, ArrayRef<int64_t> order, int64_t vector, int64_t numWarps) {
  Layout layout;
  Distribution spread(shape);
  const auto [warpBits, groups] = WarpCount(numWarps);
  if (!order.empty())
    spread.add(layout.registers, order.front(), floorLog2(vector));
  for (int64_t dim : order)
    spread.add(layout.lanes, dim, std::min<int64_t>(kLaneBits - layout.lanes.size(), ceilLog2(spread.missing(dim))));
  spread.fillUp(layout.lanes, kLaneBits);
  // Whole rows to a warp: reductions along the contiguous dimension then stay inside it.
  const auto slowestFirst = llvm::to_vector(llvm::reverse(order));
  for (int64_t dim : slowestFirst)
    spread.add(layout.warps, dim, std::min<int64_t>(warpBits - layout.warps.size(), floorLog2(spread.missing(dim))));
  spread.fillUp(layout.warps, warpBits);
  spread.addGroups(layout, groups, slowestFirst);
  layout.repeat = spread.repeats();
  return layout;
}

Layout Layout::outerProduct(ArrayRef<int64_t> shape, int64_t numWarps) {
  constexpr int64_t kBlock = 8, kRun = 4;
  const auto [warpBits, groups] = WarpCount(numWarps);
  int64_t share = llvm::bit_floor<uint64_t>(std::max<int64_t>(1, shape[0] * shape[1] / (kLanes * numWarps)));
  Layout layout;
  Distribution spread(shape);
  auto take = [&](int64_t dim, int64_t atMost) {
    int64_t count = std::min({atMost, share, int64_t(llvm::bit_floor<uint64_t>(spread.missing(dim)))});
    spread.add(layout.registers, dim, floorLog2(count));
    share /= count;
  };
  take(1, kRun);
  take(0, kBlock);
  // Four rows of eight lanes; what one dimension cannot take goes to the other.
  for (auto [dim, bits] : {std::pair(1, 3), std::pair(0, 2), std::pair(1, 2), std::pair(0, 3)})
    spread.add(layout.lanes, dim,
               std::min<int64_t>(
                   {bits, static_cast<int64_t>(kLaneBits - layout.lanes.size()), ceilLog2(spread.missing(dim))}));
  spread.fillUp(layout.lanes, kLaneBits);
  for (int64_t bit = 0; bit < warpBits; ++bit) {
    int64_t dim = spread.missing(0) >= spread.missing(1) ? 0 : 1;
    if (spread.missing(dim) > 1)
      spread.add(layout.warps, dim, 1);
  }
  spread.fillUp(layout.warps, warpBits);
  spread.addGroups(layout, groups, {0, 1});
  layout.repeat = spread.repeats();
  return layout;
}

Layout Layout::replicated(int64_t rank, int64_t numWarps) {
  Layout layout;
  layout.lanes.assign(kLaneBits, Basis(rank, 0));
  if (rank != 0) { // the flat form of rank 0 could not say how many
    const WarpCount count(numWarps);
    layout.warps.assign(count.bits, Basis(rank, 0));
    layout.groups = count.groups;
    layout.group.assign(count.groups == 1 ? 0 : rank, 0);
  }
  layout.repeat.assign(rank, 1);
  return layout;
}

//===----------------------------------------------------------------------===//
// Derived layouts
//===----------------------------------------------------------------------===//

Layout Layout::reduced(int64_t axis) const {
  Layout layout = *this;
  for (Basis &basis : layout.lanes)
    basis[axis] = 0;
  for (Basis &basis : layout.warps)
    basis[axis] = 0;
  for (Basis &basis : layout.registers)
    basis[axis] = 0;
  llvm::erase_if(layout.registers, isZero);
  if (!layout.group.empty())
    layout.group[axis] = 0;
  layout.repeat[axis] = 1;
  return layout;
}

Layout Layout::broadcastSource(ArrayRef<int64_t> source, ArrayRef<int64_t> shape) const {
  Layout layout = *this;
  for (auto [dim, from] : llvm::enumerate(source))
    if (from == 1 && shape[dim] != 1)
      layout = layout.reduced(dim);
  return layout;
}

Layout Layout::permuted(ArrayRef<int64_t> order) const {
  auto apply = [&](const Coords &coords) {
    return llvm::to_vector<4>(llvm::map_range(order, [&](int64_t dim) { return coords[dim]; }));
  };
  Layout layout = *this;
  for (Basis &basis : layout.registers)
    basis = apply(basis);
  for (Basis &basis : layout.lanes)
    basis = apply(basis);
  for (Basis &basis : layout.warps)
    basis = apply(basis);
  if (!group.empty())
    layout.group = apply(group);
  layout.repeat = apply(repeat);
  return layout;
}

namespace {
/// One dimension of a layout: what each thread and register bit contributes to it, groups of warps, and its repeats.
struct Axis {
  SmallVector<int64_t> bits;
  int64_t groups = 1, repeat = 1;

  explicit Axis(size_t count) : bits(count, 0) {}

  int64_t atom() const {
    int64_t span = 0;
    for (int64_t bit : bits)
      span |= bit;
    return span == 0 ? 1 : int64_t(2) << floorLog2(span);
  }
  int64_t extent() const { return atom() * groups * repeat; }
};

/// Row-major `outer` (any size) and `inner` of `size` elements as one dimension.
std::optional<Axis> merge(const Axis &outer, const Axis &inner, int64_t size) {
  if (outer.extent() != 1) {
    if (inner.extent() != size) // elements beyond `size` would be others of the merged dimension
      return std::nullopt;
    if (outer.atom() != 1 && inner.groups * inner.repeat != 1) // the atom would have a hole
      return std::nullopt;
    if (outer.groups != 1 && inner.repeat != 1) // so would the groups
      return std::nullopt;
  }
  Axis merged = inner;
  for (auto [bit, part] : llvm::zip_equal(merged.bits, outer.bits))
    bit += part * size;
  merged.groups *= outer.groups;
  merged.repeat *= outer.repeat;
  return merged;
}

/// Takes the innermost `inner` elements off an axis of `size`, which keeps the outer ones.
std::optional<Axis> split(Axis &axis, int64_t size, int64_t inner) {
  Axis taken(axis.bits.size());
  if (inner == 1)
    return taken;
  if (inner == size) {
    std::swap(taken, axis);
    return taken;
  }
  const int64_t atom = axis.atom();
  if (inner % atom == 0) {
    const int64_t rounds = inner / atom;
    if (axis.extent() != size || (rounds != 1 && rounds % axis.groups != 0))
      return std::nullopt;
    std::swap(taken.bits, axis.bits);
    if (rounds != 1)
      std::swap(taken.groups, axis.groups);
    taken.repeat = rounds / taken.groups;
    axis.repeat = size / inner / axis.groups;
    return taken;
  }
  if (atom % inner != 0)
    return std::nullopt;
  for (auto [low, bit] : llvm::zip_equal(taken.bits, axis.bits)) {
    low = bit % inner;
    bit /= inner;
  }
  return taken;
}
std::optional<Layout> reshapeAxes(const Layout &source, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<Basis> bases(source.registers.begin(), source.registers.end());
  bases.append(source.lanes.begin(), source.lanes.end());
  bases.append(source.warps.begin(), source.warps.end());
  auto axisOf = [&](size_t dim) {
    Axis axis(bases.size());
    for (auto [bit, basis] : llvm::zip_equal(axis.bits, bases))
      bit = basis[dim];
    axis.groups = source.groupStep(dim) == 0 ? 1 : source.groups;
    axis.repeat = source.repeat[dim];
    return axis;
  };
  // Neighbouring dimensions with equal products are merged into one and divided again.
  SmallVector<Axis> result;
  for (size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    Axis merged(bases.size());
    int64_t size = 1, wanted = 1;
    size_t first = j;
    auto takeSource = [&] {
      std::optional<Axis> next = merge(merged, axisOf(i), from[i]);
      if (next)
        merged = *next;
      size *= from[i++];
      return next.has_value();
    };
    if (i < from.size() && !takeSource())
      return std::nullopt;
    if (j < to.size())
      wanted *= to[j++];
    while (size != wanted) {
      if (size > wanted)
        wanted *= to[j++];
      else if (!takeSource())
        return std::nullopt;
    }
    SmallVector<Axis> innermostFirst;
    for (size_t dim = j; dim-- > first;) {
      std::optional<Axis> inner = split(merged, size, to[dim]);
      if (!inner)
        return std::nullopt;
      innermostFirst.push_back(*inner);
      size /= to[dim];
    }
    if (merged.extent() != 1)
      return std::nullopt;
    result.append(innermostFirst.rbegin(), innermostFirst.rend());
  }
  Layout layout;
  auto basis = [&](size_t bit) {
    return Basis(llvm::map_range(result, [&](const Axis &axis) { return axis.bits[bit]; }));
  };
  size_t next = 0;
  for (size_t i = 0; i < source.registers.size(); ++i)
    layout.registers.push_back(basis(next++));
  for (size_t i = 0; i < source.lanes.size(); ++i)
    layout.lanes.push_back(basis(next++));
  for (size_t i = 0; i < source.warps.size(); ++i)
    layout.warps.push_back(basis(next++));
  layout.groups = source.groups;
  if (layout.groups != 1)
    layout.group = Basis(llvm::map_range(result, [](const Axis &axis) { return axis.groups == 1 ? 0 : axis.atom(); }));
  for (const Axis &axis : result)
    layout.repeat.push_back(axis.repeat);
  return layout;
}

/// The same layout with innermost repeats written as bits of the atom: registers keep their numbers.
Layout absorbRepeats(Layout layout) {
  auto fits = [&](int64_t dim) {
    return layout.groupStep(dim) == 0 ? llvm::isPowerOf2_64(layout.repeat[dim]) : layout.repeat[dim] == 1;
  };
  for (int64_t dim = layout.rank() - 1; dim >= 0 && fits(dim); --dim)
    while (layout.repeat[dim] > 1) {
      layout.registers.push_back(unit(layout.rank(), dim, layout.atomExtent(dim)));
      layout.repeat[dim] /= 2;
    }
  return layout;
}
} // namespace

std::optional<Layout> Layout::reshaped(ArrayRef<int64_t> from, ArrayRef<int64_t> to) const {
  std::optional<Layout> direct = reshapeAxes(*this, from, to);
  return direct ? direct : reshapeAxes(absorbRepeats(*this), from, to);
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

int64_t Layout::numRegisters() const {
  int64_t count = atomRegisters();
  for (int64_t factor : repeat)
    count *= factor;
  return count;
}

int64_t Layout::atomExtent(int64_t dim) const {
  int64_t span = 0;
  for (const Basis &basis : registers)
    span |= basis[dim];
  for (const Basis &basis : lanes)
    span |= basis[dim];
  for (const Basis &basis : warps)
    span |= basis[dim];
  return span == 0 ? 1 : int64_t(2) << floorLog2(span);
}

Coords Layout::registerAtom(int64_t reg) const {
  Coords coords(rank(), 0);
  combine(registers, reg % atomRegisters(), coords);
  return coords;
}

Coords Layout::registerRepeat(int64_t reg) const {
  Coords coords(rank(), 0);
  int64_t index = reg / atomRegisters();
  for (int64_t dim = rank() - 1; dim >= 0; --dim) {
    coords[dim] = index % repeat[dim] * repeatStep(dim);
    index /= repeat[dim];
  }
  return coords;
}

Coords Layout::coords(int64_t reg, int64_t lane, int64_t warp) const {
  Coords coords = registerAtom(reg);
  combine(lanes, lane, coords);
  combine(warps, warp, coords);
  const int64_t number = warp >> warps.size();
  for (auto [dim, offset] : llvm::enumerate(registerRepeat(reg)))
    coords[dim] += offset + number * groupStep(dim);
  return coords;
}

int64_t Layout::contiguity(int64_t dim) const {
  // The low register bits must be 1, 2, 4 … along `dim`, and nothing else may touch those bits.
  int64_t run = 1;
  for (const Basis &basis : registers) {
    if (basis != unit(rank(), dim, run))
      break;
    run *= 2;
  }
  auto touches = [&](const Basis &basis) { return (basis[dim] & (run - 1)) != 0; };
  while (run > 1 && (llvm::any_of(lanes, touches) || llvm::any_of(warps, touches) ||
                     llvm::any_of(llvm::drop_begin(registers, floorLog2(run)), touches)))
    run /= 2;
  return run;
}

int64_t Layout::freeLaneMask() const { return freeMask(lanes); }
int64_t Layout::freeWarpMask() const {
  if (rank() == 0)
    return kMaxWarps - 1;
  const int64_t groupBits = (kMaxWarps - 1) >> warps.size() << warps.size();
  return freeMask(warps) | (groups != 1 && isZero(group) ? groupBits : 0);
}

bool Layout::covers(ArrayRef<int64_t> shape) const {
  for (auto [dim, size] : llvm::enumerate(shape))
    if (extent(dim) != size)
      return false;
  return true;
}

bool Layout::operator==(const Layout &other) const {
  return registers == other.registers && lanes == other.lanes && warps == other.warps && groups == other.groups &&
         (groups == 1 || group == other.group) && repeat == other.repeat;
}

int64_t tilec::tilegpu::vectorForTile(ArrayRef<int64_t> shape, int64_t vector, int64_t numWarps) {
  int64_t share = llvm::divideCeil(ShapedType::getNumElements(shape), kLanes * numWarps);
  return std::min<int64_t>(vector, llvm::bit_floor<uint64_t>(std::max<int64_t>(share, 1)));
}
