//===- specification.cpp - A key, decoded for Python
//-----------------------===//

#include "specification.h"

using namespace tilec::runtime;

namespace {

template <typename Function> Ref makeTuple(Py_ssize_t count, Function item) {
  Ref tuple = Ref::steal(PyTuple_New(count));
  for (Py_ssize_t k = 0; k < count; ++k)
    PyTuple_SET_ITEM(tuple.get(), k, item(k).release());
  return tuple;
}

Ref number(long long value) { return Ref::steal(PyLong_FromLongLong(value)); }

class Decoder {
public:
  Decoder(const KernelSignature &signature, const Frame &frame) : signature(signature), next(frame.key.data()) {
    ++next; // the device
  }

  Ref decode() {
    uint64_t word = *next++;
    if (word & arrayBit)
      return decodeArray(unpackArray(word));
    uint64_t payload = word & payloadMask;
    switch (static_cast<KeyTag>(word >> tagShift)) {
    case KeyTag::scalar:
      return Ref::steal(Py_BuildValue("(ss)", "scalar", nameOf(static_cast<DType>(payload))));
    case KeyTag::constant:
      return Ref::steal(Py_BuildValue("(sO)", "constant", signature.constants[payload]));
    case KeyTag::sequence: {
      Ref items = makeTuple(static_cast<Py_ssize_t>(payload), [&](Py_ssize_t) { return decode(); });
      return Ref::steal(Py_BuildValue("(sO)", "tuple", items.get()));
    }
    case KeyTag::device:
    case KeyTag::plan:
    case KeyTag::group:
      break;
    }
    PyErr_SetString(PyExc_SystemError, "corrupt launch key");
    throw ErrorSet{};
  }

private:
  Ref decodeArray(const ArrayFacts &facts) {
    const DimensionFacts *dims = facts.dimensions;
    Ref units =
        makeTuple(facts.rank, [&](Py_ssize_t k) { return Ref::share(dims[k].unitStride ? Py_True : Py_False); });
    Ref divisible = makeTuple(facts.rank, [&](Py_ssize_t k) { return number(dims[k].divisible); });
    Ref strideAlign = makeTuple(facts.rank, [&](Py_ssize_t k) { return number(dims[k].strideAlignBytes); });
    Ref tile = Ref::share(Py_None);
    if (facts.access == Access::exclusive && *next == automaticTileWord)
      tile = Ref::steal(PyUnicode_FromString("auto")), ++next;
    else if (facts.access == Access::exclusive)
      tile = makeTuple(facts.rank, [&](Py_ssize_t) { return number(static_cast<long long>(*next++)); });
    return Ref::steal(Py_BuildValue("(ssisOOOiiO)", "view", nameOf(facts.dtype), facts.rank, nameOf(facts.access),
                                    units.get(), divisible.get(), strideAlign.get(), facts.alignBytes, facts.indexBits,
                                    tile.get()));
  }

  const KernelSignature &signature;
  const uint64_t *next;
};

} // namespace

Ref tilec::runtime::specificationOf(const KernelSignature &signature, const Frame &frame) {
  Decoder decoder(signature, frame);
  return makeTuple(static_cast<Py_ssize_t>(signature.parameters.size()), [&](Py_ssize_t) { return decoder.decode(); });
}

Ref tilec::runtime::extentsTuple(const int64_t *values, int rank) {
  return makeTuple(rank, [&](Py_ssize_t dim) { return number(values[dim]); });
}

Ref tilec::runtime::varyingOf(const Frame &frame) {
  return makeTuple(static_cast<Py_ssize_t>(frame.arrays.size()), [&](Py_ssize_t k) {
    return makeTuple(frame.arrays[k].rank, [&](Py_ssize_t dim) {
      return Ref::share(frame.group->varying[k] >> dim & 1 ? Py_True : Py_False);
    });
  });
}

Ref tilec::runtime::shapesOf(const Frame &frame) {
  return makeTuple(static_cast<Py_ssize_t>(frame.arrays.size()),
                   [&](Py_ssize_t k) { return extentsTuple(frame.arrays[k].shape, frame.arrays[k].rank); });
}
