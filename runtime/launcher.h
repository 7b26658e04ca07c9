//===- launcher.h - The call from Python
//-----------------------------------===//

#pragma once

#include "python_support.h"

namespace tilec::runtime {

/// Adds tilec._runtime.Launcher, the base class of tilec.jit.kernel.Kernel:
///
///   Launcher(name, parameters)   parameters: (name, constant, keyword_only[,
///                                default]) each
///   launcher(*args, **kwargs)    binds, checks, launches
///   launcher._resolve(specs, device) -> (target, guards)
///                                supplied by the subclass, called on a miss;
///                                device is None for host memory; target is a
///                                Variant, or for host memory a callable
///                                (arguments, grid)
///   launcher._plan(specs, shapes, device) -> (tile, decisions)
///                                supplied by the subclass, called for shapes
///                                that a kernel with tl.AUTO has not seen;
///                                _resolve then gets the decisions as a third
///                                argument, and specs with that tile
///   launcher._specialize(*args, **kwargs) -> (specs, device)
///   launcher._shapes(*args, **kwargs) -> a tuple of extents an array
///   launcher._repeat(part, count, *args, **kwargs)
///                                one of launcher._parts, many times
void addLauncherType(PyObject *module);

} // namespace tilec::runtime
