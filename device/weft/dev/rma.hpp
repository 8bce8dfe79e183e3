// put, get, their strided and single-value forms.
//
// Two ways to a peer: its heap is mapped here (peer[pe]), then the scope's threads copy; or it is
// not, then the leader hands one Op to the host through the ring.
//
// The barriers of a call, with `scope` as one agent: at entry, so that the call sees what all its
// threads did before; before the signal, so that it tells of all their bytes; at return, so that
// what the call promises holds for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <weft/device/context.hpp>

#include <weft/dev/check.hpp>
#include <weft/dev/copy.hpp>
#include <weft/dev/notify.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/ring.hpp>
#include <weft/dev/scope.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace rma {

enum class Until { kReusable, kQuiet };  // when the call may return

WEFT_DEVICE std::uint64_t address(const void* local) {
  return reinterpret_cast<std::uintptr_t>(local);
}

WEFT_DEVICE Op put_op(std::uint64_t remote, const void* src, std::uint64_t bytes, int pe) {
  Op op;
  op.kind = OpKind::kPut;
  op.bytes = bytes;
  op.remote = bytes == 0 ? 0 : remote;
  op.local = address(src);
  op.pe = static_cast<std::uint32_t>(pe);
  return op;
}

WEFT_DEVICE Op get_op(void* dst, std::uint64_t remote, std::uint64_t bytes, int pe) {
  Op op;
  op.kind = OpKind::kGet;
  op.bytes = bytes;
  op.remote = remote;
  op.local = address(dst);
  op.pe = static_cast<std::uint32_t>(pe);
  return op;
}

WEFT_DEVICE_COLD void put_by_ring(ColdContext cold, std::uint64_t remote, const void* src,
                                  std::uint64_t bytes, int pe, Notify notify, Until until) {
  const DeviceContext h = cold;
  Op op = put_op(remote, src, bytes, pe);
  notify_by_op(h, notify, &op);
  if (until == Until::kQuiet) op.flags = kOpSourceStays;
  std::uint64_t ticket;
  if (!ring::push(h, "put", op, &ticket)) return;
  if (until == Until::kReusable && bytes != 0) ring::wait_consumed(h, "put", op, ticket);
}

WEFT_DEVICE_COLD void get_by_ring(ColdContext cold, void* dst, std::uint64_t remote,
                                  std::uint64_t bytes, int pe, Until until) {
  const DeviceContext h = cold;
  const Op op = get_op(dst, remote, bytes, pe);
  std::uint64_t ticket;
  if (ring::push(h, "get", op, &ticket) && until == Until::kReusable)
    ring::wait_complete(h, "get", op, ticket);
}

// A block, or its first warp alone, of which other threads are no part.
struct Part {
  bool is_warp;
  int mine = Block{}.rank();
  int count = is_warp ? Warp{}.size() : Block{}.size();
  WEFT_DEVICE explicit Part(bool warp) : is_warp(warp) {}
  WEFT_DEVICE int rank() const { return mine; }
  WEFT_DEVICE int size() const { return count; }
  WEFT_DEVICE bool has_me() const { return mine < count; }
  WEFT_DEVICE void sync() const {
    if (is_warp)
      Warp{}.sync();
    else
      Block{}.sync();
  }
};

// The bytes, then the notify, by `who`, whose threads are in step.
template <class Who>
WEFT_DEVICE void deliver(const DeviceContext& h, Who who, std::byte* heap, std::uint64_t remote,
                         const void* src, std::uint64_t bytes, Notify notify) {
  if (bytes != 0) copy(who, heap + remote, static_cast<const std::byte*>(src), bytes);
  if (notify.op == NotifyOp::kNone) return;
  who.sync();
  if (who.rank() == 0) notify_directly<Order::kRelease>(h, heap, notify);
}

template <class Scope>
WEFT_DEVICE void put(const DeviceContext& h, Scope scope, void* dst, const void* src,
                     std::uint64_t bytes, std::uint64_t align, int pe, Notify notify, Until until) {
  if (!allowed(h, "put", dst, bytes, align, pe, notify)) return;
  if (bytes == 0 && notify.op == NotifyOp::kNone) return;
  const std::uint64_t remote = offset_of(h, dst);
  std::byte* heap = heap_of(h, pe);
  scope.sync();
  if (is_by_ring(h, heap)) {
    if (scope.rank() == 0) put_by_ring(h, remote, src, bytes, pe, notify, until);
  } else if constexpr (std::is_same_v<Scope, Block>) {
    // A barrier of the block takes longer than a warp for so few bytes.
    const Part part(notify.op != NotifyOp::kNone && bytes <= platform::kWarpBytes);
    if (part.has_me()) deliver(h, part, heap, remote, src, bytes, notify);
  } else {
    deliver(h, scope, heap, remote, src, bytes, notify);
  }
  if (until == Until::kReusable) scope.sync();
}

