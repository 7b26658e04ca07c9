//===- plan.cpp - A launch plan, parsed
//------------------------------------===//

#include "plan.h"

#include <cstring>

using namespace tilec::runtime;

namespace {

constexpr long supportedVersion = 1;

[[noreturn]] void malformed(const std::string &what) {
  PyErr_SetString(PyExc_ValueError, ("malformed launch plan: " + what).c_str());
  throw ErrorSet{};
}

PyObject *field(PyObject *object, const char *key) {
  PyObject *value = PyDict_Check(object) ? PyDict_GetItemString(object, key) : nullptr;
  if (!value)
    malformed(std::string("'") + key + "' is missing");
  return value;
}

unsigned numberOf(PyObject *value, const char *key, unsigned least = 0, unsigned most = 0x7FFFFFFF) {
  long long number = PyLong_Check(value) ? PyLong_AsLongLong(value) : -1;
  if (number < least || number > most) {
    PyErr_Clear();
    malformed(std::string("'") + key + "' is out of range");
  }
  return static_cast<unsigned>(number);
}

unsigned numberField(PyObject *object, const char *key) { return numberOf(field(object, key), key); }

std::string textField(PyObject *object, const char *key) {
  PyObject *value = field(object, key);
  const char *utf8 = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
  if (!utf8)
    malformed(std::string("'") + key + "' is not text");
  return utf8;
}

/// The items of a list with one entry a dimension.
template <typename Item> int listField(PyObject *object, const char *key, int maxCount, Item item) {
  PyObject *list = field(object, key);
  Py_ssize_t count = PyList_Check(list) ? PyList_GET_SIZE(list) : 0;
  if (count < 1 || count > maxCount)
    malformed(std::string("'") + key + "' is not a list of 1 to " + std::to_string(maxCount) + " numbers");
  for (Py_ssize_t k = 0; k < count; ++k)
    item(k, PyList_GET_ITEM(list, k));
  return static_cast<int>(count);
}

TensorMapFormat parseTensorMap(PyObject *object) {
  TensorMapFormat format{};
  unsigned listed = 0;
  format.rank = listField(object, "order", maxTensorMapRank, [&](Py_ssize_t k, PyObject *item) {
    unsigned dim = numberOf(item, "order", 0, maxTensorMapRank - 1);
    format.order[k] = static_cast<uint8_t>(dim);
    listed |= 1u << dim;
  });
  if (listed != (1u << format.rank) - 1)
    malformed("'order' is not a permutation");
  int boxRank = listField(object, "box", maxTensorMapRank,
                          [&](Py_ssize_t k, PyObject *item) { format.box[k] = numberOf(item, "box", 1, 256); });
  if (boxRank != format.rank)
    malformed("'box' and 'order' differ in length");
  format.swizzleBytes = numberField(object, "swizzle");
  if (unsigned s = format.swizzleBytes; s != 0 && s != 32 && s != 64 && s != 128)
    malformed("'swizzle' is not 0, 32, 64 or 128");
  format.elementBytes = numberField(object, "element_bytes");
  if (unsigned bytes = format.elementBytes; bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    malformed("'element_bytes' is not 1, 2, 4 or 8");
  unsigned rowBytes = format.box[0] * format.elementBytes;
  if (rowBytes % 16 != 0)
    malformed("a row of 'box' has " + std::to_string(rowBytes) + " bytes, expected a multiple of 16");
  if (format.swizzleBytes && rowBytes > format.swizzleBytes)
    malformed("a row of 'box' has " + std::to_string(rowBytes) + " bytes, expected at most the " +
              std::to_string(format.swizzleBytes) + " of 'swizzle'");
  return format;
}

LaunchPlan::Grid parseGrid(PyObject *object) {
  LaunchPlan::Grid grid;
  std::string rule = textField(object, "rule");
  if (rule != "tiles" && rule != "explicit")
    malformed("unknown grid rule '" + rule + "'");
  grid.tiled = rule == "tiles";
  if (PyObject *persistent = PyDict_GetItemString(object, "persistent")) {
    if (!PyBool_Check(persistent))
      malformed("'persistent' is not true or false");
    grid.persistent = persistent == Py_True;
  }
  if (PyObject *shared = PyDict_GetItemString(object, "ctas_per_tile"))
    grid.ctasPerTile = numberOf(shared, "ctas_per_tile", 1);
  if (PyDict_GetItemString(object, "cluster_tiles")) {
    grid.argument = numberField(object, "arg");
    grid.clusterRank = listField(object, "cluster_tiles", maxRank, [&](Py_ssize_t k, PyObject *item) {
      grid.clusterTiles[k] = numberOf(item, "cluster_tiles", 1);
    });
  }
  if (!grid.tiled && (grid.persistent || grid.clusterRank || grid.ctasPerTile > 1))
    malformed("'persistent', 'cluster_tiles' and 'ctas_per_tile' need the grid rule 'tiles'");
  if (grid.persistent && grid.ctasPerTile > 1)
    malformed("'persistent' and 'ctas_per_tile' exclude each other");
  return grid;
}

LaunchPlan::Parameter parseParameter(PyObject *object) {
  using Kind = LaunchPlan::ParameterKind;
  LaunchPlan::Parameter parameter{};
  parameter.argument = numberField(object, "arg");
  std::string kind = textField(object, "kind");
  if (kind == "pointer") {
    parameter.kind = Kind::pointer;
  } else if (kind == "shape" || kind == "stride") {
    parameter.kind = kind == "shape" ? Kind::shape : Kind::stride;
    unsigned dim = numberField(object, "dim");
    if (dim >= maxRank)
      malformed("'dim' is out of range");
    parameter.dim = static_cast<uint8_t>(dim);
  } else if (kind == "scalar") {
    parameter.kind = Kind::scalar;
    std::string name = textField(object, "dtype");
    std::optional<DType> dtype = dtypeFromName(name);
    if (!dtype)
      malformed("unknown dtype '" + name + "'");
    parameter.dtype = *dtype;
  } else if (kind == "tensor_map") {
    parameter.kind = Kind::tensorMap;
  } else {
    malformed("unknown parameter kind '" + kind + "'");
  }
  if (PyDict_GetItemString(object, "offset"))
    parameter.offset = numberField(object, "offset");
  return parameter;
}

/// Every parameter must lie within the row, maps where the copy engine can read
/// them.
LaunchPlan::Rows parseRows(PyObject *object, const std::vector<LaunchPlan::Parameter> &parameters) {
  LaunchPlan::Rows rows;
  rows.present = true;
  rows.bytes = numberOf(field(object, "row_bytes"), "row_bytes", 8, 1 << 20);
  bool hasMaps = false;
  for (const LaunchPlan::Parameter &parameter : parameters) {
    bool isMap = parameter.kind == LaunchPlan::ParameterKind::tensorMap;
    unsigned bytes = isMap ? sizeof(driver::TensorMap) : sizeof(uint64_t);
    hasMaps |= isMap;
    if (parameter.offset % bytes != 0 || parameter.offset + bytes > rows.bytes)
      malformed("'offset' does not fit into a row");
  }
  if (rows.bytes % (hasMaps ? sizeof(driver::TensorMap) : sizeof(uint64_t)) != 0)
    malformed("'row_bytes' does not keep rows aligned");
  return rows;
}

/// Only CTAs that share tiles have something to leave there.
LaunchPlan::Workspace parseWorkspace(PyObject *object, const LaunchPlan &plan) {
  LaunchPlan::Workspace workspace;
  workspace.bytes = numberOf(field(object, "bytes"), "bytes", 16);
  workspace.counters = numberOf(field(object, "counters"), "counters", 1, 1024);
  if (workspace.bytes % 16 != 0)
    malformed("'bytes' of 'workspace' is not a multiple of 16");
  if (plan.grid.ctasPerTile == 1 || plan.rows.present)
    malformed("'workspace' needs 'ctas_per_tile' of 2 or more and no 'group'");
  return workspace;
}

} // namespace

LaunchPlan LaunchPlan::parse(PyObject *json) {
  static PyObject *loads = importAttribute("json", "loads").release();
  Ref object = Ref::steal(PyObject_CallOneArg(loads, json));
  if (numberField(object.get(), "version") != supportedVersion)
    malformed("unknown version");
  LaunchPlan plan;
  plan.symbol = textField(object.get(), "symbol");
  plan.threads = numberField(object.get(), "threads");
  plan.sharedBytes = numberField(object.get(), "shared_bytes");
  plan.grid = parseGrid(field(object.get(), "grid"));
  PyObject *parameters = field(object.get(), "params");
  if (!PyList_Check(parameters))
    malformed("'params' is not a list");
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(parameters); ++k) {
    PyObject *item = PyList_GET_ITEM(parameters, k);
    plan.parameters.push_back(parseParameter(item));
    if (plan.parameters.back().kind == ParameterKind::tensorMap)
      plan.tensorMaps.push_back({static_cast<size_t>(k), parseTensorMap(item)});
  }
  if (PyObject *cluster = PyDict_GetItemString(object.get(), "cluster")) {
    if (!PyList_Check(cluster) || PyList_GET_SIZE(cluster) != 3)
      malformed("'cluster' is not three numbers");
    for (int k = 0; k < 3; ++k)
      plan.cluster[k] = numberOf(PyList_GET_ITEM(cluster, k), "cluster", 1, 16);
  }
  if (PyObject *group = PyDict_GetItemString(object.get(), "group"))
    plan.rows = parseRows(group, plan.parameters);
  if (PyObject *workspace = PyDict_GetItemString(object.get(), "workspace"))
    plan.workspace = parseWorkspace(workspace, plan);
  return plan;
}

