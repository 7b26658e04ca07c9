//===- variant_table.cpp - From packed keys to variants
//--------------------===//

#include "variant_table.h"

#include "key.h"

#include <algorithm>
#include <cstring>

using namespace tilec::runtime;

namespace {

/// Enough for constants that are switched back and forth; a global that takes
/// a new value at every launch must not grow the table without end.
constexpr size_t maxCandidates = 8;

} // namespace

bool Guard::holds() const {
  switch (kind) {
  case Kind::dictionary: {
    PyObject *current = PyDict_GetItemWithError(container.get(), key.get());
    if (!current && PyErr_Occurred())
      throw ErrorSet{};
    return current == expected.get();
  }
  case Kind::cell:
    return PyCell_GET(container.get()) == expected.get();
  case Kind::predicate: {
    Ref answer = Ref::steal(PyObject_CallNoArgs(container.get()));
    int truth = PyObject_IsTrue(answer.get());
    check(truth);
    return truth != 0;
  }
  }
  return false;
}

bool Candidate::holds() const {
  return std::all_of(guards.begin(), guards.end(), [](const Guard &guard) { return guard.holds(); });
}

const VariantTable::Entry *VariantTable::entryOf(const uint64_t *words, size_t count) const {
  if (slots.empty())
    return nullptr;
  uint32_t index = slots[slotOf(hashWords(words, count), words, count)];
  return index == none ? nullptr : entries[index].get();
}

Ref VariantTable::find(const uint64_t *words, size_t count) const {
  const Entry *entry = entryOf(words, count);
  if (entry && entry->candidates.front()->guards.empty())
    return entry->candidates.front()->target;
  std::shared_ptr<const Candidate> found = findCandidate(words, count);
  return found ? found->target : Ref();
}

std::shared_ptr<const Candidate> VariantTable::findCandidate(const uint64_t *words, size_t count) const {
  const Entry *entry = entryOf(words, count);
  for (size_t k = 0; entry && k < entry->candidates.size(); ++k) {
    // A predicate runs Python, which may launch and insert: hold on to it.
    std::shared_ptr<const Candidate> held = entry->candidates[k];
    if (held->holds())
      return held;
  }
  return nullptr;
}

void VariantTable::insert(const uint64_t *words, size_t count, std::shared_ptr<const Candidate> candidate) {
  if ((entries.size() + 1) * 2 > slots.size())
    rehash(std::max<size_t>(16, slots.size() * 2));
  uint64_t hash = hashWords(words, count);
  uint32_t &index = slots[slotOf(hash, words, count)];
  if (index == none) {
    index = static_cast<uint32_t>(entries.size());
    auto fresh = std::make_unique<Entry>();
    fresh->hash = hash;
    fresh->words.assign(words, words + count);
    entries.push_back(std::move(fresh));
  }
  auto &candidates = entries[index]->candidates;
  candidates.insert(candidates.begin(), std::move(candidate));
  if (candidates.size() > maxCandidates)
    candidates.pop_back();
}

size_t VariantTable::slotOf(uint64_t hash, const uint64_t *words, size_t count) const {
  size_t mask = slots.size() - 1;
  size_t slot = hash & mask;
  for (; slots[slot] != none; slot = (slot + 1) & mask) {
    const Entry &entry = *entries[slots[slot]];
    if (entry.hash == hash && entry.words.size() == count &&
        std::memcmp(entry.words.data(), words, count * sizeof *words) == 0)
      break;
  }
  return slot;
}

void VariantTable::rehash(size_t capacity) {
  slots.assign(capacity, none);
  size_t mask = capacity - 1;
  for (size_t k = 0; k < entries.size(); ++k) {
    size_t slot = entries[k]->hash & mask;
    while (slots[slot] != none)
      slot = (slot + 1) & mask;
    slots[slot] = static_cast<uint32_t>(k);
  }
}

std::vector<Guard> tilec::runtime::parseGuards(PyObject *sequence) {
  std::vector<Guard> guards;
  Ref items = Ref::steal(PySequence_Tuple(sequence));
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(items.get()); ++k) {
    PyObject *item = PyTuple_GET_ITEM(items.get(), k);
    const char *kind = nullptr;
    PyObject *container = nullptr;
    PyObject *second = nullptr;
    PyObject *third = nullptr;
    if (!PyArg_ParseTuple(item, "sO|OO", &kind, &container, &second, &third))
      throw ErrorSet{};
    Guard guard{};
    guard.container = Ref::share(container);
    if (std::strcmp(kind, "dict") == 0 && PyDict_Check(container) && second) {
      guard.kind = Guard::Kind::dictionary;
      guard.key = Ref::share(second);
      guard.expected = Ref::share(third);
    } else if (std::strcmp(kind, "cell") == 0 && PyCell_Check(container)) {
      guard.kind = Guard::Kind::cell;
      guard.expected = Ref::share(second);
    } else if (std::strcmp(kind, "predicate") == 0) {
      guard.kind = Guard::Kind::predicate;
    } else {
      PyErr_Format(PyExc_ValueError, "unknown guard %R", item);
      throw ErrorSet{};
    }
    guards.push_back(std::move(guard));
  }
  return guards;
}
