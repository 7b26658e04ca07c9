//===- sweep.cpp - Which of many arrays share memory? ----------------------===//

#include "sweep.h"

#include "checks.h"

#include <algorithm>
#include <utility>

using namespace tilec::runtime;

namespace {

using Item = MemorySweep::Item;

/// Arrays whose intervals reach beyond the sweep's address: a heap, the one that
/// ends first on top.
class OpenIntervals {
public:
  void closeUntil(uint64_t address) {
    while (!items.empty() && items.front().view->high <= address) {
      std::pop_heap(items.begin(), items.end(), endsLater);
      items.pop_back();
    }
  }
  void open(const Item &item) {
    items.push_back(item);
    std::push_heap(items.begin(), items.end(), endsLater);
  }
  const std::vector<Item> &all() const { return items; }

private:
  static bool endsLater(const Item &a, const Item &b) { return a.view->high > b.view->high; }

  std::vector<Item> items;
};

} // namespace

std::optional<MemorySweep::Conflict> MemorySweep::run() {
  std::sort(items.begin(), items.end(), [](const Item &a, const Item &b) {
    return std::pair(a.view->low, a.owner) < std::pair(b.view->low, b.owner);
  });
  OpenIntervals written, read;
  for (const Item &item : items) {
    written.closeUntil(item.view->low);
    for (const Item &other : written.all())
      if (other.owner != item.owner)
        if (Overlap found = sharedMemory(*other.view, *item.view); found != Overlap::none)
          return Conflict{other, item, found};
    if (!item.view->writable()) {
      read.open(item);
      continue;
    }
    read.closeUntil(item.view->low);
    for (const Item &other : read.all())
      if (other.owner != item.owner)
        if (Overlap found = sharedMemory(*item.view, *other.view); found != Overlap::none)
          return Conflict{item, other, found};
    written.open(item);
  }
  return std::nullopt;
}
