// Baselines of put, get, p and g: what the same bytes cost without a library in between.
#pragma once

#include <cstddef>

#include "perftest/timer.hpp"

namespace weft::perf::floor {

// `iters` times memcpy; 8 bytes are one store, as p of a word would be.
Ns copy(void* dst, const void* src, std::size_t bytes, Count iters);

// Element by element: dst[i * stride] = src[i * stride] for `count` elements of `element` bytes.
Ns copy_strided(void* dst, const void* src, std::size_t element, std::size_t stride,
                std::size_t count, Count iters);

// The same once, untimed.
void move_strided(void* dst, const void* src, std::size_t element, std::size_t stride,
                  std::size_t count);

}  // namespace weft::perf::floor
