//===- shape_table.cpp - From the shapes of a launch to what was planned ---===//

#include "shape_table.h"

using namespace tilec::runtime;

std::shared_ptr<const Candidate> ShapeTable::find(const uint64_t *words, size_t count) {
  if (std::shared_ptr<const Candidate> found = young.findCandidate(words, count))
    return found;
  std::shared_ptr<const Candidate> found = old.findCandidate(words, count);
  if (found)
    insert(words, count, found);
  return found;
}

void ShapeTable::insert(const uint64_t *words, size_t count, std::shared_ptr<const Candidate> candidate) {
  if (young.size() >= capacity)
    old = std::exchange(young, VariantTable());
  young.insert(words, count, std::move(candidate));
}
