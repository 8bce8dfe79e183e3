// The device-to-host ring, both ends: how a kernel hands an Op to the proxy when a peer's heap is
// not mapped.
//
// A record is published by its last word, whose lap bit flips each time round, so the reader needs
// no counter of the writers. A ticket is taken only with credit in hand, so its slot is as good as
// free: a producer that gives up leaves no hole that later records would wait behind. Credit is a
// semaphore and tickets are counted up, so that however many threads ask at once, each is served by
// two atomics near by; the host's memory is read when credit has run out. Trying for a ticket and
// writing the record are one attempt: on GPUs whose lanes run in lock step, a lane that waits for
// credit would else keep its neighbours from publishing what frees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <weft/device/handle.hpp>

#include <weft/dev/credit.hpp>
#include <weft/dev/fault.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/poll.hpp>
#include <weft/dev/state.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace ring {

static_assert(offsetof(Op, pe) == 56 && sizeof(Op) == 64, "pe to flags are the last word");

// The use of results[slot], the one word of host-visible memory that a slot owns.
enum class ResultUse {
  kNone,
  kCarries,  // the op's source: `word`
  kBrings,   // where the op's result goes
};

WEFT_DEVICE std::uint64_t slot_of(const RingView& ring, std::uint64_t ticket) {
  return ticket & (ring.capacity - 1);
}
WEFT_DEVICE std::uint8_t lap_of(const RingView& ring, std::uint64_t ticket) {
  return (ticket & ring.capacity) == 0 ? kOpLap : std::uint8_t{0};
}

// --- device end ---------------------------------------------------------------------------------

// Acquire: pairs with free_slots(); the host has read what is about to become credit.
WEFT_DEVICE std::uint64_t consumed(const RingView& ring) {
  return platform::load<Order::kAcquire, Reach::kSystem>(ring.consumed);
}
// Acquire: pairs with complete(); results are here, and what was put is at its target.
WEFT_DEVICE std::uint64_t completed(const RingView& ring) {
  return platform::load<Order::kAcquire, Reach::kSystem>(ring.completed);
}

// The host's count as far as somebody here has learned of it. Acquire: pairs with the release in
// Past.
WEFT_DEVICE std::uint64_t known(const HostCount& count) {
  return platform::load<Order::kAcquire, Reach::kDevice>(&count.known);
}

// Whether the host's count has come past a record. An answer is remembered near by for everybody. A
// thread that waits looks by itself at first, and does not ask near by what is news there, too;
// then one at a time looks for all: thousands that read the host's memory would be in the way of
// what they wait for.
class Past {
 public:
  WEFT_DEVICE explicit Past(bool is_news) : is_news_(is_news) {}

  // `look` asks the host.
  template <class Look>
  WEFT_DEVICE bool is(std::uint64_t ticket, HostCount& count, Look look) {
    const bool alone = looks_ < kLooksAlone;
    looks_ += alone ? 1 : 0;
    const std::uint64_t before = alone && is_news_ ? 0 : known(count);
    if (before > ticket) return true;
    if (!alone && !begins(count)) return false;
    const std::uint64_t now = look();
    // Release: pairs with known(); who finds it there sees what the host had written.
    if (now > before) platform::store<Order::kRelease, Reach::kDevice>(&count.known, now);
    if (!alone) platform::store<Order::kRelaxed, Reach::kDevice>(&count.asking, std::uint64_t{0});
    return now > ticket;
  }

 private:
  static constexpr int kLooksAlone = 4;

  WEFT_DEVICE static bool begins(HostCount& count) {
    return platform::exchange<Order::kRelaxed, Reach::kDevice>(&count.asking, std::uint64_t{1}) ==
           0;
  }

  bool is_news_;
  int looks_ = 0;
};

// The source of record `ticket`, a put without kOpSourceStays, may be reused: the host has handed
// it on.
struct IsConsumed {
  WEFT_DEVICE_PIECE bool operator()(const RingView& ring, std::uint64_t ticket) {
    return past.is(ticket, ring.tickets->consumed, [&] { return consumed(ring); });
  }
  Past past{true};
};

