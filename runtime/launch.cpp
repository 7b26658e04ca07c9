//===- launch.cpp - Handing a kernel to the driver
//-------------------------===//

#include "launch.h"

#include "errors.h"
#include "launch_grid.h"
#include "workspace.h"

using namespace tilec::runtime;

void tilec::runtime::checkStream(Driver &driver, const DeviceState &device, const Frame &frame) {
  if (!frame.request.hasStream || frame.stream <= driver::perThreadStream)
    return;
  driver::Context owner = nullptr;
  driver::Result result = driver.StreamGetCtx(reinterpret_cast<driver::Stream>(frame.stream), &owner);
  if (result == driver::success && owner != device.context)
    raiseLaunchError("stream= belongs to another device or context than the "
                     "arrays, which are on cuda:" +
                         std::to_string(frame.device),
                     "pass a stream of that device, or none");
}

std::string tilec::runtime::launchText(const LaunchPlan &plan, const Frame &frame) {
  return "launching " + plan.symbol + " with grid (" + std::to_string(frame.grid[0]) + ", " +
         std::to_string(frame.grid[1]) + ", " + std::to_string(frame.grid[2]) + ") of " + std::to_string(plan.threads) +
         " threads on cuda:" + std::to_string(frame.device);
}

void tilec::runtime::storeParameter(const LaunchPlan::Parameter &parameter, const KernelSignature &signature,
                                    const Frame &frame, uint64_t &cell) {
  using Kind = LaunchPlan::ParameterKind;
  const FlatArgument &flat = frame.flat[parameter.argument];
  switch (parameter.kind) {
  case Kind::pointer:
    cell = frame.arrays[flat.index].pointer;
    break;
  case Kind::shape:
    cell = static_cast<uint64_t>(frame.arrays[flat.index].shape[parameter.dim]);
    break;
  case Kind::stride:
    cell = static_cast<uint64_t>(frame.arrays[flat.index].strides[parameter.dim]);
    break;
  case Kind::scalar:
    try {
      storeScalar(frame.scalars[flat.index], parameter.dtype, cell);
    } catch (const ArgumentProblem &problem) {
      raiseLaunchError("argument " + nameOfArgument(signature, frame, parameter.argument) + " " + problem.message);
    }
    break;
  case Kind::tensorMap:
    break;
  }
}

ParameterArena::ParameterArena(Driver &driver, Variant &variant, const KernelSignature &signature, const Frame &frame) {
  const LaunchPlan &plan = variant.plan;
  for (const LaunchPlan::Parameter &parameter : plan.parameters) {
    storeParameter(parameter, signature, frame, cells.grow());
    if (parameter.kind != LaunchPlan::ParameterKind::tensorMap)
      continue;
    // In place of the cell, below.
    TensorMapCache &known = variant.tensorMaps[tensorMaps.size()];
    known.describe(driver, frame.arrays[frame.flat[parameter.argument].index], tensorMaps.grow(),
                   [&] { return nameOfArgument(signature, frame, parameter.argument); });
  }
  // Only now: the cells may have moved while they were filled.
  for (uint64_t &cell : cells)
    addresses.push(&cell);
  for (size_t k = 0; k < tensorMaps.size(); ++k)
    addresses[plan.tensorMaps[k].parameter] = &tensorMaps[k];
}

ParameterArena::ParameterArena(const uint64_t *values, size_t count) {
  for (size_t k = 0; k < count; ++k)
    cells.push(values[k]);
  for (uint64_t &cell : cells)
    addresses.push(&cell);
}

driver::Result tilec::runtime::submit(Driver &driver, driver::Function function, const LaunchPlan &plan,
                                      const Frame &frame, ParameterArena &parameters) {
  if (plan.hasCluster())
    return submitWithAttributes(driver, function, plan, frame, parameters);
  return driver.LaunchKernel(function, frame.grid[0], frame.grid[1], frame.grid[2], plan.threads, 1, 1,
                             plan.sharedBytes, reinterpret_cast<driver::Stream>(frame.stream), parameters.pointers(),
                             nullptr);
}

driver::Result tilec::runtime::submitWithAttributes(Driver &driver, driver::Function function, const LaunchPlan &plan,
                                                    const Frame &frame, ParameterArena &parameters) {
  driver::LaunchAttribute attribute{};
  driver::LaunchConfig config{};
  config.gridX = frame.grid[0];
  config.gridY = frame.grid[1];
  config.gridZ = frame.grid[2];
  config.stream = reinterpret_cast<driver::Stream>(frame.stream);
  configure(plan, config, attribute);
  return driver.LaunchKernelEx(&config, function, parameters.pointers(), nullptr);
}

void tilec::runtime::launch(Variant &variant, const KernelSignature &signature, Frame &frame) {
  const LaunchPlan &plan = variant.plan;
  Driver &driver = Driver::get();
  DeviceState &device = driver.device(frame.device);
  CurrentContext current(driver, device.context);
  checkStream(driver, device, frame);
  ParameterArena parameters(driver, variant, signature, frame);
  LoadedKernel kernel = variant.on(driver, frame.device);
  if (plan.adjustsGrid()) {
    adjustGrid(plan, kernel.residentCtas, frame);
    if (plan.needsWorkspace())
      return launchWithWorkspace(driver, device, kernel.function, plan, frame, parameters);
  }

  driver::Result result;
  // A full launch queue blocks here, perhaps behind a host callback that needs
  // the GIL.
  Py_BEGIN_ALLOW_THREADS;
  result = submit(driver, kernel.function, plan, frame, parameters);
  Py_END_ALLOW_THREADS;
  if (result != driver::success)
    raiseDriverCallError(result, plan.hasCluster() ? "cuLaunchKernelEx" : "cuLaunchKernel", launchText(plan, frame));
}
