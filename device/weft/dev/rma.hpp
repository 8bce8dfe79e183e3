// put, get, their strided and single-value forms.
//
// Two ways to a peer: its heap is mapped here (peer[pe]), then the scope's threads copy; or it is
// not, then the leader hands one Op to the host through the ring.
//
// The barriers of a call, with `scope` as one agent: at entry, so that the call sees what all its
// threads did before; before the signal, so that it tells of all their bytes; at return of a
// blocking call, so that what it promises holds for each. A put with a notify has no barrier behind
// the signal, and a nonblocking one without a notify none at return: weft/device/context.hpp says
// what that means for callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <weft/device/context.hpp>

#include <weft/dev/address.hpp>
#include <weft/dev/copy.hpp>
#include <weft/dev/notify.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/ring.hpp>
#include <weft/dev/route.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/validate.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace rma {

inline constexpr std::size_t kWarpBytes = 16 * platform::kWarpSize;  // a chunk for each lane

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

// `to` and `word`: the heap offsets of the bytes and of the notify's word.
WEFT_DEVICE_COLD void put_by_ring(ByValue<ColdContext> cold, std::uint64_t to, const void* src,
                                  std::uint64_t bytes, int pe, ByValue<Notify> notify,
                                  std::uint64_t word, Until until) {
  Op op = put_op(to, src, bytes, pe);
  op.notify = notify.op;
  op.value = notify.value;
  op.signal = word;
  if (until == Until::kQuiet) op.flags = kOpSourceStays;
  ring::push_and_wait(cold, "put", op, until == Until::kReusable && bytes != 0, ring::IsConsumed{});
}

WEFT_DEVICE_COLD void get_by_ring(ByValue<ColdContext> cold, void* dst, std::uint64_t from,
                                  std::uint64_t bytes, int pe, Until until) {
  ring::push_and_wait(cold, "get", get_op(dst, from, bytes, pe), until == Until::kReusable,
                      ring::IsComplete{});
}

// A put that is not plain, by threads that are in step: the bytes go where they are to, or all goes
// by the ring. Returns where the notify is to go; null where there is nothing more to do.
WEFT_DEVICE_CALLED std::byte* put_otherwise(ByValue<ColdContext> cold, ByValue<Ranks> who,
                                            void* dst, const void* src, std::uint64_t bytes,
                                            std::uint32_t align, int pe, ByValue<Notify> notify,
                                            Until until) {
  Route word;
  if (notify.op != NotifyOp::kNone) {
    constexpr std::uint64_t kWord = sizeof(std::uint64_t);
    word = find_route(cold, "put", notify.signal, kWord, kWord, pe, Access::kWord);
    if (word.is_refused()) return nullptr;
  }
  // No bytes may lie anywhere. Behind the word, since fewer registers are kept so.
  const Route to = find_route(cold, "put", bytes != 0 ? dst : cold.state->heap, bytes, align, pe,
                              Access::kBytes);
  if (to.is_refused()) return nullptr;
  if (to.at != nullptr)
    copy_slowly(who, to.at, static_cast<const std::byte*>(src), bytes);
  else if (who.mine == 0)
    put_by_ring(cold, to.offset, src, bytes, pe, notify, word.offset, until);
  return word.at;
}

// The threads of a block that move bytes; decided when it runs, so that the code is there once.
// With a signal behind them the others would only be in the way: of a chunk for each lane all but
// the first warp, of more each warp that has none.
class PartOfBlock {
 public:
  WEFT_DEVICE PartOfBlock(KnownBlock block, bool tells, std::uint64_t bytes)
      : mine_(block.rank()), count_(block.size()) {
    if (!tells) return;
    if (bytes <= kWarpBytes && count_ > kWarp) count_ = kWarp;
    const int first = mine_ & ~(kWarp - 1);
    has_some_ = first < kMostUnits || static_cast<std::uint64_t>(first) < (bytes + 15) / 16;
  }
  WEFT_DEVICE int rank() const { return mine_; }
  WEFT_DEVICE int size() const { return count_; }
  WEFT_DEVICE bool has_me() const { return has_some_ && mine_ < count_; }

 private:
  static constexpr int kWarp = static_cast<int>(platform::kWarpSize);
  static constexpr int kMostUnits = 64;  // of bytes that are not in chunks, by a thread each
  int mine_, count_;
  bool has_some_ = true;
};

