//===- LayoutConversion.cpp - Moving a tile between layouts ---------------===//
#include "dialects/TileGPU/IR/LayoutConversion.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace tilec::tilegpu;

namespace {
//===----------------------------------------------------------------------===//
// Linear algebra over F2
//===----------------------------------------------------------------------===//

/// Coordinates below the common atom, the dimensions' bits side by side.
using Bits = uint64_t;

/// Writes vectors as sums of given generators; bit i of a solution says that
/// generator i takes part.
class Span {
public:
  void add(Bits generator) {
    uint64_t taking = uint64_t(1) << count++;
    reduce(generator, taking);
    if (generator == 0)
      return; // depends on earlier generators
    for (Row &row : rows)
      if (row.value >> llvm::Log2_64(generator) & 1) {
        row.value ^= generator;
        row.taking ^= taking;
      }
    rows.push_back({generator, taking});
  }

  std::optional<uint64_t> solve(Bits vector) const {
    uint64_t taking = 0;
    reduce(vector, taking);
    return vector == 0 ? std::optional(taking) : std::nullopt;
  }

private:
  struct Row {
    Bits value;
    uint64_t taking;
  };

  void reduce(Bits &vector, uint64_t &taking) const {
    for (const Row &row : rows)
      if (vector >> llvm::Log2_64(row.value) & 1) {
        vector ^= row.value;
        taking ^= row.taking;
      }
  }

  SmallVector<Row> rows;
  unsigned count = 0;
};

//===----------------------------------------------------------------------===//
// Both layouts over a common atom
//===----------------------------------------------------------------------===//

/// The common refinement of two layouts' repeats: along each dimension the
/// larger of the two atoms. Below it a coordinate is bits; above it, a plain
/// number that both layouts count alike. Groups of warps that both divide
/// alike are above it, and the same for both.
struct CommonAtom {
  SmallVector<int64_t> logExtent, shift;
  int64_t width = 0;

  CommonAtom(const Layout &a, const Layout &b) {
    for (int64_t dim = 0; dim < a.rank(); ++dim) {
      logExtent.push_back(llvm::Log2_64(std::max(a.atomExtent(dim), b.atomExtent(dim))));
      shift.push_back(width);
      width += logExtent.back();
    }
  }

  Bits inner(ArrayRef<int64_t> coords) const {
    Bits bits = 0;
    for (auto [dim, coord] : llvm::enumerate(coords))
      bits |= Bits(coord & ((int64_t(1) << logExtent[dim]) - 1)) << shift[dim];
    return bits;
  }

  Coords outer(ArrayRef<int64_t> coords) const {
    Coords result;
    for (auto [dim, coord] : llvm::enumerate(coords))
      result.push_back(coord >> logExtent[dim]);
    return result;
  }
};

/// Finds the source of every destination element inside its own warp, or gives
/// up.
class InWarp {
public:
  InWarp(const Layout &src, const Layout &dst) : src(src), dst(dst), atom(src, dst) {
    for (int64_t reg = 0; reg < src.numRegisters(); ++reg) {
      Coords coords = registerCoords(src, reg);
      registerAt[{asVector(atom.outer(coords)), atom.inner(coords)}] = reg;
    }
    // Generators: what source registers can reach below the common atom, then
    // the source's lanes.
    for (const Basis &basis : src.registers)
      generators.push_back(atom.inner(basis));
    for (int64_t dim = 0; dim < src.rank(); ++dim)
      for (int64_t value = src.atomExtent(dim); value < int64_t(1) << atom.logExtent[dim]; value *= 2) {
        Coords coords(src.rank(), 0);
        coords[dim] = value;
        generators.push_back(atom.inner(coords));
      }
    registerGenerators = generators.size();
    for (const Basis &basis : src.lanes)
      generators.push_back(atom.inner(basis));
    for (Bits generator : generators)
      span.add(generator);
  }

