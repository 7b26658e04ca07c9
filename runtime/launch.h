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

  /// Parameters of up to 8 bytes, given by value.
  ParameterArena(const uint64_t *values, size_t count);

  /// One more behind them, which must live until the launch.
  void append(uint64_t &value) { addresses.push(&value); }

  void **pointers() { return addresses.data(); }

private:
  InlineVector<uint64_t, 96> cells;
  InlineVector<driver::TensorMap, 8> tensorMaps;
  InlineVector<void *, 96> addresses;
};

/// Writes what a parameter other than a tensor map has for value.
void storeParameter(const LaunchPlan::Parameter &parameter, const KernelSignature &signature, const Frame &frame,
                    uint64_t &cell);

/// Refuses a stream of the author's that is another GPU's; the streams that
/// libraries name are right by construction.
void checkStream(Driver &driver, const DeviceState &device, const Frame &frame);

/// "launching softmax with grid …": the context of a driver's error.
std::string launchText(const LaunchPlan &plan, const Frame &frame);

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
