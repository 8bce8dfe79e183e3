// How the threads of kernels share a NIC's send queue: who may write which slot, when the NIC is
// told, and what is complete.
//
// A ticket is taken only with credit in hand, as in ring.hpp, so its slot is free and the request
// is written at once. Then its slot is marked as written. Nobody waits between ticket and mark, so
// there is never a hole that later requests would wait behind, whoever gives up. A thread that
// finds the doorbell free rings for all that is written without a gap: one doorbell for many
// requests. A thread stays until its own request is rung, by itself or another; if it gives up, the
// next one to ring or to wait rings for it.
//
// Locks are tried, never waited for: on GPUs whose lanes run in lock step no lane may wait for a
// neighbour, and what holds a lock does not wait at all.
#pragma once

#include <cstdint>

#include <weft/dev/credit.hpp>
#include <weft/dev/fault.hpp>
#include <weft/dev/nic/contract.hpp>
#include <weft/dev/nic/queue.hpp>
#include <weft/dev/platform.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace nic {

WEFT_DEVICE std::uint64_t slot_of(const QueueView& queue, std::uint64_t ticket) {
  return ticket & (queue.capacity - 1);
}

// --- locks of which nobody waits to be let in ---------------------------------------------------

// Acquire: pairs with the release in unlock(); what only the holder touches is as the last left it.
WEFT_DEVICE bool try_lock(std::uint64_t* lock) {
  return platform::exchange<Order::kAcquire, Reach::kDevice>(lock, std::uint64_t{1}) == 0;
}
// Release: pairs with the acquire in try_lock().
WEFT_DEVICE void unlock(std::uint64_t* lock) {
  platform::store<Order::kRelease, Reach::kDevice>(lock, std::uint64_t{0});
}

// --- completion ---------------------------------------------------------------------------------

// Acquire: pairs with the release in look(); the NIC has read what these requests' slots and
// sources held, and their results are here.
WEFT_DEVICE std::uint64_t completed(const QueueView& queue) {
  return platform::load<Order::kAcquire, Reach::kDevice>(&queue.counts->completed);
}
WEFT_DEVICE bool has_failed(const QueueView& queue) {
  return platform::load<Order::kRelaxed, Reach::kDevice>(&queue.counts->failure) != 0;
}

// Looks for all what the NIC has completed, and makes credit of it; or somebody else is at it.
template <class Nic>
WEFT_DEVICE void look(const QueueView& queue) {
  static_assert(contract::is_nic<Nic>());
  QueueCounts& counts = *queue.counts;
  if (!try_lock(&counts.looking)) return;
  const Completion now = Nic::read_completion(queue, counts.seen);
  const std::uint64_t fresh = now.count - counts.seen;
  if (fresh != 0) {
    counts.seen = now.count;
    // Release: pairs with the acquire in completed().
    platform::store<Order::kRelease, Reach::kDevice>(&counts.completed, now.count);
    credit::give(&counts.credit, fresh);
  }
  if (now.failed && !has_failed(queue))  // what comes later may hide why
    platform::store<Order::kRelaxed, Reach::kDevice>(&counts.failure, kQueueFailed | now.syndrome);
  unlock(&counts.looking);
}

// --- slots --------------------------------------------------------------------------------------

template <class Nic>
WEFT_DEVICE bool find_credit(const QueueView& queue) {
  const std::uint64_t* const slots = &queue.counts->credit;
  if (credit::is_there(slots)) return true;
  look<Nic>(queue);
  return credit::is_there(slots);
}

// The NIC has read what is in the slot: completed() acquires that.
WEFT_DEVICE bool slot_is_free(const QueueView& queue, std::uint64_t ticket) {
  return ticket - completed(queue) < queue.capacity;
}

// One attempt to get a slot.
template <class Nic>
WEFT_DEVICE bool take_ticket(const QueueView& queue, std::uint64_t* ticket) {
  if (!find_credit<Nic>(queue)) return false;
  QueueCounts& counts = *queue.counts;
  if (!credit::take(&counts.credit)) return false;
  *ticket =
      platform::fetch_add<Order::kRelaxed, Reach::kDevice>(&counts.reserved, std::uint64_t{1});
  // The thread that made the credit has counted before: on processors that keep that order it holds
  // at once.
  while (!slot_is_free(queue, *ticket)) platform::relax();  // mutation: equivalent, holds at once
  return true;
}

// Release: pairs with the acquire in is_written().
WEFT_DEVICE void mark_written(const QueueView& queue, std::uint64_t ticket) {
  platform::store<Order::kRelease, Reach::kDevice>(&queue.written[slot_of(queue, ticket)],
                                                   static_cast<std::uint32_t>(ticket + 1));
}
// Acquire: pairs with the release in mark_written(); the request is there.
WEFT_DEVICE bool is_written(const QueueView& queue, std::uint64_t ticket) {
  return platform::load<Order::kAcquire, Reach::kDevice>(&queue.written[slot_of(queue, ticket)]) ==
         static_cast<std::uint32_t>(ticket + 1);
}

// --- the doorbell -------------------------------------------------------------------------------

// Tells the NIC of the first `count` requests.
template <class Nic>
WEFT_DEVICE void ring_doorbell(const QueueView& queue, std::uint64_t count) {
  const std::uint64_t value = Nic::doorbell_value(queue, count);
  // Release: pairs with the NIC that reads the record; the requests are there, also those of others
  // that I have found written.
  platform::store<Order::kRelease, Reach::kSystem>(queue.record, Nic::record_value(count));
  // Release: pairs with the NIC that hears the doorbell; the record is there.
  platform::store<Order::kRelease, Reach::kSystem>(queue.doorbell, value);
}

// Rings for all that is written without a gap; or somebody else is at it.
template <class Nic>
WEFT_DEVICE void ring_for_written(const QueueView& queue) {
  QueueCounts& counts = *queue.counts;
  if (!try_lock(&counts.ringing)) return;
  const std::uint64_t first = counts.next_to_ring;
  std::uint64_t end = first;
  WEFT_DEVICE_AS_A_LOOP
  while (is_written(queue, end)) ++end;  // at most once round: no slot is used again unrung
  if (end != first) {
    ring_doorbell<Nic>(queue, end);
    counts.next_to_ring = end;
    platform::store<Order::kRelaxed, Reach::kDevice>(&counts.rung, end);
  }
  unlock(&counts.ringing);
}

template <class Nic>
WEFT_DEVICE bool gets_rung(const QueueView& queue, std::uint64_t count) {
  const std::uint64_t* const rung = &queue.counts->rung;
  if (platform::load<Order::kRelaxed, Reach::kDevice>(rung) >= count) return true;
  ring_for_written<Nic>(queue);
  return platform::load<Order::kRelaxed, Reach::kDevice>(rung) >= count;
}

// The first `count` requests are complete.
template <class Nic>
WEFT_DEVICE bool is_complete(const QueueView& queue, std::uint64_t count) {
  if (completed(queue) >= count) return true;
  if (!gets_rung<Nic>(queue, count)) return false;  // those who wrote them may have given up
  look<Nic>(queue);
  return completed(queue) >= count;
}

}  // namespace nic
}  // namespace WEFT_TARGET
}  // namespace weft::dev