  std::optional<ConversionPlan> plan() {
    if (atom.width > 63 || generators.size() > 63 || src.numWarps() != dst.numWarps() ||
        (src.groups != 1 && src.group != dst.group))
      return std::nullopt;
    ConversionPlan plan;
    SmallVector<Bits> offsets; // what each selector adds to the source register's coordinates
    bool crosses = false;
    for (auto [bit, basis] : llvm::enumerate(dst.lanes)) {
      Bits wanted = atom.inner(basis);
      int64_t own = int64_t(1) << bit;
      std::optional<Step> step = atom.inner(src.lanes[bit]) == wanted ? Step{0, own} : solve(wanted);
      if (!step)
        return std::nullopt;
      crosses |= step->lane != own;
      plan.laneOfLaneBit.push_back(step->lane);
      select(plan, offsets, {/*warp=*/false, static_cast<int64_t>(bit)}, step->registers);
    }
    for (auto [bit, basis] : llvm::enumerate(dst.warps)) {
      std::optional<Step> step = solve(atom.inner(basis) ^ atom.inner(src.warps[bit]));
      if (!step)
        return std::nullopt;
      crosses |= step->lane != 0;
      plan.laneOfWarpBit.push_back(step->lane);
      select(plan, offsets, {/*warp=*/true, static_cast<int64_t>(bit)}, step->registers);
    }
    if (plan.selectors.size() > kMaxSelectors)
      return std::nullopt;
    for (int64_t reg = 0; reg < dst.numRegisters(); ++reg) {
      Coords coords = registerCoords(dst, reg);
      std::optional<Step> step = solve(atom.inner(coords));
      if (!step)
        return std::nullopt;
      crosses |= step->lane != 0;
      plan.registerLane.push_back(step->lane);
      plan.candidates.push_back(candidates(atom.outer(coords), step->registers, offsets));
    }
    plan.kind = crosses ? ConversionPlan::Kind::shuffle : ConversionPlan::Kind::registers;
    return plan;
  }

private:
  /// More would take more selects than a trip through shared memory costs.
  static constexpr size_t kMaxSelectors = 3;

  struct Step {
    Bits registers; ///< coordinates the source register contributes
    int64_t lane;
  };

  static Coords registerCoords(const Layout &layout, int64_t reg) {
    Coords coords = layout.registerAtom(reg);
    for (auto [coord, offset] : llvm::zip_equal(coords, layout.registerRepeat(reg)))
      coord += offset;
    return coords;
  }

  static std::vector<int64_t> asVector(ArrayRef<int64_t> values) { return values.vec(); }

  std::optional<Step> solve(Bits wanted) const {
    std::optional<uint64_t> taking = span.solve(wanted);
    if (!taking)
      return std::nullopt;
    Step step{0, static_cast<int64_t>(*taking >> registerGenerators)};
    for (size_t i = 0; i < registerGenerators; ++i)
      if (*taking >> i & 1)
        step.registers ^= generators[i];
    return step;
  }

  static void select(ConversionPlan &plan, SmallVectorImpl<Bits> &offsets, ThreadBit bit, Bits offset) {
    if (offset == 0)
      return;
    plan.selectors.push_back(bit);
    offsets.push_back(offset);
  }

  SmallVector<int64_t, 1> candidates(const Coords &outer, Bits registers, ArrayRef<Bits> offsets) const {
    SmallVector<int64_t, 1> result;
    for (size_t choice = 0; choice < size_t(1) << offsets.size(); ++choice) {
      Bits wanted = registers;
      for (size_t i = 0; i < offsets.size(); ++i)
        if (choice >> i & 1)
          wanted ^= offsets[i];
      // A register that the source does not have would lie beyond what it
      // covers: dead.
      auto found = registerAt.find({asVector(outer), wanted});
      result.push_back(found == registerAt.end() ? -1 : found->second);
    }
    return result;
  }

  const Layout &src, &dst;
  CommonAtom atom;
  std::map<std::pair<std::vector<int64_t>, Bits>, int64_t> registerAt;
  SmallVector<Bits> generators;
  size_t registerGenerators = 0;
  Span span;
};

//===----------------------------------------------------------------------===//
// Through shared memory
//===----------------------------------------------------------------------===//

constexpr int64_t kBankBytes = 4, kBanks = 32, kWavefrontBytes = kBankBytes * kBanks;
constexpr int64_t kVectorBytes = 16;

int64_t idealWavefronts(int64_t accessBytes) { return std::max<int64_t>(1, kLanes * accessBytes / kWavefrontBytes); }

int64_t laneWavefronts(const Layout &layout, ArrayRef<int64_t> pitches, int64_t accessBytes) {
  SmallVector<int64_t> addresses;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    int64_t address = 0;
    for (auto [coord, pitch] : llvm::zip_equal(layout.coords(0, lane, 0), pitches))
      address += coord * pitch;
    addresses.push_back(address);
  }
  return countWavefronts(addresses, accessBytes);
}

