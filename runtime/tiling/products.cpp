//===- products.cpp - Tiles of kernels that multiply -----------------------===//

#include "plan.h"
#include "shapes.h"

#include <algorithm>
#include <cmath>

using namespace tilec::tiling;

namespace {

// The cost model, in cycles of one multiprocessor.
constexpr double bytesOfStep = 128;             // along K: what one slot of the ring holds of a row
constexpr double wgmmaBitsPerCycle = 2048 * 16; // multiplications, times the bits of an operand
constexpr double mmaBitsPerCycle = 1024 * 16;
constexpr double mmaF64PerCycle = 128;
constexpr double fmaPerCycle = 128, fmaF64PerCycle = 64;
constexpr double cyclesPerRow = 3;                               // 128 bytes from L2 to shared memory, in one line
constexpr double cyclesPerRowByElement = 7, elementCycles = 700; // and until they are there
constexpr double cyclesPerRowByTma = 2, cyclesPerRowOfAll = 2.2; // by one multiprocessor, and when all ask for it
constexpr double sustained = 1.25, sustainedCycles = 1e5; // of long kernels: the chip lowers its clock, and not L2's
constexpr double epilogueCycles = 1200;                   // to store a tile of 128 x 256 elements of 16 bits
constexpr double epilogueBits = 128 * 256 * 16;
constexpr double launchCycles = 3000;
constexpr double crowdedL2 = 0.9;
constexpr double uncovered = 1.6;     // where nobody multiplies while a left operand goes to registers
constexpr double clusterCycles = 700; // to start one, and until all of it has ended
constexpr double splitCycles = 700;   // partial sums, added through shared memory
constexpr double addedPerCycle = 4.5, addedForOnePerCycle = 2.4; // each program some columns, or one of them all
constexpr double splitDoubt = 1.02;         // what sharing has to gain by, as far as this model can tell
constexpr double largeClusterCycles = 2900; // few places are free for one
// To add up in global memory. Not measured on any GPU: meant to be too high rather than too low.
constexpr double workspaceCycles = 2000;      // to count who is there, and until the first part is read
constexpr double workspaceBytesPerCycle = 24; // that a program writes, as all do; or reads alone
constexpr double workspaceDoubt = 1.15;       // in place of splitDoubt
constexpr int mostWorkspaceParts = 16;

constexpr int64_t stagingBytes = 2 * 64 * 128; // of a warpgroup: two buffers of 64 rows for the way out
constexpr int64_t barrierBytes = 1024;
constexpr int64_t fewestStages = 3;
constexpr int64_t syncStages = 2;
constexpr int64_t syncRegisters = 128;   // of a thread, for accumulators; of at most 256 threads
constexpr int64_t syncRegistersF64 = 64; // whose operands take twice as many
constexpr int64_t syncRegistersF8 = 32;  // emulated: widening takes registers
constexpr int64_t fewRows = 32;          // fewer than the 64 of wgmma's left operand by far
constexpr int64_t mostEvenWaves = 2;
constexpr double evenRowsDoubt = 1.06; // what they have to gain by
constexpr int64_t skinnyRows = 256;    // then the other operand streams from memory once

/// Registers of a thread for accumulators: of one product, where they are computed on, and of several products. What
/// the assembler takes without spilling, of 232 registers for at most two warpgroups and of 160 for three.
struct Bounds {
  int64_t plain, computing, severalProducts;
};
constexpr Bounds boundsOfTwo{192, 128, 160}, boundsOfThree{128, 112, 112};

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

std::string text(int64_t value) { return std::to_string(value); }

class ProductPlanner {
public:
  ProductPlanner(const Problem &problem, const Device &device)
      : problem(problem), device(device), main(mainProduct(problem)) {}

  Plan run() {
    obstacle = wgmmaObstacle();
    if (device.wgmma && !obstacle.empty())
      plan.reasons.push_back("without wgmma: " + obstacle);
    for (const ProductShape &shape : warpgroupShapes)
      consider(shape, !readsAsWritten() && readsExchanged());
    if (readsExchanged() && main.m.dim >= 0 && rowsOf(main.m) <= fewRows)
      for (const ProductShape &shape : fewRowsShapes)
        if (shape.n >= rowsOf(main.m)) // or the other operand would be read more than once
          consider(shape, /*exchanged=*/true);
    considerEvenRows();
    const Candidate *best = cheapest();
    if (!best) {
      for (const ProductShape &shape : warpShapes)
        consider(shape, /*exchanged=*/false);
      best = cheapest();
    }
    if (!best) { // nothing fits: the smallest tile has the best chance
      best = &plan.candidates.back();
      plan.reasons.push_back("no candidate fits; the smallest is taken");
    }
    plan.chosen = *best;
    decideTheRest();
    return std::move(plan);
  }

private:
  const Candidate *cheapest() const {
    const Candidate *best = nullptr;
    for (const Candidate &candidate : plan.candidates)
      if (candidate.rejected.empty() && (!best || candidate.cycles < best->cycles))
        best = &candidate;
    return best;
  }

