// 9.6: put, get, p, g, strided and block-strided, blocking and not, with and without a context.
#include <cstring>

#include <fmt/format.h>

#include "tests/compat/census/census.hpp"

namespace census {
namespace {

using Move = std::function<void(void* dst, const void* src, std::size_t count, int pe)>;
struct Steps {
  std::ptrdiff_t dst, src;
  std::size_t block;
};
using Stride = std::function<void(void* dst, const void* src, const Steps&, std::size_t, int pe)>;

enum class When { kNow, kLater };

// Where each count's elements lie in an arena: room for strides, and an untouched element between.
constexpr std::size_t place(std::size_t size, std::size_t index) { return index * 12 * 64 * size; }
static_assert(place(16, 3) + 12 * 64 * 16 <= kArena);

std::vector<std::byte> random_elements(const Subject& s, std::size_t count, int pe,
                                       std::size_t index) {
  std::vector<std::byte> out((count + 1) * s.element.size, kPoison);
  auto random = data(pe);
  random.discard(1000 * index);
  s.element.fill(out.data(), count, random);
  return out;
}

void check_put(const Subject& s, const Move& put) {
  begin();
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    const auto elements = random_elements(s, kCounts[i], me(), i);
    std::byte* const from = mine() + place(s.element.size, i);
    std::memcpy(from, elements.data(), kCounts[i] * s.element.size);
    put(target() + place(s.element.size, i), from, kCounts[i], peer());
    expect_moved(s, weft::OpKind::kPut, kCounts[i] * s.element.size);
  }
  quiet();
  shmem_barrier_all();
  for (std::size_t i = 0; i < std::size(kCounts); ++i)
    expect_elements(s, target() + place(s.element.size, i),
                    random_elements(s, kCounts[i], writer(), i).data(), kCounts[i],
                    fmt::format("put by PE {}", writer()));
}

void check_get(const Subject& s, const Move& get, When when) {
  begin();
  for (std::size_t i = 0; i < std::size(kCounts); ++i)
    std::memcpy(source() + place(s.element.size, i), random_elements(s, kCounts[i], me(), i).data(),
                kCounts[i] * s.element.size);
  shmem_barrier_all();
  take_ops();
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    std::byte* const to = mine() + place(s.element.size, i);
    const Undelivered later(when == When::kLater);
    get(to, source() + place(s.element.size, i), kCounts[i], peer());
    expect_moved(s, weft::OpKind::kGet, kCounts[i] * s.element.size);
    if (when == When::kNow)
      expect_elements(s, to, random_elements(s, kCounts[i], peer(), i).data(), kCounts[i],
                      fmt::format("got from PE {}, on return", peer()));
    else if (records())
      expect(s, is_poison(to, kCounts[i] * s.element.size), "waited for its data");
  }
  quiet();
  for (std::size_t i = 0; i < std::size(kCounts); ++i)
    expect_elements(s, mine() + place(s.element.size, i),
                    random_elements(s, kCounts[i], peer(), i).data(), kCounts[i],
                    fmt::format("got from PE {}, after quiet", peer()));
}

// Strides of this round, the same on all PEs.
Steps steps(bool blocks) {
  auto random = data(-1);
  const std::size_t block = blocks ? 1 + random() % 3 : 1;
  const auto least = static_cast<std::ptrdiff_t>(block);
  return {least + static_cast<std::ptrdiff_t>(random() % 4),
          least + static_cast<std::ptrdiff_t>(random() % 4), block};
}

// The contents of `to` after a copy of `count` blocks: elements between them are poison.
std::vector<std::byte> strided(const Subject& s, const Steps& by, std::size_t count,
                               const std::vector<std::byte>& from) {
  std::vector<std::byte> to(12 * 64 * s.element.size, kPoison);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(&to[i * static_cast<std::size_t>(by.dst) * s.element.size],
                &from[i * static_cast<std::size_t>(by.src) * s.element.size],
                by.block * s.element.size);
  return to;
}

void expect_strided(const Subject& s, const Steps& by, std::size_t count, const std::byte* seen,
                    int pe, std::size_t index) {
  const auto wanted = strided(s, by, count, random_elements(s, 6 * 64, pe, index));
  const std::size_t size = s.element.size;
  for (std::size_t i = 0; i < 12 * 64; ++i) {
    const bool same = is_poison(&wanted[i * size], size)
                          ? is_poison(seen + i * size, size)
                          : s.element.equal(seen + i * size, &wanted[i * size]);
    if (!same)
      return fail(s, fmt::format("{} blocks of {}, strides {} and {}: element {} is wrong", count,
                                 by.block, by.dst, by.src, i));
  }
}

