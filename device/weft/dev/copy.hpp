// Copies bytes with all threads of a scope: any size, any alignment. Orders nothing; callers put
// the barriers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <weft/device/copy.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/scope.hpp>

WEFT_DEVICE_LOADED_UNDER_SAME_CONDITION

namespace weft::dev {
inline namespace WEFT_TARGET {

// The unit that one load and one store move. It may alias whatever lies there.
template <std::size_t kBytes>
struct Chunk;
template <>
struct Chunk<1> {
  typedef unsigned char type;
};
template <>
struct Chunk<2> {
  typedef std::uint16_t __attribute__((may_alias)) type;
};
template <>
struct Chunk<4> {
  typedef std::uint32_t __attribute__((may_alias)) type;
};
template <>
struct Chunk<8> {
  typedef std::uint64_t __attribute__((may_alias)) type;
};
template <>
struct Chunk<16> {
#if defined(__clang__) && !WEFT_TARGET_CPU
  // Clang would make a memcpy of a struct, and an array in memory of the chunks in flight.
  typedef std::uint64_t type __attribute__((ext_vector_type(2), may_alias));
#else
  struct __attribute__((may_alias)) type {
    alignas(16) std::uint64_t x;
    std::uint64_t y;
  };
#endif
};

// kMany chunks from *next on, every size-th, by a thread that has as many left: all are loaded
// before the first is stored. Returns whether it had.
template <std::size_t kMany, class Unit>
WEFT_DEVICE bool copy_group(Unit* to, const Unit* from, std::size_t count, std::size_t step,
                            std::size_t* next) {
  const std::size_t first = *next;
  if (first + (kMany - 1) * step >= count) return false;
  Unit part[kMany];
  for (std::size_t k = 0; k < kMany; ++k) part[k] = from[first + k * step];
  for (std::size_t k = 0; k < kMany; ++k) to[first + k * step] = part[k];
  *next = first + kMany * step;
  return true;
}

// Thread r moves chunks r, r + size, ...: the loads of one group cost one latency, so the rest goes
// in groups that halve.
template <class Scope>
WEFT_DEVICE void copy_chunks(Scope scope, std::byte* dst, const std::byte* src, std::size_t count) {
  using Unit = Chunk<16>::type;
  auto* to = reinterpret_cast<Unit*>(dst);
  auto* from = reinterpret_cast<const Unit*>(src);
  const std::size_t step = static_cast<std::size_t>(scope.size());
  std::size_t next = static_cast<std::size_t>(scope.rank());
  if (count <= step) {  // what is waited for soonest
    if (next < count) to[next] = from[next];
    return;
  }
  WEFT_DEVICE_AS_A_LOOP
  while (copy_group<8>(to, from, count, step, &next)) {
  }
  copy_group<4>(to, from, count, step, &next);
  copy_group<2>(to, from, count, step, &next);
  copy_group<1>(to, from, count, step, &next);
}

// The threads of a scope as numbers: what is out of line is there once, not for each kind of scope.
// It keeps few registers: each that it takes is one that its callers' loops lack.
struct Ranks {
  int mine, count;
  WEFT_DEVICE int rank() const { return mine; }
  WEFT_DEVICE int size() const { return count; }
};

template <std::size_t kBytes>
WEFT_DEVICE void copy_units(Ranks scope, std::byte* dst, const std::byte* src, std::size_t bytes) {
  using Unit = typename Chunk<kBytes>::type;
  auto* to = reinterpret_cast<Unit*>(dst);
  auto* from = reinterpret_cast<const Unit*>(src);
  const std::size_t count = bytes / kBytes;
  WEFT_DEVICE_AS_A_LOOP
  for (std::size_t i = static_cast<std::size_t>(scope.rank()); i < count;
       i += static_cast<std::size_t>(scope.size()))
    to[i] = from[i];
}

// Where speed is not all: as copy_chunks, and less of it. With -rdc=true less again, see
// WEFT_DEVICE_PIECE.
#if defined(__CUDACC_RDC__)
inline constexpr std::size_t kSlowChunks = 2;
#else
inline constexpr std::size_t kSlowChunks = 4;
#endif
WEFT_DEVICE void copy_chunks_slowly(Ranks scope, std::byte* dst, const std::byte* src,
                                    std::size_t count) {
  using Unit = Chunk<16>::type;
  auto* to = reinterpret_cast<Unit*>(dst);
  auto* from = reinterpret_cast<const Unit*>(src);
  const std::size_t step = static_cast<std::size_t>(scope.size());
  std::size_t next = static_cast<std::size_t>(scope.rank());
  WEFT_DEVICE_AS_A_LOOP
  while (next < count)
    if (!copy_group<kSlowChunks>(to, from, count, step, &next))
      copy_group<1>(to, from, count, step, &next);
}

// One aligned word is moved as one: whoever polls it never sees a part of it.
template <class Word>
WEFT_DEVICE bool copy_word(Ranks scope, std::byte* dst, const std::byte* src, std::size_t bytes) {
  const std::uintptr_t both =
      reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src);
  if (bytes != sizeof(Word) || both % sizeof(Word) != 0) return false;
  if (scope.rank() == 0)
    platform::store<Order::kRelaxed, Reach::kSystem>(
        reinterpret_cast<Word*>(dst),
        platform::load<Order::kRelaxed, Reach::kSystem>(reinterpret_cast<const Word*>(src)));
  return true;
}

// Few bytes, by the widest words that both ends and the length consist of.
WEFT_DEVICE_CALLED void copy_few(ByValue<Ranks> scope, std::byte* dst, const std::byte* src,
                                 std::size_t bytes) {
  if (copy_word<std::uint16_t>(scope, dst, src, bytes) ||
      copy_word<std::uint8_t>(scope, dst, src, bytes))
    return;
  const std::uintptr_t all =
      reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src) | bytes;
  if (all % 8 == 0)
    copy_units<8>(scope, dst, src, bytes);
  else if (all % 4 == 0)
    copy_units<4>(scope, dst, src, bytes);
  else
    copy_units<1>(scope, dst, src, bytes);
}

