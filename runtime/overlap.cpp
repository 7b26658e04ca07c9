//===- overlap.cpp - Do two strided arrays share a byte?
//-------------------===//
//
// The address of an element is a sum of stride × index, so a shared byte is a
// solution of
//
//     Σ stride_k · i_k  −  Σ stride'_l · j_l  +  u  −  v  =  pointer' − pointer
//
// with every index in its range and u, v the position of the byte within its
// element. Two indices with strides of the same size are one unknown (a·i − a·j
// depends on i − j only), which leaves about `rank` unknowns with coefficients
// that are nested in practice: each larger than all smaller ones can reach
// together. Then at most two values of the largest unknown leave the rest a
// chance, and the search below takes a few steps; in general it is
// exponential (the problem is NP-complete), hence its budget.
//
//===----------------------------------------------------------------------===//

#include "overlap.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

using namespace tilec::runtime;

namespace {

using Wide = __int128;

constexpr int maxTerms = 40;
constexpr int stepBudget = 200000;

/// coefficient · x with 0 ≤ x ≤ last.
struct Term {
  Wide coefficient;
  Wide last;
};

/// Does Σ coefficient · x = target have a solution within the ranges?
class BoundedEquation {
public:
  /// Adds coefficient · x for x in [first, last]; any signs.
  void add(Wide coefficient, Wide first, Wide last) {
    if (coefficient < 0) {
      coefficient = -coefficient;
      Wide mirrored = -first;
      first = -last;
      last = mirrored;
    }
    target -= coefficient * first;
    last -= first;
    if (coefficient == 0 || last == 0)
      return;
    for (int k = 0; k < count; ++k)
      if (terms[k].coefficient == coefficient) {
        terms[k].last += last;
        return;
      }
    terms[count++] = {coefficient, last};
  }

  void aim(Wide value) { target += value; }

  Overlap solve() {
    std::sort(terms, terms + count, [](const Term &a, const Term &b) { return a.coefficient > b.coefficient; });
    reach[count] = 0;
    divisor[count] = 0;
    for (int k = count - 1; k >= 0; --k) {
      reach[k] = reach[k + 1] + terms[k].coefficient * terms[k].last;
      divisor[k] = greatestCommonDivisor(divisor[k + 1], terms[k].coefficient);
    }
    steps = 0;
    return search(0, target);
  }

private:
  static Wide greatestCommonDivisor(Wide a, Wide b) {
    while (b != 0)
      a = std::exchange(b, a % b);
    return a;
  }

  Overlap search(int k, Wide rest) {
    if (rest < 0 || rest > reach[k])
      return Overlap::none;
    if (rest == 0)
      return Overlap::some;
    if (rest % divisor[k] != 0) // k < count: a rest beyond 0 has terms left
      return Overlap::none;
    if (k == count - 1)
      return Overlap::some; // divisible and within reach
    if (++steps > stepBudget)
      return Overlap::undecided;
    const Term &term = terms[k];
    Wide high = std::min(term.last, rest / term.coefficient);
    Wide low = 0;
    if (rest > reach[k + 1])
      low = (rest - reach[k + 1] + term.coefficient - 1) / term.coefficient;
    for (Wide x = high; x >= low; --x) {
      Overlap found = search(k + 1, rest - term.coefficient * x);
      if (found != Overlap::none)
        return found;
    }
    return Overlap::none;
  }

  Term terms[maxTerms];
  Wide reach[maxTerms + 1];
  Wide divisor[maxTerms + 1];
  Wide target = 0;
  int count = 0;
  int steps = 0;
};

/// Whether every stride steps over all that the strides after it can reach, as
/// in any row-major array or slice of one: the quick answer to self-overlap.
bool isNestedInOrder(const Footprint &a) {
  int64_t reach = a.itemBytes - 1;
  for (int k = a.rank - 1; k >= 0; --k) {
    if (a.shape[k] == 1)
      continue;
    int64_t stride = std::abs(a.strideBytes[k]);
    int64_t span = 0;
    if (stride <= reach || __builtin_mul_overflow(stride, a.shape[k] - 1, &span) ||
        __builtin_add_overflow(reach, span, &reach))
      return false;
  }
  return true;
}

bool isEmpty(const Footprint &a) {
  return std::any_of(a.shape, a.shape + a.rank, [](int64_t extent) { return extent == 0; });
}

} // namespace

Overlap tilec::runtime::overlap(const Footprint &a, const Footprint &b) {
  if (isEmpty(a) || isEmpty(b))
    return Overlap::none;
  BoundedEquation equation;
  for (int k = 0; k < a.rank; ++k)
    equation.add(a.strideBytes[k], 0, a.shape[k] - 1);
  for (int k = 0; k < b.rank; ++k)
    equation.add(-Wide(b.strideBytes[k]), 0, b.shape[k] - 1);
  equation.add(1, 0, a.itemBytes - 1);
  equation.add(-1, 0, b.itemBytes - 1);
  equation.aim(Wide(b.pointer) - Wide(a.pointer));
  return equation.solve();
}

Overlap tilec::runtime::selfOverlap(const Footprint &a) {
  if (isEmpty(a) || isNestedInOrder(a))
    return Overlap::none;
  Term dims[maxTerms];
  int count = 0;
  for (int k = 0; k < a.rank; ++k) {
    if (a.shape[k] == 1)
      continue;
    int64_t stride = a.strideBytes[k];
    if (stride == 0)
      return Overlap::some;
    dims[count++] = {stride < 0 ? -Wide(stride) : Wide(stride), a.shape[k] - 1};
  }
  std::sort(dims, dims + count, [](const Term &x, const Term &y) { return x.coefficient < y.coefficient; });
  // Nested in some other order: a transposed view.
  Wide reach = a.itemBytes - 1;
  bool nested = true;
  for (int k = 0; k < count; ++k) {
    nested &= dims[k].coefficient > reach;
    reach += dims[k].coefficient * dims[k].last;
  }
  if (nested)
    return Overlap::none;
  // Two elements that overlap differ in some index; let k be the last one in
  // which they do, and (by symmetry) its difference positive.
  for (int k = 0; k < count; ++k) {
    BoundedEquation equation;
    equation.add(dims[k].coefficient, 1, dims[k].last);
    for (int l = 0; l < k; ++l)
      equation.add(dims[l].coefficient, -dims[l].last, dims[l].last);
    equation.add(1, -Wide(a.itemBytes - 1), a.itemBytes - 1);
    Overlap found = equation.solve();
    if (found != Overlap::none)
      return found;
  }
  return Overlap::none;
}
