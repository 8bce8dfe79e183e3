// Sender: makes work requests of requests, and says when the device gets them.
//
// Few doorbells. Small puts whose source stays are held until there are several, or something else
// is posted there, or somebody waits or lets the lane progress: nobody is promised to see them
// before.
#pragma once

#include <cstdint>
#include <vector>

#include "host/transport/ib/request_memory.hpp"

namespace weft::ib {

class Sender {
 public:
  using Number = InFlightRequests::Number;

  explicit Sender(const RequestMemory& memory) : memory_(memory) {}

  // The owner's memory that a request goes to or comes from, for post().
  Status find_target(const InFlightRequest& request);
  // At most how many work requests the device gets then.
  int sends() const { return static_cast<int>(parts_.size()) + 1; }
  // Hands its path the work of a request; ring() hands it to the device. The work refers to the
  // request, which must be in the queue already, and a message to the owner to memory of the
  // sender's: its path is rung before anything else is posted.
  void post(InFlightRequest& request, Number number);
  // Parts of it, later: the next step of compare-and-swap; the read out of the staging slot; the
  // message to its owner once more. They leave what find_target() has found as it is: that may be
  // of a request which waits for space in the send queue meanwhile.
  Status post_step(InFlightRequest& request, Number number);
  void post_read(InFlightRequest& request, Number number);
  void post_request(InFlightRequest& request, Number number);

  // Whether the device may get a request, which was posted, together with later ones.
  static bool may_be_held(const InFlightRequest& request);
  // An error breaks the path: some of the work may be on its way.
  Status ring(QueuePair& path);
  // A path that holds work; null: none does.
  QueuePair* holding() const { return holding_.empty() ? nullptr : holding_.back(); }
  // The path has failed.
  void forget(const QueuePair& path) { std::erase(holding_, &path); }

 private:
  void build(const InFlightRequest& request, Number number);
  void hand_over(InFlightRequest& request, Number number);

  const RequestMemory& memory_;
  std::vector<Heaps::There> parts_, word_;  // where the bytes go, what else the device changes
  WorkList work_;                           // of one request at a time
  Request request_;                         // likewise
  std::vector<QueuePair*> holding_;
};

// The message by which a request asks its owner.
Request request_to_owner(const InFlightRequest& request, InFlightRequests::Number number);

}  // namespace weft::ib
