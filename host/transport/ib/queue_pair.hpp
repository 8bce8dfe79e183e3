// QueuePair: of a lane to a PE by one rail: how it is connected, and what is handed to
// it.
//
// Few doorbells. Work requests may be held until there are several; the device then gets them at
// once and signals the last one only, which stands for all.
//
// The end. When a path fails, some of what it carried may have taken effect, without a word of it
// coming back. The other end counts packets, so it is asked what it has taken, and to take nothing
// any more: what has not taken effect then never will, and may go by another path (failover.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "host/transport/ib/lane_port.hpp"
#include "host/transport/ib/work_requests.hpp"
#include "src/base/clock.hpp"

namespace weft::ib {

// The owner of a path, and the PE that it leads to.
struct PathEnds {
  std::uint32_t lane = 0;
  int pe = 0;
  const PeAddress* peer = nullptr;
};

class QueuePair {
 public:
  enum class State { kAsks, kReady, kEnding, kBroken };
  // The fate of an op's work: all of it has taken effect; not all, and the last part has not; the
  // device does not tell.
  enum class Fate { kDone, kNotDone, kUnknown };
  static constexpr std::uint64_t kProbe = LanePort::kAnswers - 1;  // stands for no op

  QueuePair(const PathEnds& ends, LanePort& at, Service& service, double connect_timeout)
      : ends_(ends), at_(at), service_(service), connect_timeout_(connect_timeout) {}
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  ~QueuePair() = default;

  State state() const { return state_; }
  int pe() const { return ends_.pe; }
  LanePort& at() const { return at_; }
  std::size_t rail() const { return at_.rail; }
  bool is_native() const { return at_.port.has_native_atomics_with(there()); }
  // "mlx5_0 port 1 to PE 3 on node1 (mlx5_0 port 1)"
  std::string describe() const;

  // kBusy until the other end has answered.
  Status make_ready();
  // Takes the peer's reply to a request for a queue pair; an error if it cannot be used.
  Status replied(const ConnectMessage& reply);
  // Nothing goes by it any more, nor comes here.
  void break_off();
  // kBusy until the other end, asked by that rail, has said how far it came.
  Status make_end(std::size_t by_rail);
  // It did end: calls judge(number, fate) for each op that was under way, in order.
  template <class Judge>
  void ended(const ConnectMessage& reply, Judge judge);
  // How many packets are known to be taken, as it says; more than there are: it does not know.
  std::uint64_t taken(const ConnectMessage& reply) const;

  bool has_room(int sends) const;
  // The next work is carried out after the reads and atomics before it.
  void fence() { is_fenced_ = true; }
  // An empty write, behind all that is under way: a path that is broken is found out by that, and a
  // device that has gone to sleep over its queue goes on.
  void probe();
  // Takes work of the op of that number; ring() hands the device what is held.
  void give(std::span<Work> work, std::uint64_t flight);
  Status ring();
  std::size_t held() const { return held_.size(); }
  // All ops up to number `last` are done: calls done(number) for each, in order.
  template <class Done>
  void complete(std::uint64_t last, Done done);

 private:
  struct Sending {
    std::uint64_t flight;
    int sends;
    std::uint64_t packets;  // of the path up to its end
  };
  static constexpr int kSends = 256;  // work requests under way

  Status ask();
  bool is_time_to_ask();
  std::uint64_t packets_of(const Work& work) const;
  const PortAddress& there() const { return ends_.peer->endpoints[at_.rail].port; }
  bool is_known(const ConnectMessage& reply) const {
    return qp_ != nullptr && qp_->qp_num == reply.asked;
  }

  const PathEnds ends_;
  LanePort& at_;
  Service& service_;
  const double connect_timeout_;
  Deadline deadline_ = Deadline::never();
  State state_ = State::kAsks;
  Handle<ibv_qp> qp_ = no_handle<ibv_qp>();
  std::uint32_t psn_ = 0;
  std::uint64_t ask_at_ns_ = 0, pause_ns_ = 0;
  bool refused_ = false;  // the peer could not make its end
  bool is_fenced_ = false;
  std::size_t asked_by_ = network::kMostRails;  // rail, how far it came; none yet
  std::uint32_t packet_bytes_ = 0;
  std::uint64_t packets_ = 0, acknowledged_ = 0;
  int sends_ = 0;                // work requests under way or held
  std::vector<Work> held_;       // not handed to the device yet
  std::deque<Sending> sending_;  // in order
};

template <class Done>
void QueuePair::complete(std::uint64_t last, Done done) {
  for (bool more = true; more && !sending_.empty();) {
    const Sending first = sending_.front();
    sending_.pop_front();
    sends_ -= first.sends;
    at_.sends -= first.sends;
    acknowledged_ = first.packets;
    more = first.flight != last;
    if (first.flight != kProbe) done(first.flight);
  }
}

template <class Judge>
void QueuePair::ended(const ConnectMessage& reply, Judge judge) {
  if (state_ != State::kEnding || !is_known(reply)) return;
  state_ = State::kBroken;
  const std::uint64_t known = taken(reply);
  for (const Sending& each : sending_) {
    const Fate fate = each.packets <= known ? Fate::kDone : Fate::kNotDone;
    if (each.flight != kProbe) judge(each.flight, known <= packets_ ? fate : Fate::kUnknown);
  }
  sending_.clear();
}

}  // namespace weft::ib
