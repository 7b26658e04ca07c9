//===- group_key.cpp - What the problems of a launch have in common --------===//

#include "group.h"

#include "errors.h"

#include <algorithm>

using namespace tilec::runtime;

namespace {

/// Walks over the keys of two frames at once. The words that it writes hold what
/// is true of both.
class KeyJoiner {
public:
  KeyJoiner(const KernelSignature &signature, const BoundProblem &expected, const BoundProblem &found,
            std::vector<uint64_t> &words)
      : signature(signature), expected(expected), found(found), words(words) {}

  void run() {
    for (const Parameter &parameter : signature.parameters) {
      current = &parameter;
      joinValue();
    }
  }

private:
  void joinValue() {
    uint64_t mine = words[next], other = found.frame->key[next];
    if ((mine & arrayBit) != (other & arrayBit) || (!(mine & arrayBit) && tagOf(mine) != tagOf(other)))
      raiseDifferent(ownName(), kindOf(other), kindOf(mine));
    if (mine & arrayBit)
      return joinArray(unpackArray(mine), unpackArray(other));
    uint64_t a = mine & payloadMask, b = other & payloadMask;
    switch (tagOf(mine)) {
    case KeyTag::scalar:
      words[next++] = makeWord(KeyTag::scalar, joinScalar(a, b));
      ++flat;
      return;
    case KeyTag::constant:
      if (a != b)
        raiseDifferent(ownName(), describe(signature.constants[b]), describe(signature.constants[a]),
                       "constants hold for all problems: pass them by keyword");
      ++next;
      return;
    case KeyTag::sequence:
      if (a != b)
        raiseDifferent(ownName(), "a tuple of " + std::to_string(b), "one of " + std::to_string(a));
      ++next;
      for (uint64_t k = 0; k < a; ++k)
        joinValue();
      return;
    default:
      PyErr_SetString(PyExc_SystemError, "corrupt launch key");
      throw ErrorSet{};
    }
  }

  void joinArray(ArrayFacts mine, const ArrayFacts &other) {
    if (mine.dtype != other.dtype)
      raiseDifferent(flatName(), std::string("dtype ") + nameOf(other.dtype), nameOf(mine.dtype));
    if (mine.rank != other.rank)
      raiseDifferent(flatName(), std::to_string(other.rank) + " dimensions", std::to_string(mine.rank));
    if (mine.access != other.access)
      raiseDifferent(flatName(), std::string("access ") + nameOf(other.access), nameOf(mine.access));
    mine.alignBytes = std::min(mine.alignBytes, other.alignBytes);
    mine.indexBits = std::max(mine.indexBits, other.indexBits);
    for (int dim = 0; dim < mine.rank; ++dim) {
      DimensionFacts &facts = mine.dimensions[dim];
      const DimensionFacts &others = other.dimensions[dim];
      facts.unitStride = facts.unitStride && others.unitStride;
      facts.divisible = std::min(facts.divisible, others.divisible);
      facts.strideAlignBytes = std::min(facts.strideAlignBytes, others.strideAlignBytes);
    }
    words[next++] = packFacts(mine);
    ++flat;
    if (mine.access == Access::exclusive)
      joinTile(mine.rank);
  }

  /// Tiles are equal, or all are yet to be chosen.
  void joinTile(int rank) {
    const uint64_t *mine = words.data() + next, *other = found.frame->key.data() + next;
    int count = *mine == automaticTileWord || *other == automaticTileWord ? 1 : rank;
    if (!std::equal(mine, mine + count, other)) {
      --flat; // for its name
      raiseDifferent(flatName(), "tiles of " + tileText(other, rank), tileText(mine, rank));
    }
    next += static_cast<size_t>(count);
  }

  static std::string tileText(const uint64_t *words, int rank) {
    if (*words == automaticTileWord)
      return "tl.AUTO";
    std::vector<int64_t> tile(words, words + rank);
    return tupleText(tile.data(), rank);
  }

  /// Integers that fit into 32 bits in one problem and not in another have 64.
  uint64_t joinScalar(uint64_t a, uint64_t b) {
    if (a == b)
      return a;
    DType mine = static_cast<DType>(a), other = static_cast<DType>(b);
    auto isOneOf = [](DType dtype, DType first, DType second) { return dtype == first || dtype == second; };
    if (isOneOf(mine, DType::i32, DType::i64) && isOneOf(other, DType::i32, DType::i64))
      return static_cast<uint64_t>(DType::i64);
    raiseDifferent(flatName(), std::string("dtype ") + nameOf(other), nameOf(mine));
  }

  static KeyTag tagOf(uint64_t word) { return static_cast<KeyTag>(word >> tagShift); }

  static std::string kindOf(uint64_t word) {
    if (word & arrayBit)
      return "an array";
    switch (tagOf(word)) {
    case KeyTag::scalar:
      return "a number";
    case KeyTag::sequence:
      return "a tuple";
    default:
      return "a constant";
    }
  }

  std::string ownName() const {
    const char *parameter = PyUnicode_AsUTF8(current->name.get());
    return std::string("'") + (parameter ? parameter : "") + "'";
  }

  /// Of an array or number, which may be inside a tuple.
  std::string flatName() const {
    return flat < found.frame->flat.size() ? nameOfArgument(signature, *found.frame, flat) : ownName();
  }

  [[noreturn]] void raiseDifferent(const std::string &name, const std::string &has, const std::string &expects,
                                   const std::string &hint = "the problems of one launch share dtypes, ranks and "
                                                             "tiles") {
    raiseLaunchError("problem " + std::to_string(found.number) + ": argument " + name + " has " + has + ", expected " +
                         expects + " as in problem " + std::to_string(expected.number),
                     hint);
  }

  const KernelSignature &signature;
  const BoundProblem &expected, &found;
  std::vector<uint64_t> &words;
  const Parameter *current = nullptr;
  size_t next = 1; // behind the device
  size_t flat = 0;
};

} // namespace

void tilec::runtime::joinKeys(const KernelSignature &signature, const std::vector<BoundProblem> &problems,
                              Frame &joint) {
  const Frame &first = *problems.front().frame;
  std::vector<uint64_t> words(first.key.begin(), first.key.end());
  for (size_t k = 1; k < problems.size(); ++k)
    KeyJoiner(signature, problems.front(), problems[k], words).run();
  for (uint64_t word : words)
    joint.key.push(word);
  joint.key.push(makeWord(KeyTag::group, 0));
}
