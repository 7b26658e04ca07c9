//===- shape_table.h - From the shapes of a launch to what was planned -----===//

#pragma once

#include "variant_table.h"

namespace tilec::runtime {

/// What launches with tl.AUTO found for their shapes. A program may meet new
/// shapes for as long as it runs, and planning again is cheap, so only those
/// used last are kept: two tables, of which the older one goes when the younger
/// is full, and what is found in the older one moves over.
class ShapeTable {
public:
  std::shared_ptr<const Candidate> find(const uint64_t *words, size_t count);
  void insert(const uint64_t *words, size_t count, std::shared_ptr<const Candidate> candidate);

  /// Shapes in one table; twice as many are kept at most.
  static constexpr size_t capacity = 512;

private:
  VariantTable young, old;
};

} // namespace tilec::runtime
