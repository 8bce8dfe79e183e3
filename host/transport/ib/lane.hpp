// IbLane: one lane, made of its parts. It takes requests, polls for completions and replies, and
// hands them on:
//
//   connection.hpp          the queue pairs to a PE, by rail (path.hpp: one of them)
//   in_flight_request.hpp   one that was taken and is not complete: its state
//   in_flight_requests.hpp  all of them in order, and what counts as complete
//   outstanding.hpp         what a fence has to wait for
//   request_memory.hpp      where the bytes of a request are
//   sender.hpp              work requests and doorbells
//   atomic_emulation.hpp    atomics that the device has not
//   failover.hpp            when a port or the way from it fails
//   stall_timer.hpp         when nothing moves
//
// Orders. All that a lane sends to a PE goes by one queue pair, whose writes, requests and atomics
// take effect there in the order in which they were posted; so a put's notify follows its bytes.
// The exceptions: a request is only brought in order, its owner executes it a little later, so a
// fence holds writes back until the requests before it are answered; and a device may overtake its
// own atomics with what comes next, so that is marked to wait for them. An op is complete when its
// bytes are in the target's memory, or its answer is here; so quiet waits for no more than that.
//
// Rails. Transfers of the size of a piece, into which larger ones are cut, go by the rails in turn:
// they are in no order among themselves. All else goes by the main one. A fence holds back what
// comes after it until pieces on other rails are complete; and what comes after it goes by the main
// one as long as anything before it is under way. So the notify of a large put, which has a fence
// before it, follows its pieces.
//
// Atomics of the owner's device (WEFT_IB_ATOMICS=nic). Atomics of 64 bits go by the first rail, and
// by no other when that fails: another device would not be atomic with it. A fence holds back what
// comes next until atomics are complete, by no mark for the device: it does not know of loops, and
// soft-RoCE has been seen to wait for ever at such a mark.
//
// Staging slots. Bytes for GPU memory that no device reaches go into a staging slot of its owner's,
// and a request behind them has the owner copy; bytes of a get are read out of the staging slot
// once the owner has answered. A staging slot is this lane's until then, whatever paths fail
// meanwhile.
//
// Silence. An op that is under way for a second has its device's doorbell rung again, by an empty
// write, or by its request once more, which its owner does not execute twice. The write fails if
// the way is gone while nothing else of mine is there to find out. And a device may sleep over its
// queue: soft-RoCE's looks whether too many packets are on their way, or whether a fence is open,
// and only then marks that it waits for that (Linux 6.1, rxe_requester). It does not notice events
// between the two, no timer runs, and nothing but the next doorbell wakes it, here or at the owner,
// whose answer is in such a queue.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "host/transport/ib/atomic_emulation.hpp"
#include "host/transport/ib/connection.hpp"
#include "host/transport/ib/failover.hpp"
#include "host/transport/ib/in_flight_requests.hpp"
#include "host/transport/ib/request_memory.hpp"
#include "host/transport/ib/sender.hpp"
#include "host/transport/ib/stall_timer.hpp"

namespace weft::ib {

class IbLane {
 public:
  IbLane(const LaneEnv& env, std::uint32_t number) : env_(env), connections_(env_, number) {}

  Status post(const Op& op);
  // The first failure since the last call.
  Status progress();
  void flush();
  std::uint64_t completed() const { return in_flight_.completed(); }
  // The op that has been under way for longest and how far it is, for people; "" if there is none.
  std::string oldest() const;
  // A peer's reply to a request for a queue pair.
  void replied(const ConnectMessage& reply, std::size_t rail);

 private:
  using Number = InFlightRequests::Number;

  // Posting (lane.cpp).
  Status post_fence(const Op& op);
  Status post_on(Connection& connection, const Op& op);
  Status prepare(InFlightRequest& request);
  void send(const InFlightRequest& taken);
  QueuePair& path_of_piece(Connection& connection);
  Status make_room(const InFlightRequest& request);
  Status make_room_for_reply();
  void ring_all();

  // Completions and replies (lane_completions.cpp).
  void poll();
  void poll(LanePort& port);
  void take(LanePort& port, const ibv_wc& done);
  void work_completed(Number number);
  void post_next_steps();
  void take_reply(LanePort& port, const ibv_wc& done);
  void read_staging_slot(InFlightRequest& request, Number number);
  void look_for_silence();
  Status cause(const QueuePair& path, const ibv_wc& done) const;

  const LaneEnv env_;
  mutable std::mutex mutex_;  // of all but completed()
  Connections connections_;
  InFlightRequests in_flight_;
  const RequestMemory memory_{env_};
  Sender sender_{memory_};
  AtomicEmulation emulation_{env_.owns_atomics};
  Failover failover_{env_, in_flight_, memory_, sender_};
  StallTimer stall_;
};

}  // namespace weft::ib
