//===- driver.cpp - The CUDA driver, loaded at first use
//-------------------===//

#include "driver.h"

#include "errors.h"

#include <dlfcn.h>
#include <pthread.h>

using namespace tilec::runtime;

Driver::State Driver::state = Driver::State::unloaded;
Driver *Driver::instance = nullptr;

namespace {

constexpr const char *defaultLibrary = "libcuda.so.1";
constexpr int oldestDriver = 12000;

using GetProcAddress = driver::Result (*)(const char *, void **, int, uint64_t, int *);

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

} // namespace

std::string Driver::libraryPath = defaultLibrary;

void Driver::replaceLibrary(const std::string &path) {
  libraryPath = path.empty() ? defaultLibrary : path;
  state = State::unloaded; // the old instance stays, others may refer to it
}

void Driver::markForkedChild() {
  // The driver does not survive fork: its handles are dead in the child.
  if (state == State::ready)
    state = State::forked;
}

Driver &Driver::load() {
  if (state == State::forked)
    raiseDriverError("the CUDA driver was initialised before this process was "
                     "forked and cannot be used in the child",
                     "start worker processes with the 'spawn' or 'forkserver' "
                     "method, or make the first launch in the child");
  void *library = dlopen(libraryPath.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    raiseDriverError("no NVIDIA driver: cannot load " + libraryPath + " (" + dlerror() + ")",
                     "numpy arrays run on the CPU without a driver; "
                     "`tilec doctor` shows what is missing");
  auto loaded = std::make_unique<Driver>();
  loaded->resolve(library);
  if (driver::Result result = loaded->Init(0)) {
    const char *name = nullptr;
    loaded->GetErrorName(result, &name);
    raiseDriverError(std::string("the CUDA driver cannot be initialised: ") + (name ? name : std::to_string(result)),
                     result == driver::errorNoDevice ? "no GPU is visible; check CUDA_VISIBLE_DEVICES" : "");
  }
  int count = 0;
  if (driver::Result result = loaded->DeviceGetCount(&count))
    raiseDriverError("cuDeviceGetCount failed with error " + std::to_string(result));
  loaded->devices.resize(static_cast<size_t>(count));
  static bool handlerInstalled = false;
  if (!handlerInstalled) {
    pthread_atfork(nullptr, nullptr, &Driver::markForkedChild);
    handlerInstalled = true;
  }
  instance = loaded.release(); // lives as long as the process
  state = State::ready;
  return *instance;
}

void Driver::resolve(void *library) {
  auto getProcAddress = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  int version = 0;
  if (auto getVersion = reinterpret_cast<driver::Result (*)(int *)>(dlsym(library, "cuDriverGetVersion")))
    getVersion(&version);
  if (!getProcAddress || version < oldestDriver)
    raiseDriverError("the NVIDIA driver is too old: it supports CUDA " + versionText(version) + ", tilec needs " +
                         versionText(oldestDriver),
                     "update the driver to release 525 or later");

  auto find = [&](const char *name, int since) {
    void *address = nullptr;
    int status = 0;
    driver::Result result = getProcAddress(name, &address, since, 0, &status);
    return result == driver::success ? address : nullptr;
  };
#define SYMBOL(member, since, ...)                                                                                     \
  member = reinterpret_cast<decltype(member)>(find("cu" #member, since));                                              \
  if (!member)                                                                                                         \
    raiseMissing("cu" #member, since);
#define OPTIONAL(member, since, ...)                                                                                   \
  optional##member = reinterpret_cast<decltype(optional##member)>(find("cu" #member, since));
#include "driver_symbols.def"
}

void Driver::raiseMissing(const char *function, int since) {
  raiseDriverError(std::string("the NVIDIA driver lacks ") + function + ", which CUDA " + versionText(since) +
                       " introduced",
                   "update the driver");
}

DeviceState &Driver::device(int ordinal) {
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size())
    raiseDriverError("there is no CUDA device " + std::to_string(ordinal) + ": " + std::to_string(devices.size()) +
                     " are visible");
  auto &slot = devices[static_cast<size_t>(ordinal)];
  if (!slot) {
    auto fresh = std::make_unique<DeviceState>();
    if (Result result = DeviceGet(&fresh->handle, ordinal))
      raiseDriverCallError(result, "cuDeviceGet");
    if (Result result = DevicePrimaryCtxRetain(&fresh->context, fresh->handle))
      raiseDriverCallError(result, "cuDevicePrimaryCtxRetain", "opening device " + std::to_string(ordinal));
    slot = std::move(fresh);
  }
  return *slot;
}

int Driver::attribute(int ordinal, driver::DeviceAttribute which) {
  Device handle = 0;
  int value = 0;
  if (Result result = DeviceGet(&handle, ordinal))
    raiseDriverCallError(result, "cuDeviceGet", "looking for device " + std::to_string(ordinal));
  if (Result result = DeviceGetAttribute(&value, which, handle))
    raiseDriverCallError(result, "cuDeviceGetAttribute");
  return value;
}

int Driver::deviceOf(uint64_t pointer) {
  int ordinal = -1;
  if (PointerGetAttribute(&ordinal, driver::pointerDeviceOrdinal, pointer) != driver::success)
    return -1;
  return ordinal;
}

std::string Driver::nameOf(Result result) {
  const char *name = nullptr;
  const char *text = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &text);
  std::string full = name ? name : "error " + std::to_string(result);
  if (text)
    full += std::string(" (") + text + ")";
  return full;
}

CurrentContext::CurrentContext(Driver &driver, driver::Context wanted) : driver(driver) {
  driver::Context current = nullptr;
  if (driver::Result result = driver.CtxGetCurrent(&current))
    raiseDriverCallError(result, "cuCtxGetCurrent");
  if (current == wanted)
    return;
  if (driver::Result result = driver.CtxPushCurrent(wanted))
    raiseDriverCallError(result, "cuCtxPushCurrent");
  pushed = true;
}

CurrentContext::~CurrentContext() {
  driver::Context popped = nullptr;
  if (pushed)
    driver.CtxPopCurrent(&popped);
}