template <class Scope>
WEFT_DEVICE void get(const DeviceContext& h, Scope scope, void* dst, const void* src,
                     std::uint64_t bytes, std::uint64_t align, int pe, Until until) {
  if (!allowed(h, "get", src, bytes, align, pe) || bytes == 0) return;
  const std::uint64_t remote = offset_of(h, src);
  const std::byte* heap = heap_of(h, pe);
  scope.sync();
  if (!is_by_ring(h, heap)) {
    copy(scope, static_cast<std::byte*>(dst), heap + remote, bytes);
  } else if (scope.rank() == 0) {
    get_by_ring(h, dst, remote, bytes, pe, until);
  }
  if (until == Until::kReusable) scope.sync();
}

// A T that hardware stores and loads at once.
template <class T>
inline constexpr bool is_word = (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 ||
                                 sizeof(T) == 8) &&
                                alignof(T) == sizeof(T);

WEFT_DEVICE_COLD bool put_word_by_ring(ColdContext h, std::uint64_t remote, std::uint64_t word,
                                       std::uint64_t bytes, int pe) {
  std::uint64_t ticket;
  return ring::push(h, "p", put_op(remote, nullptr, bytes, pe), &ticket, ring::Cell::kCarries,
                    word);
}
struct Fetched {
  std::uint64_t word;
  bool came;
};
WEFT_DEVICE_COLD Fetched get_word_by_ring(ColdContext h, std::uint64_t remote, std::uint64_t bytes,
                                          int pe) {
  std::uint64_t word = 0;
  const bool came = ring::fetch(h, "g", get_op(nullptr, remote, bytes, pe), &word);
  return {word, came};
}

// A value of any size over the ring: eight bytes at a time through the slots' own words, so that
// no local variable needs an address that the host can reach.
template <class T>
WEFT_DEVICE void put_value_by_ring(const DeviceContext& h, std::uint64_t remote, const T& value,
                                   int pe) {
  for (std::size_t at = 0; at < sizeof(T); at += 8) {
    const std::size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
    std::uint64_t word = 0;
    memcpy(&word, reinterpret_cast<const unsigned char*>(&value) + at, bytes);
    if (!put_word_by_ring(h, remote + at, word, bytes, pe)) return;
  }
}

template <class T>
WEFT_DEVICE void get_value_by_ring(const DeviceContext& h, std::uint64_t remote, T& value, int pe) {
  for (std::size_t at = 0; at < sizeof(T); at += 8) {
    const std::size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
    const Fetched got = get_word_by_ring(h, remote + at, bytes, pe);
    if (!got.came) return;  // rather than wait as long for each of the others
    memcpy(reinterpret_cast<unsigned char*>(&value) + at, &got.word, bytes);
  }
}

// Elements rank, rank + size, ... of a strided put or get over the ring, one Op each.
template <class Scope, class MakeOp>
WEFT_DEVICE void strided_by_ring(const DeviceContext& h, Scope scope, const char* where,
                                 std::size_t count, bool is_put, MakeOp make_op) {
  Op op;
  std::uint64_t ticket = 0;
  bool pushed = false;
  for (std::size_t i = static_cast<std::size_t>(scope.rank()); i < count;
       i += static_cast<std::size_t>(scope.size())) {
    op = make_op(i);
    if (!ring::push(h, where, op, &ticket)) return;
    pushed = true;
  }
  if (!pushed) return;
  if (is_put) {
    ring::wait_consumed(h, where, op, ticket);
  } else {
    ring::wait_complete(h, where, op, ticket);
  }
}

template <class Scope, class T>
WEFT_DEVICE void copy_strided(Scope scope, T* dst, const T* src, std::ptrdiff_t dst_stride,
                              std::ptrdiff_t src_stride, std::size_t count) {
  for (std::size_t i = static_cast<std::size_t>(scope.rank()); i < count;
       i += static_cast<std::size_t>(scope.size())) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    memcpy(dst + at * dst_stride, src + at * src_stride, sizeof(T));
  }
}

}  // namespace rma

template <class T>
WEFT_DEVICE T* Context::ptr(T* symmetric, int pe) const {
  if (pe < 0 || pe >= h_.npes || heap_of(h_, pe) == nullptr) return nullptr;
  return reinterpret_cast<T*>(heap_of(h_, pe) + offset_of(h_, symmetric));
}

template <class Scope, class T>
WEFT_DEVICE void Context::put(Scope scope, T* dst, const T* src, std::size_t count, int pe,
                              Notify notify) const {
  static_assert(is_rma_type<T>, "put moves trivially copyable types");
  rma::put(h_, scope, dst, src, bytes_of<T>(count), alignof(T), pe, notify, rma::Until::kReusable);
}

