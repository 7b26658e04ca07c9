//===- markers.cpp - partition(), accumulate(), unchecked()
//----------------===//

#include "markers.h"

#include "errors.h"

#include <cstring>
#include <string>

using namespace tilec::runtime;

PyTypeObject *tilec::runtime::partitionType = nullptr;
PyTypeObject *tilec::runtime::accumulateType = nullptr;
PyTypeObject *tilec::runtime::uncheckedType = nullptr;
PyObject *tilec::runtime::automaticTile = nullptr;

const char *tilec::runtime::nameOf(Access access) {
  switch (access) {
  case Access::read:
    return "read";
  case Access::exclusive:
    return "exclusive";
  case Access::atomic:
    return "atomic";
  case Access::unchecked:
    return "unchecked";
  }
  return "";
}

namespace {

constexpr int64_t largestTileExtent = int64_t(1) << 30;

int64_t tileExtent(PyObject *item, Py_ssize_t dim) {
  // NumPy integers are welcome, floats are not.
  Ref index = Ref::share(item);
  if (!PyLong_CheckExact(item)) {
    if (!PyIndex_Check(item))
      raiseLaunchError("tile_shape[" + std::to_string(dim) + "] must be an integer, found " + describe(item),
                       item == automaticTile ? "tl.AUTO stands for a whole tile shape: tl.partition(array, tl.AUTO)"
                                             : "");
    index = Ref::steal(PyNumber_Index(item));
  }
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (value == -1 && !overflow && PyErr_Occurred())
    throw ErrorSet{};
  if (overflow || value < 1 || value > largestTileExtent)
    raiseLaunchError("tile_shape[" + std::to_string(dim) + "] must be between 1 and 2**30, found " + describe(item));
  return value;
}

void parseTileShape(Marker *marker, PyObject *tileShape) {
  if (tileShape == automaticTile) {
    marker->automatic = true;
    marker->tileShape = Ref::share(tileShape).release();
    return;
  }
  // A bare integer is the tile of a vector.
  if (!PyTuple_Check(tileShape) && !PyList_Check(tileShape)) {
    if (!PyIndex_Check(tileShape))
      raiseLaunchError("tile_shape must be a tuple of integers, found " + describe(tileShape));
    marker->tile[0] = tileExtent(tileShape, 0);
    marker->tileRank = 1;
    marker->tileShape = Ref::steal(PyTuple_Pack(1, tileShape)).release();
    return;
  }
  Ref tuple = PyTuple_CheckExact(tileShape) ? Ref::share(tileShape) : Ref::steal(PySequence_Tuple(tileShape));
  Py_ssize_t rank = PyTuple_GET_SIZE(tuple.get());
  if (rank > maxRank)
    raiseLaunchError("tile_shape has " + std::to_string(rank) + " dimensions, expected at most " +
                     std::to_string(maxRank));
  for (Py_ssize_t dim = 0; dim < rank; ++dim)
    marker->tile[dim] = tileExtent(PyTuple_GET_ITEM(tuple.get(), dim), dim);
  marker->tileRank = static_cast<uint8_t>(rank);
  marker->tileShape = tuple.release();
}

PyObject *makeMarker(PyTypeObject *type, Access access, PyObject *array, PyObject *tileShape) {
  try {
    if (isMarker(Py_TYPE(array)))
      raiseLaunchError(std::string(type->tp_name) + " expects an array, found " + describe(array));
    auto *marker = reinterpret_cast<Marker *>(type->tp_alloc(type, 0)); // zeroed
    Ref owner = Ref::steal(reinterpret_cast<PyObject *>(marker));
    Py_INCREF(array);
    marker->array = array;
    marker->access = access;
    if (tileShape)
      parseTileShape(marker, tileShape);
    return owner.release();
  } catch (const ErrorSet &) {
    return nullptr;
  }
}

/// Assigns positional and keyword arguments to `names`; null when one is
/// missing, unknown or given twice (with the error set).
bool unpack(const char *function, const char *const *names, int count, PyObject *const *args, size_t nargsf,
            PyObject *kwnames, PyObject **out) {
  Py_ssize_t positional = PyVectorcall_NARGS(nargsf);
  if (positional > count) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d arguments, found %zd", function, count, positional);
    return false;
  }
  for (int k = 0; k < count; ++k)
    out[k] = k < positional ? args[k] : nullptr;
  Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, k);
    int slot = 0;
    while (slot < count && PyUnicode_CompareWithASCIIString(name, names[slot]) != 0)
      ++slot;
    if (slot == count || out[slot]) {
      PyErr_Format(PyExc_TypeError, slot == count ? "%s() has no argument %R" : "%s() got argument %R twice", function,
                   name);
      return false;
    }
    out[slot] = args[positional + k];
  }
  for (int k = 0; k < count; ++k)
    if (!out[k]) {
      PyErr_Format(PyExc_TypeError, "%s() misses its argument '%s'", function, names[k]);
      return false;
    }
  return true;
}

constexpr const char *argumentNames[] = {"array", "tile_shape"};

PyObject *callPartition(PyObject *, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  PyObject *values[2];
  if (!unpack("partition", argumentNames, 2, args, nargsf, kwnames, values))
    return nullptr;
  return makeMarker(partitionType, Access::exclusive, values[0], values[1]);
}

PyObject *callAccumulate(PyObject *, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  PyObject *array = nullptr;
  if (!unpack("accumulate", argumentNames, 1, args, nargsf, kwnames, &array))
    return nullptr;
  return makeMarker(accumulateType, Access::atomic, array, nullptr);
}

