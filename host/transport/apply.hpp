// apply_op: the one place that executes an Op on mapped memory. The pieces are inline, since a
// Context's direct path is made of the same ones.
//
// Orders. A notify, and an aligned put of one word, is a release store (or read-modify-write): it
// pairs with the acquire load of a wait, so who sees the flag sees the data that this thread wrote
// before. Atomics acquire and release for the same reason. Nothing here is a free-standing fence:
// ThreadSanitizer follows operations only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <weft/amo.hpp>
#include <weft/dev/op.hpp>
#include <weft/status.hpp>

namespace weft {

// The public name of an atomic, and back.
inline Amo amo_of(OpKind kind) {
  return static_cast<Amo>(static_cast<int>(kind) - static_cast<int>(OpKind::kAmoSet));
}
inline OpKind op_kind(Amo amo) {
  return static_cast<OpKind>(static_cast<int>(OpKind::kAmoSet) + static_cast<int>(amo));
}
static_assert(static_cast<int>(OpKind::kAmoFetch) - static_cast<int>(OpKind::kAmoSet) ==
              static_cast<int>(Amo::kFetch));
static_assert(static_cast<int>(OpKind::kAmoFetchXor) - static_cast<int>(OpKind::kAmoSet) ==
              static_cast<int>(Amo::kFetchXor));

namespace detail {

inline bool is_aligned(const void* p, std::size_t width) {
  return (reinterpret_cast<std::uintptr_t>(p) & (width - 1)) == 0;
}

template <class T>
void store_word(void* dst, const void* src) {
  T value;
  std::memcpy(&value, src, sizeof(T));
  __atomic_store_n(static_cast<T*>(dst), value, __ATOMIC_RELEASE);
}

template <class T>
void load_word(void* dst, const void* src) {
  const T value = __atomic_load_n(static_cast<const T*>(src), __ATOMIC_ACQUIRE);
  std::memcpy(dst, &value, sizeof(T));
}

template <class T>
T amo_word(OpKind kind, T* word, T value, T compare) {
  switch (kind) {
    case OpKind::kAmoSet: __atomic_store_n(word, value, __ATOMIC_RELEASE); return 0;
    case OpKind::kAmoFetch: return __atomic_load_n(word, __ATOMIC_ACQUIRE);
    case OpKind::kAmoSwap: return __atomic_exchange_n(word, value, __ATOMIC_ACQ_REL);
    case OpKind::kAmoCompareSwap:
      __atomic_compare_exchange_n(word, &compare, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
      return compare;  // what was there, swapped or not
    case OpKind::kAmoAdd:
    case OpKind::kAmoFetchAdd: return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
    case OpKind::kAmoAnd:
    case OpKind::kAmoFetchAnd: return __atomic_fetch_and(word, value, __ATOMIC_ACQ_REL);
    case OpKind::kAmoOr:
    case OpKind::kAmoFetchOr: return __atomic_fetch_or(word, value, __ATOMIC_ACQ_REL);
    case OpKind::kAmoXor:
    case OpKind::kAmoFetchXor: return __atomic_fetch_xor(word, value, __ATOMIC_ACQ_REL);
    default: return 0;
  }
}

}  // namespace detail

// Bytes into a heap. An aligned word goes as one store, so that a waiter may poll it.
inline void put_to(void* dst, const void* src, std::size_t bytes) {
  using detail::is_aligned;
  if (bytes == 8 && is_aligned(dst, 8)) return detail::store_word<std::uint64_t>(dst, src);
  if (bytes == 4 && is_aligned(dst, 4)) return detail::store_word<std::uint32_t>(dst, src);
  if (bytes == 2 && is_aligned(dst, 2)) return detail::store_word<std::uint16_t>(dst, src);
  if (bytes == 1) return detail::store_word<std::uint8_t>(dst, src);
  if (bytes != 0) std::memmove(dst, src, bytes);  // a put to myself may overlap
}

// Bytes out of a heap. An aligned word comes as one load, so that it may be polled.
inline void get_from(void* dst, const void* src, std::size_t bytes) {
  using detail::is_aligned;
  if (bytes == 8 && is_aligned(src, 8)) return detail::load_word<std::uint64_t>(dst, src);
  if (bytes == 4 && is_aligned(src, 4)) return detail::load_word<std::uint32_t>(dst, src);
  if (bytes == 2 && is_aligned(src, 2)) return detail::load_word<std::uint16_t>(dst, src);
  if (bytes == 1) return detail::load_word<std::uint8_t>(dst, src);
  if (bytes != 0) std::memmove(dst, src, bytes);
}

// The far-side action of a put, after its bytes.
inline void notify_at(std::uint64_t* word, NotifyOp op, std::uint64_t value) {
  if (op == NotifyOp::kSet) __atomic_store_n(word, value, __ATOMIC_RELEASE);
  if (op == NotifyOp::kAdd) __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}

// One atomic on an aligned word of 4 or 8 bytes. Returns the old value's bits (0 for kAmoSet).
inline std::uint64_t amo_at(OpKind kind, void* word, std::size_t width, std::uint64_t value,
                            std::uint64_t compare) {
  if (width == 8) return detail::amo_word(kind, static_cast<std::uint64_t*>(word), value, compare);
  return detail::amo_word(kind, static_cast<std::uint32_t*>(word),
                          static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(compare));
}

// Executes `op` on the target whose heap offset 0 is mapped at `heap`. The op has passed
// check_op(); a kFence does nothing, since this function is in order by itself.
void apply_op(const Op& op, std::byte* heap);

// Stores an atomic's old value where the op wants it, in memory of the host; nowhere unless it
// fetches.
void bring_result(const Op& op, std::uint64_t old);

// The offsets of a target that exist: its heap, and what it has adopted.
struct Extent {
  std::uint64_t heap = 0;
  std::uint64_t adopted_at = 0, adopted_end = 0;

  bool holds(std::uint64_t offset, std::uint64_t bytes) const {
    const auto within = [&](std::uint64_t begin, std::uint64_t end) {
      return offset >= begin && offset <= end && bytes <= end - offset;
    };
    return within(0, heap) || within(adopted_at, adopted_end);
  }
};

// Checks an op, whoever made it (a kernel's ring is not to be trusted): an error names kind, PE,
// offset and bytes.
Status check_op(const Op& op, int npes, const Extent& extent);

// "put of 24 bytes to PE 3 at heap offset 0x40, then add 1 at 0x80": for messages.
const char* to_string(OpKind kind);
std::string describe(const Op& op);

}  // namespace weft
