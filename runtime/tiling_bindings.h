//===- tiling_bindings.h - tile_plan, as seen from Python ------------------===//

#pragma once

#include <nanobind/nanobind.h>

namespace tilec::runtime {

/// Adds tile_plan(summary, arrays, device, hints) to the module.
void addTilePlan(nanobind::module_ &module);

} // namespace tilec::runtime
