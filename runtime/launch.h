//===- launch.h - Handing a kernel to the driver
//---------------------------===//

#pragma once

#include "arguments.h"
#include "variant.h"

namespace tilec::runtime {

/// Fills the kernel parameters of `variant` from a checked frame and launches
/// it on the frame's device and stream. Raises LaunchError or DriverError.
void launch(Variant &variant, const KernelSignature &signature, Frame &frame);

} // namespace tilec::runtime
