//===- launcher.cpp - The call from Python
//---------------------------------===//

#include "launcher.h"

#include "arguments.h"
#include "breakdown.h"
#include "checks.h"
#include "choice.h"
#include "errors.h"
#include "group_launch.h"
#include "launch.h"
#include "shape_table.h"
#include "specification.h"
#include "variant_table.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <structmember.h>

using namespace tilec::runtime;

namespace {

/// Held while a kernel's miss is resolved: of threads that race to the first
/// launch, one compiles and the others find its variant.
class ResolveLock {
public:
  ResolveLock() : lock(PyThread_allocate_lock()) {}
  ~ResolveLock() { PyThread_free_lock(lock); }
  ResolveLock(const ResolveLock &) = delete;

  void acquire() {
    unsigned long self = PyThread_get_thread_ident();
    if (held && owner == self) {
      PyErr_SetString(PyExc_RuntimeError, "a kernel was launched while it is being compiled");
      throw ErrorSet{};
    }
    if (!PyThread_acquire_lock(lock, NOWAIT_LOCK)) {
      Py_BEGIN_ALLOW_THREADS;
      PyThread_acquire_lock(lock, WAIT_LOCK);
      Py_END_ALLOW_THREADS;
    }
    owner = self;
    held = true;
  }
  void release() {
    held = false;
    PyThread_release_lock(lock);
  }

private:
  PyThread_type_lock lock;
  unsigned long owner = 0; // guarded by the GIL, as is `held`
  bool held = false;
};

struct LauncherState {
  KernelSignature signature;
  VariantTable variants;
  ShapeTable planned; // of launches with tl.AUTO
  ResolveLock resolving;
};

struct LauncherObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  LauncherState *state;
};

LauncherState &stateOf(PyObject *self) {
  LauncherState *state = reinterpret_cast<LauncherObject *>(self)->state;
  if (!state) {
    PyErr_SetString(PyExc_RuntimeError, "Launcher.__init__ was not called");
    throw ErrorSet{};
  }
  return *state;
}

//===----------------------------------------------------------------------===//
// The miss and the CPU
//===----------------------------------------------------------------------===//

Ref deviceObject(int device) { return device < 0 ? Ref::share(Py_None) : Ref::steal(PyLong_FromLong(device)); }

/// Asks Python for the variant of this key and remembers it. `decisions` are
/// those of the plan, with tl.AUTO.
std::shared_ptr<const Candidate> askPython(PyObject *self, LauncherState &state, const Frame &frame, PyObject *device,
                                           PyObject *decisions) {
  Ref specs = specificationOf(state.signature, frame);
  Ref name = Ref::steal(PyUnicode_InternFromString(frame.group ? "_resolve_group" : "_resolve"));
  Ref answer = Ref::steal(PyObject_CallMethodObjArgs(self, name.get(), specs.get(), device, decisions, nullptr));
  PyObject *target = nullptr;
  PyObject *guards = nullptr;
  if (!PyArg_ParseTuple(answer.get(), "OO", &target, &guards))
    throw ErrorSet{};
  Variant *variant = variantIn(target);
  if (variant)
    variant->plan.checkAgainst(frame);
  if (!variant != (frame.device == hostDevice)) {
    PyErr_SetString(PyExc_TypeError, "_resolve returned the wrong target");
    throw ErrorSet{};
  }
  auto candidate = std::make_shared<Candidate>(Candidate{Ref::share(target), parseGuards(guards), {}});
  if (frame.automatic)
    candidate->tile.assign(frame.chosenTile, frame.chosenTile + frame.chosenRank);
  state.variants.insert(frame.key.data(), frame.key.size(), candidate);
  return candidate;
}

class HeldLock {
public:
  explicit HeldLock(ResolveLock &lock) : lock(lock) { lock.acquire(); }
  ~HeldLock() { lock.release(); }
  HeldLock(const HeldLock &) = delete;

private:
  ResolveLock &lock;
};

