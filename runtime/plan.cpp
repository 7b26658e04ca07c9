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

unsigned numberOf(PyObject *value, const char *key) {
  long long number = PyLong_Check(value) ? PyLong_AsLongLong(value) : -1;
  if (number < 0 || number > 0x7FFFFFFF) {
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
  } else {
    malformed("unknown parameter kind '" + kind + "'");
  }
  return parameter;
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
  std::string rule = textField(field(object.get(), "grid"), "rule");
  if (rule != "tiles" && rule != "explicit")
    malformed("unknown grid rule '" + rule + "'");
  plan.tiled = rule == "tiles";
  PyObject *parameters = field(object.get(), "params");
  if (!PyList_Check(parameters))
    malformed("'params' is not a list");
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(parameters); ++k)
    plan.parameters.push_back(parseParameter(PyList_GET_ITEM(parameters, k)));
  if (PyObject *cluster = PyDict_GetItemString(object.get(), "cluster")) {
    if (!PyList_Check(cluster) || PyList_GET_SIZE(cluster) != 3)
      malformed("'cluster' is not three numbers");
    for (int k = 0; k < 3; ++k)
      plan.cluster[k] = numberOf(PyList_GET_ITEM(cluster, k), "cluster");
  }
  return plan;
}

void LaunchPlan::checkAgainst(const Frame &frame) const {
  if (tiled != frame.tiled)
    malformed("its grid rule does not fit the arguments");
  for (const Parameter &parameter : parameters) {
    if (parameter.argument >= frame.flat.size())
      malformed("it refers to argument " + std::to_string(parameter.argument) + " of " +
                std::to_string(frame.flat.size()));
    const FlatArgument &flat = frame.flat[parameter.argument];
    bool wantsArray = parameter.kind != ParameterKind::scalar;
    if (flat.isArray != wantsArray ||
        (wantsArray && parameter.kind != ParameterKind::pointer && parameter.dim >= frame.arrays[flat.index].rank))
      malformed("it disagrees with argument " + std::to_string(parameter.argument));
  }
}