// The bytes go where they are to, by `who`. For who has moved some, and for the leader: where the
// notify is to go; null where there is nothing more to do.
template <class Who>
WEFT_DEVICE std::byte* deliver_bytes(const DeviceContext& h, Who who, void* dst, const void* src,
                                     std::uint64_t bytes, std::uint64_t align, int pe,
                                     Notify notify, Until until) {
  constexpr bool kBlock = std::is_same_v<Who, PartOfBlock>;
  const bool tells = notify.op != NotifyOp::kNone;
  // A block has loads enough, and no registers to keep one for long, unless a barrier follows. Then
  // who has nothing to move leaves the processor to the others.
  const OneChunkEach chunk(who, dst, src, !kBlock || tells ? bytes : kTooManyBytes);
  if (kBlock && chunk.is_idle() && who.rank() != 0) return nullptr;
  const auto* from = static_cast<const std::byte*>(src);
  if (is_plain(h, dst, bytes) && (!tells || is_plain(h, notify.signal, sizeof(std::uint64_t)))) {
    const std::ptrdiff_t distance = distance_to(h, pe);
    std::byte* const to = moved(dst, distance);
    if (chunk.fits())
      chunk.store(to);
    else
      copy(who, to, from, bytes);
    return tells ? moved(notify.signal, distance) : nullptr;
  }
  // Idle threads do not count.
  const bool some = kBlock && chunk.fits();
  return put_otherwise(h, {who.rank(), some ? static_cast<int>(bytes / 16) : who.size()}, dst, src,
                       bytes, static_cast<std::uint32_t>(align), pe, Notify(notify), until);
}

// A call that moves nothing: a blocking one is a barrier of its scope all the same, so that callers
// may rely on it whatever the count.
template <class Scope>
WEFT_DEVICE void sync_if_blocking(Scope scope, Until until) {
  if (until == Until::kReusable) scope.sync();  // mutation: equivalent, nothing moves
}

template <class Scope>
WEFT_DEVICE void put(const DeviceContext& h, Scope scope, void* dst, const void* src,
                     std::uint64_t bytes, std::uint64_t align, int pe, Notify notify, Until until) {
  const bool tells = notify.op != NotifyOp::kNone;
  if (bytes == 0 && !tells) return sync_if_blocking(scope, until);
  scope.sync();
  std::byte* word = nullptr;
  if constexpr (std::is_same_v<Scope, KnownBlock>) {
    const PartOfBlock part(scope, tells, bytes);
    if (part.has_me()) word = deliver_bytes(h, part, dst, src, bytes, align, pe, notify, until);
  } else {
    word = deliver_bytes(h, scope, dst, src, bytes, align, pe, notify, until);
  }
  // Behind it all bytes are on their way, and the source has been read.
  if (tells || until == Until::kReusable) scope.sync();
  if (tells && scope.rank() == 0 && word != nullptr) notify_directly<Order::kRelease>(word, notify);
}

// The whole of a get that is not plain, by threads that are in step.
WEFT_DEVICE_CALLED void get_otherwise(ByValue<ColdContext> cold, ByValue<Ranks> who, void* dst,
                                      const void* src, std::uint64_t bytes, std::uint64_t align,
                                      int pe, Until until) {
  const Route from = find_route(cold, "get", src, bytes, align, pe, Access::kBytes);
  if (from.at != nullptr)
    copy_slowly(who, static_cast<std::byte*>(dst), from.at, bytes);
  else if (from.by_ring && who.mine == 0)
    get_by_ring(cold, dst, from.offset, bytes, pe, until);
}

template <class Scope>
WEFT_DEVICE void get(const DeviceContext& h, Scope scope, void* dst, const void* src,
                     std::uint64_t bytes, std::uint64_t align, int pe, Until until) {
  if (bytes == 0) return sync_if_blocking(scope, until);
  scope.sync();
  if (is_plain(h, src, bytes))
    copy(scope, static_cast<std::byte*>(dst), moved(src, distance_to(h, pe)), bytes);
  else
    get_otherwise(h, {scope.rank(), scope.size()}, dst, src, bytes, align, pe, until);
  if (until == Until::kReusable) scope.sync();
}

// A T that hardware stores and loads at once.
template <class T>
inline constexpr bool is_word = (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 ||
                                 sizeof(T) == 8) &&
                                alignof(T) == sizeof(T);

WEFT_DEVICE_COLD bool put_word_by_ring(ByValue<ColdContext> cold, const std::byte* dst,
                                       std::uint64_t word, std::uint64_t bytes, int pe) {
  const DeviceContext h = cold;
  std::uint64_t ticket;
  return ring::push(h, "p", put_op(offset_of(h, dst), nullptr, bytes, pe), &ticket,
                    ring::ResultUse::kCarries, word);
}
struct Fetched {
  std::uint64_t word;
  bool came;
};
WEFT_DEVICE_COLD Fetched get_word_by_ring(ByValue<ColdContext> cold, const std::byte* src,
                                          std::uint64_t bytes, int pe) {
  const DeviceContext h = cold;
  std::uint64_t word = 0;
  const bool came = ring::fetch(h, "g", get_op(nullptr, offset_of(h, src), bytes, pe), &word);
  return {word, came};
}

// A value of any size over the ring: eight bytes at a time through the slots' own words, so that
// no local variable needs an address that the host can reach.
template <class T>
WEFT_DEVICE void put_value_by_ring(const DeviceContext& h, T* dst, const T& value, int pe) {
  for (std::size_t at = 0; at < sizeof(T); at += 8) {
    const std::size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
    std::uint64_t word = 0;
    memcpy(&word, reinterpret_cast<const unsigned char*>(&value) + at, bytes);
    if (!put_word_by_ring(h, reinterpret_cast<std::byte*>(dst) + at, word, bytes, pe)) return;
  }
}