// Record `ticket` is complete. Each time the host is asked it is told what is wanted: another may
// have overwritten that with a smaller one.
struct IsComplete {
  WEFT_DEVICE explicit IsComplete(bool is_news = true) : past(is_news) {}
  WEFT_DEVICE_PIECE bool operator()(const RingView& ring, std::uint64_t ticket) {
    return past.is(ticket, ring.tickets->completed, [&] {
      platform::store<Order::kRelaxed, Reach::kSystem>(ring.wanted, ticket + 1);
      return completed(ring);
    });
  }
  Past past;
};

// The result slot of `ticket` may be used: the record of one lap ago is complete, so nothing is
// written there any more, and its asker has read (acquire: pairs with the release in fetch()).
WEFT_DEVICE_PIECE bool result_slot_is_free(const RingView& ring, std::uint64_t ticket,
                                           IsComplete& is_complete) {
  if (ticket >= ring.capacity && !is_complete(ring, ticket - ring.capacity)) return false;
  return platform::load<Order::kAcquire, Reach::kDevice>(
             &ring.results_busy[slot_of(ring, ticket)]) == 0;
}

WEFT_DEVICE_PIECE void publish(const RingView& ring, std::uint64_t ticket, const Op& op) {
  Op* slot = &ring.slots[slot_of(ring, ticket)];
  slot->bytes = op.bytes;
  slot->remote = op.remote;
  slot->local = op.local;
  slot->value = op.value;
  slot->compare = op.compare;
  slot->signal = op.signal;
  slot->result = op.result;
  Op last = op;
  last.flags = static_cast<std::uint8_t>((op.flags & ~kOpLap) | lap_of(ring, ticket));
  std::uint64_t word;
  memcpy(&word, &last.pe, sizeof(word));
  // Release: pairs with the acquire in pop().
  platform::store<Order::kRelease, Reach::kSystem>(reinterpret_cast<std::uint64_t*>(&slot->pe),
                                                   word);
}

// Makes credit of what the host has consumed meanwhile, for everybody.
WEFT_DEVICE void renew_credit(const RingView& ring) {
  RingTickets& tickets = *ring.tickets;
  const std::uint64_t claimed = platform::load<Order::kRelaxed, Reach::kDevice>(&tickets.claimed);
  const std::uint64_t fresh = consumed(ring) - claimed;
  if (static_cast<std::int64_t>(fresh) <= 0) return;
  if (platform::compare_swap<Order::kRelaxed, Reach::kDevice>(&tickets.claimed, claimed,
                                                              claimed + fresh) != claimed)
    return;
  // Release: pairs with the acquire in slot_is_free(). Every thread that adds has seen all that was
  // claimed before to be consumed, so it does not matter who is first.
  platform::add<Order::kRelease, Reach::kDevice>(&tickets.counted, fresh);
  credit::give(&tickets.credit, fresh);
}

// Or somebody else finds it: thousands that read the host's memory would be in its way.
WEFT_DEVICE bool find_credit(const RingView& ring) {
  const std::uint64_t* const slots = &ring.tickets->credit;
  if (credit::is_there(slots)) return true;
  std::uint64_t* const asking = &ring.tickets->asking;
  if (platform::exchange<Order::kRelaxed, Reach::kDevice>(asking, std::uint64_t{1}) != 0)
    return false;
  renew_credit(ring);
  platform::store<Order::kRelaxed, Reach::kDevice>(asking, std::uint64_t{0});
  return credit::is_there(slots);
}

// Acquire: pairs with the release in renew_credit(); the host has read what is in the slot.
WEFT_DEVICE bool slot_is_free(const RingView& ring, std::uint64_t ticket) {
  return ticket - platform::load<Order::kAcquire, Reach::kDevice>(&ring.tickets->counted) <
         ring.capacity;
}

// A producer's way through the ring, attempt by attempt.
struct PushAttempt {
  std::uint64_t ticket = 0;
  bool refused = false, taken = false, published = false;
  IsComplete is_complete{false};  // of what used the result slot before
};

// One attempt to get a slot. At first without a look whether there is one, which takes as long.
WEFT_DEVICE_PIECE bool take_ticket(const RingView& ring, PushAttempt& attempt) {
  if (attempt.refused && !find_credit(ring)) return false;
  RingTickets& tickets = *ring.tickets;
  attempt.refused = !credit::take(&tickets.credit);
  if (attempt.refused) return false;
  attempt.ticket =
      platform::fetch_add<Order::kRelaxed, Reach::kDevice>(&tickets.next, std::uint64_t{1});
  // The thread that made the credit has counted before: on processors that keep that order it holds
  // at once.
  while (!slot_is_free(ring, attempt.ticket))
    platform::relax();  // mutation: equivalent, holds at once
  return attempt.taken = true;
}