  static const Product &mainProduct(const Problem &problem) {
    auto follows = [](const Product &p) { return (p.m.dim >= 0) + (p.n.dim >= 0); };
    return *std::max_element(problem.products.begin(), problem.products.end(),
                             [&](const Product &a, const Product &b) { return follows(a) < follows(b); });
  }

  //===--------------------------------------------------------------------===//
  // Candidates
  //===--------------------------------------------------------------------===//

  /// With the operands exchanged, the rows of the shape are those of the right operand.
  void consider(const ProductShape &shape, bool exchanged) {
    Candidate candidate;
    candidate.schedule = shape.schedule;
    candidate.numWarps = 4 * shape.consumers;
    candidate.exchanged = exchanged;
    candidate.tile = exchanged ? tileOf(shape.n, shape.m) : tileOf(shape.m, shape.n);
    for (const Candidate &other : plan.candidates)
      if (other.schedule == candidate.schedule && other.numWarps == candidate.numWarps && other.tile == candidate.tile)
        return; // they differ in dimensions that are not divided, or not the product's
    candidate.rejected = rejection(candidate, shape);
    add(candidate, shape);
    if (!candidate.rejected.empty())
      return;
    if (canShareRight(candidate)) {
      Candidate shares = candidate;
      shares.clusterM = 2;
      add(shares, shape);
    }
    if (shape.schedule == Schedule::pingpong || !canSplit())
      return;
    const int64_t tiles = programsOf(problem, candidate.tile);
    for (candidate.splitK = 2; device.splitK && candidate.splitK <= 8; ++candidate.splitK)
      if (tiles * candidate.splitK <= residentPrograms(candidate.splitK))
        add(candidate, shape);
    candidate.byWorkspace = true;
    for (candidate.splitK = 2; device.workspace && candidate.splitK <= mostWorkspaceParts; ++candidate.splitK)
      if (tiles * candidate.splitK <= device.multiprocessors)
        add(candidate, shape);
  }

  /// Rows divided evenly among so few tiles that one more or less counts: the right operand of wgmma, which the left
  /// one of the product becomes by exchange, has any multiple of 8.
  void considerEvenRows() {
    if (!readsExchanged() || main.m.dim < 0 || problem.copies > 1)
      return;
    const int64_t rows = rowsOf(main.m);
    for (ProductShape shape : evenRowsShapes)
      for (int64_t extent : evenRows) {
        // No larger one divides them into as few tiles.
        const int64_t even = ceilDiv(rows, ceilDiv(rows, extent));
        shape.n = *std::lower_bound(std::begin(evenRows), std::end(evenRows), even);
        if (shape.n == extent &&
            programsOf(problem, tileOf(shape.n, shape.m)) <= mostEvenWaves * device.multiprocessors)
          consider(shape, /*exchanged=*/true);
      }
  }

  bool hasEvenRows(const Candidate &candidate) const {
    const int64_t rows = main.m.in(candidate.tile);
    return candidate.exchanged && rows > fewRows && rows % 64 != 0;
  }

  void add(Candidate candidate, const ProductShape &shape) {
    evaluate(candidate, shape);
    plan.candidates.push_back(std::move(candidate));
  }

  Tile tileOf(int64_t m, int64_t n) const {
    Tile tile(problem.extents.size(), 1);
    if (main.m.dim >= 0)
      tile[main.m.dim] = m;
    if (main.n.dim >= 0)
      tile[main.n.dim] = n;
    for (size_t dim = 0; dim < tile.size(); ++dim)
      if (problem.whole[dim])
        tile[dim] = std::max<int64_t>(problem.extents[dim], 1);
    return tile;
  }

  bool canSplit() const { return problem.products.size() == 1 && main.loops && main.registers == 1; }

