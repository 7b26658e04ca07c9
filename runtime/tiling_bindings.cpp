//===- tiling_bindings.cpp - tile_plan, as seen from Python ----------------===//

#include "tiling_bindings.h"

#include "tiling/plan.h"

#include <algorithm>
#include <memory>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>

namespace nb = nanobind;
using namespace tilec::tiling;

namespace {

template <typename T> T get(const nb::handle &object, const char *key) { return nb::cast<T>(object[key]); }

constexpr int64_t mapAlignBytes = 16; // TMA's, of addresses and of strides
constexpr int64_t lineBytes = 128;
constexpr double unknownTrips = 16; // of a loop whose bounds only the kernel knows

/// What is known of an array of the launch.
struct Array {
  std::vector<int64_t> shape;
  std::vector<int64_t> strideAlignBytes;
  std::vector<bool> unitStrides;
  int64_t alignBytes = 1;
  int bits = 8;              // an element
  std::vector<bool> varying; // extents that are means

  explicit Array(const nb::handle &object)
      : shape(get<std::vector<int64_t>>(object, "shape")),
        strideAlignBytes(get<std::vector<int64_t>>(object, "stride_align")),
        unitStrides(get<std::vector<bool>>(object, "unit_strides")), alignBytes(get<int64_t>(object, "align")),
        bits(get<int>(object, "bits")) {
    varying.assign(shape.size(), false);
    if (nb::cast<nb::dict>(object).contains("varying"))
      varying = get<std::vector<bool>>(object, "varying");
    if (strideAlignBytes.size() != shape.size() || unitStrides.size() != shape.size() || varying.size() != shape.size())
      throw nb::value_error("an array's shape, stride_align and unit_strides differ in length");
  }

  int64_t bytes() const {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    return count * bits / 8;
  }

  /// What all rows start at multiples of, in bytes: at most a cache line.
  int64_t rowAlignBytes() const {
    int64_t bytes = lineBytes;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (!unitStrides[dim] && shape[dim] > 1)
        bytes = std::min(bytes, strideAlignBytes[dim]);
    return bytes;
  }
};

/// Meets a summary with the arrays of a launch.
class ProblemReader {
public:
  ProblemReader(const nb::dict &summary, const nb::list &given) : summary(summary) {
    for (nb::handle array : given)
      arrays.push_back(array.is_none() ? nullptr : std::make_unique<Array>(array));
  }

  Problem read() const {
    Problem problem;
    problem.extents = arrayOf(get<int64_t>(summary, "partition")).shape;
    size_t rank = problem.extents.size();
    if (rank != get<size_t>(summary, "rank"))
      throw nb::value_error("the summary's rank is not that of the partition");
    problem.whole.assign(rank, false);
    problem.ragged = arrayOf(get<int64_t>(summary, "partition")).varying;
    for (int64_t dim : get<std::vector<int64_t>>(summary, "whole"))
      problem.whole.at(static_cast<size_t>(dim)) = true;
    problem.computes = get<bool>(summary, "computes");
    for (nb::handle product : get<nb::list>(summary, "products"))
      problem.products.push_back(readProduct(product));
    for (nb::handle access : get<nb::list>(summary, "accesses"))
      problem.accesses.push_back(readAccess(access, rank));
    for (nb::handle value : get<nb::list>(summary, "tiles"))
      problem.values.push_back(readValue(value));
    for (const std::unique_ptr<Array> &array : arrays)
      problem.arrayBytes += array ? array->bytes() : 0;
    return problem;
  }

private:
  const Array &arrayOf(int64_t argument) const {
    if (argument < 0 || static_cast<size_t>(argument) >= arrays.size() || !arrays[argument])
      throw nb::value_error("the summary names an argument that is no array of the launch");
    return *arrays[argument];
  }

  static Extent readExtent(const nb::handle &object) {
    Extent extent;
    if (nb::isinstance<nb::dict>(object))
      extent.dim = get<int>(object, "dim");
    else
      extent.fixed = nb::cast<int64_t>(object);
    return extent;
  }

