// CHECK for programs that are one PE of a job, and what their memory is: GPU memory is reached by
// copies only.
#pragma once

#include <nvshmem.h>
#include <nvshmemx.h>

#include <atomic>
#include <cstdio>
#include <vector>

#include <weft/small_float.hpp>

inline std::atomic<int> failed_checks{0};

inline void check(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  ++failed_checks;
  std::printf("PE %d: %s:%d: %s\n", nvshmem_my_pe(), file, line, what);
  std::fflush(stdout);
}

#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

inline int exit_status() { return failed_checks == 0 ? 0 : 1; }

inline int left() { return (nvshmem_my_pe() + nvshmem_n_pes() - 1) % nvshmem_n_pes(); }
inline int right() { return (nvshmem_my_pe() + 1) % nvshmem_n_pes(); }

// `value` as a T, which may be a float of two bytes.
template <class T, class Value>
T number(Value value) {
  if constexpr (weft::SmallFloat<T>::value)
    return weft::SmallFloat<T>::narrow(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class T>
T* symmetric(std::size_t count) {
  auto* const memory = static_cast<T*>(nvshmem_calloc(count, sizeof(T)));
  CHECK(memory != nullptr);
  return memory;
}
// My own symmetric memory is read and written by calls of the library.
template <class T>
std::vector<T> read(const T* memory, std::size_t count) {
  std::vector<T> values(count);
  nvshmem_getmem(values.data(), memory, count * sizeof(T), nvshmem_my_pe());
  return values;
}
template <class T>
void write(T* memory, const std::vector<T>& values) {
  nvshmem_putmem(memory, values.data(), values.size() * sizeof(T), nvshmem_my_pe());
  nvshmem_quiet();
}