void check_strided_put(const Subject& s, const Stride& put, bool blocks) {
  begin();
  const Steps by = steps(blocks);
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    const auto elements = random_elements(s, 6 * 64, me(), i);
    std::byte* const from = mine() + place(s.element.size, i);
    std::memcpy(from, elements.data(), 6 * 64 * s.element.size);
    put(target() + place(s.element.size, i), from, by, kCounts[i], peer());
    expect_moved(s, weft::OpKind::kPut, kCounts[i] * by.block * s.element.size);
  }
  quiet();
  shmem_barrier_all();
  for (std::size_t i = 0; i < std::size(kCounts); ++i)
    expect_strided(s, by, kCounts[i], target() + place(s.element.size, i), writer(), i);
}

void check_strided_get(const Subject& s, const Stride& get, bool blocks) {
  begin();
  const Steps by = steps(blocks);
  for (std::size_t i = 0; i < std::size(kCounts); ++i)
    std::memcpy(source() + place(s.element.size, i), random_elements(s, 6 * 64, me(), i).data(),
                6 * 64 * s.element.size);
  shmem_barrier_all();
  take_ops();
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    std::byte* const to = mine() + place(s.element.size, i);
    get(to, source() + place(s.element.size, i), by, kCounts[i], peer());
    expect_moved(s, weft::OpKind::kGet, kCounts[i] * by.block * s.element.size);
    expect_strided(s, by, kCounts[i], to, peer(), i);
  }
}

// --- routines as calls on bytes -----------------------------------------------------------------
template <class T, class F>
Move move(F f) {
  return [f](void* dst, const void* src, std::size_t count, int pe) {
    f(static_cast<T*>(dst), static_cast<const T*>(src), count, pe);
  };
}
template <class T, class F>
void put(const Subject& s, F f) {
  check_put(s, move<T>(f));
}
template <class T, class F>
void put_nbi(const Subject& s, F f) {
  check_put(s, move<T>(f));
}
template <class T, class F>
void get(const Subject& s, F f) {
  check_get(s, move<T>(f), When::kNow);
}
template <class T, class F>
void get_nbi(const Subject& s, F f) {
  check_get(s, move<T>(f), When::kLater);
}
template <class T, class F>
void p(const Subject& s, F f) {
  check_put(s, [f](void* dst, const void* src, std::size_t count, int pe) {
    for (std::size_t i = 0; i < count; ++i)
      f(static_cast<T*>(dst) + i, static_cast<const T*>(src)[i], pe);
  });
}
template <class T, class F>
void g(const Subject& s, F f) {
  const auto get = [f](void* dst, const void* src, std::size_t count, int pe) {
    for (std::size_t i = 0; i < count; ++i)
      static_cast<T*>(dst)[i] = f(static_cast<const T*>(src) + i, pe);
  };
  check_get(s, get, When::kNow);
}
template <class T, class F>
Stride stride(F f) {
  return [f](void* dst, const void* src, const Steps& by, std::size_t count, int pe) {
    f(static_cast<T*>(dst), static_cast<const T*>(src), by.dst, by.src, count, pe);
  };
}
template <class T, class F>
Stride stride_blocks(F f) {
  return [f](void* dst, const void* src, const Steps& by, std::size_t count, int pe) {
    f(static_cast<T*>(dst), static_cast<const T*>(src), by.dst, by.src, by.block, count, pe);
  };
}
template <class T, class F>
void iput(const Subject& s, F f) {
  check_strided_put(s, stride<T>(f), false);
}
template <class T, class F>
void iget(const Subject& s, F f) {
  check_strided_get(s, stride<T>(f), false);
}
template <class T, class F>
void ibput(const Subject& s, F f) {
  check_strided_put(s, stride_blocks<T>(f), true);
}
template <class T, class F>
void ibget(const Subject& s, F f) {
  check_strided_get(s, stride_blocks<T>(f), true);
}

}  // namespace

void check_rma() {
#define SHMEM_ROUTINE(family, type, bytes, context, name) \
  family<type>(Subject{#name, element_of<type, bytes>()}, context(name));
#include <rma.inc>
#undef SHMEM_ROUTINE
}

}  // namespace census
