// InFlightRequests: the requests that a lane has taken and does not know to be complete, in the
// order in which they were posted; and what counts as complete.
#pragma once

#include <cstdint>
#include <utility>

#include "host/transport/ib/connection.hpp"
#include "host/transport/ib/in_flight_request.hpp"
#include "host/transport/network/in_flight.hpp"

namespace weft::ib {

class InFlightRequests {
 public:
  using Number = std::uint64_t;
  static constexpr int kMostReplies = kLaneRequests;

  // --- the queue --------------------------------------------------------------------------------
  // The requests before it are complete.
  Number first() const { return queue_.first(); }
  // The number of the next.
  Number next() const { return queue_.next(); }
  bool is_empty() const { return next() == first(); }
  bool has(Number number) const { return queue_.has(number); }
  InFlightRequest& operator[](Number number) { return queue_[number]; }
  const InFlightRequest& operator[](Number number) const { return queue_[number]; }
  auto begin() { return queue_.begin(); }
  auto end() { return queue_.end(); }
  auto begin() const { return queue_.begin(); }
  auto end() const { return queue_.end(); }

  // --- requests ---------------------------------------------------------------------------------
  // Counts it; its work is to be posted.
  InFlightRequest& add(const InFlightRequest& taken);
  // Complete at once.
  void add_fence(const Op& op) { queue_.add({.op = op}); }
  // Whether one more may wait for its owner's reply.
  bool has_room_for_reply() const { return replies_ < kMostReplies; }
  // True: the device has completed all of it.
  bool work_completed(InFlightRequest& request);
  // False: no reply was expected.
  bool replied(InFlightRequest& request, bool reads);
  // It goes by the main path now.
  static void moved_to_main(InFlightRequest& request);
  // Without having been carried out; the failure is for fail(). False: it is complete.
  bool abandon(InFlightRequest& request);

  // --- completion -------------------------------------------------------------------------------
  // Keeps the first failure until take_failure(). A caller that sees that a request is complete
  // must know of its failure, so nothing counts as complete meanwhile.
  void fail(Status failure) {
    if (failure_.is_ok()) failure_ = std::move(failure);
  }
  Status take_failure() { return std::exchange(failure_, Status::ok()); }
  // Counts those that are complete, in order.
  void retire() {
    if (failure_.is_ok()) queue_.retire();
  }
  // By any thread. Acquire; pairs with the release in InFlightQueue::retire().
  std::uint64_t completed() const { return queue_.completed(); }

 private:
  network::InFlightQueue<InFlightRequest> queue_;
  int replies_ = 0;  // expected on all connections
  Status failure_;
};

inline InFlightRequest& InFlightRequests::add(const InFlightRequest& taken) {
  InFlightRequest& request = queue_.add(taken);
  request.state = RequestState::kPosted;
  if (asks_owner(request.method)) {
    request.state = RequestState::kRequested;
    request.sequence = request.connection->next_sequence();
    ++replies_;
  }
  request.connection->outstanding.add(request.method, request.apart);
  return request;
}

inline bool InFlightRequests::work_completed(InFlightRequest& request) {
  if (!request.work_completed()) return false;
  request.connection->outstanding.remove_work(request.method, request.apart);
  return true;
}

inline bool InFlightRequests::replied(InFlightRequest& request, bool reads) {
  if (!request.replied(reads)) return false;
  --replies_;
  request.connection->outstanding.remove_reply();
  return true;
}

inline void InFlightRequests::moved_to_main(InFlightRequest& request) {
  if (std::exchange(request.apart, false))
    request.connection->outstanding.remove_work(Method::kTransfer, true);
}

inline bool InFlightRequests::abandon(InFlightRequest& request) {
  const bool expected_reply = request.expects_reply();
  if (!request.abandon()) return false;
  if (expected_reply) {
    --replies_;
    request.connection->outstanding.remove_reply();
  }
  request.connection->outstanding.remove_work(request.method, request.apart);
  return true;
}

}  // namespace weft::ib
