//===- group.cpp - The problems of a grouped launch ------------------------===//

#include "group.h"

#include "checks.h"
#include "errors.h"
#include "sweep.h"

#include <algorithm>

using namespace tilec::runtime;

namespace {

std::string problemText(size_t number) { return "problem " + std::to_string(number); }

/// Runs something for one problem, whose number its errors begin with.
template <typename Action> void forProblem(size_t number, Action action) {
  try {
    action();
  } catch (const ErrorSet &) {
    raiseLaunchErrorWithPrefix(problemText(number) + ": ");
  }
}

bool hasTiles(const Frame &frame) {
  return std::all_of(frame.arrays.begin(), frame.arrays.end(),
                     [](const ArrayView &view) { return view.access != Access::exclusive || !view.empty(); });
}

bool isTiled(const Frame &frame) {
  return std::any_of(frame.arrays.begin(), frame.arrays.end(),
                     [](const ArrayView &view) { return view.access == Access::exclusive; });
}

/// An extent as a plan may see it, up to an eighth more than it is: like lists
/// should have one plan.
int64_t roundedExtent(int64_t extent) {
  int64_t unit = 1;
  while (unit * 16 < extent)
    unit *= 2;
  return (extent + unit - 1) / unit * unit;
}

} // namespace

Group::Group(KernelSignature &signature, PyObject *const *args, size_t count, PyObject *kwnames,
             bool ignoreHostAlignment)
    : signature(signature) {
  if (count != 1)
    raiseLaunchError(signature.kernelName + ".grouped takes one positional argument, the list of problems, found " +
                         std::to_string(count),
                     "keyword arguments hold for all problems");
  if (PyUnicode_Check(args[0]) || !PySequence_Check(args[0]) || PyDict_Check(args[0]))
    raiseLaunchError("the problems of " + signature.kernelName + ".grouped have type " +
                     std::string(Py_TYPE(args[0])->tp_name) + ", expected a list of tuples of arguments");
  list = Ref::steal(PySequence_Tuple(args[0]));
  keywords = Ref::share(kwnames);
  facts.problems = static_cast<size_t>(PyTuple_GET_SIZE(list.get()));
  problems.reserve(facts.problems);
  for (size_t k = 0; k < facts.problems; ++k)
    bind(PyTuple_GET_ITEM(list.get(), static_cast<Py_ssize_t>(k)), args + 1, kwnames, ignoreHostAlignment);
}

void Group::bind(PyObject *problem, PyObject *const *shared, PyObject *kwnames, bool ignoreHostAlignment) {
  const size_t number = problems.size();
  if (!PyTuple_Check(problem) && !PyList_Check(problem))
    raiseLaunchError(problemText(number) + " has type " + Py_TYPE(problem)->tp_name +
                     ", expected a tuple of the positional arguments of " + signature.kernelName);
  Ref items = Ref::steal(PySequence_Tuple(problem));
  const Py_ssize_t positional = PyTuple_GET_SIZE(items.get());
  std::vector<PyObject *> arguments;
  for (Py_ssize_t k = 0; k < positional; ++k)
    arguments.push_back(PyTuple_GET_ITEM(items.get(), k));
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k)
    arguments.push_back(shared[k]);
  auto frame = std::make_unique<Frame>();
  frame->ignoreHostAlignment = ignoreHostAlignment;
  if (number > 0)
    frame->request = problems.back().frame->request; // the library has been asked already
  forProblem(number, [&] {
    bindArguments(signature, arguments.data(), static_cast<size_t>(positional), kwnames, *frame);
    if (frame->gridObject && frame->gridObject != Py_None)
      raiseLaunchError("grid= was given to a grouped launch, whose grid is the tiles of all problems",
                       "leave grid= out");
    if (!isTiled(*frame))
      raiseLaunchError(signature.kernelName + " has no partition, expected one: a grouped launch has a program for "
                                              "each of its tiles",
                       "wrap the output in tl.partition(array, tile_shape)");
  });
  frame->keepers.keep(std::move(items));
  problems.push_back({number, std::move(frame)});
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

void Group::check() {
  for (BoundProblem &problem : problems)
    forProblem(problem.number, [&] { checkLaunch(signature, *problem.frame); });
  checkDisjoint();
  problems.erase(std::remove_if(problems.begin(), problems.end(),
                                [](const BoundProblem &problem) { return problem.frame->programs == 0; }),
                 problems.end());
  checkPlaces();
}