// The 16 bytes that begin `shift` bytes into `a`, with `b` behind it.
WEFT_DEVICE Chunk<16>::type shifted(Chunk<16>::type a, Chunk<16>::type b, std::uintptr_t shift) {
  const std::uintptr_t bits = shift % 8 * 8;
  const auto join = [bits](std::uint64_t low, std::uint64_t high) {
    return (low >> bits) | (high << 1 << (63 - bits));
  };
  if (shift < 8) return {join(a.x, a.y), join(a.y, b.x)};
  return {join(a.y, b.x), join(b.x, b.y)};
}

// Stores of 16 bytes whatever the alignments: a chunk of the target lies across two of the source.
// No byte outside of `src` is read.
WEFT_DEVICE_CALLED void copy_misaligned(ByValue<Ranks> scope, std::byte* dst, const std::byte* src,
                                        std::size_t bytes) {
  std::size_t head = -reinterpret_cast<std::uintptr_t>(dst) % 16;
  const std::uintptr_t shift = (reinterpret_cast<std::uintptr_t>(src) + head) % 16;
  if (shift > head) head += 16;
  if (bytes < head + 32) return copy_few(scope, dst, src, bytes);
  const std::size_t count = (bytes - head - 16) / 16;
  using Unit = Chunk<16>::type;
  auto* to = reinterpret_cast<Unit*>(dst + head);
  auto* from = reinterpret_cast<const Unit*>(src + head - shift);
  WEFT_DEVICE_AS_A_LOOP
  for (std::size_t i = static_cast<std::size_t>(scope.rank()); i < count;
       i += static_cast<std::size_t>(scope.size()))
    to[i] = shifted(from[i], from[i + 1], shift);
  const std::size_t done = head + count * 16;
  copy_few(scope, dst, src, head);
  copy_few(scope, dst + done, src + done, bytes - done);
}

WEFT_DEVICE bool is_in_chunks(const void* dst, const void* src, std::size_t bytes) {
  return (reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src) | bytes) %
             16 ==
         0;
}

// Bytes that are no more than a chunk for each thread. Their loads begin at once, and what is to be
// found out before the stores is found out meanwhile.
class OneChunkEach {
 public:
  template <class Scope>
  WEFT_DEVICE OneChunkEach(Scope scope, const void* dst, const void* src, std::size_t bytes)
      : fits_(!platform::kCopiesShares && is_in_chunks(dst, src, bytes) &&
              bytes <= 16 * static_cast<std::size_t>(scope.size())),
        at_(16 * static_cast<std::size_t>(scope.rank())),
        mine_(fits_ && at_ < bytes) {
    if (mine_) chunk_ = *reinterpret_cast<const Unit*>(static_cast<const std::byte*>(src) + at_);
  }
  WEFT_DEVICE bool fits() const { return fits_; }
  // They do, and my thread has none of them.
  WEFT_DEVICE bool is_idle() const { return fits_ && !mine_; }
  WEFT_DEVICE void store(std::byte* dst) const {
    if (mine_) *reinterpret_cast<Unit*>(dst + at_) = chunk_;
  }

 private:
  using Unit = Chunk<16>::type;
  bool fits_;
  std::size_t at_;
  bool mine_;
  Unit chunk_{};  // known, or it would be kept from call to call
};

template <class Scope>
WEFT_DEVICE void copy_interleaved(Scope scope, std::byte* dst, const std::byte* src,
                                  std::size_t bytes) {
  if (is_in_chunks(dst, src, bytes))
    copy_chunks(scope, dst, src, bytes / 16);
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

// Bytes that are not in chunks.
template <class Scope>
WEFT_DEVICE void copy_odd(Scope scope, std::byte* dst, const std::byte* src, std::size_t bytes) {
  const Ranks who{scope.rank(), scope.size()};
  if (!copy_word<std::uint64_t>(who, dst, src, bytes) &&
      !copy_word<std::uint32_t>(who, dst, src, bytes))
    copy_misaligned(Ranks(who), dst, src, bytes);
}

template <class Scope>  // as it was declared: tests have nvcc's host read bodies
WEFT_DEVICE_CALL void copy(Scope scope, std::byte* dst, const std::byte* src, std::size_t bytes) {
  if constexpr (is_bulk<Scope>)
    if (scope.takes(dst, src, bytes)) return scope.copy(dst, src, bytes);
  if constexpr (platform::kCopiesShares) {
    if (bytes > 8) return copy_share(scope, dst, src, bytes);
  } else {
    if (is_in_chunks(dst, src, bytes)) return copy_chunks(scope, dst, src, bytes / 16);
  }
  copy_odd(scope, dst, src, bytes);
}

// Four chunks under way for each thread, with few registers: for what is not plain. There it may
// lie at no multiple of 16, whatever its own address says.
WEFT_DEVICE_CALLED void copy_slowly(ByValue<Ranks> who, std::byte* to, const std::byte* from,
                                    std::size_t bytes) {
  if constexpr (platform::kCopiesShares) return copy(who, to, from, bytes);
  if (is_in_chunks(to, from, bytes)) return copy_chunks_slowly(who, to, from, bytes / 16);
  copy_odd(who, to, from, bytes);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev

WEFT_DEVICE_END_OF_LOADED