template <class T>
WEFT_DEVICE void get_value_by_ring(const DeviceContext& h, const T* src, T& value, int pe) {
  for (std::size_t at = 0; at < sizeof(T); at += 8) {
    const std::size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
    const Fetched got =
        get_word_by_ring(h, reinterpret_cast<const std::byte*>(src) + at, bytes, pe);
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
    ring::wait(h, where, op, ticket, ring::IsConsumed{});
  } else {
    ring::wait(h, where, op, ticket, ring::IsComplete{});
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
  return reinterpret_cast<T*>(mapped_on(h_, symmetric, heap_of(h_, pe), pe));
}

template <class Scope, class T>
WEFT_DEVICE void Context::put(Scope scope, T* dst, const T* src, std::size_t count, int pe,
                              Notify notify) const {
  static_assert(is_rma_type<T>, "put moves trivially copyable types");
  rma::put(h_, known(scope), dst, src, bytes_of<T>(count), alignof(T), pe, notify,
           rma::Until::kReusable);
}

template <class Scope, class T>
WEFT_DEVICE void Context::get(Scope scope, T* dst, const T* src, std::size_t count, int pe) const {
  static_assert(is_rma_type<T>, "get moves trivially copyable types");
  rma::get(h_, known(scope), dst, src, bytes_of<T>(count), alignof(T), pe, rma::Until::kReusable);
}

template <class Scope, class T>
WEFT_DEVICE void Context::put_nbi(Scope scope, T* dst, const T* src, std::size_t count, int pe,
                                  Notify notify) const {
  static_assert(is_rma_type<T>, "put moves trivially copyable types");
  rma::put(h_, known(scope), dst, src, bytes_of<T>(count), alignof(T), pe, notify,
           rma::Until::kQuiet);
}

template <class Scope, class T>
WEFT_DEVICE void Context::get_nbi(Scope scope, T* dst, const T* src, std::size_t count,
                                  int pe) const {
  static_assert(is_rma_type<T>, "get moves trivially copyable types");
  rma::get(h_, known(scope), dst, src, bytes_of<T>(count), alignof(T), pe, rma::Until::kQuiet);
}

template <class Scope, class T>
WEFT_DEVICE void Context::iput(Scope who, T* dst, const T* src, std::ptrdiff_t dst_stride,
                               std::ptrdiff_t src_stride, std::size_t count, int pe) const {
  static_assert(is_rma_type<T>, "iput moves trivially copyable types");
  const std::uint64_t span = span_of<T>(count, dst_stride);
  const auto scope = known(who);
  scope.sync();
  if (count == 0) return;
  const Route to = route_of(h_, "iput", dst, span, alignof(T), pe);
  if (to.at != nullptr) {
    rma::copy_strided(scope, reinterpret_cast<T*>(to.at), src, dst_stride, src_stride, count);
  } else if (to.by_ring) {
    const std::uint64_t remote = offset_of(h_, dst);
    rma::strided_by_ring(h_, scope, "iput", count, true, [=](std::size_t i) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      return rma::put_op(remote + i * static_cast<std::size_t>(dst_stride) * sizeof(T),
                         src + at * src_stride, sizeof(T), pe);
    });
  }
  scope.sync();
}

template <class Scope, class T>
WEFT_DEVICE void Context::iget(Scope who, T* dst, const T* src, std::ptrdiff_t dst_stride,
                               std::ptrdiff_t src_stride, std::size_t count, int pe) const {
  static_assert(is_rma_type<T>, "iget moves trivially copyable types");
  const std::uint64_t span = span_of<T>(count, src_stride);
  const auto scope = known(who);
  scope.sync();
  if (count == 0) return;
  const Route from = route_of(h_, "iget", src, span, alignof(T), pe);
  if (from.at != nullptr) {
    rma::copy_strided(scope, dst, reinterpret_cast<const T*>(from.at), dst_stride, src_stride,
                      count);
  } else if (from.by_ring) {
    const std::uint64_t remote = offset_of(h_, src);
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
  const Route to = route_of(h_, "p", dst, sizeof(T), alignof(T), pe,
                            rma::is_word<T> ? Access::kWord : Access::kBytes);
  if (to.at == nullptr) {
    if (to.by_ring) rma::put_value_by_ring(h_, dst, value, pe);
  } else if constexpr (rma::is_word<T>) {
    platform::store<Order::kRelaxed, Reach::kSystem>(reinterpret_cast<T*>(to.at), value);
  } else {
    memcpy(to.at, &value, sizeof(T));
  }
}

template <class T>
WEFT_DEVICE T Context::g(const T* src, int pe) const {
  static_assert(is_rma_type<T>, "g moves trivially copyable types");
  T value{};
  const Route from = route_of(h_, "g", src, sizeof(T), alignof(T), pe);
  if (from.at == nullptr) {
    if (from.by_ring) rma::get_value_by_ring(h_, src, value, pe);
  } else if constexpr (rma::is_word<T>) {
    value = platform::load<Order::kRelaxed, Reach::kSystem>(reinterpret_cast<const T*>(from.at));
  } else {
    memcpy(&value, from.at, sizeof(T));
  }
  return value;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
