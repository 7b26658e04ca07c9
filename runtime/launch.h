//===- launch.h - Handing a kernel to the driver
//---------------------------===//

#pragma once

#include "variant.h"

namespace tilec::runtime {

/// The parameters of one launch as the driver takes them: pointers to cells of
/// 8 bytes and to tensor maps. A device's context must be current.
class ParameterArena {
public:
  ParameterArena(Driver &driver, Variant &variant, const KernelSignature &signature, const Frame &frame);

  void **pointers() { return addresses.data(); }

private:
  InlineVector<uint64_t, 96> cells;
  InlineVector<driver::TensorMap, 8> tensorMaps;
  InlineVector<void *, 96> addresses;
};

/// Hands a kernel to the driver; its device's context must be current.
driver::Result submit(Driver &driver, driver::Function function, const LaunchPlan &plan, const Frame &frame,
                      ParameterArena &parameters);

/// The same through cuLaunchKernelEx, which a launch with attributes needs.
driver::Result submitWithAttributes(Driver &driver, driver::Function function, const LaunchPlan &plan,
                                    const Frame &frame, ParameterArena &parameters);

/// Launches a variant for arguments that are bound and checked. Raises
/// LaunchError and DriverError.
void launch(Variant &variant, const KernelSignature &signature, Frame &frame);

} // namespace tilec::runtime
