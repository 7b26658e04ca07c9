//===- group_launch.h - Handing a grouped launch to the driver -------------===//

#pragma once

#include "group.h"
#include "variant.h"

namespace tilec::runtime {

/// Launches a variant for problems that are bound, checked and divided into
/// tiles. Raises LaunchError and DriverError.
void launchGroup(Variant &variant, Group &group);

} // namespace tilec::runtime
