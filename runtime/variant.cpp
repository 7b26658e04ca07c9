//===- variant.cpp - One compiled kernel, loaded per device
//----------------===//

#include "variant.h"

#include "errors.h"
#include "launch_grid.h"

#include <new>

using namespace tilec::runtime;

namespace {

class GilReleased {
public:
  GilReleased() : state(PyEval_SaveThread()) {}
  ~GilReleased() { PyEval_RestoreThread(state); }
  GilReleased(const GilReleased &) = delete;

private:
  PyThreadState *state;
};

/// PTX must end in a zero byte, which bytes objects have after their contents.
driver::Result loadImage(Driver &driver, const char *image, driver::Library &library, std::string &log) {
  log.assign(8192, '\0');
  int options[] = {driver::jitErrorLogBuffer, driver::jitErrorLogBufferBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  driver::Result result = driver.LibraryLoadData(&library, image, options, values, 2, nullptr, nullptr, 0);
  log.resize(std::char_traits<char>::length(log.c_str()));
  return result;
}

} // namespace

Variant::~Variant() {
  // A forked child has no driver, and at interpreter exit it may be gone: an
  // unload that fails changes nothing.
  if (library && Driver::ifLoaded() == loadedBy)
    loadedBy->LibraryUnload(library);
}

void Variant::loadLibrary(Driver &driver) {
  const char *bytes = PyBytes_AS_STRING(image.get());
  const char *retry = PyBytes_GET_SIZE(fallback.get()) ? PyBytes_AS_STRING(fallback.get()) : nullptr;
  driver::Result result = driver::success;
  std::string log;
  driver::Library fresh = nullptr;
  driver::Kernel found = nullptr;
  const char *step = "cuLibraryLoadData";
  {
    GilReleased released; // the driver's compiler may take seconds
    std::lock_guard<std::mutex> lock(loading);
    if (library)
      return; // another thread was faster
    result = loadImage(driver, bytes, fresh, log);
    if (result != driver::success && retry)
      result = loadImage(driver, retry, fresh, log);
    if (result == driver::success) {
      step = "cuLibraryGetKernel";
      result = driver.LibraryGetKernel(&found, fresh, plan.symbol.c_str());
    }
    if (result == driver::success) {
      library = fresh;
      loadedBy = &driver;
      kernel = found;
    } else if (fresh) {
      driver.LibraryUnload(fresh);
    }
  }
  if (result != driver::success)
    raiseDriverCallError(result, step, "loading " + plan.symbol + (log.empty() ? "" : ": " + log));
}

LoadedKernel Variant::load(Driver &driver, int device) {
  RelaxedCapture relaxed(driver);
  loadLibrary(driver);
  int available = driver.attribute(device, driver::maxSharedBytesPerBlockOptin);
  if (plan.sharedBytes > static_cast<unsigned>(available))
    raiseLaunchError(plan.symbol + " needs " + std::to_string(plan.sharedBytes) + " bytes of shared memory, device " +
                         std::to_string(device) + " has " + std::to_string(available),
                     "use smaller tiles or fewer stages");
  if (plan.sharedBytes > driver::defaultSharedBytes)
    if (driver::Result result =
            driver.KernelSetAttribute(driver::functionMaxDynamicSharedBytes, static_cast<int>(plan.sharedBytes), kernel,
                                      driver.device(device).handle))
      raiseDriverCallError(result, "cuKernelSetAttribute", "preparing " + plan.symbol);
  LoadedKernel fresh;
  if (driver::Result result = driver.KernelGetFunction(&fresh.function, kernel))
    raiseDriverCallError(result, "cuKernelGetFunction",
                         "loading " + plan.symbol + " onto device " + std::to_string(device));
  if (plan.grid.persistent)
    fresh.residentCtas = residentCtas(driver, device, fresh.function, plan);
  if (loaded.size() <= static_cast<size_t>(device))
    loaded.resize(static_cast<size_t>(device) + 1);
  loaded[static_cast<size_t>(device)] = fresh;
  return fresh;
}

//===----------------------------------------------------------------------===//
// The Python type
//===----------------------------------------------------------------------===//

namespace {

struct VariantObject {
  PyObject_HEAD PyObject *planText;
  alignas(Variant) unsigned char storage[sizeof(Variant)];
  bool constructed;

  Variant &variant() { return *reinterpret_cast<Variant *>(storage); }
};

PyTypeObject *variantType = nullptr;

PyObject *construct(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"image", "plan", "fallback", nullptr};
  PyObject *image = nullptr;
  PyObject *planText = nullptr;
  PyObject *fallback = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "SU|S", const_cast<char **>(names), &image, &planText, &fallback))
    return nullptr;
  try {
    LaunchPlan plan = LaunchPlan::parse(planText);
    Ref owner = Ref::steal(type->tp_alloc(type, 0));
    auto *self = reinterpret_cast<VariantObject *>(owner.get());
    Ref empty = Ref::steal(PyBytes_FromStringAndSize(nullptr, 0));
    new (self->storage) Variant(Ref::share(image), fallback ? Ref::share(fallback) : empty, std::move(plan));
    self->constructed = true;
    Py_INCREF(planText);
    self->planText = planText;
    return owner.release();
  } catch (const ErrorSet &) {
    return nullptr;
  }
}

void deallocate(PyObject *object) {
  auto *self = reinterpret_cast<VariantObject *>(object);
  PyTypeObject *type = Py_TYPE(object);
  Py_XDECREF(self->planText);
  if (self->constructed)
    self->variant().~Variant();
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject *getPlan(PyObject *object, void *) {
  PyObject *text = reinterpret_cast<VariantObject *>(object)->planText;
  Py_INCREF(text);
  return text;
}

PyObject *getSymbol(PyObject *object, void *) {
  const LaunchPlan &plan = reinterpret_cast<VariantObject *>(object)->variant().plan;
  return PyUnicode_FromString(plan.symbol.c_str());
}

PyGetSetDef getters[] = {{"plan", getPlan, nullptr, "The launch plan, as JSON.", nullptr},
                         {"symbol", getSymbol, nullptr, "The kernel's name in the image.", nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};

constexpr const char *doc = "Variant(image, plan, fallback=b'')\n--\n\n"
                            "A compiled kernel with its launch plan; loaded at its first launch.";

} // namespace

void tilec::runtime::addVariantType(PyObject *module) {
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char *>(doc)},
                         {Py_tp_new, reinterpret_cast<void *>(construct)},
                         {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                         {Py_tp_getset, getters},
                         {0, nullptr}};
  PyType_Spec spec = {"tilec._runtime.Variant", sizeof(VariantObject), 0, Py_TPFLAGS_DEFAULT, slots};
  variantType = reinterpret_cast<PyTypeObject *>(Ref::steal(PyType_FromSpec(&spec)).release());
  check(PyObject_SetAttrString(module, "Variant", reinterpret_cast<PyObject *>(variantType)));
}

Variant *tilec::runtime::variantIn(PyObject *object) {
  if (Py_TYPE(object) != variantType)
    return nullptr;
  return &reinterpret_cast<VariantObject *>(object)->variant();
}
