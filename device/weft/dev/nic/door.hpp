// The third door: a kernel writes the NIC's requests itself and rings the doorbell, with no host in
// between. What bytes that takes is the NIC type's (contract.hpp); here is who may write where, and
// when the NIC is told.
//
// A ticket is taken only with credit in hand, as in ring.hpp, so its slot is free and the request
// is written at once. Then its slot is marked as written. Nobody waits between ticket and mark, so
// there is never a hole that later requests would wait behind, whoever gives up. Whoever finds the
// bell free rings for all that is written without a gap: one doorbell for many requests. A thread
// stays until its own request is rung, by itself or another; if it gives up, the next one to ring
// or to wait rings for it.
//
// On GPUs whose lanes run in lock step no lane may wait for a neighbour that stands behind the
// loop: taking a ticket, writing and ringing are one attempt, and so are all steps of a fetch; what
// holds a lock neither waits nor loops for others.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/nic/contract.hpp>
#include <weft/dev/nic/queue.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>
#include <weft/dev/state.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace nic {

WEFT_DEVICE const QueueView& of(ColdContext h, int pe) {
  return h.state->queues[h.lane * h.state->npes + pe];
}
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
  QueueCounts& counts = *queue.counts;
  if (!try_lock(&counts.looking)) return;
  const Completion now = Nic::read_completion(queue, counts.seen);
  const std::uint64_t fresh = now.count - counts.seen;
  if (fresh != 0) {
    counts.seen = now.count;
    // Release: pairs with the acquire in completed().
    platform::store<Order::kRelease, Reach::kDevice>(&counts.completed, now.count);
    platform::add<Order::kRelaxed, Reach::kDevice>(&counts.credit, fresh);
  }
  if (now.failed)
    platform::store<Order::kRelaxed, Reach::kDevice>(&counts.failure, kQueueFailed | now.syndrome);
  unlock(&counts.looking);
}

// --- slots --------------------------------------------------------------------------------------

WEFT_DEVICE bool has_credit(const QueueView& queue) {
  return static_cast<std::int64_t>(
             platform::load<Order::kRelaxed, Reach::kDevice>(&queue.counts->credit)) > 0;
}

template <class Nic>
WEFT_DEVICE bool find_credit(const QueueView& queue) {
  if (has_credit(queue)) return true;
  look<Nic>(queue);
  return has_credit(queue);
}