  //===--------------------------------------------------------------------===//
  // What cannot be
  //===--------------------------------------------------------------------===//

  /// Why no product of this kernel can go through wgmma and TMA, or nothing.
  std::string wgmmaObstacle() const {
    if (!device.wgmma)
      return "no wgmma";
    for (const Product &product : problem.products) {
      if (product.kind == ElementKind::other || product.kind == ElementKind::f64)
        return "wgmma has no such elements";
      for (const Operand *operand : {&product.a, &product.b}) {
        if (operand->argument < 0 || operand->computed)
          continue; // threads bring it to where wgmma reads it
        if (!operand->describable)
          return "TMA cannot describe argument " + text(operand->argument) + ": its rows are not 16 bytes apart";
      }
    }
    if (readsAsWritten() || readsExchanged())
      return {};
    const Operand &lying = liesRight(&Product::b) ? main.a : main.b;
    return "operands of " + text(main.bits) + " bits must be contiguous along K: argument " + text(lying.argument);
  }

  /// True when wgmma takes this operand of every product from shared memory as it is stored: it transposes elements of
  /// 16 bits only.
  bool liesRight(Operand Product::*side) const {
    return std::all_of(problem.products.begin(), problem.products.end(), [&](const Product &product) {
      const Operand &operand = product.*side;
      return product.bits == 16 || operand.kContiguous || operand.argument < 0 || operand.computed;
    });
  }

  /// True when the left operand does or, of 32 bits, goes through registers, where threads put it right.
  bool canBeLeft(Operand Product::*side) const { return liesRight(side) || main.bits == 32; }

  bool readsAsWritten() const { return canBeLeft(&Product::a) && liesRight(&Product::b); }

  /// As the transpose of the product of the transposed operands.
  bool readsExchanged() const { return canBeLeft(&Product::b) && liesRight(&Product::a); }

  std::string rejection(const Candidate &candidate, const ProductShape &shape) const {
    if (shape.schedule == Schedule::sync)
      return syncRejection(candidate);
    if (!obstacle.empty())
      return obstacle;
    if (shape.consumers > 2 && !device.threeConsumers)
      return "no roles for " + text(shape.consumers) + " warpgroups that multiply";
    if (problem.numWarps && problem.numWarps != candidate.numWarps)
      return "the author asks for " + text(problem.numWarps) + " warps";
    for (const Product &product : problem.products) {
      int64_t m = product.m.in(candidate.tile), n = product.n.in(candidate.tile);
      if (candidate.exchanged)
        std::swap(m, n);
      if (m % 64 != 0 || n % 8 != 0)
        return "wgmma multiplies 64 rows by multiples of 8 columns, not " + text(m) + " by " + text(n);
    }
    int sharers = shape.schedule == Schedule::cooperative ? shape.consumers : 1;
    int64_t registers = (accumulatorRegisters(candidate.tile) + leftElements(candidate)) / (128 * sharers);
    const Bounds &bounds = shape.consumers > 2 ? boundsOfThree : boundsOfTwo;
    int64_t most = problem.products.size() > 1 ? bounds.severalProducts
                   : problem.computes          ? bounds.computing
                                               : bounds.plain;
    if (registers > most)
      return "accumulators take " + text(registers) + " registers of " + text(most);
    int64_t stages = problem.numStages ? problem.numStages : main.trips > 1 ? fewestStages : 1;
    int64_t shared = barrierBytes + stagingBytes * shape.consumers + stages * slotBytes(candidate.tile);
    return sharedRejection(shared, stages);
  }

  std::string syncRejection(const Candidate &candidate) const {
    int64_t registers = accumulatorRegisters(candidate.tile) / 256;
    const int64_t most = main.kind == ElementKind::f64                   ? syncRegistersF64
                         : main.kind == ElementKind::f8 && !device.mmaF8 ? syncRegistersF8
                                                                         : syncRegisters;
    if (registers > most)
      return "accumulators take " + text(registers) + " registers of " + text(most);
    int64_t stages = problem.numStages ? problem.numStages : main.trips > 1 ? syncStages : 1;
    int64_t bytes = 0;
    for (const Product &product : problem.products)
      bytes += (product.m.in(candidate.tile) + product.n.in(candidate.tile)) * product.stepBytes();
    return sharedRejection(stages * bytes, stages);
  }

