// Failover: when a path fails, what it carried goes by another rail.
//
//   1. The queue pair that failed is put into the error state, and the connection's main path is
//      one that is left (fail). Nothing new is posted there until step 4.
//   2. The other end is asked, by that path, to take nothing from the failed one any more and to
//      say how many packets it has taken (QueuePair::make_end), until its reply comes (ended).
//   3. Each request that was in flight on the failed path is judged by that: what has taken effect
//      is complete; what has not, and never will, is to be replayed (judge).
//   4. The main path replays those in the order in which they were posted, before anything new.
//
// So nothing is lost, nothing overtakes, and nothing takes effect twice. Requests to the owner have
// a sequence number, by which it knows those that it has executed. An atomic of the device whose
// old value was lost on the way fails; where the device of the other end does not tell what it
// took, puts are replayed and its atomics fail. Without a path that is left the connection fails,
// and so do its requests.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "host/transport/ib/connection.hpp"
#include "host/transport/ib/in_flight_requests.hpp"
#include "host/transport/ib/sender.hpp"

namespace weft::ib {

// The fate of a request whose work was in flight on a path that has ended.
struct Verdict {
  enum class Kind : std::uint8_t { kComplete, kReplay, kLost };
  Kind kind = Kind::kComplete;
  std::string_view why = {};  // it is lost
};
// owns_atomics: WEFT_IB_ATOMICS=nic.
Verdict judge(const InFlightRequest& request, QueuePair::Fate fate, bool owns_atomics);

class Failover {
 public:
  using Number = InFlightRequests::Number;

  Failover(const LaneEnv& env, InFlightRequests& in_flight, const RequestMemory& memory,
           Sender& sender)
      : env_(env), in_flight_(in_flight), memory_(memory), sender_(sender) {}

  // Connects the main path, and replays what failed paths carried: kBusy until that is done.
  Status make_ready(Connection& connection);
  // Goes on with all connections that fail over.
  void progress();
  // The device gets what the path holds; the path fails if it does not.
  void ring(Connection& connection, QueuePair& path);
  // A path has failed: its connection goes on by another, or fails.
  void fail(Connection& connection, QueuePair& path, Status why);
  // The other end of a failed path has said how far it came.
  void ended(Connection& connection, QueuePair& path, const ConnectMessage& reply);
  // An atomic of the device failed while it was in flight. Its connection goes on.
  void lose(InFlightRequest& request, std::string_view why);
  // Its step of compare-and-swap cannot be posted, since its path has failed.
  void lose_loop(InFlightRequest& request);
  // The connection fails, and its requests with it: they count as complete, and the failure comes
  // from the next progress().
  void break_off(Connection& connection, Status why);
  void abandon(InFlightRequest& request);

 private:
  Status replay(Connection& connection);
  Status replay(InFlightRequest& request, Number number);
  void settle(InFlightRequest& request, QueuePair::Fate fate);

  const LaneEnv& env_;
  InFlightRequests& in_flight_;
  const RequestMemory& memory_;
  Sender& sender_;
  std::vector<Connection*> failing_over_;
};

}  // namespace weft::ib
