// The GPU-initiated queue pair: a kernel writes the NIC's requests itself and rings the doorbell,
// with no host in between. The bytes that this takes are the NIC type's (contract.hpp); how threads
// share the queue is in send_queue.hpp; here are the operations.
//
// On GPUs whose lanes run in lock step no lane may wait for a neighbour that stands behind the
// loop: taking a ticket, writing and ringing are one attempt, and so are all steps of a fetch.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/nic/contract.hpp>
#include <weft/dev/nic/queue.hpp>
#include <weft/dev/nic/send_queue.hpp>
#include <weft/dev/op.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>
#include <weft/dev/state.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace nic {

WEFT_DEVICE const QueueView& of(ColdContext h, int pe) {
  return h.state->queues[h.lane * h.state->npes + pe];
}

// --- one request --------------------------------------------------------------------------------

// Ops that the queue pair can carry out; others take the ring.
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
struct PushAttempt {
  std::uint64_t ticket = 0;
  bool written = false;
};

// One attempt to have `op` rung. False: not yet.
template <class Nic>
WEFT_DEVICE bool try_push(const QueueView& queue, PushAttempt& attempt, const Op& op) {
  if (!attempt.written) {
    if (!take_ticket<Nic>(queue, &attempt.ticket)) return false;
    write<Nic>(queue, attempt.ticket, op);
    mark_written(queue, attempt.ticket);
    attempt.written = true;
  }
  return gets_rung<Nic>(queue, attempt.ticket + 1);
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
  PushAttempt attempt;
  const bool done = succeeds(h, where, op, [&](const QueueView& queue) {
    return !has_failed(queue) && try_push<Nic>(queue, attempt, op);
  });
  *count = attempt.ticket + 1;
  return done;
}

template <class Nic>
WEFT_DEVICE bool wait(ColdContext h, const char* where, const Op& op, std::uint64_t count) {
  return succeeds(h, where, op,
                  [&](const QueueView& queue) { return is_complete<Nic>(queue, count); });
}

// --- words that come back -----------------------------------------------------------------------

// A word for the result of a fetch, and whose it is.
struct ResultSlot {
  std::uint64_t index = 0;
  bool taken = false;
};

WEFT_DEVICE std::uint64_t* owner_of(const QueueView& queue, const ResultSlot& result_slot) {
  return &queue.result_owner[result_slot.index & (queue.result_count - 1)];
}
WEFT_DEVICE std::uint64_t* word_of(const QueueView& queue, const ResultSlot& result_slot) {
  return &queue.results[result_slot.index & (queue.result_count - 1)];
}

// One attempt; the next one is at the next word.
WEFT_DEVICE bool take_result_slot(const QueueView& queue, ResultSlot& result_slot) {
  ++result_slot.index;
  std::uint64_t* const owner = owner_of(queue, result_slot);
  const std::uint64_t seen = platform::load<Order::kRelaxed, Reach::kDevice>(owner);
  if (seen != kWordIsFree && (seen == kWordIsTaken || completed(queue) < seen)) return false;
  // Acquire: pairs with the release in give_back(); the last owner has read the word.
  result_slot.taken =
      platform::compare_swap<Order::kAcquire, Reach::kDevice>(owner, seen, kWordIsTaken) == seen;
  return result_slot.taken;
}

// Release: pairs with the acquire in take_result_slot(); I have read the word.
WEFT_DEVICE void give_back(const QueueView& queue, const ResultSlot& result_slot) {
  platform::store<Order::kRelease, Reach::kDevice>(owner_of(queue, result_slot), kWordIsFree);
}
// Called by a thread that gives up. A word that a late result comes to is used again only after
// that has arrived.
WEFT_DEVICE void abandon(const QueueView& queue, const ResultSlot& result_slot,
                         const PushAttempt& attempt) {
  if (!result_slot.taken) return;
  if (!attempt.written) return give_back(queue, result_slot);
  platform::store<Order::kRelaxed, Reach::kDevice>(owner_of(queue, result_slot),
                                                   attempt.ticket + 1);
}

// Hands `op`, a fetching atomic, to the NIC and waits for the word that it brings back. One loop
// for all waits: a lane that has its word must give it back while others still wait for one.
template <class Nic>
WEFT_DEVICE bool fetch(ColdContext h, const char* where, const Op& asked, std::uint64_t* word) {
  Op op = asked;
  PushAttempt attempt;
  ResultSlot result_slot;
  bool pushed = false;
  result_slot.index = platform::block_rank() * platform::block_size() + platform::thread_rank();
  const bool done = succeeds(h, where, op, [&](const QueueView& queue) {
    if (!pushed && has_failed(queue)) return false;
    if (!result_slot.taken && !take_result_slot(queue, result_slot)) return false;
    op.result = reinterpret_cast<std::uintptr_t>(word_of(queue, result_slot));
    if (!pushed) pushed = try_push<Nic>(queue, attempt, op);
    if (!pushed || !is_complete<Nic>(queue, attempt.ticket + 1)) return false;
    *word = *word_of(queue, result_slot);
    give_back(queue, result_slot);
    return true;
  });
  if (!done) abandon(of(h, static_cast<int>(op.pe)), result_slot, attempt);
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

// Requests that I make of `pe` later happen there after those that I have made before. Puts keep
// their order by themselves; the request is for atomics, whose places puts could take.
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
  const std::uint64_t reserved =
      platform::load<Order::kRelaxed, Reach::kDevice>(&of(h, pe).counts->reserved);
  return wait<Nic>(h, where, about(pe), reserved);
}

}  // namespace nic
}  // namespace WEFT_TARGET
}  // namespace weft::dev