  std::string sharedRejection(int64_t bytes, int64_t stages) const {
    if (bytes <= device.sharedBytes)
      return {};
    return text(stages) + (stages == 1 ? " stage takes " : " stages take ") + text(bytes) +
           " bytes of shared memory of " + text(device.sharedBytes);
  }

  int64_t accumulatorRegisters(const Tile &tile) const {
    int64_t registers = 0;
    for (size_t k = 0; k < problem.products.size(); ++k) {
      const Product &product = problem.products[k];
      bool known = std::any_of(problem.products.begin(), problem.products.begin() + static_cast<std::ptrdiff_t>(k),
                               [&](const Product &other) { return other.accumulator == product.accumulator; });
      if (!known)
        registers += product.m.in(tile) * product.n.in(tile) * product.registers;
    }
    return registers;
  }

  /// Elements of left operands that go through registers in one step.
  int64_t leftElements(const Candidate &candidate) const {
    if (liesRight(candidate.exchanged ? &Product::b : &Product::a))
      return 0;
    return (candidate.exchanged ? main.n : main.m).in(candidate.tile) * main.kStep;
  }

  /// Shared memory of one slot of the ring: rows of 128 bytes, or of a whole
  /// step of the author's if that is longer.
  int64_t slotBytes(const Tile &tile) const {
    int64_t bytes = 0;
    for (size_t k = 0; k < problem.products.size(); ++k)
      bytes +=
          loadedRows(k, tile) * std::max<int64_t>(static_cast<int64_t>(bytesOfStep), problem.products[k].stepBytes());
    return bytes;
  }

  /// Rows that a product brings to shared memory; an operand that an earlier
  /// product has brought already counts once.
  int64_t loadedRows(size_t number, const Tile &tile) const { return leftRows(number, tile) + rightRows(number, tile); }

  int64_t leftRows(size_t number, const Tile &tile) const {
    const Product &product = problem.products[number];
    return product.a.argument < 0 || broughtBefore(number, product.a.argument) ? 0 : product.m.in(tile);
  }

  int64_t rightRows(size_t number, const Tile &tile) const {
    const Product &product = problem.products[number];
    return product.b.argument < 0 || broughtBefore(number, product.b.argument) ? 0 : product.n.in(tile);
  }

  bool broughtBefore(size_t number, int argument) const {
    for (size_t k = 0; k < number; ++k)
      if (problem.products[k].a.argument == argument || problem.products[k].b.argument == argument)
        return true;
    return false;
  }

  //===--------------------------------------------------------------------===//
  // What it costs
  //===--------------------------------------------------------------------===//

  void evaluate(Candidate &candidate, const ProductShape &shape) const {
    candidate.programs = programsOf(problem, candidate.tile);
    const int64_t rows = main.m.dim < 0 ? 1 : ceilDiv(rowsOf(main.m), main.m.in(candidate.tile));
    const int64_t launched =
        candidate.programs / rows * ceilDiv(rows, candidate.clusterM) * candidate.clusterM * candidate.splitK;
    const int cluster = candidate.byWorkspace ? candidate.clusterM : std::max(candidate.splitK, candidate.clusterM);
    candidate.waves = ceilDiv(launched, residentPrograms(cluster));
    double waves = static_cast<double>(candidate.waves);
    const double busy = // multiprocessors at a time
        static_cast<double>(launched) / static_cast<double>(device.multiprocessors * candidate.waves);
    double loop = 0;
    for (size_t k = 0; k < problem.products.size(); ++k)
      loop += loopCycles(k, candidate, shape, busy);
    double epilogue = epilogueCycles * storedBits(candidate.tile) / epilogueBits;
    // What is read comes from memory at least once, however well the tiles are chosen.
    loop = together(waves * loop, static_cast<double>(problem.arrayBytes) / device.dramBytesPerCycle);
    bool hidden = shape.schedule == Schedule::pingpong; // under the other warpgroup's products
    candidate.cycles = loop + (hidden ? 1 : waves) * epilogue + launchCycles;
    if (candidate.clusterM > 1)
      candidate.cycles += clusterCycles;
    if (candidate.splitK > 1)
      candidate.cycles +=
          candidate.byWorkspace ? workspaceAddingCycles(candidate) : splitCycles + addingCycles(candidate);
    if (candidate.splitK > 4 && !candidate.byWorkspace)
      candidate.cycles += largeClusterCycles;
    if (candidate.splitK > 1)
      candidate.cycles *= candidate.byWorkspace ? workspaceDoubt : splitDoubt;
    if (hasEvenRows(candidate))
      candidate.cycles *= evenRowsDoubt;
  }

