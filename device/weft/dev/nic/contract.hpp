// The contract of a type of NIC with the GPU-initiated queue pair (operations.hpp): documentation,
// and a check at compile time that all of it is there. To add one, write a header beside mlx5.hpp.
//
// All are static and depend on nothing but their arguments and what those point to. A request is
// one slot, whatever the NIC's own units are; the queue's request `index` lies in slot
// `index % capacity`. Indices are 64 bits wide, and the type cuts them to what the NIC counts in.
//
// Limits
//   kSlotBytes                        of a request
//   kMostSlots                        of a queue, so that a NIC's count says which lap is meant
//   kMostBytes                        that one request moves; larger ones are split
//   kMostInlineBytes                  that a request carries itself; at least 8
//
// Requests. Each asks for a completion; `remote` is the peer's address, `local` and `result` are
// mine and registered. Requests of one queue are carried out in order, but for this: what a put
// writes may come before what earlier gets and atomics do, unless a fence is between them.
//   void write_put(queue, index, remote, local, bytes)
//   void write_inline(queue, index, remote, from, bytes)     carries what is at `from` now; 8
//                                     bytes that are aligned arrive at once
//   void write_get(queue, index, remote, local, bytes)
//   void write_fetch_add(queue, index, remote, result, value)              8 bytes
//   void write_compare_swap(queue, index, remote, result, compare, value)  8 bytes
//   void write_fence(queue, index)    moves nothing; later ones wait for earlier gets and atomics
//
// Doorbell. `count` requests are in the queue; the slot of the last one is written.
//   uint32_t record_value(count)      for QueueView::record
//   uint64_t doorbell_value(queue, count)
//
// Completion
//   Completion read_completion(queue, known)     `known` were complete at the last look; what is
//                                     found must be acquired, results and sources come with it
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <weft/dev/nic/queue.hpp>
#include <weft/dev/platform.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace nic {

struct Completion {
  std::uint64_t count = 0;     // of requests that are complete
  bool failed = false;         // the one after them did not succeed, and none after it will
  std::uint32_t syndrome = 0;  // why, in the NIC's numbers
};

namespace contract {

template <class Wanted, class Given>
inline constexpr bool same = std::is_same_v<Wanted, Given>;

template <class Nic>
WEFT_HOST_DEVICE constexpr bool is_nic() {
  using Queue = const QueueView&;
  using Word = std::uint64_t;
  static_assert(Nic::kSlotBytes % 16 == 0, "slots are stored 16 bytes at a time");
  static_assert((Nic::kMostSlots & (Nic::kMostSlots - 1)) == 0, "a power of two");
  static_assert(Nic::kMostInlineBytes >= sizeof(Word) && Nic::kMostBytes > 0,
                "a word is sent as it is");
  static_assert(
      same<void, decltype(Nic::write_put(std::declval<Queue>(), Word{}, Word{}, Word{}, Word{}))>);
  static_assert(same<void, decltype(Nic::write_inline(std::declval<Queue>(), Word{}, Word{},
                                                      std::declval<const void*>(), Word{}))>);
  static_assert(
      same<void, decltype(Nic::write_get(std::declval<Queue>(), Word{}, Word{}, Word{}, Word{}))>);
  static_assert(same<void, decltype(Nic::write_fetch_add(std::declval<Queue>(), Word{}, Word{},
                                                         Word{}, Word{}))>);
  static_assert(same<void, decltype(Nic::write_compare_swap(std::declval<Queue>(), Word{}, Word{},
                                                            Word{}, Word{}, Word{}))>);
  static_assert(same<void, decltype(Nic::write_fence(std::declval<Queue>(), Word{}))>);
  static_assert(same<std::uint32_t, decltype(Nic::record_value(Word{}))>);
  static_assert(same<Word, decltype(Nic::doorbell_value(std::declval<Queue>(), Word{}))>);
  static_assert(same<Completion, decltype(Nic::read_completion(std::declval<Queue>(), Word{}))>);
  return true;
}

}  // namespace contract
}  // namespace nic
}  // namespace WEFT_TARGET
}  // namespace weft::dev
