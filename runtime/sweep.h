//===- sweep.h - Which of many arrays share memory? ------------------------===//

#pragma once

#include "array.h"
#include "overlap.h"

#include <optional>
#include <vector>

namespace tilec::runtime {

/// Looks for a written array that shares memory with an array of another owner.
/// It walks over memory once, from low addresses to high ones, and compares
/// arrays only where their intervals of bytes meet.
class MemorySweep {
public:
  struct Item {
    size_t owner;
    const ArrayView *view;
  };
  struct Conflict {
    Item written, other;
    Overlap found;
  };

  void add(size_t owner, const ArrayView &view) {
    if (!view.empty())
      items.push_back({owner, &view});
  }

  std::optional<Conflict> run();

private:
  std::vector<Item> items;
};

} // namespace tilec::runtime