  /// CTAs that run at once: a cluster needs neighbouring multiprocessors, of which groups have a few left over.
  int64_t residentPrograms(int cluster) const {
    constexpr double part[] = {1, 1, 0.886, 0.91, 0.833, 0.772, 0.795, 0.91};
    const auto resident = static_cast<int64_t>(part[cluster - 1] * static_cast<double>(device.multiprocessors));
    return std::max<int64_t>(1, resident / cluster * cluster);
  }

  /// The time of two things that overlap: little more than the longer one.
  static double together(double a, double b) { return std::sqrt(std::sqrt(a * a * a * a + b * b * b * b)); }

  bool rowsAligned() const { return main.a.straddling == 0 && main.b.straddling == 0; }

  /// To add up what the programs of a tile have. Each finishes some columns, in units of 8; without roles one all.
  double addingCycles(const Candidate &candidate) const {
    const auto elements = static_cast<double>(accumulatorRegisters(candidate.tile));
    if (candidate.schedule == Schedule::sync)
      return elements / addedForOnePerCycle;
    const int64_t columns = (candidate.exchanged ? main.m : main.n).in(candidate.tile), unit = 8;
    const int64_t share = ceilDiv(columns, unit * candidate.splitK) * unit;
    return elements * static_cast<double>(share * candidate.splitK) / static_cast<double>(columns) / addedPerCycle;
  }

  /// The same in global memory: every program writes what it has, and the last reads the parts of all.
  double workspaceAddingCycles(const Candidate &candidate) const {
    const double bytes = 4 * static_cast<double>(accumulatorRegisters(candidate.tile));
    return workspaceCycles + bytes * (1 + candidate.splitK) / workspaceBytesPerCycle;
  }

  bool canShareRight(const Candidate &candidate) const {
    bool severalRows = main.m.dim >= 0 && rowsOf(main.m) > main.m.in(candidate.tile);
    bool roles = candidate.schedule == Schedule::cooperative || candidate.schedule == Schedule::pingpong;
    return device.clusters && !rowsAligned() && severalRows && roles;
  }

  double loopCycles(size_t number, const Candidate &candidate, const ProductShape &shape, double busy) const {
    const Product &product = problem.products[number];
    double steps = std::ceil(product.kBytes() / bytesOfStep / candidate.splitK);
    double perStep = bytesOfStep * 8 / product.bits; // elements along K
    double m = static_cast<double>(product.m.in(candidate.tile)), n = static_cast<double>(product.n.in(candidate.tile));
    double multiply = m * n * perStep / (multipliesPerCycle(product, shape) * shape.efficiency) * slowdown();
    if (leftElements(candidate) > 0 && shape.schedule != Schedule::cooperative)
      multiply *= uncovered;
    double left = static_cast<double>(leftRows(number, candidate.tile)),
           right = static_cast<double>(rightRows(number, candidate.tile));
    if (shape.schedule == Schedule::sync)
      return steps * std::max(multiply, loadByThreads(product, left, right));
    left = linesOf(left, product.a, product.bits, product.a.straddling);
    right = rightLines(right, product, candidate);
    double load = std::max(cyclesPerRowByTma, cyclesPerRowOfAll * std::min(1.0, busy)) * (left + right);
    if (candidate.splitK > 1) // programs that share nothing meet at the second-level cache
      load *= 1 + crowdedL2 * busy * busy;
    return steps * std::max(multiply, load);
  }

  /// To load so many rows of 128 bytes. Rows that asynchronous copies cannot take whole are loaded element by element,
  /// one step ahead.
  static double loadByThreads(const Product &product, double left, double right) {
    auto whole = [](const Operand &operand) { return operand.describable || operand.argument < 0; };
    double load = left * (whole(product.a) ? cyclesPerRow : cyclesPerRowByElement) +
                  right * (whole(product.b) ? cyclesPerRow : cyclesPerRowByElement);
    return whole(product.a) && whole(product.b) ? load : load + elementCycles;
  }

  /// Lines of the second-level cache that boxes of `extent` rows touch, each 128 bytes along K; or of rows along
  /// `extent`, which boxes divide as far as it has multiples of 128 bytes.
  static double linesOf(double extent, const Operand &operand, int bits, double straddling) {
    if (operand.kContiguous || operand.argument < 0)
      return extent * (1 + straddling);
    const double rows = bytesOfStep * 8 / bits, bytes = extent * bits / 8;
    double box = bytesOfStep;
    while (box > 32 && std::fmod(bytes, box) != 0)
      box /= 2;
    return rows * (bytes / box + straddling);
  }

