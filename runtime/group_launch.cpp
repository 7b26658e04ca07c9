//===- group_launch.cpp - Handing a grouped launch to the driver -----------===//
//
// What other launches pass as parameters lies in a table here: a row a problem,
// then the number of each problem's first tile. It is written on the host,
// copied to memory of its own on the launch's stream, and freed there behind the
// kernel; the host waits for nothing.
//
//===----------------------------------------------------------------------===//

#include "group_launch.h"

#include "errors.h"
#include "launch.h"
#include "launch_grid.h"
#include "stream_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace tilec::runtime;

namespace {

constexpr size_t rowAlignment = sizeof(driver::TensorMap);
/// The driver takes copies up to this size from pageable memory at once.
constexpr size_t copyBytes = 64 * 1024;

using HostMemory = std::unique_ptr<unsigned char, decltype(&std::free)>;

HostMemory allocateHost(size_t bytes) {
  size_t rounded = (bytes + rowAlignment - 1) / rowAlignment * rowAlignment;
  HostMemory memory(static_cast<unsigned char *>(std::aligned_alloc(rowAlignment, rounded)), &std::free);
  if (!memory)
    throw std::bad_alloc();
  std::memset(memory.get(), 0, rounded);
  return memory;
}

/// The table of one launch, on the host.
class Table {
public:
  Table(Driver &driver, Variant &variant, const Group &group)
      : startsOffset(group.problems.size() * variant.plan.rows.bytes),
        bytes(startsOffset + group.problems.size() * sizeof(uint32_t)), host(allocateHost(bytes)) {
    for (size_t k = 0; k < group.problems.size(); ++k)
      writeProblem(driver, variant, group, k);
  }

  /// Of all problems: what the kernel's walk counts, clusters where it has some.
  uint64_t tiles() const { return tileCount; }

  const size_t startsOffset, bytes;
  HostMemory host;

private:
  void writeProblem(Driver &driver, Variant &variant, const Group &group, size_t number) {
    const LaunchPlan &plan = variant.plan;
    const size_t listed = group.problems[number].number;
    const Frame &frame = *group.problems[number].frame;
    unsigned char *row = host.get() + number * plan.rows.bytes;
    size_t map = 0;
    for (const LaunchPlan::Parameter &parameter : plan.parameters)
      try {
        if (parameter.kind == LaunchPlan::ParameterKind::tensorMap)
          variant.tensorMaps[map++].describe(driver, frame.arrays[frame.flat[parameter.argument].index],
                                             *reinterpret_cast<driver::TensorMap *>(row + parameter.offset), [&] {
                                               return nameOfArgument(group.signature, frame, parameter.argument);
                                             });
        else
          storeParameter(parameter, group.signature, frame, *reinterpret_cast<uint64_t *>(row + parameter.offset));
      } catch (const ErrorSet &) {
        raiseLaunchErrorWithPrefix("problem " + std::to_string(listed) + ": ");
      }
    const uint32_t start = static_cast<uint32_t>(tileCount);
    std::memcpy(host.get() + startsOffset + number * sizeof start, &start, sizeof start);
    tileCount += tilesOf(plan.grid, frame);
    if (tileCount > static_cast<uint64_t>(maxGridX))
      raiseLaunchError("the tile grids of problems 0 to " + std::to_string(listed) + " have " +
                           std::to_string(tileCount) + " programs, expected at most 2147483647",
                       "use larger tiles, or several launches");
  }

  /// A problem's tiles, or clusters of tiles.
  static uint64_t tilesOf(const LaunchPlan::Grid &rule, const Frame &frame) {
    if (rule.clusterRank == 0)
      return frame.grid[0];
    const ArrayView &partition = frame.arrays[frame.flat[rule.argument].index];
    uint64_t clusters = 1;
    for (int dim = 0; dim < partition.rank; ++dim)
      clusters *= static_cast<uint64_t>((partition.grid[dim] + rule.clusterTiles[dim] - 1) / rule.clusterTiles[dim]);
    return clusters;
  }

