//===- inline_vector.h - A vector whose first elements need no allocation
//--===//

#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace tilec::runtime {

/// Grows onto the heap only beyond `Inline` elements. For plain data: elements
/// are neither constructed nor destroyed.
template <typename T, size_t Inline> class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  InlineVector() : items(reinterpret_cast<T *>(storage)) {}
  InlineVector(const InlineVector &) = delete;
  InlineVector &operator=(const InlineVector &) = delete;
  ~InlineVector() {
    if (onHeap())
      std::free(items);
  }

  /// Adds an element whose contents are left as they are.
  T &grow() {
    if (count == capacity)
      enlarge();
    return items[count++];
  }
  void push(const T &item) { grow() = item; }

  T &operator[](size_t index) { return items[index]; }
  const T &operator[](size_t index) const { return items[index]; }
  T *data() { return items; }
  const T *data() const { return items; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  void clear() { count = 0; }
  T *begin() { return items; }
  T *end() { return items + count; }
  const T *begin() const { return items; }
  const T *end() const { return items + count; }

private:
  static void *allocate(size_t bytes) {
    if constexpr (alignof(T) > alignof(std::max_align_t))
      return std::aligned_alloc(alignof(T), bytes);
    return std::malloc(bytes);
  }
  bool onHeap() const { return items != reinterpret_cast<const T *>(storage); }
  void enlarge() {
    size_t larger = capacity * 2;
    T *fresh = static_cast<T *>(allocate(larger * sizeof(T)));
    if (!fresh)
      throw std::bad_alloc();
    std::memcpy(static_cast<void *>(fresh), items, count * sizeof(T));
    if (onHeap())
      std::free(items);
    items = fresh;
    capacity = larger;
  }

  T *items;
  size_t count = 0;
  size_t capacity = Inline;
  alignas(T) unsigned char storage[Inline * sizeof(T)];
};

} // namespace tilec::runtime