  /// Those of the right operand, of which every program fetches its part where several share it.
  double rightLines(double extent, const Product &product, const Candidate &candidate) const {
    return linesOf(extent, product.b, product.bits, product.b.straddling) / candidate.clusterM;
  }

  /// How much longer products take once the chip has come to the limit of its power.
  double slowdown() const {
    double products = static_cast<double>(problem.copies) * main.kBytes() * 8 / main.bits;
    for (int64_t extent : problem.extents)
      products *= static_cast<double>(extent);
    double cycles = products * main.bits / wgmmaBitsPerCycle / device.multiprocessors;
    return 1 + (sustained - 1) * cycles / (cycles + sustainedCycles);
  }

  double multipliesPerCycle(const Product &product, const ProductShape &shape) const {
    if (shape.schedule != Schedule::sync)
      return wgmmaBitsPerCycle / product.bits;
    if (hasMma(product.kind))
      return product.kind == ElementKind::f64 ? mmaF64PerCycle : mmaBitsPerCycle / product.bits;
    return product.kind == ElementKind::f64 ? fmaF64PerCycle : fmaPerCycle;
  }

  bool hasMma(ElementKind kind) const {
    switch (kind) {
    case ElementKind::f16:
      return device.mmaF16;
    case ElementKind::bf16:
      return device.mmaBf16;
    case ElementKind::f8:
      return device.mmaF8;
    case ElementKind::i8:
      return device.mmaI8;
    case ElementKind::tf32:
      return device.mmaTf32;
    case ElementKind::f64:
      return device.mmaF64;
    case ElementKind::other:
      return false;
    }
    return false;
  }

  /// What leaves a program, and what it reads on the way out.
  double storedBits(const Tile &tile) const {
    double elements = 1, bits = 0;
    for (int64_t extent : tile)
      elements *= static_cast<double>(extent);
    for (const Access &access : problem.accesses)
      if (access.covers && !access.inLoop)
        bits += access.bits;
    return elements * bits;
  }

  //===--------------------------------------------------------------------===//
  // What follows from the tile
  //===--------------------------------------------------------------------===//

  void decideTheRest() {
    Candidate &chosen = plan.chosen;
    int64_t m = rowsOf(main.m), n = rowsOf(main.n);
    if (chosen.schedule == Schedule::sync) {
      chosen.numWarps = problem.numWarps;
      return;
    }
    plan.raster = chosen.schedule == Schedule::cooperative ? 16 : 8;
    if (!rowsAligned())
      plan.reasons.push_back("rows do not start at multiples of 128 bytes: each takes " +
                             std::string(chosen.clusterM > 1
                                             ? "two lines of L2, and two programs share the right operand"
                                             : "two lines of L2"));
    if (m <= skinnyRows && m < n)
      streams(main.a, main.b);
    else if (n <= skinnyRows && n < m)
      streams(main.b, main.a);
    if (chosen.exchanged)
      plan.reasons.push_back("operands are exchanged: the right one is the left one of wgmma, which has rows to spare "
                             "and may lie in any order");
    if (chosen.splitK > 1)
      plan.reasons.push_back(text(chosen.programs) + " tiles for " + text(device.multiprocessors) +
                             " multiprocessors: " + text(chosen.splitK) + " programs share the K of each");
  }

  int64_t rowsOf(const Extent &extent) const {
    return extent.dim < 0 ? extent.fixed : problem.extents[static_cast<size_t>(extent.dim)];
  }

  void streams(const Operand &kept, const Operand &passing) {
    if (kept.argument < 0 || passing.argument < 0)
      return;
    plan.keepInL2.push_back(kept.argument);
    plan.passThroughL2.push_back(passing.argument);
    plan.reasons.push_back("argument " + text(kept.argument) + " is small and read by every program; argument " +
                           text(passing.argument) + " passes through L2 once");
  }

  const Problem &problem;
  const Device &device;
  const Product &main;
  std::string obstacle;
  Plan plan;
};

} // namespace

Plan tilec::tiling::planProducts(const Problem &problem, const Device &device) {
  return ProductPlanner(problem, device).run();
}