  /// The trips of one loop; `walked` answers when its bounds are not known.
  double readTrip(const nb::handle &object, double walked) const {
    if (object.is_none())
      return walked;
    if (nb::cast<nb::dict>(object).contains("count"))
      return get<double>(object, "count");
    const Array &array = arrayOf(get<int64_t>(object, "arg"));
    int64_t extent = array.shape.at(get<size_t>(object, "dim"));
    auto ceilDiv = [](int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; };
    int64_t tiles = ceilDiv(extent, get<int64_t>(object, "by"));
    return static_cast<double>(ceilDiv(tiles - get<int64_t>(object, "from"), get<int64_t>(object, "step")));
  }

  Product readProduct(const nb::handle &object) const {
    Product product;
    product.kind = kindOf(get<std::string>(object, "lhs"), get<std::string>(object, "rhs"), get<bool>(object, "tf32"));
    product.bits = bitsOf(get<std::string>(object, "lhs"));
    product.registers = bitsOf(get<std::string>(object, "acc")) > 32 ? 2 : 1;
    product.m = readExtent(object["m"]);
    product.n = readExtent(object["n"]);
    product.kStep = get<int64_t>(object, "k_step");
    nb::list trips = get<nb::list>(object, "trips");
    double walked = unknownTrips;
    if (nb::handle k = object["k"]; !k.is_none())
      walked = static_cast<double>(arrayOf(get<int64_t>(k, "arg")).shape.at(get<size_t>(k, "dim"))) / product.kStep;
    for (nb::handle trip : trips)
      product.trips *= readTrip(trip, walked);
    product.loops = nb::len(trips) == 1;
    product.accumulator = get<int64_t>(object, "accumulator");
    product.a = readOperand(object["a"]);
    product.b = readOperand(object["b"]);
    return product;
  }

  Operand readOperand(const nb::handle &object) const {
    Operand operand;
    operand.computed = get<bool>(object, "computed");
    if (object["arg"].is_none())
      return operand;
    operand.argument = get<int>(object, "arg");
    const Array &array = arrayOf(operand.argument);
    if (nb::handle k = object["k"]; !k.is_none())
      operand.kContiguous = array.unitStrides.at(nb::cast<size_t>(k));
    bool dense = std::find(array.unitStrides.begin(), array.unitStrides.end(), true) != array.unitStrides.end();
    const int64_t rowBytes = array.rowAlignBytes();
    operand.describable = dense && array.alignBytes >= mapAlignBytes && rowBytes >= mapAlignBytes;
    operand.straddling = 1 - static_cast<double>(rowBytes) / static_cast<double>(lineBytes);
    return operand;
  }

  Access readAccess(const nb::handle &object, size_t rank) const {
    Access access;
    access.argument = get<int>(object, "arg");
    const Array &array = arrayOf(access.argument);
    access.bits = array.bits;
    access.store = get<bool>(object, "store");
    access.inLoop = nb::len(get<nb::list>(object, "trips")) > 0;
    nb::list dims = get<nb::list>(object, "dims");
    size_t own = 0;
    for (size_t dim = 0; dim < nb::len(dims); ++dim) {
      if (dims[dim].is_none())
        continue;
      ++own;
      if (array.unitStrides.at(dim))
        access.contiguousDim = nb::cast<int>(dims[dim]);
    }
    access.covers = own == rank;
    return access;
  }

  static Value readValue(const nb::handle &object) {
    Value value;
    value.bits = get<int>(object, "bits");
    for (nb::handle extent : get<nb::list>(object, "shape"))
      value.shape.push_back(readExtent(extent));
    return value;
  }

  static int bitsOf(const std::string &element) {
    if (element == "bf16")
      return 16;
    if (element == "tf32")
      return 32;
    if (element.rfind("f8", 0) == 0)
      return 8;
    return std::stoi(element.substr(1));
  }

  static ElementKind kindOf(const std::string &lhs, const std::string &rhs, bool tf32) {
    if (lhs.rfind("f8", 0) == 0 && rhs.rfind("f8", 0) == 0)
      return ElementKind::f8; // the two kinds mix
    if (lhs != rhs)
      return ElementKind::other;
    if (lhs == "tf32" || (lhs == "f32" && tf32))
      return ElementKind::tf32;
    return lhs == "f16"    ? ElementKind::f16
           : lhs == "bf16" ? ElementKind::bf16
           : lhs == "i8"   ? ElementKind::i8
           : lhs == "f64"  ? ElementKind::f64
                           : ElementKind::other;
  }

