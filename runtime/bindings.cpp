//===- bindings.cpp - The module tilec._runtime
//----------------------------===//

#include "driver.h"
#include "errors.h"
#include "launcher.h"
#include "markers.h"
#include "nvjitlink.h"
#include "overlap.h"
#include "tiling_bindings.h"
#include "variant.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace tilec::runtime;

namespace {

/// Runs code that reports Python errors as ErrorSet, for nanobind.
template <typename Function> auto guarded(Function function) {
  try {
    return function();
  } catch (const ErrorSet &) {
    throw nb::python_error();
  }
}

nb::dict deviceProperties(int ordinal) {
  return guarded([&] {
    Driver &driver = Driver::get();
    driver::Device handle = 0;
    char name[256] = {};
    size_t bytes = 0;
    if (driver::Result result = driver.DeviceGet(&handle, ordinal))
      raiseDriverCallError(result, "cuDeviceGet", "looking for device " + std::to_string(ordinal));
    if (driver::Result result = driver.DeviceGetName(name, sizeof name - 1, handle))
      raiseDriverCallError(result, "cuDeviceGetName");
    if (driver::Result result = driver.DeviceTotalMem(&bytes, handle))
      raiseDriverCallError(result, "cuDeviceTotalMem");
    nb::dict properties;
    properties["name"] = name;
    properties["capability"] = nb::make_tuple(driver.attribute(ordinal, driver::computeCapabilityMajor),
                                              driver.attribute(ordinal, driver::computeCapabilityMinor));
    properties["multiprocessors"] = driver.attribute(ordinal, driver::multiprocessorCount);
    properties["memory_bytes"] = bytes;
    properties["shared_bytes_per_block"] = driver.attribute(ordinal, driver::maxSharedBytesPerBlockOptin);
    return properties;
  });
}

int driverVersion() {
  return guarded([] {
    int version = 0;
    Driver::get().DriverGetVersion(&version);
    return version;
  });
}

int deviceCount() {
  return guarded([] {
    int count = 0;
    if (driver::Result result = Driver::get().DeviceGetCount(&count))
      raiseDriverCallError(result, "cuDeviceGetCount");
    return count;
  });
}

PyObject *linkErrorType = nullptr;

nb::tuple linkPtx(nb::bytes ptx, const std::vector<std::string> &options, const std::string &library) {
  const JitLinker &linker = JitLinker::get(library);
  std::string text(ptx.c_str(), ptx.size());
  JitLinker::Result result;
  {
    nb::gil_scoped_release released;
    result = linker.link(text, options);
  }
  if (result.status != 0) {
    std::string log =
        result.errorLog.empty() ? "nvJitLink failed with code " + std::to_string(result.status) : result.errorLog;
    PyErr_SetString(linkErrorType, log.c_str());
    throw nb::python_error();
  }
  return nb::make_tuple(nb::bytes(result.cubin.data(), result.cubin.size()), result.infoLog);
}

std::string overlapText(Overlap result) {
  switch (result) {
  case Overlap::none:
    return "none";
  case Overlap::some:
    return "some";
  case Overlap::undecided:
    return "undecided";
  }
  return "";
}

struct OwnedFootprint {
  explicit OwnedFootprint(nb::tuple parts)
      : shape(nb::cast<std::vector<int64_t>>(parts[1])), strides(nb::cast<std::vector<int64_t>>(parts[2])) {
    if (shape.size() != strides.size() || shape.size() > 8)
      throw nb::value_error("shape and strides must have one rank, at most 8");
    footprint = {nb::cast<uint64_t>(parts[0]), static_cast<int>(shape.size()), nb::cast<unsigned>(parts[3]),
                 shape.data(), strides.data()};
  }
  std::vector<int64_t> shape, strides;
  Footprint footprint;
};

} // namespace

NB_MODULE(_runtime, module) {
  module.doc() = "The launch runtime: argument binding, checks, the driver.";
  try {
    addMarkerTypes(module.ptr());
    addVariantType(module.ptr());
    addLauncherType(module.ptr());
    linkErrorType =
        Ref::steal(PyErr_NewException("tilec._runtime.NvJitLinkError", PyExc_RuntimeError, nullptr)).release();
    check(PyObject_SetAttrString(module.ptr(), "NvJitLinkError", linkErrorType));
  } catch (const ErrorSet &) {
    throw nb::python_error();
  }

  module.def("replace_driver", &Driver::replaceLibrary, nb::arg("path"),
             "Use this library instead of libcuda.so.1 from now on ('' for that "
             "again): a hook for tests, which bring a recording driver.");
  module.def("driver_version", &driverVersion,
             "The CUDA version that the driver supports, as 1000 * major + 10 "
             "* minor.");
  module.def("device_count", &deviceCount, "The number of visible GPUs.");
  module.def("device_properties", &deviceProperties, nb::arg("ordinal"),
             "Name, capability, multiprocessors, memory_bytes and "
             "shared_bytes_per_block of a GPU.");

  addTilePlan(module);
  module.def("nvjitlink_link", &linkPtx, nb::arg("ptx"), nb::arg("options"), nb::arg("library") = "",
             "Assemble PTX; returns the cubin and the assembler's log. Raises "
             "NvJitLinkError with its log.");
  module.def(
      "nvjitlink_version", [](const std::string &library) { return JitLinker::get(library).version(); },
      nb::arg("library") = "", "The version of the assembler in use, as (major, minor).");

  module.def(
      "arrays_overlap",
      [](nb::tuple a, nb::tuple b) {
        return overlapText(overlap(OwnedFootprint(a).footprint, OwnedFootprint(b).footprint));
      },
      "Whether two arrays share a byte: 'none', 'some' or 'undecided'. Each is "
      "(address, shape, strides in bytes, bytes per element).");
  module.def(
      "array_overlaps_itself", [](nb::tuple a) { return overlapText(selfOverlap(OwnedFootprint(a).footprint)); },
      "Whether two elements of an array share a byte.");
}
