// Copies bytes with all threads of a scope: any size, any alignment. Orders nothing; callers put
// the barriers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <weft/dev/fault.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/scope.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// Moved by one load and one store. It may alias whatever lies there: bytes do.
template <std::size_t kBytes>
struct Chunk {
  struct alignas(kBytes) type {
    unsigned char byte[kBytes];
  };
};
#if defined(__clang__) && !WEFT_TARGET_CPU
// Of 16 bytes clang would make a memcpy, and of the chunks in flight an array in memory.
template <>
struct Chunk<16> {
  typedef unsigned type __attribute__((ext_vector_type(4), may_alias));
};
#endif

// Thread r moves chunks r, r + size, ...; `kUnroll` loads are in flight before the first store.
template <std::size_t kBytes, class Scope>
WEFT_DEVICE void copy_chunks(Scope scope, std::byte* dst, const std::byte* src, std::size_t count) {
  constexpr std::size_t kUnroll = kBytes == 16 ? 8 : 4;
  using Unit = typename Chunk<kBytes>::type;
  auto* to = reinterpret_cast<Unit*>(dst);
  auto* from = reinterpret_cast<const Unit*>(src);
  const std::size_t step = static_cast<std::size_t>(scope.size());
  std::size_t i = static_cast<std::size_t>(scope.rank());
  for (; i + (kUnroll - 1) * step < count; i += kUnroll * step) {
    Unit part[kUnroll];
    for (std::size_t k = 0; k < kUnroll; ++k) part[k] = from[i + k * step];
    for (std::size_t k = 0; k < kUnroll; ++k) to[i + k * step] = part[k];
  }
  for (; i < count; i += step) to[i] = from[i];
}

// Few bytes.
template <class Scope>
WEFT_DEVICE void copy_few(Scope scope, std::byte* dst, const std::byte* src, std::size_t bytes) {
  for (auto i = static_cast<std::size_t>(scope.rank()); i < bytes;
       i += static_cast<std::size_t>(scope.size()))
    platform::store<Order::kRelaxed, Reach::kDevice>(dst + i, src[i]);
}

// The widest chunk that both ends can be aligned to, between a head and a tail of single bytes.
template <std::size_t kBytes, class Scope>
WEFT_DEVICE void copy_aligned(Scope scope, std::byte* dst, const std::byte* src,
                              std::size_t bytes) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(dst) % kBytes;
  std::size_t head = past == 0 ? 0 : kBytes - past;
  if (head > bytes) head = bytes;
  const std::size_t body = (bytes - head) / kBytes * kBytes;
  copy_few(scope, dst, src, head);
  copy_chunks<kBytes>(scope, dst + head, src + head, body / kBytes);
  copy_few(scope, dst + head + body, src + head + body, bytes - head - body);
}

// The threads of a scope as numbers: what is out of line is there once, not for each kind of scope.
struct Ranks {
  int mine, count;
  WEFT_DEVICE int rank() const { return mine; }
  WEFT_DEVICE int size() const { return count; }
};

WEFT_DEVICE_CALLED void copy_misaligned(Ranks scope, std::byte* dst, const std::byte* src,
                                        std::size_t bytes) {
  const std::uintptr_t apart =
      reinterpret_cast<std::uintptr_t>(dst) ^ reinterpret_cast<std::uintptr_t>(src);
  if (apart % 16 == 0) {
    copy_aligned<16>(scope, dst, src, bytes);
  } else if (apart % 8 == 0) {
    copy_aligned<8>(scope, dst, src, bytes);
  } else if (apart % 4 == 0) {
    copy_aligned<4>(scope, dst, src, bytes);
  } else if (apart % 2 == 0) {
    copy_aligned<2>(scope, dst, src, bytes);
  } else {
    copy_chunks<1>(scope, dst, src, bytes);
  }
}

template <class Scope>
WEFT_DEVICE void copy_interleaved(Scope scope, std::byte* dst, const std::byte* src,
                                  std::size_t bytes) {
  const std::uintptr_t all =
      reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src) | bytes;
  if (all % 16 == 0)
    copy_chunks<16>(scope, dst, src, bytes / 16);
  else
    copy_misaligned({scope.rank(), scope.size()}, dst, src, bytes);
}

// Thread r copies the r-th contiguous share; shares end on cache lines of the target.
template <class Scope>
WEFT_DEVICE void copy_share(Scope scope, std::byte* dst, const std::byte* src, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const std::size_t threads = static_cast<std::size_t>(scope.size());
  std::size_t begin = 0;
  std::size_t end = bytes;
  if (threads > 1) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(dst) % kLine;
    const std::size_t share = ((bytes + past) / threads / kLine + 1) * kLine;
    const std::size_t rank = static_cast<std::size_t>(scope.rank());
    begin = rank == 0 ? 0 : rank * share - past;
    end = (rank + 1) * share - past;
    if (end > bytes) end = bytes;
  }
  if (begin < end) std::memmove(dst + begin, src + begin, end - begin);
}

template <class Word>
WEFT_DEVICE bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(Word) == 0;
}

// One aligned word is moved as one: whoever polls it never sees a part of it.
template <class Word>
WEFT_DEVICE bool copy_word(std::byte* dst, const std::byte* src) {
  if (!is_aligned<Word>(dst) || !is_aligned<Word>(src)) return false;
  platform::store<Order::kRelaxed, Reach::kSystem>(
      reinterpret_cast<Word*>(dst),
      platform::load<Order::kRelaxed, Reach::kSystem>(reinterpret_cast<const Word*>(src)));
  return true;
}

WEFT_DEVICE bool copy_as_word(std::byte* dst, const std::byte* src, std::size_t bytes) {
  switch (bytes) {
    case 8: return copy_word<std::uint64_t>(dst, src);
    case 4: return copy_word<std::uint32_t>(dst, src);
    case 2: return copy_word<std::uint16_t>(dst, src);
    case 1: return copy_word<std::uint8_t>(dst, src);
    default: return false;
  }
}

template <class Scope>
WEFT_DEVICE void copy(Scope scope, std::byte* dst, const std::byte* src, std::size_t bytes) {
  if (bytes <= 8) {
    if (scope.rank() == 0 && !copy_as_word(dst, src, bytes))
      copy_chunks<1>(Thread{}, dst, src, bytes);
  } else if constexpr (platform::kCopiesShares) {
    copy_share(scope, dst, src, bytes);
  } else {
    copy_interleaved(scope, dst, src, bytes);
  }
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