Ref resolve(PyObject *self, LauncherState &state, const Frame &frame) {
  HeldLock held(state.resolving);
  Ref target = state.variants.find(frame.key.data(), frame.key.size());
  if (target)
    return target;
  return askPython(self, state, frame, deviceObject(frame.device).get(), nullptr)->target;
}

//===----------------------------------------------------------------------===//
// tl.AUTO
//===----------------------------------------------------------------------===//

/// Plans a tile for shapes not seen before; launches that get the same tile and
/// decisions share a variant.
std::shared_ptr<const Candidate> plan(PyObject *self, LauncherState &state, Frame &frame, const ShapeKey &shapes) {
  HeldLock held(state.resolving);
  if (std::shared_ptr<const Candidate> found = state.planned.find(shapes.data(), shapes.size()))
    return found; // another thread was faster
  Ref device = deviceObject(frame.device);
  Ref decisions = planTile(self, state.signature, frame, device.get());
  std::shared_ptr<const Candidate> found = state.variants.findCandidate(frame.key.data(), frame.key.size());
  if (!found)
    found = askPython(self, state, frame, device.get(), decisions.get());
  state.planned.insert(shapes.data(), shapes.size(), found);
  return found;
}

/// What to run for a launch with tl.AUTO, whose frame gets its tile and grid.
Ref chooseTile(PyObject *self, LauncherState &state, Frame &frame) {
  ShapeKey shapes;
  shapeKeyOf(frame, shapes);
  std::shared_ptr<const Candidate> found = state.planned.find(shapes.data(), shapes.size());
  if (!found)
    found = plan(self, state, frame, shapes);
  std::copy(found->tile.begin(), found->tile.end(), frame.chosenTile);
  divideByChosenTile(state.signature, frame);
  return found->target;
}

/// A host array as the numpy array that the CPU executor works on.
Ref hostArray(PyObject *object, const ArrayView &view) {
  static PyObject *function = importAttribute("tilec.arrays.host", "as_numpy").release();
  Ref shape = extentsTuple(view.shape, view.rank);
  Ref strides = extentsTuple(view.strides, view.rank);
  return Ref::steal(PyObject_CallFunction(function, "OKOOsO", object, static_cast<unsigned long long>(view.pointer),
                                          shape.get(), strides.get(), nameOf(view.dtype),
                                          view.readOnly ? Py_True : Py_False));
}