// One attempt to publish `op`. False: not yet.
WEFT_DEVICE_PIECE bool try_publish(const RingView& ring, PushAttempt& attempt, const Op& asked,
                                   ResultUse result_slot, std::uint64_t word) {
  if (!attempt.taken && !take_ticket(ring, attempt)) return false;
  if (result_slot != ResultUse::kNone &&
      !result_slot_is_free(ring, attempt.ticket, attempt.is_complete))
    return false;
  Op op = asked;
  const std::uint64_t slot = slot_of(ring, attempt.ticket);
  const auto address = reinterpret_cast<std::uintptr_t>(&ring.results[slot]);
  if (result_slot == ResultUse::kCarries) {
    ring.results[slot] = word;
    op.local = address;
  } else if (result_slot == ResultUse::kBrings) {
    platform::store<Order::kRelaxed, Reach::kDevice>(&ring.results_busy[slot], 1u);
    (op.kind == OpKind::kGet ? op.local : op.result) = address;
  }
  publish(ring, attempt.ticket, op);
  attempt.published = true;
  return true;
}

// Called by a producer that gives up: a ticket that was taken leaves a record that does nothing,
// since others are behind it.
WEFT_DEVICE void abandon(const RingView& ring, const PushAttempt& attempt, const Op& asked) {
  if (!attempt.taken || attempt.published) return;
  Op nothing;
  nothing.kind = OpKind::kFence;
  nothing.pe = asked.pe;
  publish(ring, attempt.ticket, nothing);
}

// By value: a reference would be read again behind each word of the ring. But see PIECE.
#if defined(__CUDACC_RDC__)
WEFT_DEVICE const RingView& of(ColdContext h) { return h.state->ring[h.lane]; }
#else
WEFT_DEVICE RingView of(ColdContext h) { return h.state->ring[h.lane]; }
#endif

WEFT_DEVICE_PIECE void report_timeout(ByValue<ColdContext> h, const char* where, int pe,
                                      std::uint64_t offset, std::uint64_t wanted,
                                      std::uint64_t waited_ns) {
  Fault fault;
  fault.code = FaultCode::kRingTimeout;
  fault.where = where;
  fault.pe = pe;
  fault.offset = offset;
  fault.seen = completed(of(h));
  fault.wanted = wanted;
  fault.waited_ns = waited_ns;
  report(h, fault);
}

// Publishes `op`; false, with a fault, when there was no room before the deadline.
WEFT_DEVICE_PIECE bool push(ByValue<ColdContext> h, const char* where, const Op& op,
                            std::uint64_t* ticket, ResultUse result_slot = ResultUse::kNone,
                            std::uint64_t word = 0) {
  const auto& ring = of(h);
  ProxyDeadline deadline(*h.state);
  PushAttempt attempt;
  const bool done =
      poll(deadline, [&] { return try_publish(ring, attempt, op, result_slot, word); });
  *ticket = attempt.ticket;
  if (done) return true;
  abandon(ring, attempt, op);
  report_timeout(h, where, static_cast<int>(op.pe), op.remote, consumed(ring) + 1,
                 deadline.waited_ns());
  return false;
}

template <class IsOver>
WEFT_DEVICE bool wait(ColdContext h, const char* where, const Op& op, std::uint64_t ticket,
                      IsOver is_over) {
  const auto& ring = of(h);
  ProxyDeadline deadline(*h.state);
  if (poll(deadline, [&] { return is_over(ring, ticket); })) return true;
  report_timeout(h, where, static_cast<int>(op.pe), op.remote, ticket + 1, deadline.waited_ns());
  return false;
}

// Publishes `op` and, if it `waits`, stays until is_over(ring, ticket).
template <class IsOver>
WEFT_DEVICE bool push_and_wait(ColdContext h, const char* where, const Op& op, bool waits,
                               IsOver is_over) {
  std::uint64_t ticket;
  if (!push(h, where, op, &ticket)) return false;
  return !waits || wait(h, where, op, ticket, is_over);
}

