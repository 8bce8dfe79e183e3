// Memory that kernels and host threads use together, and which GPU a PE has. On the CPU target any
// memory will do; GPUs have theirs from gpus.cpp.
#pragma once

#include <cstddef>
#include <vector>

#include <weft/target.hpp>

namespace weft::test {

#if WEFT_TARGET_CPU

inline void enter_pe(int) {}

template <class T>
using SharedVector = std::vector<T>;

// A PE's heap; zeroed.
class HeapMemory {
 public:
  HeapMemory(std::size_t bytes, int, bool) : lines_(bytes / sizeof(Line) + 1) {}
  std::byte* data() { return lines_.data()->bytes; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64] = {};
  };
  std::vector<Line> lines_;
};

#else

// The calling thread launches on the GPU of `pe` from now on.
void enter_pe(int pe);

// Pinned memory of the host: a host thread may poll it while kernels run, and one GPU may do
// atomics there. Taking and giving back never waits for a kernel.
void* allocate_pinned(std::size_t bytes);
void free_pinned();

template <class T>
struct PinnedAllocator {
  using value_type = T;
  PinnedAllocator() = default;
  template <class U>
  PinnedAllocator(const PinnedAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_pinned(count * sizeof(T))); }
  void deallocate(T*, std::size_t) { free_pinned(); }
  bool operator==(const PinnedAllocator&) const = default;
};
template <class T>
using SharedVector = std::vector<T, PinnedAllocator<T> >;

// A PE's heap; zeroed. One that peers map lies on the PE's GPU while kernels run, since GPUs do
// atomics for each other only there; else it is pinned, for the host serves it meanwhile. Not to be
// made or destroyed while kernels run.
class HeapMemory {
 public:
  HeapMemory(std::size_t bytes, int pe, bool mapped);
  ~HeapMemory();
  HeapMemory(const HeapMemory&) = delete;
  HeapMemory& operator=(const HeapMemory&) = delete;
  std::byte* data() { return data_; }

 private:
  const bool managed_;
  std::byte* data_ = nullptr;
};

#endif

}  // namespace weft::test