// One attempt to get a slot.
template <class Nic>
WEFT_DEVICE bool take_ticket(const QueueView& queue, std::uint64_t* ticket) {
  if (!find_credit<Nic>(queue)) return false;
  QueueCounts& counts = *queue.counts;
  const std::uint64_t left =
      platform::fetch_add<Order::kRelaxed, Reach::kDevice>(&counts.credit, ~std::uint64_t{0});
  if (static_cast<std::int64_t>(left) <= 0) {
    platform::add<Order::kRelaxed, Reach::kDevice>(&counts.credit, std::uint64_t{1});
    return false;
  }
  *ticket =
      platform::fetch_add<Order::kRelaxed, Reach::kDevice>(&counts.reserved, std::uint64_t{1});
  // Who made the credit has said before what is complete: on processors that keep that order this
  // holds at once.
  while (*ticket - completed(queue) >= queue.capacity)  // mutation: equivalent, holds at once
    platform::relax();
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

// --- the bell -----------------------------------------------------------------------------------

// Tells the NIC of the first `count` requests.
template <class Nic>
WEFT_DEVICE void ring_bell(const QueueView& queue, std::uint64_t count) {
  const std::uint64_t value = Nic::doorbell_value(queue, count);
  // Release: pairs with the NIC that reads the record; the requests are there, also those of others
  // that I have found written.
  platform::store<Order::kRelease, Reach::kSystem>(queue.record, Nic::record_value(count));
  // Release: pairs with the NIC that hears the bell; the record is there.
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
    ring_bell<Nic>(queue, end);
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

// --- one request --------------------------------------------------------------------------------

// Ops that the door can carry out; others take the ring.
WEFT_DEVICE bool takes(const Op& op) {
  switch (op.kind) {
    case OpKind::kPut:
    case OpKind::kGet:
    case OpKind::kFence:
    case OpKind::kAmoSet: return true;
    case OpKind::kAmoAdd:
    case OpKind::kAmoFetchAdd:
    case OpKind::kAmoCompareSwap: return op.width == sizeof(std::uint64_t);
    default: return false;
  }
}

template <class Nic>
WEFT_DEVICE bool is_carried(const Op& put) {
  return put.bytes <= Nic::kMostInlineBytes;
}

// Writes `op`, which is one request, into the slot of `ticket`.
template <class Nic>
WEFT_DEVICE void write(const QueueView& queue, std::uint64_t ticket, const Op& op) {
  const std::uint64_t remote = queue.remote_base + op.remote;
  switch (op.kind) {
    case OpKind::kPut:
      if (is_carried<Nic>(op))
        Nic::write_inline(queue, ticket, remote, reinterpret_cast<const void*>(op.local), op.bytes);
      else
        Nic::write_put(queue, ticket, remote, op.local, op.bytes);
      break;
    case OpKind::kGet: Nic::write_get(queue, ticket, remote, op.local, op.bytes); break;
    case OpKind::kAmoSet: Nic::write_inline(queue, ticket, remote, &op.value, op.width); break;
    case OpKind::kAmoAdd:
    case OpKind::kAmoFetchAdd:
      Nic::write_fetch_add(queue, ticket, remote, op.result, op.value);
      break;
    case OpKind::kAmoCompareSwap:
      Nic::write_compare_swap(queue, ticket, remote, op.result, op.compare, op.value);
      break;
    default: Nic::write_fence(queue, ticket); break;
  }
}

// A request's way to the NIC, attempt by attempt.
struct Turn {
  std::uint64_t ticket = 0;
  bool written = false;
};

// One attempt to have `op` rung. False: not yet.
template <class Nic>
WEFT_DEVICE bool try_push(const QueueView& queue, Turn& turn, const Op& op) {
  if (!turn.written) {
    if (!take_ticket<Nic>(queue, &turn.ticket)) return false;
    write<Nic>(queue, turn.ticket, op);
    mark_written(queue, turn.ticket);
    turn.written = true;
  }
  return gets_rung<Nic>(queue, turn.ticket + 1);
}

// --- waits --------------------------------------------------------------------------------------

WEFT_DEVICE void report_queue(ColdContext h, const char* where, const Op& op,
                              std::uint64_t waited_ns) {
  const QueueView& queue = of(h, static_cast<int>(op.pe));
  const std::uint64_t failure =
      platform::load<Order::kRelaxed, Reach::kDevice>(&queue.counts->failure);
  Fault fault;
  fault.code = failure != 0 ? FaultCode::kNicError : FaultCode::kNicTimeout;
  fault.where = where;
  fault.pe = static_cast<int>(op.pe);
  fault.offset = op.remote;
  fault.seen = failure != 0 ? failure & ~kQueueFailed : completed(queue);
  fault.wanted = platform::load<Order::kRelaxed, Reach::kDevice>(&queue.counts->reserved);
  fault.waited_ns = waited_ns;
  report(h, fault);
}

// Whether `attempt` succeeded before the deadline passed and while the queue was sound; else a
// fault says which of them it was.
template <class Attempt>
WEFT_DEVICE bool succeeds(ColdContext h, const char* where, const Op& op, Attempt attempt) {
  const QueueView& queue = of(h, static_cast<int>(op.pe));
  Deadline deadline(*h.state);
  bool done = false;
  const bool in_time = poll(deadline, [&] { return (done = attempt(queue)) || has_failed(queue); });
  if (!done) report_queue(h, where, op, in_time ? 0 : deadline.waited_ns());
  return done;
}

// Hands `op`, which is one request, to the NIC; once *count requests are complete, it is.
template <class Nic>
WEFT_DEVICE bool push(ColdContext h, const char* where, const Op& op, std::uint64_t* count) {
  Turn turn;
  const bool done = succeeds(h, where, op, [&](const QueueView& queue) {
    return !has_failed(queue) && try_push<Nic>(queue, turn, op);
  });
  *count = turn.ticket + 1;
  return done;
}

template <class Nic>
WEFT_DEVICE bool wait(ColdContext h, const char* where, const Op& op, std::uint64_t count) {
  return succeeds(h, where, op,
                  [&](const QueueView& queue) { return is_complete<Nic>(queue, count); });
}

// --- words that come back -----------------------------------------------------------------------

// A word for the result of a fetch, and whose it is.
struct Cell {
  std::uint64_t index = 0;
  bool taken = false;
};

WEFT_DEVICE std::uint64_t* owner_of(const QueueView& queue, const Cell& cell) {
  return &queue.result_owner[cell.index & (queue.result_count - 1)];
}
WEFT_DEVICE std::uint64_t* word_of(const QueueView& queue, const Cell& cell) {
  return &queue.results[cell.index & (queue.result_count - 1)];
}

// One attempt; the next one is at the next word.
WEFT_DEVICE bool take_cell(const QueueView& queue, Cell& cell) {
  ++cell.index;
  std::uint64_t* const owner = owner_of(queue, cell);
  const std::uint64_t seen = platform::load<Order::kRelaxed, Reach::kDevice>(owner);
  if (seen != kWordIsFree && (seen == kWordIsTaken || completed(queue) < seen)) return false;
  // Acquire: pairs with the release in give_back(); the last owner has read the word.
  cell.taken =
      platform::compare_swap<Order::kAcquire, Reach::kDevice>(owner, seen, kWordIsTaken) == seen;
  return cell.taken;
}

// Release: pairs with the acquire in take_cell(); I have read the word.
WEFT_DEVICE void give_back(const QueueView& queue, const Cell& cell) {
  platform::store<Order::kRelease, Reach::kDevice>(owner_of(queue, cell), kWordIsFree);
}
// Nobody will read the word now; it is used again only after the late result has arrived.
WEFT_DEVICE void abandon(const QueueView& queue, const Cell& cell, const Turn& turn) {
  if (!cell.taken) return;
  platform::store<Order::kRelaxed, Reach::kDevice>(owner_of(queue, cell),
                                                   turn.written ? turn.ticket + 1 : kWordIsFree);
}

// Hands `op`, a fetching atomic, to the NIC and waits for the word that it brings back. One loop
// for all waits: a lane that has its word must give it back while others still wait for one.
template <class Nic>
WEFT_DEVICE bool fetch(ColdContext h, const char* where, const Op& asked, std::uint64_t* word) {
  Op op = asked;
  Turn turn;
  Cell cell;
  bool pushed = false;
  cell.index = platform::block_rank() * platform::block_size() + platform::thread_rank();
  const bool done = succeeds(h, where, op, [&](const QueueView& queue) {
    if (!pushed && has_failed(queue)) return false;
    if (!cell.taken && !take_cell(queue, cell)) return false;
    op.result = reinterpret_cast<std::uintptr_t>(word_of(queue, cell));
    if (!pushed) pushed = try_push<Nic>(queue, turn, op);
    if (!pushed || !is_complete<Nic>(queue, turn.ticket + 1)) return false;
    *word = *word_of(queue, cell);
    give_back(queue, cell);
    return true;
  });
  if (!done) abandon(of(h, static_cast<int>(op.pe)), cell, turn);
  return done;
}

// --- operations ---------------------------------------------------------------------------------

// Hands a put's or a get's bytes to the NIC, in as many requests as they take.
template <class Nic>
WEFT_DEVICE bool push_bytes(ColdContext h, const char* where, const Op& asked,
                            std::uint64_t* count) {
  Op op = asked;
  WEFT_DEVICE_AS_A_LOOP
  for (std::uint64_t left = asked.bytes; left != 0; left -= op.bytes) {
    op.bytes = left < Nic::kMostBytes ? left : Nic::kMostBytes;
    if (!push<Nic>(h, where, op, count)) return false;
    op.remote += op.bytes;
    op.local += op.bytes;
  }
  return true;
}

// Changes a word of the peer's and brings nothing back: kAmoSet, kAmoAdd.
template <class Nic>
WEFT_DEVICE bool change(ColdContext h, const char* where, const Op& asked) {
  Op op = asked;
  op.result = reinterpret_cast<std::uintptr_t>(of(h, static_cast<int>(op.pe)).unwanted);
  std::uint64_t count;
  return push<Nic>(h, where, op, &count);
}

// A put's notify goes behind its bytes on the same queue, which keeps the order. Unless the source
// stays, the put returns when the NIC has read it.
template <class Nic>
WEFT_DEVICE bool put(ColdContext h, const char* where, const Op& op) {
  std::uint64_t count = 0;
  if (!push_bytes<Nic>(h, where, op, &count)) return false;
  if (op.notify != NotifyOp::kNone) {
    Op signal = op;
    signal.kind = op.notify == NotifyOp::kSet ? OpKind::kAmoSet : OpKind::kAmoAdd;
    signal.width = sizeof(op.value);
    signal.remote = op.signal;
    if (!change<Nic>(h, where, signal)) return false;
  }
  if ((op.flags & kOpSourceStays) != 0 || is_carried<Nic>(op)) return true;
  return wait<Nic>(h, where, op, count);
}

template <class Nic>
WEFT_DEVICE bool get(ColdContext h, const char* where, const Op& op, bool waits) {
  std::uint64_t count = 0;
  if (!push_bytes<Nic>(h, where, op, &count)) return false;
  return !waits || wait<Nic>(h, where, op, count);
}

// About a queue as a whole.
WEFT_DEVICE Op about(int pe) {
  Op op;
  op.kind = OpKind::kFence;
  op.pe = static_cast<std::uint32_t>(pe);
  op.remote = kNoHeapOffset;
  return op;
}

// What I ask of `pe` later happens there after what I have asked before. Puts keep their order by
// themselves; the request is for atomics, whose places puts could take.
template <class Nic>
WEFT_DEVICE bool fence(ColdContext h, const char* where, int pe) {
  if (platform::load<Order::kRelaxed, Reach::kDevice>(&of(h, pe).counts->reserved) == 0)
    return true;
  std::uint64_t count;
  return push<Nic>(h, where, about(pe), &count);
}

// Waits until everything is complete that this thread, or one it has synchronised with, has asked
// of `pe`.
template <class Nic>
WEFT_DEVICE bool quiet(ColdContext h, const char* where, int pe) {
  static_assert(contract::is_nic<Nic>());
  const std::uint64_t reserved =
      platform::load<Order::kRelaxed, Reach::kDevice>(&of(h, pe).counts->reserved);
  return wait<Nic>(h, where, about(pe), reserved);
}

}  // namespace nic
}  // namespace WEFT_TARGET
}  // namespace weft::dev