// The end of a fetch whose word has not come in time.
WEFT_DEVICE_COLD void report_timeout(ByValue<ColdContext> h, const char* where, const Op& op,
                                     PushAttempt& attempt, std::uint64_t waited_ns) {
  const auto& ring = of(h);
  // Nobody will read the result slot now; it is used again only after the late result has arrived.
  if (attempt.published)
    platform::store<Order::kRelaxed, Reach::kDevice>(
        &ring.results_busy[slot_of(ring, attempt.ticket)], 0u);
  abandon(ring, attempt, op);
  report_timeout(h, where, static_cast<int>(op.pe), op.remote,
                 attempt.published ? attempt.ticket + 1 : consumed(ring) + 1, waited_ns);
}

// Publishes `op` and waits for the word that it brings back. One loop for both waits: a lane that
// has its word must give the result slot back while others still wait for room.
WEFT_DEVICE bool fetch(ColdContext h, const char* where, const Op& op, std::uint64_t* word) {
  const auto& ring = of(h);
  ProxyDeadline deadline(*h.state);
  PushAttempt attempt;
  IsComplete is_complete;
  const bool done = poll(deadline, [&] {
    if (!attempt.published) {
      try_publish(ring, attempt, op, ResultUse::kBrings, 0);
      return false;
    }
    if (!is_complete(ring, attempt.ticket)) return false;
    *word = ring.results[slot_of(ring, attempt.ticket)];
    // Release: who takes the result slot next, and the host after it, write it after this read.
    platform::store<Order::kRelease, Reach::kDevice>(
        &ring.results_busy[slot_of(ring, attempt.ticket)], 0u);
    return true;
  });
  if (!done) report_timeout(h, where, op, attempt, deadline.waited_ns());
  return done;
}

// Has anything ever gone through this ring?
WEFT_DEVICE bool is_used(ColdContext h) {
  return platform::load<Order::kRelaxed, Reach::kDevice>(&h.state->ring[h.lane].tickets->next) != 0;
}

// Waits until everything is complete that this thread, or one it has synchronised with, has pushed.
WEFT_DEVICE bool drain(ColdContext h, const char* where) {
  const auto& ring = of(h);
  const std::uint64_t next = platform::load<Order::kRelaxed, Reach::kDevice>(&ring.tickets->next);
  if (known(ring.tickets->completed) >= next) return true;
  Op op;
  op.pe = kAllPes;
  op.remote = kNoHeapOffset;
  return wait(h, where, op, next - 1, IsComplete{});
}

#if WEFT_TARGET_CPU
// --- host end: libweft is compiled for the CPU target, whatever the kernels are ------------------

// Copies record `ticket` out if it has been published.
inline bool pop(const RingView& ring, std::uint64_t ticket, Op& op) {
  const Op* slot = &ring.slots[slot_of(ring, ticket)];
  // Acquire: pairs with the release in publish().
  const std::uint64_t word = platform::load<Order::kAcquire, Reach::kSystem>(
      reinterpret_cast<const std::uint64_t*>(&slot->pe));
  Op last;
  std::memcpy(&last.pe, &word, sizeof(word));
  if ((last.flags & kOpLap) != lap_of(ring, ticket)) return false;
  op.bytes = slot->bytes;
  op.remote = slot->remote;
  op.local = slot->local;
  op.value = slot->value;
  op.compare = slot->compare;
  op.signal = slot->signal;
  op.result = slot->result;
  std::memcpy(&op.pe, &word, sizeof(word));
  op.flags = static_cast<std::uint8_t>(op.flags & ~kOpLap);
  return true;
}

// The first `count` records have been read and posted. Release: pairs with consumed().
inline void free_slots(const RingView& ring, std::uint64_t count) {
  platform::store<Order::kRelease, Reach::kSystem>(ring.consumed, count);
}

// The first `count` records are complete. Release: their results, too, are there; pairs with
// completed().
inline void complete(const RingView& ring, std::uint64_t count) {
  platform::store<Order::kRelease, Reach::kSystem>(ring.completed, count);
}

// Up to which count somebody waits for completion.
inline std::uint64_t wanted(const RingView& ring) {
  return platform::load<Order::kRelaxed, Reach::kSystem>(ring.wanted);
}
#endif

}  // namespace ring
}  // namespace WEFT_TARGET
}  // namespace weft::dev
