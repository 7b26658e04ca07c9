//===- stream_memory.h - Device memory in the order of a stream ------------===//

#pragma once

#include "driver.h"
#include "plan.h"

namespace tilec::runtime {

/// Raises DriverError, with what was being prepared, unless a call succeeded.
void mustSucceed(driver::Result result, const char *function, const LaunchPlan &plan);

/// Memory of a device that stays with the process: what one launch frees, the
/// next one gets.
driver::MemoryPool poolOf(Driver &driver, DeviceState &device, const LaunchPlan &plan);

/// The graph that the stream's work is captured into, or null.
driver::Graph capturedInto(Driver &driver, driver::Stream stream, const LaunchPlan &plan);

} // namespace tilec::runtime
