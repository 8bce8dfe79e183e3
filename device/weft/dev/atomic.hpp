// Atomics on words of a peer. A fetching atomic also acquires: who gets a value that was released
// (by a fence before the atomic that wrote it) sees what went before; so locks and queues work.
#pragma once

#include <cstdint>
#include <cstring>

#include <weft/device/context.hpp>

#include <weft/dev/address.hpp>
#include <weft/dev/notify.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/ring.hpp>
#include <weft/dev/route.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace amo {

template <class T>
WEFT_DEVICE std::uint64_t bits(T value) {
  std::uint64_t word = 0;
  memcpy(&word, &value, sizeof(T));
  return word;
}

// The parts of an atomic that goes over the ring.
struct Asked {
  OpKind kind;
  std::uint8_t width;
  const void* word;
  std::uint64_t value, compare;
  int pe;
};

WEFT_DEVICE Op op_of(const DeviceContext& h, const Asked& asked) {
  Op op;
  op.kind = asked.kind;
  op.width = asked.width;
  op.remote = offset_of(h, asked.word);
  op.value = asked.value;
  op.compare = asked.compare;
  op.pe = static_cast<std::uint32_t>(asked.pe);
  return op;
}

WEFT_DEVICE_COLD void post_by_ring(ByValue<ColdContext> cold, const char* where,
                                   ByValue<Asked> asked) {
  const DeviceContext h = cold;
  std::uint64_t ticket;
  ring::push(h, where, op_of(h, asked), &ticket);
}

// The old value's bits; 0 if there was no answer.
WEFT_DEVICE_COLD std::uint64_t fetch_by_ring(ByValue<ColdContext> cold, const char* where,
                                             ByValue<Asked> asked) {
  const DeviceContext h = cold;
  std::uint64_t result = 0;
  ring::fetch(h, where, op_of(h, asked), &result);
  return result;
}

template <class T, class Apply>
WEFT_DEVICE void post(const DeviceContext& h, const char* where, OpKind kind, T* word, T value,
                      int pe, Apply apply) {
  const Route to = route_of(h, where, word, sizeof(T), sizeof(T), pe, Access::kAtomic);
  if (to.at != nullptr)
    apply(reinterpret_cast<T*>(to.at));
  else if (to.by_ring)
    post_by_ring(h, where, {kind, sizeof(T), word, bits(value), 0, pe});
}

template <class T, class Apply>
WEFT_DEVICE T fetch(const DeviceContext& h, const char* where, OpKind kind, T* word, T value,
                    T compare, int pe, Apply apply) {
  const Route at = route_of(h, where, word, sizeof(T), sizeof(T), pe,
                            kind == OpKind::kAmoFetch ? Access::kFetch : Access::kAtomic);
  if (at.at != nullptr) return apply(reinterpret_cast<T*>(at.at));
  T old{};
  if (!at.by_ring) return old;
  const std::uint64_t result =
      fetch_by_ring(h, where, {kind, sizeof(T), word, bits(value), bits(compare), pe});
  memcpy(&old, &result, sizeof(T));
  return old;
}

}  // namespace amo

template <class T>
WEFT_DEVICE void Context::atomic_set(T* dst, T value, int pe) const {
  static_assert(is_xamo_type<T>, "atomic_set takes 4- and 8-byte integers, float and double");
  amo::post(h_, "atomic_set", OpKind::kAmoSet, dst, value, pe,
            [=](T* word) { platform::store<Order::kRelaxed, Reach::kSystem>(word, value); });
}

template <class T>
WEFT_DEVICE void Context::atomic_add(T* dst, T value, int pe) const {
  static_assert(is_amo_type<T>, "atomic_add takes 4- and 8-byte integers");
  amo::post(h_, "atomic_add", OpKind::kAmoAdd, dst, value, pe,
            [=](T* word) { platform::add<Order::kRelaxed, Reach::kSystem>(word, value); });
}

template <class T>
WEFT_DEVICE void Context::atomic_inc(T* dst, int pe) const {
  atomic_add(dst, T{1}, pe);
}

template <class T>
WEFT_DEVICE void Context::atomic_and(T* dst, T value, int pe) const {
  static_assert(is_bitwise_amo_type<T>, "atomic_and takes 4- and 8-byte integers");
  amo::post(h_, "atomic_and", OpKind::kAmoAnd, dst, value, pe,
            [=](T* word) { platform::fetch_and<Order::kRelaxed, Reach::kSystem>(word, value); });
}

