// FaultLane: one lane of the fault injector. Holds ops back, lets them go in another order, and
// keeps to what the memory model promises.
//
// The promises, and how they are kept:
//   fence        ops of one PE carry an epoch that each fence raises; an op is handed on only when
//                no op of an earlier epoch is left
//   notify       data and notify of one put are one op of the inner transport
//   quiet        an op counts as complete when the inner transport says so, in the order posted
//   source       a blocking put is copied when it is posted; a later one (kOpSourceStays) is read
//                when it is handed on
// Everything else is free, and late=1 uses the freedom: a plain put waits for flush(), for an op
// fenced behind it, or for the hold limit; all others wait a few progress calls; and what may go at
// the same time goes in random order. Time is counted in progress calls, so that a seed and a
// sequence of calls always give the same deliveries.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include <weft/status.hpp>

#include "host/transport/fault/spec.hpp"
#include "host/transport/transport.hpp"

namespace weft {

class FaultLane {
 public:
  FaultLane(Transport& inner, Lane lane, const FaultSpec& spec, int my_pe);

  Status post(const Op& op);
  Status progress();
  Status flush();
  std::uint64_t completed() const { return completed_.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};  // until flush or force
  static constexpr std::size_t kHoldOps = 4096;
  static constexpr std::size_t kHoldBytes = std::size_t{64} << 20;

  struct Held {
    Op op;
    std::uint64_t ticket = 0;
    std::uint64_t epoch = 0;
    std::uint64_t due = 0;        // progress call at which it may go
    std::vector<std::byte> copy;  // the source, if it was taken at post
  };
  struct Queue {  // ops of one PE
    std::vector<Held> held;
    std::uint64_t epoch = 0;   // of the next op
    std::uint64_t fenced = 0;  // highest epoch that the inner transport has a fence for
  };
  struct InFlight {
    std::uint64_t inner = 0;  // complete once the inner lane has completed so many
    std::uint64_t ticket = 0;
    std::vector<std::byte> copy;
  };

  bool chance(double probability);
  std::uint64_t random_below(std::uint64_t n);
  Status refuse(const Op& op);
  bool is_killed(const Op& op) const;
  void raise_epoch(const Op& fence);
  Held hold(const Op& op);
  std::uint64_t due_of(const Op& op);
  bool over_limit() const;
  void release_all(std::uint64_t spread);

  void deliver_due();
  bool deliver_some(Queue& queue);
  bool deliver_epoch(Queue& queue, std::uint64_t epoch);
  Status hand_on(Queue& queue, Held& held);
  void drop_delivered(Queue& queue);
  void finish(std::uint64_t ticket);
  void collect_inner();

  Transport& inner_;
  const Lane lane_;
  const FaultSpec spec_;

  std::mutex mutex_;  // guards all below
  std::uint64_t random_;
  std::uint64_t tick_ = 0;  // progress calls so far
  std::uint64_t posted_ = 0;
  std::uint64_t to_killed_ = 0;
  std::map<std::uint32_t, Queue> queues_;
  std::size_t held_ops_ = 0, held_bytes_ = 0;
  std::uint64_t inner_posted_ = 0;
  std::deque<InFlight> in_flight_;
  std::deque<bool> done_;  // [i]: op number completed_ + 1 + i
  Status error_;           // for the next progress()
  std::atomic<std::uint64_t> completed_{0};
};

}  // namespace weft