  uint64_t tileCount = 0;
};

/// Gives memory to a graph, which reads it each time it is launched.
void giveToGraph(Driver &driver, driver::Graph graph, HostMemory memory, const LaunchPlan &plan) {
  driver::UserObject owner = nullptr;
  mustSucceed(driver.UserObjectCreate()(&owner, memory.get(), &std::free, 1, driver::userObjectNoDestructorSync),
              "cuUserObjectCreate", plan);
  (void)memory.release();
  mustSucceed(driver.GraphRetainUserObject()(graph, owner, 1, driver::graphUserObjectMove), "cuGraphRetainUserObject",
              plan);
}

/// Memory of a device from the stream's present to its future.
class StreamMemory {
public:
  StreamMemory(Driver &driver, driver::MemoryPool pool, size_t bytes, driver::Stream stream, const LaunchPlan &plan)
      : driver(driver), stream(stream) {
    mustSucceed(driver.MemAllocFromPoolAsync()(&address, bytes, pool, stream), "cuMemAllocFromPoolAsync", plan);
  }
  ~StreamMemory() { driver.MemFreeAsync()(address, stream); }
  StreamMemory(const StreamMemory &) = delete;

  driver::Result copy(const unsigned char *from, size_t bytes) {
    driver::Result result = driver::success;
    for (size_t start = 0; start < bytes && result == driver::success; start += copyBytes)
      result = driver.MemcpyHtoDAsync()(address + start, from + start, std::min(copyBytes, bytes - start), stream);
    return result;
  }

  uint64_t address = 0;

private:
  Driver &driver;
  driver::Stream stream;
};

void chooseGrid(const LaunchPlan &plan, unsigned resident, uint64_t tiles, Frame &frame) {
  uint64_t ctas = tiles * plan.ctasPerCluster();
  if (plan.grid.persistent)
    ctas = std::min<uint64_t>(ctas, resident);
  if (ctas > static_cast<uint64_t>(maxGridX))
    raiseLaunchError("the tile grids of all problems have " + std::to_string(ctas) +
                         " programs, expected at most 2147483647",
                     "use larger tiles, or several launches");
  frame.grid[0] = static_cast<unsigned>(ctas);
}

} // namespace

void tilec::runtime::launchGroup(Variant &variant, Group &group) {
  const LaunchPlan &plan = variant.plan;
  Frame &frame = group.joint();
  Driver &driver = Driver::get();
  DeviceState &device = driver.device(frame.device);
  CurrentContext current(driver, device.context);
  checkStream(driver, device, frame);
  Table table(driver, variant, group);
  LoadedKernel kernel = variant.on(driver, frame.device);
  chooseGrid(plan, kernel.residentCtas, table.tiles(), frame);

  auto stream = reinterpret_cast<driver::Stream>(frame.stream);
  driver::Graph graph = capturedInto(driver, stream, plan);
  StreamMemory memory(driver, poolOf(driver, device, plan), table.bytes, stream, plan);
  const uint64_t values[] = {memory.address, memory.address + table.startsOffset, group.problems.size(), table.tiles()};
  ParameterArena parameters(values, std::size(values));
  const unsigned char *host = table.host.get();
  if (graph)
    giveToGraph(driver, graph, std::move(table.host), plan);
  driver::Result copied, launched = driver::success;
  Py_BEGIN_ALLOW_THREADS;
  copied = memory.copy(host, table.bytes);
  if (copied == driver::success)
    launched = submit(driver, kernel.function, plan, frame, parameters);
  Py_END_ALLOW_THREADS;
  mustSucceed(copied, "cuMemcpyHtoDAsync", plan);
  if (launched != driver::success)
    raiseDriverCallError(launched, plan.hasCluster() ? "cuLaunchKernelEx" : "cuLaunchKernel", launchText(plan, frame));
}
