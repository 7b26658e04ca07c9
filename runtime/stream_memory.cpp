//===- stream_memory.cpp - Device memory in the order of a stream ----------===//

#include "stream_memory.h"

#include "errors.h"

#include <limits>

using namespace tilec::runtime;

void tilec::runtime::mustSucceed(driver::Result result, const char *function, const LaunchPlan &plan) {
  if (result != driver::success)
    raiseDriverCallError(result, function,
                         std::string("preparing a ") + (plan.rows.present ? "grouped " : "") + "launch of " +
                             plan.symbol);
}

driver::MemoryPool tilec::runtime::poolOf(Driver &driver, DeviceState &device, const LaunchPlan &plan) {
  if (device.pool)
    return device.pool;
  RelaxedCapture relaxed(driver);
  driver::MemoryPoolProperties properties{};
  properties.allocationType = driver::pinnedAllocation;
  properties.locationType = driver::deviceLocation;
  properties.locationId = device.handle;
  driver::MemoryPool pool = nullptr;
  mustSucceed(driver.MemPoolCreate()(&pool, &properties), "cuMemPoolCreate", plan);
  uint64_t threshold = std::numeric_limits<uint64_t>::max();
  mustSucceed(driver.MemPoolSetAttribute()(pool, driver::poolReleaseThreshold, &threshold), "cuMemPoolSetAttribute",
              plan);
  return device.pool = pool;
}

driver::Graph tilec::runtime::capturedInto(Driver &driver, driver::Stream stream, const LaunchPlan &plan) {
  int status = 0;
  uint64_t id = 0;
  driver::Graph graph = nullptr;
  mustSucceed(driver.StreamGetCaptureInfo()(stream, &status, &id, &graph, nullptr, nullptr), "cuStreamGetCaptureInfo",
              plan);
  return status == driver::captureActive ? graph : nullptr;
}
