//===- variant.h - One compiled kernel, loaded per device
//------------------===//

#pragma once

#include "driver.h"
#include "plan.h"

#include <mutex>
#include <vector>

namespace tilec::runtime {

/// A kernel in the primary context of a device.
struct LoadedKernel {
  driver::Function function = nullptr;
  unsigned residentCtas = 0; // how many run at once; of persistent kernels only
};

/// The state behind tilec._runtime.Variant(image, plan, fallback=b""). `image`
/// is a cubin, or PTX text for the driver's own compiler; `fallback` is PTX to
/// try when the driver refuses the cubin.
class Variant {
public:
  Variant(Ref image, Ref fallback, LaunchPlan plan)
      : plan(std::move(plan)), image(std::move(image)), fallback(std::move(fallback)) {
    for (const LaunchPlan::TensorMap &map : this->plan.tensorMaps)
      tensorMaps.emplace_back(map.format);
  }
  ~Variant();
  Variant(const Variant &) = delete;

  /// This kernel in the primary context of a device, which must be current;
  /// loaded at first use. Called with the GIL held.
  LoadedKernel on(Driver &driver, int device) {
    if (static_cast<size_t>(device) < loaded.size() && loaded[device].function)
      return loaded[device];
    return load(driver, device);
  }

  const LaunchPlan plan;
  std::vector<TensorMapCache> tensorMaps; // one for each of the plan's

private:
  LoadedKernel load(Driver &driver, int device);
  void loadLibrary(Driver &driver);

  Ref image, fallback; // bytes
  std::mutex loading;
  Driver *loadedBy = nullptr;
  driver::Library library = nullptr;
  driver::Kernel kernel = nullptr;
  std::vector<LoadedKernel> loaded; // per device ordinal
};

/// Creates the type and adds it to the module.
void addVariantType(PyObject *module);

/// The variant inside a Python object, or null when it is something else.
Variant *variantIn(PyObject *object);

} // namespace tilec::runtime
