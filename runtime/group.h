//===- group.h - The problems of a grouped launch --------------------------===//
//
// A grouped launch runs one variant for a list of problems, each with arguments
// of its own. They share what a variant depends on: its key is made of the
// weakest facts among them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "arguments.h"

#include <memory>
#include <vector>

namespace tilec::runtime {

/// One problem of the list.
struct BoundProblem {
  size_t number; // in the list
  std::unique_ptr<Frame> frame;
};

/// The problems of one launch, bound. Lives on the stack of the call.
class Group {
public:
  /// Binds every problem: a tuple or list of positional arguments; keyword
  /// arguments, at `args[1]` and after, hold for all. `args[0]` is the list.
  /// Raises LaunchError, which names problem and argument.
  Group(KernelSignature &signature, PyObject *const *args, size_t count, PyObject *kwnames, bool ignoreHostAlignment);

  /// Checks each problem like a launch of its own, and that what one of them
  /// writes is disjoint from all arrays of the others. Leaves those with tiles.
  void check();

  /// Fills the joint frame. Without checks before, problems with empty
  /// partitions count only if there are no others.
  void join();

  /// A frame that stands for all problems where one variant is planned, looked
  /// up and compiled: its key has what holds for every problem, its arrays have
  /// their mean extents.
  Frame &joint() { return jointFrame; }

  /// Divides the problems by the tile that was chosen for the joint frame.
  void divideByChosenTile();

  KernelSignature &signature;
  std::vector<BoundProblem> problems;

private:
  void bind(PyObject *problem, PyObject *const *shared, PyObject *kwnames, bool ignoreHostAlignment);
  void checkPlaces();
  void checkDisjoint();
  void averageExtents();

  GroupFacts facts;
  Ref list, keywords;
  Frame jointFrame;
};

/// Gives the joined facts of arrays, scalars and constants: the words of a key
/// that is right for every frame. Raises LaunchError where they differ in more
/// than facts.
void joinKeys(const KernelSignature &signature, const std::vector<BoundProblem> &problems, Frame &joint);

} // namespace tilec::runtime
