//===- variant_table.h - From packed keys to variants
//----------------------===//

#pragma once

#include "python_support.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tilec::runtime {

/// One thing a compiled kernel assumed about the world outside its arguments:
/// that a name still means the same object.
struct Guard {
  enum class Kind : uint8_t { dictionary, cell, predicate };
  Kind kind;
  Ref container; // the dict, the cell, or a callable that must return true
  Ref key;       // of a dictionary
  Ref expected;  // nothing: the name was absent

  bool holds() const;
};

/// A variant (or CPU program) with the guards under which it is right.
struct Candidate {
  Ref target;
  std::vector<Guard> guards;
  std::vector<int64_t> tile; // of a launch with tl.AUTO: what was chosen

  bool holds() const;
};

/// An open-addressing hash table of word sequences. One key may have several
/// candidates: a captured global changed and changed back.
class VariantTable {
public:
  /// The first candidate whose guards hold; its target, or nothing.
  Ref find(const uint64_t *words, size_t count) const;

  /// The same candidate, or null.
  std::shared_ptr<const Candidate> findCandidate(const uint64_t *words, size_t count) const;

  void insert(const uint64_t *words, size_t count, std::shared_ptr<const Candidate> candidate);

  size_t size() const { return entries.size(); }

private:
  struct Entry {
    uint64_t hash;
    std::vector<uint64_t> words;
    std::vector<std::shared_ptr<const Candidate>> candidates;
  };
  static constexpr uint32_t none = UINT32_MAX;

  const Entry *entryOf(const uint64_t *words, size_t count) const;
  size_t slotOf(uint64_t hash, const uint64_t *words, size_t count) const;
  void rehash(size_t capacity);

  std::vector<uint32_t> slots; // indices into entries; a power of two
  std::vector<std::unique_ptr<Entry>> entries;
};

/// Reads guards as kernels give them: ("dict", d, key[, expected]),
/// ("cell", c[, expected]), ("predicate", callable).
std::vector<Guard> parseGuards(PyObject *sequence);

} // namespace tilec::runtime
