//===- TilePlan.cpp - What was planned with the tile ----------------------===//
#include "dialects/TileGPU/IR/TilePlan.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tilec;
using namespace tilec::tilegpu;

namespace {
SmallVector<int64_t> integers(DictionaryAttr plan, StringRef name) {
  SmallVector<int64_t> values;
  if (auto array = plan ? plan.getAs<ArrayAttr>(name) : ArrayAttr())
    for (Attribute value : array)
      if (auto number = dyn_cast<IntegerAttr>(value))
        values.push_back(number.getInt());
  return values;
}

std::optional<int64_t> integer(DictionaryAttr plan, StringRef name) {
  if (auto number = plan.getAs<IntegerAttr>(name))
    return number.getInt();
  return std::nullopt;
}
} // namespace

void tilec::tilegpu::warnOfHint(tile::KernelOp kernel, StringRef hint, int64_t value, const Twine &why) {
  kernel.emitWarning() << hint << "=" << value << " is not honoured: " << why;
}

TilePlan TilePlan::of(tile::KernelOp kernel) {
  TilePlan plan;
  auto decisions = kernel->getAttrOfType<DictionaryAttr>(TileGPUDialect::kPlan);
  if (!decisions)
    return plan;
  if (auto name = decisions.getAs<StringAttr>("schedule"))
    plan.schedule = llvm::StringSwitch<std::optional<Schedule>>(name)
                        .Case("cooperative", Schedule::cooperative)
                        .Case("pingpong", Schedule::pingpong)
                        .Case("single", Schedule::single)
                        .Default(std::nullopt);
  if (int64_t warps = integer(decisions, "num_warps").value_or(0); warps > 0)
    plan.warps = warps;
  if (SmallVector<int64_t> cluster = integers(decisions, "cluster"); !cluster.empty())
    plan.cluster = cluster.front();
  if (int64_t rows = integer(decisions, "raster").value_or(0); rows > 0)
    plan.panelRows = rows;
  plan.splitK = integer(decisions, "split_k").value_or(1);
  if (auto by = decisions.getAs<StringAttr>("split_by"))
    plan.splitsByWorkspace = by == "workspace";
  auto hints = decisions.getAs<DictionaryAttr>("hints");
  plan.keptInL2 = integers(hints, "evict_last");
  plan.passedThroughL2 = integers(hints, "evict_first");
  if (auto asked = decisions.getAs<DictionaryAttr>("asked"))
    plan.asked = {integer(asked, "num_warps"), integer(asked, "num_stages"), integer(asked, "num_ctas"),
                  integer(asked, "occupancy")};
  return plan;
}
