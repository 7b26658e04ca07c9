//===- workspace.h - Scratch memory of launches ----------------------------===//
//
// CTAs that share a tile leave their parts of it in global memory, and count
// themselves there (docs/notes/interfaces.md, section 4). Launches of one stream
// follow each other and use the same memory; no other stream has it. It is
// allocated at the first launch that needs it, grows, and stays with the process.
// A launch that is captured gets memory of its graph instead.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "launch.h"

#include <map>
#include <mutex>

namespace tilec::runtime {

/// The scratch memory of the streams of a device.
class Workspaces {
public:
  /// That of one stream. Whoever launches holds its lock until the driver has
  /// the kernel: another thread may need more of it on the same stream.
  struct Slot {
    std::mutex launching;
    uint64_t address = 0; // counters, then parts of tiles
    uint64_t counterBytes = 0, partBytes = 0;
  };

  /// The memory of the stream with this id, which no other stream ever has;
  /// null when there are too many streams to keep memory for each.
  Slot *of(uint64_t stream);

private:
  static constexpr size_t mostStreams = 64;
  std::mutex changing;
  std::map<uint64_t, Slot> slots; // whose places never change
};

/// Launches a kernel that needs a workspace; its grid is known. Device, stream
/// and parameters are as for submit.
void launchWithWorkspace(Driver &driver, DeviceState &device, driver::Function function, const LaunchPlan &plan,
                         const Frame &frame, ParameterArena &parameters);

} // namespace tilec::runtime