template <class Scope, class T>
WEFT_DEVICE void Context::get(Scope scope, T* dst, const T* src, std::size_t count, int pe) const {
  static_assert(is_rma_type<T>, "get moves trivially copyable types");
  rma::get(h_, scope, dst, src, bytes_of<T>(count), alignof(T), pe, rma::Until::kReusable);
}

template <class Scope, class T>
WEFT_DEVICE void Context::put_nbi(Scope scope, T* dst, const T* src, std::size_t count, int pe,
                                  Notify notify) const {
  static_assert(is_rma_type<T>, "put moves trivially copyable types");
  rma::put(h_, scope, dst, src, bytes_of<T>(count), alignof(T), pe, notify, rma::Until::kQuiet);
}

template <class Scope, class T>
WEFT_DEVICE void Context::get_nbi(Scope scope, T* dst, const T* src, std::size_t count,
                                  int pe) const {
  static_assert(is_rma_type<T>, "get moves trivially copyable types");
  rma::get(h_, scope, dst, src, bytes_of<T>(count), alignof(T), pe, rma::Until::kQuiet);
}

template <class Scope, class T>
WEFT_DEVICE void Context::iput(Scope scope, T* dst, const T* src, std::ptrdiff_t dst_stride,
                               std::ptrdiff_t src_stride, std::size_t count, int pe) const {
  static_assert(is_rma_type<T>, "iput moves trivially copyable types");
  const std::uint64_t span = span_of<T>(count, dst_stride);
  if (!allowed(h_, "iput", dst, span, alignof(T), pe) || count == 0) return;
  const std::uint64_t remote = offset_of(h_, dst);
  std::byte* heap = heap_of(h_, pe);
  scope.sync();
  if (!is_by_ring(h_, heap)) {
    rma::copy_strided(scope, reinterpret_cast<T*>(heap + remote), src, dst_stride, src_stride,
                      count);
  } else {
    rma::strided_by_ring(h_, scope, "iput", count, true, [=](std::size_t i) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      return rma::put_op(remote + i * static_cast<std::size_t>(dst_stride) * sizeof(T),
                         src + at * src_stride, sizeof(T), pe);
    });
  }
  scope.sync();
}

template <class Scope, class T>
WEFT_DEVICE void Context::iget(Scope scope, T* dst, const T* src, std::ptrdiff_t dst_stride,
                               std::ptrdiff_t src_stride, std::size_t count, int pe) const {
  static_assert(is_rma_type<T>, "iget moves trivially copyable types");
  const std::uint64_t span = span_of<T>(count, src_stride);
  if (!allowed(h_, "iget", src, span, alignof(T), pe) || count == 0) return;
  const std::uint64_t remote = offset_of(h_, src);
  const std::byte* heap = heap_of(h_, pe);
  scope.sync();
  if (!is_by_ring(h_, heap)) {
    rma::copy_strided(scope, dst, reinterpret_cast<const T*>(heap + remote), dst_stride, src_stride,
                      count);
  } else {
    rma::strided_by_ring(h_, scope, "iget", count, false, [=](std::size_t i) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      return rma::get_op(dst + at * dst_stride,
                         remote + i * static_cast<std::size_t>(src_stride) * sizeof(T), sizeof(T),
                         pe);
    });
  }
  scope.sync();
}

template <class T>
WEFT_DEVICE void Context::p(T* dst, T value, int pe) const {
  static_assert(is_rma_type<T>, "p moves trivially copyable types");
  if (!allowed(h_, "p", dst, sizeof(T), alignof(T), pe)) return;
  const std::uint64_t remote = offset_of(h_, dst);
  std::byte* heap = heap_of(h_, pe);
  if (is_by_ring(h_, heap)) {
    rma::put_value_by_ring(h_, remote, value, pe);
  } else if constexpr (rma::is_word<T>) {
    note_writer(h_, heap, remote);  // somebody may wait for it
    platform::store<Order::kRelaxed, Reach::kSystem>(reinterpret_cast<T*>(heap + remote), value);
  } else {
    memcpy(heap + remote, &value, sizeof(T));
  }
}

template <class T>
WEFT_DEVICE T Context::g(const T* src, int pe) const {
  static_assert(is_rma_type<T>, "g moves trivially copyable types");
  T value{};
  if (!allowed(h_, "g", src, sizeof(T), alignof(T), pe)) return value;
  const std::uint64_t remote = offset_of(h_, src);
  const std::byte* heap = heap_of(h_, pe);
  if (is_by_ring(h_, heap)) {
    rma::get_value_by_ring(h_, remote, value, pe);
  } else if constexpr (rma::is_word<T>) {
    value =
        platform::load<Order::kRelaxed, Reach::kSystem>(reinterpret_cast<const T*>(heap + remote));
  } else {
    memcpy(&value, heap + remote, sizeof(T));
  }
  return value;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
