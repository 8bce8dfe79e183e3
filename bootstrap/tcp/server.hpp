// The rendezvous server: where the PEs of a job meet. One thread, one poll loop; every PE keeps one
// connection to it, over which a few hundred bytes go at the start and none while all goes well:
// collective calls are the PEs' own. The rules are Rendezvous's; this file knows who speaks.
//
// A stranger is a connection that has not proved to know the job's secret. There are limits
// to what strangers take: accepts in a round, bytes in a round and altogether, connections. A
// stranger is asked for one message, and beyond the bound the oldest goes; who has proved the
// secret never goes for others.
//
// After everybody has left, the same PEs may come again: a process may make a runtime after the
// last one is gone. A failed job stays failed.
#pragma once

#include <poll.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/rendezvous.hpp"
#include "bootstrap/tcp/id_text.hpp"
#include "bootstrap/tcp/protocol.hpp"
#include "bootstrap/tcp/seal.hpp"
#include "src/base/fair_mutex.hpp"
#include "src/base/log_limit.hpp"
#include "src/base/process.hpp"
#include "src/base/thread.hpp"
#include "src/base/unique_fd.hpp"
#include "src/net/channel.hpp"

namespace weft::tcp {

class Server {
 public:
  // Listens at once; uses start_timeout, bind_address and bind_port. Without `npes` the first PE
  // that comes says how many there are.
  static Result<std::unique_ptr<Server>> start(std::optional<int> npes, const Options& options);
  // Serves PEs that are still in the job until they have left, for start_timeout at most.
  ~Server();
  // Ends by itself once no PE is in the job, however long that takes; returns at once.
  void close();
  bool finished() const { return finished_.load(std::memory_order_acquire); }

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // In a child of the process where it serves there is only a dead copy.
  bool is_inherited() const { return process_.is_inherited(); }
  std::string id_text() const { return to_string(id_); }

  // --- for a launcher; thread-safe ----------------------------------------------------------
  // Readable once the job has failed.
  int failed_fd() const { return failed_.get(); }
  // The present job's; ok before anybody has come to it, and so after everybody has left the last.
  Status failure() const;
  std::optional<int> abort_code() const;
  std::optional<int> culprit() const;  // as Rendezvous has it
  // The PE's process has ended. If that ended the job too, because others still need the PE, then
  // the failure that they see; else ok.
  Status ended(int pe, std::string_view how);

  // Limits of one round of the loop for others, and what it took.
  static constexpr int kMostAccepts = 32;
  static constexpr std::size_t kMostStrangers = 256;
  struct Load {
    std::uint64_t rounds = 0;
    std::uint64_t accepted = 0;    // in all rounds
    int most_accepted = 0;         // in one round, as are the following
    std::uint64_t most_bytes = 0;  // of one connection
    std::size_t most_strangers = 0;
  };
  Load load() const;

 private:
  using Time = Rendezvous::Time;
  struct Connection {
    net::Channel channel;
    // A dismissed connection has been sent its last message, and is not read any more.
    enum class State { kStranger, kChallenged, kMember, kDismissed } state = State::kStranger;
    int pe = -1;
    Nonces nonces{};
    Time deadline;  // of a stranger's hello and join, of a dismissed one's going
    Time leave_deadline = Time::max();
    bool closed = false;
  };

  Server(IdText id, UniqueFd listener, UniqueFd wake, UniqueFd failed, double timeout_s);

  void run();
  bool may_end(Time now) const;
  Time next_deadline() const;
  void watch(const std::list<Connection>& connections);
  void serve_ready(std::list<Connection>& connections, std::size_t first, Time now);
  void accept_some(Time now);
  bool make_room(Time now);
  bool serve(Connection& connection, Time now);
  void flush(std::list<Connection>& connections);
  void erase_closed();
  Connection* pe_connection(int pe);
  void handle(Connection& connection, const net::Frame& frame, Time now);
  void challenge(Connection& connection, const net::Frame& frame, Time now);
  void admit(Connection& connection, const net::Frame& frame, Time now);
  void refuse(Connection& connection, const Status& why, Time now);
  Status wrong_secret() const;
  Status check_version(const Hello& hello) const;
  Status check_number_of(const Join& join) const;
  Status take_number(int npes);
  void handle_member(Connection& connection, const net::Frame& frame, Time now);
  void hang_up(Connection& connection, const Status& why);
  void dismiss(Connection& connection, Message message, const Status& why, Time now);
  void expire(Time now);
  void publish(Time now);
  void publish_failure(Time now);
  void publish_leave(Time now);
  void publish_start();
  static void tell(Connection& connection, Message message, std::span<const std::byte> payload);

  const IdText id_;
  int npes_;  // guarded by mutex_; 0: nobody has said it yet
  const double timeout_s_;
  const OwnerProcess process_;
  const Rendezvous::Member self_;
  UniqueFd listener_;
  UniqueFd wake_;
  UniqueFd failed_;
  Time accept_again_ = Time::min();
  std::vector<pollfd> polled_;  // the loop's; here, not on its stack, which a fork does not have

  mutable FairMutex mutex_;  // guards what follows; the loop releases it only while it polls
  std::unique_ptr<Rendezvous> rendezvous_;
  std::list<Connection> connections_;  // of those who know the secret
  std::list<Connection> strangers_;    // the oldest in front
  std::vector<Connection*> members_;   // of each PE; null: none
  Load load_;
  LogLimit refused_, turned_away_, full_;
  std::vector<Contact> contacts_;  // of each PE
  bool started_ = false;           // everybody has come and been told so
  bool failure_published_ = false;
  bool closing_ = false;
  Time closing_deadline_ = Time::max();

  std::atomic<bool> finished_{false};  // released by the loop's end, acquired by finished()
  Thread thread_;
};

}  // namespace weft::tcp