PyObject *callUnchecked(PyObject *, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  PyObject *array = nullptr;
  if (!unpack("unchecked", argumentNames, 1, args, nargsf, kwnames, &array))
    return nullptr;
  return makeMarker(uncheckedType, Access::unchecked, array, nullptr);
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  auto *marker = reinterpret_cast<Marker *>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(marker->array);
  Py_VISIT(marker->tileShape);
  return 0;
}

int clear(PyObject *self) {
  auto *marker = reinterpret_cast<Marker *>(self);
  Py_CLEAR(marker->array);
  Py_CLEAR(marker->tileShape);
  return 0;
}

void deallocate(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *getArray(PyObject *self, void *) {
  PyObject *array = reinterpret_cast<Marker *>(self)->array;
  Py_INCREF(array);
  return array;
}

PyObject *getTileShape(PyObject *self, void *) {
  PyObject *tileShape = reinterpret_cast<Marker *>(self)->tileShape;
  if (!tileShape)
    Py_RETURN_NONE;
  Py_INCREF(tileShape);
  return tileShape;
}

PyObject *getAccess(PyObject *self, void *) {
  return PyUnicode_FromString(nameOf(reinterpret_cast<Marker *>(self)->access));
}

PyObject *representation(PyObject *self) {
  auto *marker = reinterpret_cast<Marker *>(self);
  const char *type = strrchr(Py_TYPE(self)->tp_name, '.') + 1;
  const char *array = Py_TYPE(marker->array)->tp_name;
  if (marker->tileShape)
    return PyUnicode_FromFormat("%s(<%s>, %R)", type, array, marker->tileShape);
  return PyUnicode_FromFormat("%s(<%s>)", type, array);
}

PyGetSetDef getters[] = {
    {"array", getArray, nullptr, "The wrapped array.", nullptr},
    {"tile_shape", getTileShape, nullptr, "The extents of one tile; None unless a partition.", nullptr},
    {"access", getAccess, nullptr, "How a kernel may use the array.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyTypeObject *makeType(const char *name, const char *doc) {
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char *>(doc)},
                         {Py_tp_getset, getters},
                         {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void *>(clear)},
                         {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                         {Py_tp_repr, reinterpret_cast<void *>(representation)},
                         {0, nullptr}};
  // Made by the three functions only: a bare one would lack its array.
  constexpr unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  PyType_Spec spec = {name, sizeof(Marker), 0, flags, slots};
  return reinterpret_cast<PyTypeObject *>(Ref::steal(PyType_FromSpec(&spec)).release());
}

PyObject *automaticRepresentation(PyObject *) { return PyUnicode_FromString("tl.AUTO"); }

/// Copies and pickles are the one object again.
PyObject *automaticReduce(PyObject *, PyObject *) { return PyUnicode_FromString("AUTO"); }

PyMethodDef automaticMethods[] = {{"__reduce__", automaticReduce, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

constexpr const char *automaticDoc =
    "The tile shape that suits the launch: ``tl.partition(y, tl.AUTO)``.\n\n"
    "The compiler plans it from the kernel, the shapes of the arrays and the GPU, and compiles one\n"
    "variant for every plan that comes up. Inside the kernel the tile shape is a constant as ever.\n\n"
    "All partitions of a launch share the tile, so their arrays have one shape; none may have a\n"
    "tile shape of its own. The kernel must be right for any tile, with one exception: a dimension\n"
    "of its tile that it reduces is never divided.";

PyObject *makeAutomatic() {
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char *>(automaticDoc)},
                         {Py_tp_repr, reinterpret_cast<void *>(automaticRepresentation)},
                         {Py_tp_methods, automaticMethods},
                         {0, nullptr}};
  PyType_Spec spec = {"tilec._runtime.Auto", sizeof(PyObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Ref type = Ref::steal(PyType_FromSpec(&spec));
  return Ref::steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject *>(type.get()), 0)).release();
}

constexpr const char *partitionDoc = "partition(array, tile_shape)\n--\n\n"
                                     "An output, divided into disjoint tiles: one per program of the launch.\n\n"
                                     "``tile_shape`` has one extent a dimension, or is ``tl.AUTO``.";
constexpr const char *accumulateDoc = "accumulate(array)\n--\n\nAn array that a kernel changes by atomics only.";
constexpr const char *uncheckedDoc = "unchecked(array)\n--\n\n"
                                     "A raw read-write view: the author answers for races.";

PyMethodDef functions[] = {{"partition", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(callPartition)),
                            METH_FASTCALL | METH_KEYWORDS, partitionDoc},
                           {"accumulate", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(callAccumulate)),
                            METH_FASTCALL | METH_KEYWORDS, accumulateDoc},
                           {"unchecked", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(callUnchecked)),
                            METH_FASTCALL | METH_KEYWORDS, uncheckedDoc},
                           {nullptr, nullptr, 0, nullptr}};

} // namespace

void tilec::runtime::addMarkerTypes(PyObject *module) {
  partitionType = makeType("tilec._runtime.Partition", partitionDoc);
  accumulateType = makeType("tilec._runtime.Accumulate", accumulateDoc);
  uncheckedType = makeType("tilec._runtime.Unchecked", uncheckedDoc);
  automaticTile = makeAutomatic();
  check(PyObject_SetAttrString(module, "AUTO", automaticTile));
  check(PyObject_SetAttrString(module, "Auto", reinterpret_cast<PyObject *>(Py_TYPE(automaticTile))));
  check(PyModule_AddFunctions(module, functions));
  for (PyTypeObject *type : {partitionType, accumulateType, uncheckedType}) {
    const char *name = strrchr(type->tp_name, '.') + 1;
    check(PyObject_SetAttrString(module, name, reinterpret_cast<PyObject *>(type)));
  }
}
