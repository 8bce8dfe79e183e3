// weft-run's hands on another host: starts the PEs that it is told to, passes on what they write
// and how they end, and ends them when it is told to or the connection is cut.
#pragma once

#include <deque>

#include "bootstrap/run/child.hpp"
#include "bootstrap/run/agent_protocol.hpp"
#include "src/base/clock.hpp"

namespace weft::run {

class Agent {
 public:
  // `signals` as the Supervisor's.
  Agent(const Inherited& inherited, int signals) : inherited_(inherited), signals_(signals) {}
  // Speaks through standard input and output until every PE has ended; the exit status.
  int run();

 private:
  struct Pe {
    int number;
    Child child;
    bool running = true;
  };

  Result<Order> await_order();
  Status start(const Order& order);
  int refuse(const Status& why, int exit_status);
  void hear();
  void on_frame(const net::Frame& frame);
  void on_signals();
  void record_end(Pe& pe, const Ending& ending);
  bool pass_on(Pe& pe, int fd);
  void end_all(const char* why);
  void signal_all(int signal);
  void on_deadlines();
  int poll_timeout() const;
  int running() const;
  void send(Remote message, std::span<const std::byte> payload);

  const Inherited& inherited_;
  const int signals_;
  net::FrameDecoder decoder_{kMostRemoteBytes};
  std::deque<Pe> pes_;
  double grace_s_ = 0;
  bool connected_ = true;
  Deadline silence_{kSilence_s};
  Deadline grace_ = Deadline::never();
};

}  // namespace weft::run
