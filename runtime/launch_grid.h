//===- launch_grid.h - The grid of CTAs that a plan makes of programs
//------===//

#pragma once

#include "driver.h"
#include "plan.h"

namespace tilec::runtime {

/// Fills in what a plan says about the CTAs of a launch. `cluster` is the
/// attribute that the configuration refers to when the plan has a cluster. A
/// kernel that fixes its cluster itself needs none, and accepts an equal one.
void configure(const LaunchPlan &plan, driver::LaunchConfig &config, driver::LaunchAttribute &cluster);

/// How many CTAs of a kernel run on a device at once, whose context must be
/// current. Raises LaunchError when not a single one fits.
unsigned residentCtas(Driver &driver, int device, driver::Function function, const LaunchPlan &plan);

/// Changes the frame's grid as the plan's grid rule says. Only for a plan that
/// adjustsGrid(). Raises LaunchError for a grid that is too large or is not
/// made of whole clusters.
void adjustGrid(const LaunchPlan &plan, unsigned resident, Frame &frame);

} // namespace tilec::runtime