  const nb::dict &summary;
  std::vector<std::unique_ptr<Array>> arrays;
};

Device readDevice(const nb::dict &object) {
  Device device;
  device.multiprocessors = std::max(1, get<int>(object, "multiprocessors"));
  device.dramBytesPerCycle = std::max(1.0, get<double>(object, "dram_bytes_per_cycle"));
  device.sharedBytes = get<int64_t>(object, "shared_bytes");
  auto features = get<std::vector<std::string>>(object, "features");
  auto has = [&](const char *name) { return std::find(features.begin(), features.end(), name) != features.end(); };
  device.wgmma = has("wgmma") && has("tma");
  device.clusters = has("cluster");
  device.threeConsumers = has("three_consumers");
  device.splitK = has("split_k");
  device.workspace = has("workspace");
  device.mmaF16 = has("mma_f16");
  device.mmaBf16 = has("mma_bf16");
  device.mmaF8 = has("fp8_mma");
  device.mmaI8 = has("mma_i8");
  device.mmaTf32 = has("mma_tf32");
  device.mmaF64 = has("mma_f64");
  return device;
}

const char *splitterOf(const Candidate &candidate) { return candidate.byWorkspace ? "workspace" : "cluster"; }

nb::dict toDict(const Candidate &candidate) {
  nb::dict result;
  result["tile"] = nb::tuple(nb::cast(candidate.tile));
  result["schedule"] = nameOf(candidate.schedule);
  result["num_warps"] = candidate.numWarps;
  result["split_k"] = candidate.splitK;
  if (candidate.splitK > 1)
    result["split_by"] = splitterOf(candidate);
  result["cluster"] = std::vector<int>{candidate.clusterM, 1};
  result["programs"] = candidate.programs;
  result["waves"] = candidate.waves;
  result["cycles"] = candidate.cycles;
  result["rejected"] = candidate.rejected;
  return result;
}

nb::dict tilePlan(const nb::dict &summary, const nb::list &arrays, const nb::dict &device, int numWarps, int numStages,
                  int64_t problems, bool explain) {
  Problem problem = ProblemReader(summary, arrays).read();
  problem.copies = problems;
  problem.arrayBytes *= problems;
  problem.numWarps = numWarps;
  problem.numStages = numStages;
  Plan plan = planTile(problem, readDevice(device));
  nb::dict result;
  result["tile"] = nb::tuple(nb::cast(plan.chosen.tile));
  nb::dict decisions;
  if (plan.chosen.schedule != Schedule::none) {
    decisions["schedule"] = nameOf(plan.chosen.schedule);
    decisions["num_warps"] = plan.chosen.numWarps;
    decisions["stages"] = numStages;
    decisions["cluster"] = std::vector<int>{plan.chosen.clusterM, 1};
    decisions["raster"] = plan.raster;
    nb::dict hints;
    hints["evict_last"] = plan.keepInL2;
    hints["evict_first"] = plan.passThroughL2;
    decisions["hints"] = hints;
    decisions["split_k"] = plan.chosen.splitK;
    if (plan.chosen.splitK > 1)
      decisions["split_by"] = splitterOf(plan.chosen);
  }
  result["decisions"] = decisions;
  if (!explain)
    return result;
  result["chosen"] = toDict(plan.chosen);
  result["reasons"] = plan.reasons;
  nb::list candidates;
  for (const Candidate &candidate : plan.candidates)
    candidates.append(toDict(candidate));
  result["candidates"] = candidates;
  return result;
}

} // namespace

void tilec::runtime::addTilePlan(nb::module_ &module) {
  module.def("tile_plan", &tilePlan, nb::arg("summary"), nb::arg("arrays"), nb::arg("device"), nb::kw_only(),
             nb::arg("num_warps") = 0, nb::arg("num_stages") = 0, nb::arg("problems") = 1, nb::arg("explain") = false,
             "Choose a tile: {'tile': ..., 'decisions': {...}}, and why, if asked to explain. `summary` is that of "
             "dialects/Plan/Summary.h; `arrays` has, for each flat argument, shape, stride_align, unit_strides, "
             "align and bits, or None for a scalar; for a list of `problems`, shapes are their means where "
             "an array's `varying` says so.");
}