/// One launch has one device and one stream.
void Group::checkPlaces() {
  auto hasStream = [](const Frame &frame) {
    return std::any_of(frame.arrays.begin(), frame.arrays.end(), [](const ArrayView &view) { return view.hasStream; });
  };
  const BoundProblem *decider = nullptr;
  for (const BoundProblem &problem : problems) {
    const Frame &first = *problems.front().frame, &frame = *problem.frame;
    if (frame.device != first.device)
      raiseLaunchError("problems are on different devices: " + problemText(problems.front().number) + " is in " +
                       deviceText(first.device) + ", " + problemText(problem.number) + " is in " +
                       deviceText(frame.device));
    if (frame.request.hasStream || !hasStream(frame))
      continue;
    if (!decider)
      decider = &problem;
    else if (!sameStream(frame.stream, decider->frame->stream))
      raiseLaunchError("problems belong to different streams: " + problemText(decider->number) + " to " +
                           std::to_string(decider->frame->stream) + ", " + problemText(problem.number) + " to " +
                           std::to_string(frame.stream),
                       "make one stream current, or pass stream=");
  }
  if (!problems.empty()) {
    jointFrame.device = problems.front().frame->device;
    jointFrame.stream = (decider ? *decider : problems.front()).frame->stream;
    jointFrame.request = problems.front().frame->request;
  }
}

void Group::checkDisjoint() {
  MemorySweep sweep;
  for (const BoundProblem &problem : problems)
    for (const ArrayView &view : problem.frame->arrays)
      sweep.add(problem.number, view);
  std::optional<MemorySweep::Conflict> conflict = sweep.run();
  if (!conflict)
    return;
  auto name = [&](const MemorySweep::Item &item) {
    const Frame &frame = *problems[item.owner].frame;
    return nameOfArray(signature, frame, static_cast<size_t>(item.view - frame.arrays.data()));
  };
  const auto &[written, other, found] = *conflict;
  raiseLaunchError(problemText(written.owner) + ": argument " + name(written) + " is written, but " +
                       (found == Overlap::some ? "shares memory with" : "cannot be proved disjoint from") +
                       " argument " + name(other) + " of " + problemText(other.owner) + ", expected disjoint arrays",
                   "the problems of one launch run at the same time, in no order");
}

//===----------------------------------------------------------------------===//
// The joint frame
//===----------------------------------------------------------------------===//

void Group::join() {
  auto isEmpty = [](const BoundProblem &problem) { return !hasTiles(*problem.frame); };
  if (!std::all_of(problems.begin(), problems.end(), isEmpty))
    problems.erase(std::remove_if(problems.begin(), problems.end(), isEmpty), problems.end());
  if (problems.empty())
    return;
  const Frame &first = *problems.front().frame;
  Frame &joint = jointFrame;
  for (PyObject *value : first.values)
    joint.values.push(value);
  for (const FlatArgument &flat : first.flat)
    joint.flat.push(flat);
  for (uint32_t number : first.flatOfArray)
    joint.flatOfArray.push(number);
  for (const ScalarValue &scalar : first.scalars)
    joint.scalars.push(scalar);
  for (const ArrayView &view : first.arrays)
    joint.arrays.push(view);
  joint.group = &facts;
  joint.tiled = true;
  joint.automatic = first.automatic;
  joint.chosenRank = first.chosenRank;
  joint.programs = 1;
  joinKeys(signature, problems, joint);
  averageExtents();
}

/// Problems without tiles count as well: their number changes from launch to
/// launch where a list is the work of a router, and the sum of all hardly does.
void Group::averageExtents() {
  const auto listed = static_cast<int64_t>(facts.problems);
  for (size_t k = 0; k < jointFrame.arrays.size(); ++k) {
    ArrayView &view = jointFrame.arrays[k];
    uint8_t &varying = facts.varying.emplace_back(0);
    for (int dim = 0; dim < view.rank; ++dim) {
      __int128 sum = 0;
      bool differ = false;
      for (const BoundProblem &problem : problems) {
        int64_t extent = problem.frame->arrays[k].shape[dim];
        sum += extent;
        differ |= extent != view.shape[dim];
      }
      if (!differ)
        continue;
      varying |= static_cast<uint8_t>(1u << dim);
      view.shape[dim] = roundedExtent(static_cast<int64_t>((sum + listed - 1) / listed));
    }
  }
}

void Group::divideByChosenTile() {
  if (!jointFrame.automatic)
    return;
  for (BoundProblem &problem : problems) {
    Frame &frame = *problem.frame;
    std::copy(jointFrame.chosenTile, jointFrame.chosenTile + jointFrame.chosenRank, frame.chosenTile);
    forProblem(problem.number, [&] { tilec::runtime::divideByChosenTile(signature, frame); });
  }
}
