//===- choice.cpp - Launches whose tile is tl.AUTO
//-------------------------===//

#include "choice.h"

#include "specification.h"

using namespace tilec::runtime;

namespace {

void readTile(PyObject *tile, Frame &frame) {
  if (!PyTuple_Check(tile) || PyTuple_GET_SIZE(tile) != frame.chosenRank) {
    PyErr_SetString(PyExc_TypeError, "_plan returned a tile of another rank");
    throw ErrorSet{};
  }
  for (int dim = 0; dim < frame.chosenRank; ++dim) {
    int64_t extent = PyLong_AsLongLong(PyTuple_GET_ITEM(tile, dim));
    if (extent < 1) {
      if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "_plan returned a tile with an extent below 1");
      throw ErrorSet{};
    }
    frame.chosenTile[dim] = extent;
  }
}

/// Puts the chosen tile in place of tl.AUTO, and the decisions at the end.
void completeKey(Frame &frame, uint64_t decisions) {
  ShapeKey open;
  for (uint64_t word : frame.key)
    open.push(word);
  frame.key.clear();
  for (size_t k = 0; k < open.size(); ++k) {
    uint64_t word = open[k];
    frame.key.push(word);
    if (!(word & arrayBit) || unpackArray(word).access != Access::exclusive)
      continue;
    for (int dim = 0; dim < frame.chosenRank; ++dim)
      frame.key.push(static_cast<uint64_t>(frame.chosenTile[dim]));
    ++k; // the word that stood for them
  }
  frame.key.push(makeWord(KeyTag::plan, decisions));
}

} // namespace

void tilec::runtime::shapeKeyOf(const Frame &frame, ShapeKey &key) {
  for (uint64_t word : frame.key)
    key.push(word);
  for (const ArrayView &view : frame.arrays)
    for (int dim = 0; dim < view.rank; ++dim)
      key.push(static_cast<uint64_t>(view.shape[dim]));
  if (!frame.group)
    return;
  key.push(frame.group->problems);
  for (uint8_t varying : frame.group->varying)
    key.push(varying);
}

Ref tilec::runtime::planTile(PyObject *kernel, KernelSignature &signature, Frame &frame, PyObject *device) {
  Ref specs = specificationOf(signature, frame);
  Ref shapes = shapesOf(frame);
  Ref answer = Ref::steal(frame.group ? PyObject_CallMethod(kernel, "_plan_group", "OOOOn", specs.get(), shapes.get(),
                                                            device, varyingOf(frame).get(),
                                                            static_cast<Py_ssize_t>(frame.group->problems))
                                      : PyObject_CallMethod(kernel, "_plan", "OOO", specs.get(), shapes.get(), device));
  PyObject *tile = nullptr;
  PyObject *decisions = nullptr;
  if (!PyArg_ParseTuple(answer.get(), "OU", &tile, &decisions))
    throw ErrorSet{};
  readTile(tile, frame);
  completeKey(frame, signature.constants.idOf(decisions));
  return Ref::share(decisions);
}
