//===- LayoutCAPI.cpp - Layouts as they leave the shared library ----------===//
#include "dialects/python/LayoutCAPI.h"

#include "dialects/TileGPU/IR/LayoutConversion.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tilec::tilegpu;
namespace json = llvm::json;

namespace {
/// Layouts are uniqued attributes: one context for all calls, which come under Python's lock.
MLIRContext &context() {
  static MLIRContext *instance = [] {
    auto *made = new MLIRContext(MLIRContext::Threading::DISABLED);
    made->loadDialect<TileGPUDialect>();
    made->getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
    return made;
  }();
  return *instance;
}

std::optional<Layout> parse(MlirStringRef text) {
  auto attr = dyn_cast_or_null<LayoutAttr>(parseAttribute(unwrap(text), &context()));
  return attr ? std::optional(Layout(attr)) : std::nullopt;
}

ArrayRef<int64_t> unwrap(TilecIntegers integers) { return {integers.data, static_cast<size_t>(integers.size)}; }

void give(StringRef text, MlirStringCallback result, void *userData) { result(wrap(text), userData); }

void give(const std::optional<Layout> &layout, MlirStringCallback result, void *userData) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (layout)
    mlir::Attribute(layout->attr(&context())).print(stream);
  give(text, result, userData);
}

json::Array list(ArrayRef<int64_t> values) { return json::Array(values); }

json::Object toJSON(const ConversionPlan &plan) {
  if (plan.kind == ConversionPlan::Kind::shared) {
    const SharedTrip &trip = plan.trip;
    return json::Object{{"kind", "shared"},
                        {"order", list(trip.order)},
                        {"pitches", list(trip.pitches)},
                        {"bytes", trip.bytes},
                        {"store_vector", trip.storeVector},
                        {"load_vector", trip.loadVector},
                        {"store_wavefronts", trip.storeWavefronts},
                        {"load_wavefronts", trip.loadWavefronts},
                        {"store_conflicts", trip.storeConflicts},
                        {"load_conflicts", trip.loadConflicts}};
  }
  json::Array selectors, candidates;
  for (ThreadBit selector : plan.selectors)
    selectors.push_back(json::Array{selector.warp ? "warp" : "lane", selector.bit});
  for (ArrayRef<int64_t> candidate : plan.candidates)
    candidates.push_back(list(candidate));
  return json::Object{{"kind", plan.kind == ConversionPlan::Kind::registers ? "registers" : "shuffle"},
                      {"selectors", std::move(selectors)},
                      {"candidates", std::move(candidates)},
                      {"register_lane", list(plan.registerLane)},
                      {"lane_of_lane_bit", list(plan.laneOfLaneBit)},
                      {"lane_of_warp_bit", list(plan.laneOfWarpBit)}};
}
} // namespace

void tilecLayoutBlocked(TilecIntegers shape, TilecIntegers order, int64_t vector, int64_t numWarps,
                        MlirStringCallback result, void *userData) {
  give(Layout::blocked(unwrap(shape), unwrap(order), vector, numWarps), result, userData);
}

namespace {
FragmentOrder orderOf(FragmentOrder::Side side, TilecOperand operand) {
  return operand.bits == 0 ? FragmentOrder() : FragmentOrder::of(side, operand.bits, operand.alongK);
}
} // namespace

void tilecLayoutMmaAcc(TilecIntegers shape, int64_t numWarps, bool wholeRows, TilecOperand lhs, TilecOperand rhs,
                       MlirStringCallback result, void *userData) {
  give(Layout::mmaAcc(unwrap(shape), numWarps, wholeRows, orderOf(FragmentOrder::Side::rows, lhs),
                      orderOf(FragmentOrder::Side::columns, rhs)),
       result, userData);
}

void tilecLayoutWgmmaAcc(TilecIntegers shape, int64_t numWarps, TilecOperand lhs, MlirStringCallback result,
                         void *userData) {
  give(Layout::wgmmaAcc(unwrap(shape), numWarps, orderOf(FragmentOrder::Side::rows, lhs)), result, userData);
}

void tilecLayoutMmaLhs(MlirStringRef acc, TilecIntegers shape, int64_t elementBits, MlirStringCallback result,
                       void *userData) {
  std::optional<Layout> layout = parse(acc);
  give(layout ? std::optional(Layout::mmaLhs(*layout, unwrap(shape), elementBits)) : std::nullopt, result, userData);
}

void tilecLayoutMmaRhs(MlirStringRef acc, TilecIntegers shape, int64_t elementBits, MlirStringCallback result,
                       void *userData) {
  std::optional<Layout> layout = parse(acc);
  give(layout ? std::optional(Layout::mmaRhs(*layout, unwrap(shape), elementBits)) : std::nullopt, result, userData);
}

void tilecLayoutOuterProduct(TilecIntegers shape, int64_t numWarps, MlirStringCallback result, void *userData) {
  give(Layout::outerProduct(unwrap(shape), numWarps), result, userData);
}

void tilecLayoutReduced(MlirStringRef text, int64_t axis, MlirStringCallback result, void *userData) {
  std::optional<Layout> layout = parse(text);
  give(layout ? std::optional(layout->reduced(axis)) : std::nullopt, result, userData);
}

void tilecLayoutPermuted(MlirStringRef text, TilecIntegers order, MlirStringCallback result, void *userData) {
  std::optional<Layout> layout = parse(text);
  give(layout ? std::optional(layout->permuted(unwrap(order))) : std::nullopt, result, userData);
}

void tilecLayoutReshaped(MlirStringRef text, TilecIntegers from, TilecIntegers to, MlirStringCallback result,
                         void *userData) {
  std::optional<Layout> layout = parse(text);
  give(layout ? layout->reshaped(unwrap(from), unwrap(to)) : std::nullopt, result, userData);
}

bool tilecLayoutCoords(MlirStringRef text, TilecLayoutSizes *sizes, MlirStringCallback result, void *userData) {
  std::optional<Layout> layout = parse(text);
  if (!layout)
    return false;
  *sizes = {layout->numWarps(), layout->numRegisters(), layout->rank(), layout->freeLaneMask(), layout->freeWarpMask()};
  std::vector<int32_t> coords;
  coords.reserve(sizes->warps * kLanes * sizes->registers * sizes->rank);
  for (int64_t warp = 0; warp < sizes->warps; ++warp)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      for (int64_t reg = 0; reg < sizes->registers; ++reg)
        llvm::append_range(coords, layout->coords(reg, lane, warp));
  result({reinterpret_cast<const char *>(coords.data()), coords.size() * sizeof(int32_t)}, userData);
  return true;
}

int64_t tilecLayoutContiguity(MlirStringRef text, int64_t dim) {
  std::optional<Layout> layout = parse(text);
  return layout ? layout->contiguity(dim) : 0;
}

void tilecPlanConversion(MlirStringRef source, MlirStringRef destination, int64_t elementBytes,
                         MlirStringCallback result, void *userData) {
  std::optional<Layout> src = parse(source), dst = parse(destination);
  std::string text;
  if (src && dst && src->rank() == dst->rank())
    text = llvm::formatv("{0}", json::Value(toJSON(planConversion(*src, *dst, elementBytes)))).str();
  give(StringRef(text), result, userData);
}