void runOnHost(PyObject *program, const Frame &frame) {
  Ref arguments = Ref::steal(PyList_New(0));
  for (const FlatArgument &flat : frame.flat) {
    Ref value = flat.isArray ? hostArray(flat.object, frame.arrays[flat.index]) : Ref::share(flat.object);
    check(PyList_Append(arguments.get(), value.get()));
  }
  Ref grid = frame.tiled ? Ref::share(Py_None)
                         : Ref::steal(Py_BuildValue("(III)", frame.grid[0], frame.grid[1], frame.grid[2]));
  Ref result = Ref::steal(PyObject_CallFunctionObjArgs(program, arguments.get(), grid.get(), nullptr));
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

Ref findTarget(PyObject *self, LauncherState &state, Frame &frame) {
  if (frame.automatic)
    return chooseTile(self, state, frame);
  Ref target = state.variants.find(frame.key.data(), frame.key.size());
  return target ? target : resolve(self, state, frame);
}

void callLauncher(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  LauncherState &state = stateOf(self);
  Frame frame;
  frame.ignoreHostAlignment = true;
  bindArguments(state.signature, args, nargsf, kwnames, frame);
  checkLaunch(state.signature, frame);
  if (frame.programs == 0)
    return;
  Ref target = findTarget(self, state, frame);
  if (Variant *variant = variantIn(target.get()))
    launch(*variant, state.signature, frame);
  else
    runOnHost(target.get(), frame);
}

/// The same for a list of problems: group.h.
void callGrouped(PyObject *self, PyObject *const *args, size_t count, PyObject *kwnames) {
  LauncherState &state = stateOf(self);
  Group group(state.signature, args, count, kwnames, /*ignoreHostAlignment=*/true);
  group.check();
  if (group.problems.empty())
    return;
  group.join();
  Ref target = findTarget(self, state, group.joint());
  group.divideByChosenTile();
  if (Variant *variant = variantIn(target.get()))
    return launchGroup(*variant, group);
  for (const BoundProblem &problem : group.problems)
    runOnHost(target.get(), *problem.frame);
}

PyObject *vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
  try {
    callLauncher(self, args, nargsf, kwnames);
    Py_RETURN_NONE;
  } catch (const ErrorSet &) {
    return nullptr;
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

PyObject *specialize(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
  try {
    LauncherState &state = stateOf(self);
    Frame frame;
    bindArguments(state.signature, args, static_cast<size_t>(count), kwnames, frame);
    int device = noDevice;
    for (const ArrayView &view : frame.arrays)
      device = std::max(device, view.device);
    Ref specs = specificationOf(state.signature, frame);
    Ref deviceRef = deviceObject(device);
    return PyTuple_Pack(2, specs.get(), deviceRef.get());
  } catch (const ErrorSet &) {
    return nullptr;
  }
}

PyObject *shapes(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
  try {
    Frame frame;
    LauncherState &state = stateOf(self);
    bindArguments(state.signature, args, static_cast<size_t>(count), kwnames, frame);
    if (frame.automatic)
      checkSharedTile(state.signature, frame);
    return shapesOf(frame).release();
  } catch (const ErrorSet &) {
    return nullptr;
  }
}

PyObject *launchGrouped(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
  try {
    callGrouped(self, args, static_cast<size_t>(count), kwnames);
    Py_RETURN_NONE;
  } catch (const ErrorSet &) {
    return nullptr;
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

PyObject *specializeGrouped(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
  try {
    LauncherState &state = stateOf(self);
    Group group(state.signature, args, static_cast<size_t>(count), kwnames, /*ignoreHostAlignment=*/false);
    if (group.problems.empty())
      raiseLaunchError(state.signature.kernelName + ".grouped has no problems to be compiled for");
    group.join();
    Frame &frame = group.joint();
    if (frame.automatic)
      checkSharedTile(state.signature, frame);
    int device = noDevice;
    for (const ArrayView &view : frame.arrays)
      device = std::max(device, view.device);
    Ref specs = specificationOf(state.signature, frame), extents = shapesOf(frame), varying = varyingOf(frame);
    return Py_BuildValue("OOOOn", specs.get(), deviceObject(device).get(), extents.get(), varying.get(),
                         static_cast<Py_ssize_t>(frame.group->problems));
  } catch (const ErrorSet &) {
    return nullptr;
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  }
}

PyObject *repeat(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *kwnames) {
  try {
    LauncherState &state = stateOf(self);
    const char *part = count >= 2 && PyUnicode_Check(args[0]) ? PyUnicode_AsUTF8(args[0]) : nullptr;
    long times = part && PyLong_Check(args[1]) ? PyLong_AsLong(args[1]) : -1;
    if (times < 0) {
      if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "_repeat(part, count, *arguments) expects a name and a number");
      throw ErrorSet{};
    }
    repeatPart(part, times, state.signature, state.variants, {args + 2, static_cast<size_t>(count) - 2, kwnames});
    Py_RETURN_NONE;
  } catch (const ErrorSet &) {
    return nullptr;
  }
}

//===----------------------------------------------------------------------===//
// The Python type
//===----------------------------------------------------------------------===//

Parameter parseParameter(PyObject *item) {
  PyObject *name = nullptr;
  int constant = 0;
  int keywordOnly = 0;
  PyObject *defaultValue = nullptr;
  if (!PyArg_ParseTuple(item, "Upp|O", &name, &constant, &keywordOnly, &defaultValue))
    throw ErrorSet{};
  Py_INCREF(name);
  PyUnicode_InternInPlace(&name);
  Parameter parameter;
  parameter.name = Ref::steal(name);
  parameter.constant = constant != 0;
  parameter.keywordOnly = keywordOnly != 0;
  parameter.defaultValue = Ref::share(defaultValue);
  return parameter;
}

int initialize(PyObject *object, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"name", "parameters", nullptr};
  auto *self = reinterpret_cast<LauncherObject *>(object);
  const char *name = nullptr;
  PyObject *parameters = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO", const_cast<char **>(names), &name, &parameters))
    return -1;
  try {
    // What the first launch will need is loaded when the kernel is defined.
    for (const char *module : {"tilec.arrays.registry", "tilec.jit.constants"})
      Ref::steal(PyImport_ImportModule(module));
    auto state = std::make_unique<LauncherState>();
    KernelSignature &signature = state->signature;
    signature.kernelName = name;
    Ref items = Ref::steal(PySequence_Tuple(parameters));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(items.get()); ++k) {
      signature.parameters.push_back(parseParameter(PyTuple_GET_ITEM(items.get(), k)));
      signature.positionalCount += !signature.parameters.back().keywordOnly;
    }
    delete std::exchange(self->state, state.release());
    self->vectorcall = vectorcall;
    return 0;
  } catch (const ErrorSet &) {
    return -1;
  }
}

/// Python before 3.12 does not inherit the vectorcall flag: without this, a
/// call of a subclass would build a tuple and a dict first.
PyObject *initSubclass(PyObject *type, PyObject *) {
  reinterpret_cast<PyTypeObject *>(type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  Py_RETURN_NONE;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  LauncherState *state = reinterpret_cast<LauncherObject *>(object)->state;
  if (!state)
    return 0;
  for (const Parameter &parameter : state->signature.parameters) {
    Py_VISIT(parameter.defaultValue.get());
    Py_VISIT(parameter.seenConstant.get());
  }
  return 0;
}

int clear(PyObject *object) {
  delete std::exchange(reinterpret_cast<LauncherObject *>(object)->state, nullptr);
  return 0;
}

void deallocate(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyMethodDef methods[] = {{"_specialize", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(specialize)),
                          METH_FASTCALL | METH_KEYWORDS, "The specifications of a call's parameters, and its device."},
                         {"_shapes", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(shapes)),
                          METH_FASTCALL | METH_KEYWORDS, "The extents of a call's arrays, in flat order."},
                         {"_launch_grouped", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(launchGrouped)),
                          METH_FASTCALL | METH_KEYWORDS, "Launch for a list of problems at once."},
                         {"_specialize_grouped",
                          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(specializeGrouped)),
                          METH_FASTCALL | METH_KEYWORDS,
                          "The specifications that a list of problems shares, its device, the mean extents "
                          "of its arrays, which of them differ, and its length."},
                         {"_repeat", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(repeat)),
                          METH_FASTCALL | METH_KEYWORDS, "One part of a launch, many times: for benchmarks."},
                         {"__init_subclass__", initSubclass, METH_NOARGS | METH_CLASS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherObject, vectorcall), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

constexpr const char *doc = "Launcher(name, parameters)\n--\n\n"
                            "Binds, checks and launches; the base class of kernels.";

} // namespace

void tilec::runtime::addLauncherType(PyObject *module) {
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char *>(doc)},
                         {Py_tp_new, reinterpret_cast<void *>(PyType_GenericNew)},
                         {Py_tp_init, reinterpret_cast<void *>(initialize)},
                         {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                         {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void *>(clear)},
                         {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                         {Py_tp_methods, methods},
                         {Py_tp_members, members},
                         {0, nullptr}};
  constexpr unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Spec spec = {"tilec._runtime.Launcher", sizeof(LauncherObject), 0, flags, slots};
  Ref type = Ref::steal(PyType_FromSpec(&spec));
  Ref parts = launchParts();
  check(PyObject_SetAttrString(type.get(), "_parts", parts.get()));
  check(PyObject_SetAttrString(module, "Launcher", type.get()));
}
