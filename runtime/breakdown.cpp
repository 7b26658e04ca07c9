//===- breakdown.cpp - The parts of a launch, for measuring them
//-----------===//

#include "breakdown.h"

#include "checks.h"
#include "errors.h"
#include "launch.h"
#include "launch_grid.h"

using namespace tilec::runtime;

namespace {

/// A launch that has come as far as the driver.
struct ReadyLaunch {
  KernelSignature &signature;
  const VariantTable &variants;
  const CallArguments &arguments;
  Frame &frame;
  Variant &variant;
  Driver &driver;
  driver::Context context;
  driver::Function function;
  ParameterArena &parameters;
};

using Part = void (*)(const ReadyLaunch &);

void bindAgain(const ReadyLaunch &ready) {
  Frame frame;
  bindArguments(ready.signature, ready.arguments.values, ready.arguments.count, ready.arguments.keywordNames, frame);
}

void checkAgain(const ReadyLaunch &ready) { checkLaunch(ready.signature, ready.frame); }

void findAgain(const ReadyLaunch &ready) { ready.variants.find(ready.frame.key.data(), ready.frame.key.size()); }

void packAgain(const ReadyLaunch &ready) {
  ParameterArena arena(ready.driver, ready.variant, ready.signature, ready.frame);
}

void enterContext(const ReadyLaunch &ready) { CurrentContext current(ready.driver, ready.context); }

void releaseGil(const ReadyLaunch &) {
  Py_BEGIN_ALLOW_THREADS;
  Py_END_ALLOW_THREADS;
}

void mustSucceed(driver::Result result, const char *function) {
  if (result != driver::success)
    raiseDriverCallError(result, function);
}

void submitAgain(const ReadyLaunch &ready) {
  mustSucceed(submit(ready.driver, ready.function, ready.variant.plan, ready.frame, ready.parameters),
              "cuLaunchKernel");
}

void submitExtended(const ReadyLaunch &ready) {
  mustSucceed(submitWithAttributes(ready.driver, ready.function, ready.variant.plan, ready.frame, ready.parameters),
              "cuLaunchKernelEx");
}

struct NamedPart {
  std::string_view name;
  Part run;
};

constexpr NamedPart parts[] = {
    {"bind", bindAgain},
    {"check", checkAgain},
    {"find variant", findAgain},
    {"pack", packAgain},
    {"context", enterContext},
    {"release GIL", releaseGil},
    {"cuLaunchKernel", submitAgain},
    {"cuLaunchKernelEx", submitExtended},
};

Part partNamed(std::string_view name) {
  for (const NamedPart &part : parts)
    if (part.name == name)
      return part.run;
  PyErr_SetString(PyExc_ValueError, ("a launch has no part '" + std::string(name) + "'").c_str());
  throw ErrorSet{};
}

} // namespace

Ref tilec::runtime::launchParts() {
  Ref list = Ref::steal(PyList_New(0));
  for (const NamedPart &part : parts) {
    Ref name = Ref::steal(PyUnicode_FromStringAndSize(part.name.data(), static_cast<Py_ssize_t>(part.name.size())));
    check(PyList_Append(list.get(), name.get()));
  }
  return Ref::steal(PyList_AsTuple(list.get()));
}

void tilec::runtime::repeatPart(std::string_view name, long count, KernelSignature &signature,
                                const VariantTable &variants, const CallArguments &arguments) {
  Part run = partNamed(name);
  Frame frame;
  bindArguments(signature, arguments.values, arguments.count, arguments.keywordNames, frame);
  checkLaunch(signature, frame);
  Ref target = variants.find(frame.key.data(), frame.key.size());
  Variant *variant = target ? variantIn(target.get()) : nullptr;
  if (!variant || frame.programs == 0) {
    PyErr_SetString(PyExc_ValueError,
                    (signature.kernelName + " was not launched on a GPU with such arguments").c_str());
    throw ErrorSet{};
  }
  if (variant->plan.needsWorkspace()) { // whose address no part knows
    PyErr_SetString(PyExc_ValueError, (signature.kernelName + " needs a workspace: its launch has no parts").c_str());
    throw ErrorSet{};
  }
  Driver &driver = Driver::get();
  driver::Context context = driver.device(frame.device).context;
  CurrentContext current(driver, context);
  ParameterArena parameters(driver, *variant, signature, frame);
  LoadedKernel kernel = variant->on(driver, frame.device);
  if (variant->plan.adjustsGrid())
    adjustGrid(variant->plan, kernel.residentCtas, frame);
  ReadyLaunch ready{signature, variants, arguments, frame, *variant, driver, context, kernel.function, parameters};
  for (long k = 0; k < count; ++k)
    run(ready);
}