template <class T>
WEFT_DEVICE void Context::atomic_or(T* dst, T value, int pe) const {
  static_assert(is_bitwise_amo_type<T>, "atomic_or takes 4- and 8-byte integers");
  amo::post(h_, "atomic_or", OpKind::kAmoOr, dst, value, pe,
            [=](T* word) { platform::fetch_or<Order::kRelaxed, Reach::kSystem>(word, value); });
}

template <class T>
WEFT_DEVICE void Context::atomic_xor(T* dst, T value, int pe) const {
  static_assert(is_bitwise_amo_type<T>, "atomic_xor takes 4- and 8-byte integers");
  amo::post(h_, "atomic_xor", OpKind::kAmoXor, dst, value, pe,
            [=](T* word) { platform::fetch_xor<Order::kRelaxed, Reach::kSystem>(word, value); });
}

template <class T>
WEFT_DEVICE T Context::atomic_fetch(const T* src, int pe) const {
  static_assert(is_xamo_type<T>, "atomic_fetch takes 4- and 8-byte integers, float and double");
  return amo::fetch(h_, "atomic_fetch", OpKind::kAmoFetch, const_cast<T*>(src), T{}, T{}, pe,
                    [](T* word) { return platform::load<Order::kAcquire, Reach::kSystem>(word); });
}

template <class T>
WEFT_DEVICE T Context::atomic_swap(T* dst, T value, int pe) const {
  static_assert(is_xamo_type<T>, "atomic_swap takes 4- and 8-byte integers, float and double");
  return amo::fetch(h_, "atomic_swap", OpKind::kAmoSwap, dst, value, T{}, pe, [=](T* word) {
    return platform::exchange<Order::kAcquire, Reach::kSystem>(word, value);
  });
}

template <class T>
WEFT_DEVICE T Context::atomic_compare_swap(T* dst, T compare, T value, int pe) const {
  static_assert(is_amo_type<T>, "atomic_compare_swap takes 4- and 8-byte integers");
  return amo::fetch(
      h_, "atomic_compare_swap", OpKind::kAmoCompareSwap, dst, value, compare, pe, [=](T* word) {
        return platform::compare_swap<Order::kAcquire, Reach::kSystem>(word, compare, value);
      });
}

template <class T>
WEFT_DEVICE T Context::atomic_fetch_add(T* dst, T value, int pe) const {
  static_assert(is_amo_type<T>, "atomic_fetch_add takes 4- and 8-byte integers");
  return amo::fetch(
      h_, "atomic_fetch_add", OpKind::kAmoFetchAdd, dst, value, T{}, pe,
      [=](T* word) { return platform::fetch_add<Order::kAcquire, Reach::kSystem>(word, value); });
}

template <class T>
WEFT_DEVICE T Context::atomic_fetch_inc(T* dst, int pe) const {
  return atomic_fetch_add(dst, T{1}, pe);
}

template <class T>
WEFT_DEVICE T Context::atomic_fetch_and(T* dst, T value, int pe) const {
  static_assert(is_bitwise_amo_type<T>, "atomic_fetch_and takes 4- and 8-byte integers");
  return amo::fetch(
      h_, "atomic_fetch_and", OpKind::kAmoFetchAnd, dst, value, T{}, pe,
      [=](T* word) { return platform::fetch_and<Order::kAcquire, Reach::kSystem>(word, value); });
}

template <class T>
WEFT_DEVICE T Context::atomic_fetch_or(T* dst, T value, int pe) const {
  static_assert(is_bitwise_amo_type<T>, "atomic_fetch_or takes 4- and 8-byte integers");
  return amo::fetch(h_, "atomic_fetch_or", OpKind::kAmoFetchOr, dst, value, T{}, pe, [=](T* word) {
    return platform::fetch_or<Order::kAcquire, Reach::kSystem>(word, value);
  });
}

template <class T>
WEFT_DEVICE T Context::atomic_fetch_xor(T* dst, T value, int pe) const {
  static_assert(is_bitwise_amo_type<T>, "atomic_fetch_xor takes 4- and 8-byte integers");
  return amo::fetch(
      h_, "atomic_fetch_xor", OpKind::kAmoFetchXor, dst, value, T{}, pe,
      [=](T* word) { return platform::fetch_xor<Order::kAcquire, Reach::kSystem>(word, value); });
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