void LaunchPlan::checkAgainst(const Frame &frame) const {
  if (grid.tiled != frame.tiled || rows.present != (frame.group != nullptr))
    malformed("its grid rule does not fit the arguments");
  auto argumentAt = [&](uint32_t number) -> const FlatArgument & {
    if (number >= frame.flat.size())
      malformed("it refers to argument " + std::to_string(number) + " of " + std::to_string(frame.flat.size()));
    return frame.flat[number];
  };
  auto disagree = [](uint32_t number) { malformed("it disagrees with argument " + std::to_string(number)); };

  for (const Parameter &parameter : parameters) {
    const FlatArgument &flat = argumentAt(parameter.argument);
    bool wantsDim = parameter.kind == ParameterKind::shape || parameter.kind == ParameterKind::stride;
    if (flat.isArray != (parameter.kind != ParameterKind::scalar) ||
        (wantsDim && parameter.dim >= frame.arrays[flat.index].rank))
      disagree(parameter.argument);
  }
  for (const TensorMap &map : tensorMaps) {
    uint32_t number = parameters[map.parameter].argument;
    const ArrayView &view = frame.arrays[frame.flat[number].index];
    if (view.rank != map.format.rank || bytesOf(view.dtype) != map.format.elementBytes ||
        view.strides[map.format.order[0]] != 1)
      disagree(number);
  }
  if (grid.clusterRank > 0) {
    const FlatArgument &flat = argumentAt(grid.argument);
    if (!flat.isArray || frame.arrays[flat.index].access != Access::exclusive ||
        frame.arrays[flat.index].rank != grid.clusterRank)
      disagree(grid.argument);
  }
}
