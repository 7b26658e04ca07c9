//===- driver.h - The CUDA driver, loaded at first use
//---------------------===//

#pragma once

#include "driver_api.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilec::runtime {

class Workspaces;

/// One GPU, with its primary context retained for the life of the process.
struct DeviceState {
  driver::Device handle = 0;
  driver::Context context = nullptr;
  driver::MemoryPool pool = nullptr;      // of what launches need beside their arrays; made at the first
  std::shared_ptr<Workspaces> workspaces; // likewise (workspace.h)
};

/// The functions of libcuda.so.1 (driver_symbols.def) and the devices in use.
/// Nothing touches the driver before the first call of get().
class Driver {
public:
  /// The loaded and initialised driver. Raises DriverError when there is none,
  /// when it is too old, and in a child forked after initialisation.
  static Driver &get() {
    if (state == State::ready)
      return *instance;
    return load();
  }

  /// The driver if it is loaded and usable in this process, else null.
  static Driver *ifLoaded() { return state == State::ready ? instance : nullptr; }

  /// Forgets the driver in use and loads `path` at the next use (libcuda.so.1
  /// when empty): a hook for tests, which bring a driver that records what it
  /// is told. Kernels that are loaded keep their handles of the old one.
  static void replaceLibrary(const std::string &path);

  /// The device with this ordinal; retains its primary context at first use.
  DeviceState &device(int ordinal);

  int attribute(int ordinal, driver::DeviceAttribute which);

  /// The ordinal of the device that owns an address, or -1.
  int deviceOf(uint64_t pointer);

  /// "CUDA_ERROR_INVALID_VALUE (invalid argument)".
  std::string nameOf(driver::Result result);

  using Result = driver::Result;
  using Device = driver::Device;
  using Context = driver::Context;
  using Stream = driver::Stream;
  using Library = driver::Library;
  using Kernel = driver::Kernel;
  using Function = driver::Function;
  using LaunchConfig = driver::LaunchConfig;
  using MemoryPool = driver::MemoryPool;
  using MemoryPoolProperties = driver::MemoryPoolProperties;
  using Graph = driver::Graph;
  using UserObject = driver::UserObject;
  using TensorMap = driver::TensorMap;
  using TensorMapDataType = driver::TensorMapDataType;

// An optional function has a getter, which raises DriverError when it is absent.
#define SYMBOL(member, since, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
#define OPTIONAL(member, since, ...)                                                                                   \
  std::add_pointer_t<__VA_ARGS__> member() const {                                                                     \
    if (!optional##member)                                                                                             \
      raiseMissing("cu" #member, since);                                                                               \
    return optional##member;                                                                                           \
  }                                                                                                                    \
  std::add_pointer_t<__VA_ARGS__> optional##member = nullptr;
#include "driver_symbols.def"

private:
  enum class State { unloaded, ready, forked };
  static Driver &load();
  static void markForkedChild();
  [[noreturn]] static void raiseMissing(const char *function, int since);
  void resolve(void *library);

  static State state;
  static Driver *instance;
  static std::string libraryPath;
  std::vector<std::unique_ptr<DeviceState>> devices;
};

/// Makes a device's primary context current on this thread and restores what
/// was current before.
class CurrentContext {
public:
  CurrentContext(Driver &driver, driver::Context wanted);
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;

private:
  Driver &driver;
  bool pushed = false;
};

/// What allocates would break a stream capture that is under way on this thread;
/// in the relaxed mode it may happen beside it.
class RelaxedCapture {
public:
  explicit RelaxedCapture(Driver &driver) : driver(driver) { driver.ThreadExchangeStreamCaptureMode(&mode); }
  ~RelaxedCapture() { driver.ThreadExchangeStreamCaptureMode(&mode); }
  RelaxedCapture(const RelaxedCapture &) = delete;

private:
  Driver &driver;
  int mode = driver::captureModeRelaxed;
};

} // namespace tilec::runtime
