// weft-run's connection to its agent on one other host: a remote shell whose standard streams carry
// frames. Nothing here waits.
#pragma once

#include <functional>

#include "bootstrap/run/child.hpp"
#include "bootstrap/run/hosts.hpp"
#include "bootstrap/run/line_buffer.hpp"
#include "bootstrap/run/agent_protocol.hpp"
#include "src/base/clock.hpp"
#include "src/net/channel.hpp"

namespace weft::run {

class Link {
 public:
  using OnFrame = std::function<void(const net::Frame&)>;

  // Runs `rsh HOST weft-run --agent`; what the shell itself writes goes to `err`.
  static Result<Link> open(Host host, const std::string& rsh, const Order& order,
                           const Inherited& inherited, Lines::Sink err);

  const Host& host() const { return host_; }
  const std::string& command() const { return command_; }
  const LastWords& last_words() const { return *last_words_; }
  bool alive() const { return alive_; }

  // --- what to poll; -1 for what is over
  int frames_fd() const { return child_.out.get(); }
  int err_fd() const { return child_.err.get(); }
  int send_fd() const { return control_ && !control_->flushed() ? control_->fd() : -1; }

  void read_frames(const OnFrame& on_frame);
  void read_err();
  void send(Remote message, std::span<const std::byte> payload);
  void flush();
  // Tells the agent that all is over.
  void hang_up() { control_.reset(); }
  void kill() const;
  // Looks whether the shell has ended; what it still had to say is read first.
  bool ended(Ending& ending, const OnFrame& on_frame);

 private:
  Link(Host host, std::string command, Lines::Sink err);

  Host host_;
  std::string command_;
  Child child_;
  std::optional<net::Channel> control_;
  net::FrameDecoder decoder_{kMostRemoteBytes};
  std::unique_ptr<LastWords> last_words_ = std::make_unique<LastWords>();
  Lines err_;
  bool alive_ = true;
};

}  // namespace weft::run
