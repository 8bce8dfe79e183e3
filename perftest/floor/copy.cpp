#include "perftest/floor/copy.hpp"

#include <cstdint>
#include <cstring>

#include "perftest/elements.hpp"

namespace weft::perf::floor {
namespace {

// The compiler may not merge one iteration with the next.
void each_counts() { asm volatile("" ::: "memory"); }

template <class T>
void move(T* to, const T* from, std::size_t stride, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i * stride] = from[i * stride];
    each_counts();
  }
}

}  // namespace

Ns copy(void* dst, const void* src, std::size_t bytes, Count iters) {
  if (bytes == 8) return copy_strided(dst, src, 8, 1, 1, iters);
  return time_plain(iters, [=](Count) {
    std::memcpy(dst, src, bytes);
    each_counts();
  });
}

Ns copy_strided(void* dst, const void* src, std::size_t element, std::size_t stride,
                std::size_t count, Count iters) {
  return with_width(element, [&](auto zero) {
    auto* const to = static_cast<decltype(zero)*>(dst);
    const auto* const from = static_cast<const decltype(zero)*>(src);
    return time_plain(iters, [=](Count) { move(to, from, stride, count); });
  });
}

void move_strided(void* dst, const void* src, std::size_t element, std::size_t stride,
                  std::size_t count) {
  with_width(element, [&](auto zero) {
    using T = decltype(zero);
    move(static_cast<T*>(dst), static_cast<const T*>(src), stride, count);
    return 0;
  });
}

}  // namespace weft::perf::floor
