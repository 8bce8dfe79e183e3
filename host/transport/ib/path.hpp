// Path: the queue pair of a lane to a PE by one rail: how it is tied, and what is handed to it.
//
// Few doorbells. What is given may be held until there are several; the device then gets them at
// once and tells of the last one only, which is that of all.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "host/transport/ib/lane_port.hpp"
#include "host/transport/ib/work.hpp"
#include "src/base/clock.hpp"

namespace weft::ib {

// Whose a path is, and whom it leads to.
struct PathEnds {
  std::uint32_t lane = 0;
  int pe = 0;
  const PeAddress* peer = nullptr;
};

class Path {
 public:
  enum class State { kAsks, kReady, kBroken };

  Path(const PathEnds& ends, LanePort& at, Service& service, double dial_timeout)
      : ends_(ends),
        at_(at),
        service_(service),
        dial_timeout_(dial_timeout),
        deadline_(dial_timeout) {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  ~Path() = default;

  State state() const { return state_; }
  int pe() const { return ends_.pe; }
  LanePort& at() const { return at_; }
  std::size_t rail() const { return at_.rail; }
  bool is_native() const { return at_.port.has_native_atomics_with(there()); }
  // "mlx5_0 port 1 to PE 3 on node1 (mlx5_0 port 1)"
  std::string describe() const;

  // kBusy until the other end has answered.
  Status make_ready();
  // The peer's reply to a request for a queue pair; a failure to use it is told.
  Status replied(const Dial& reply);
  // Nothing goes by it any more, nor comes.
  void break_off();

  bool has_room(int sends) const;
  // What comes next is carried out after the reads and atomics before it.
  void fence() { is_fenced_ = true; }
  // Takes work of a flight; ring() hands the device what is held.
  void give(std::span<Work> work, std::uint64_t flight);
  Status ring();
  std::size_t held() const { return held_.size(); }
  // All up to that flight are done: each is told, in order.
  template <class Done>
  void complete(std::uint64_t last, Done done);

 private:
  struct Sending {
    std::uint64_t flight;
    int sends;
  };
  static constexpr int kSends = 256;  // work requests under way

  Status ask();
  const PortAddress& there() const { return ends_.peer->doors[at_.rail].port; }
  bool is_known(const Dial& reply) const { return qp_ != nullptr && qp_->qp_num == reply.asked; }

  const PathEnds ends_;
  LanePort& at_;
  Service& service_;
  const double dial_timeout_;
  const Deadline deadline_;
  State state_ = State::kAsks;
  Handle<ibv_qp> qp_ = no_handle<ibv_qp>();
  std::uint32_t psn_ = 0;
  std::uint64_t ask_at_ns_ = 0, pause_ns_ = 0;
  bool refused_ = false;  // the peer could not make its end
  bool is_fenced_ = false;
  int sends_ = 0;                // work requests under way or held
  std::vector<Work> held_;       // not handed to the device yet
  std::deque<Sending> sending_;  // in order
};

template <class Done>
void Path::complete(std::uint64_t last, Done done) {
  for (bool more = true; more && !sending_.empty();) {
    const Sending first = sending_.front();
    sending_.pop_front();
    sends_ -= first.sends;
    at_.sends -= first.sends;
    more = first.flight != last;
    done(first.flight);
  }
}

}  // namespace weft::ib