/// The trip with dimension `inner` contiguous and `padding` bytes after each of
/// its rows.
SharedTrip makeTrip(const Layout &src, const Layout &dst, int64_t inner, int64_t padding, int64_t elementBytes) {
  SharedTrip trip;
  trip.order.push_back(inner);
  for (int64_t dim = src.rank() - 1; dim >= 0; --dim)
    if (dim != inner)
      trip.order.push_back(dim);
  trip.pitches.assign(src.rank(), 0);
  int64_t bytes = elementBytes, alignment = kVectorBytes;
  for (auto [place, dim] : llvm::enumerate(trip.order)) {
    trip.pitches[dim] = bytes;
    if (place > 0)
      alignment = std::min(alignment, int64_t(bytes & -bytes));
    bytes *= std::max(src.extent(dim), dst.extent(dim));
    if (place == 0 && src.rank() > 1)
      bytes += padding;
  }
  trip.bytes = bytes;
  int64_t limit = std::max<int64_t>(1, alignment / elementBytes);
  trip.storeVector = std::min(src.contiguity(inner), limit);
  trip.loadVector = std::min(dst.contiguity(inner), limit);
  trip.storeWavefronts = laneWavefronts(src, trip.pitches, trip.storeVector * elementBytes);
  trip.loadWavefronts = laneWavefronts(dst, trip.pitches, trip.loadVector * elementBytes);
  trip.storeConflicts =
      trip.storeWavefronts - std::min(trip.storeWavefronts, idealWavefronts(trip.storeVector * elementBytes));
  trip.loadConflicts =
      trip.loadWavefronts - std::min(trip.loadWavefronts, idealWavefronts(trip.loadVector * elementBytes));
  return trip;
}

/// Wavefronts of one warp for the whole tile; an instruction costs about one
/// more to issue.
int64_t tripCost(const SharedTrip &trip, const Layout &src, const Layout &dst) {
  return src.numRegisters() / trip.storeVector * (trip.storeWavefronts + 1) +
         dst.numRegisters() / trip.loadVector * (trip.loadWavefronts + 1);
}

SharedTrip bestTrip(const Layout &src, const Layout &dst, int64_t elementBytes) {
  if (src.rank() == 0)
    return {{}, {}, elementBytes, 1, 1, 1, 1, 0, 0};
  std::optional<SharedTrip> best;
  auto rank = [&](const SharedTrip &trip) { return std::pair(tripCost(trip, src, dst), trip.bytes); };
  for (int64_t inner = src.rank() - 1; inner >= 0; --inner)
    for (int64_t padding : {0, 4, 8, 16, 32, 64}) {
      if (padding % elementBytes != 0)
        continue;
      SharedTrip trip = makeTrip(src, dst, inner, padding, elementBytes);
      if (!best || rank(trip) < rank(*best))
        best = trip;
    }
  return *best;
}

int64_t shuffleCost(const ConversionPlan &plan, int64_t elementBytes) {
  int64_t cost = 0;
  for (ArrayRef<int64_t> candidates : plan.candidates) {
    llvm::SmallSet<int64_t, 4> distinct(candidates.begin(), candidates.end());
    cost += distinct.size() * llvm::divideCeil(elementBytes, kBankBytes);
  }
  return cost;
}

/// A barrier before the reads and, mostly, one before the next use of the
/// scratch: in wavefronts.
constexpr int64_t kBarrierCost = 24;
} // namespace

int64_t tilec::tilegpu::countWavefronts(ArrayRef<int64_t> addresses, int64_t accessBytes) {
  // The hardware takes a warp's access in groups of lanes that together ask for
  // 128 bytes.
  const int64_t lanes = std::min<int64_t>(addresses.size(), kWavefrontBytes / std::max(accessBytes, kBankBytes));
  int64_t total = 0;
  for (size_t first = 0; first < addresses.size(); first += lanes) {
    std::array<llvm::SmallSet<int64_t, 4>, kBanks> words;
    for (int64_t address : addresses.slice(first, lanes))
      for (int64_t word = address / kBankBytes; word <= (address + accessBytes - 1) / kBankBytes; ++word)
        words[word % kBanks].insert(word);
    size_t most = 0;
    for (auto &bank : words)
      most = std::max<size_t>(most, bank.size());
    total += most;
  }
  return total;
}

ConversionPlan tilec::tilegpu::planConversion(const Layout &src, const Layout &dst, int64_t elementBytes) {
  std::optional<ConversionPlan> inWarp = InWarp(src, dst).plan();
  if (inWarp && inWarp->kind == ConversionPlan::Kind::registers)
    return *inWarp;
  ConversionPlan plan;
  plan.trip = bestTrip(src, dst, elementBytes);
  if (inWarp && shuffleCost(*inWarp, elementBytes) <= tripCost(plan.trip, src, dst) + kBarrierCost)
    return *inWarp;
  return plan;
}
