// A PE's connections to the PEs at distances 1, 2, 4, ...: each is made when an exchange first
// needs it, and stays. Nothing here waits, and whoever cannot prove to be of the job gets nothing.
// The PE stops listening once all of them have come, so strangers can ask for its time only until
// the end of its first exchange, and then only for a bounded part of it.
#pragma once

#include <poll.h>

#include <list>
#include <optional>
#include <vector>

#include "bootstrap/tcp/exchange.hpp"
#include "bootstrap/tcp/seal.hpp"
#include "src/base/clock.hpp"
#include "src/base/log_limit.hpp"
#include "src/base/unique_fd.hpp"
#include "src/net/channel.hpp"

namespace weft::tcp {

class Neighbours {
 public:
  // Listens at `host`, an address of this PE's host; a job of one needs no listener.
  Status open(const Secret& secret, int pe, int npes, const std::string& host);
  const Contact& contact() const { return contact_; }
  // Where those behind listen: the PE at distance 2^r is number r.
  void learn(std::vector<Contact> behind) { behind_ = std::move(behind); }

  // Takes the exchange as far as it goes. kBusy: again when something of watched() is ready.
  Status advance(Exchange& exchange);
  void watch(const Exchange& exchange, std::vector<pollfd>& polled) const;
  // When to come back although nothing is ready: as poll() takes it, -1 for never.
  int retry_ms() const;

  // Limits for strangers: accepts in one call of advance(), and connections.
  static constexpr int kMostAccepts = 32;
  static constexpr std::size_t kMostStrangers = 64;
  bool listens() const { return static_cast<bool>(listener_); }
  std::size_t strangers() const { return strangers_.size(); }

 private:
  static constexpr double kFirstPause_s = 0.001;
  struct Outgoing {
    std::optional<net::Channel> channel;
    Nonces nonces;
    bool welcome = false;
    double pause_s = kFirstPause_s;
    std::uint64_t began_ns = 0;          // when the first attempt was made
    Deadline again = Deadline::never();  // when a new attempt is due
  };

  Status send(Exchange& exchange);
  Status receive(Exchange& exchange);
  Status flush();
  Status call_up(int round);
  Status await_welcome(int round);
  void admit();
  bool settle(net::Channel& stranger);
  Status greet(net::Channel& stranger, const net::Frame& frame);

  Secret secret_{};
  int pe_ = 0;
  int npes_ = 1;
  Contact contact_;
  UniqueFd listener_;
  std::vector<Contact> behind_;
  std::vector<Outgoing> out_;
  std::vector<std::optional<net::Channel>> in_;
  std::list<net::Channel> strangers_;  // the oldest in front
  LogLimit turned_away_;
};

}  // namespace weft::tcp
