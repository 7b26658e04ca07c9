//===- workspace.cpp - Scratch memory of launches --------------------------===//

#include "workspace.h"

#include "errors.h"
#include "stream_memory.h"

#include <algorithm>

using namespace tilec::runtime;

namespace {

constexpr uint64_t counterBytesOfTile = 4, workspaceAlignment = 256;

uint64_t alignedBytes(uint64_t bytes) {
  return (bytes + workspaceAlignment - 1) / workspaceAlignment * workspaceAlignment;
}

/// What a call of the driver came to; told to Python once the GIL is held.
struct Outcome {
  driver::Result result = driver::success;
  const char *function = nullptr;
  bool isLaunch = false;
};

/// One launch, from where the GIL is not held.
class WorkspaceLaunch {
public:
  WorkspaceLaunch(Driver &driver, driver::MemoryPool pool, driver::Function function, const LaunchPlan &plan,
                  const Frame &frame, ParameterArena &parameters)
      : driver(driver), pool(pool), function(function), plan(plan), frame(frame), parameters(parameters),
        stream(reinterpret_cast<driver::Stream>(frame.stream)) {
    const uint64_t tiles = frame.grid[0] / plan.grid.ctasPerTile;
    counterBytes = alignedBytes(tiles * plan.workspace.counters * counterBytesOfTile);
    partBytes = alignedBytes(tiles * plan.workspace.bytes);
  }

  /// With the memory of its stream.
  Outcome inSlot(Workspaces::Slot &slot) {
    std::lock_guard<std::mutex> lock(slot.launching);
    if (slot.counterBytes < counterBytes || slot.partBytes < partBytes) {
      RelaxedCapture relaxed(driver); // another stream may be captured on this thread
      if (Outcome outcome = grow(slot); outcome.result != driver::success)
        return outcome;
    }
    return launchAt(slot.address, slot.counterBytes);
  }

  /// With memory that is freed behind it; in a capture the graph has it.
  Outcome alone() {
    uint64_t address = 0;
    Outcome outcome = allocate(address, counterBytes, partBytes);
    if (outcome.result != driver::success)
      return outcome;
    outcome = launchAt(address, counterBytes);
    driver.MemFreeAsync()(address, stream);
    return outcome;
  }

private:
  /// Earlier launches of the stream may still use the old memory: it is freed
  /// behind them.
  Outcome grow(Workspaces::Slot &slot) {
    const uint64_t counters = std::max(slot.counterBytes, counterBytes), parts = std::max(slot.partBytes, partBytes);
    if (slot.address)
      driver.MemFreeAsync()(slot.address, stream);
    slot.address = slot.counterBytes = slot.partBytes = 0;
    Outcome outcome = allocate(slot.address, counters, parts);
    if (outcome.result == driver::success) {
      slot.counterBytes = counters;
      slot.partBytes = parts;
    }
    return outcome;
  }

  /// Counters start at zero, and every launch leaves them so.
  Outcome allocate(uint64_t &address, uint64_t counters, uint64_t parts) {
    if (driver::Result result = driver.MemAllocFromPoolAsync()(&address, counters + parts, pool, stream))
      return {result, "cuMemAllocFromPoolAsync"};
    if (driver::Result result = driver.MemsetD32Async()(address, 0, counters / counterBytesOfTile, stream)) {
      driver.MemFreeAsync()(address, stream);
      address = 0;
      return {result, "cuMemsetD32Async"};
    }
    return {};
  }

  Outcome launchAt(uint64_t address, uint64_t counters) {
    uint64_t values[] = {address + counters, address};
    for (uint64_t &value : values)
      parameters.append(value);
    return {submit(driver, function, plan, frame, parameters),
            plan.hasCluster() ? "cuLaunchKernelEx" : "cuLaunchKernel",
            /*isLaunch=*/true};
  }

  Driver &driver;
  driver::MemoryPool pool;
  driver::Function function;
  const LaunchPlan &plan;
  const Frame &frame;
  ParameterArena &parameters;
  driver::Stream stream;
  uint64_t counterBytes = 0, partBytes = 0;
};

} // namespace

Workspaces::Slot *Workspaces::of(uint64_t stream) {
  std::lock_guard<std::mutex> lock(changing);
  auto found = slots.find(stream);
  if (found != slots.end())
    return &found->second;
  return slots.size() < mostStreams ? &slots[stream] : nullptr;
}

void tilec::runtime::launchWithWorkspace(Driver &driver, DeviceState &device, driver::Function function,
                                         const LaunchPlan &plan, const Frame &frame, ParameterArena &parameters) {
  auto stream = reinterpret_cast<driver::Stream>(frame.stream);
  const driver::Graph graph = capturedInto(driver, stream, plan);
  driver::MemoryPool pool = poolOf(driver, device, plan);
  // What the calls below need, while their absence can still be told.
  (void)driver.MemAllocFromPoolAsync(), (void)driver.MemFreeAsync(), (void)driver.MemsetD32Async();
  Workspaces::Slot *slot = nullptr;
  if (!graph) {
    uint64_t id = 0;
    mustSucceed(driver.StreamGetId()(stream, &id), "cuStreamGetId", plan);
    if (!device.workspaces)
      device.workspaces = std::make_shared<Workspaces>();
    slot = device.workspaces->of(id);
  }
  WorkspaceLaunch launch(driver, pool, function, plan, frame, parameters);
  Outcome outcome;
  // A full launch queue blocks here, perhaps behind a host callback that needs
  // the GIL.
  Py_BEGIN_ALLOW_THREADS;
  outcome = slot ? launch.inSlot(*slot) : launch.alone();
  Py_END_ALLOW_THREADS;
  if (outcome.isLaunch && outcome.result != driver::success)
    raiseDriverCallError(outcome.result, outcome.function, launchText(plan, frame));
  mustSucceed(outcome.result, outcome.function, plan);
}
