// A PE's side of the tcp bootstrap: one connection to the rendezvous server, which knows who is
// here and what ended the job, and some to its neighbours, which carry the collective calls. No
// thread of its own: health() looks at the socket without waiting, and a call that waits reads what
// comes.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <weft/version.hpp>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tcp/exchange.hpp"
#include "bootstrap/tcp/id_text.hpp"
#include "bootstrap/tcp/neighbours.hpp"
#include "bootstrap/tcp/protocol.hpp"
#include "bootstrap/tcp/seal.hpp"
#include "src/base/abort_text.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/net/channel.hpp"

namespace weft {
namespace {

using tcp::Message;

// The server's own deadline comes first and names who is missing; ours is for a server that hangs.
constexpr double kSlack_s = 5;
// A call that lasts longer is reported to the server, so that it knows who is late if nobody comes.
constexpr double kPatience_s = 0.02;
// A PE that dies after a call must not fail it for those who are still in it: what it brought is on
// its way, and they pass it on for so long.
constexpr double kGrace_s = 0.2;
// A PE that the server dropped before it could prove what it is comes again, at most so rarely.
constexpr int kLongestPause_ms = 200;

std::uint32_t number(Message message) { return static_cast<std::uint32_t>(message); }

class TcpBootstrap final : public Bootstrap {
 public:
  TcpBootstrap(net::Channel channel, int pe, int npes)
      : channel_(std::move(channel)), pe_(pe), npes_(npes) {}

  std::string_view name() const override { return "tcp"; }
  int pe() const override { return pe_; }
  int npes() const override { return npes_; }

  // Proves that it is a PE of the job and waits until everybody has come.
  Status join(const Secret& secret, double timeout_s);
  Status await_start();
  // The connection ended before that: it may have been taken for one of too many strangers.
  bool dropped() const { return dropped_; }

  Result<std::vector<Blob>> allgather(std::span<const std::byte> mine) override;
  Status barrier() override;
  void abort(int code, std::string_view why) override;
  Status health() override;
  Status leave() override;

 private:
  Result<tcp::Exchange> call(Rendezvous::Call call, std::span<const std::byte> mine);
  Status carry(tcp::Exchange& exchange, std::string_view what);
  void wait(const tcp::Exchange& exchange, bool neighbours, int at_most_ms);
  Status hear();
  Status send_some(net::Bytes frame);
  Status send(Message message, std::span<const std::byte> payload, std::string_view what);
  Result<net::Frame> await(Message wanted, double timeout_s, std::string_view what);
  Status from_server(const net::Frame& frame);
  Status connection_failed(const Status& how);
  Status fail(Status failure);
  Status failure();

  net::Channel channel_;
  const int pe_;
  const int npes_;
  Rendezvous::Member server_;
  double timeout_s_ = 0;
  bool dropped_ = false;

  std::mutex receive_mutex_;  // whoever holds it reads the socket
  std::uint64_t calls_ = 0;   // guarded by receive_mutex_, as are the neighbours
  tcp::Neighbours neighbours_;
  std::mutex send_mutex_;  // guards the sending side of channel_
  std::mutex failure_mutex_;
  Status failure_;  // guarded by failure_mutex_: the first one; it stays
};

Status TcpBootstrap::join(const Secret& secret, double timeout_s) {
  const std::lock_guard lock(receive_mutex_);
  timeout_s_ = timeout_s;
  tcp::Nonces nonces;
  ASSIGN_OR_RETURN(nonces.caller, random_bits());
  const tcp::Hello hello{tcp::kProtocol, WEFT_VERSION, nonces.caller};
  // At once: until it is there, the server takes the connection for a stranger's.
  RETURN_IF_ERROR(
      send(Message::kHello, seal(secret, tcp::kHelloSeal, nonces, encode(hello)), "hello"));
  ASSIGN_OR_RETURN(const net::Address here, net::local_address(channel_.fd()));
  RETURN_IF_ERROR(neighbours_.open(secret, pe_, npes_, here.host));
  ASSIGN_OR_RETURN(const net::Frame asked, await(Message::kChallenge, timeout_s, "a challenge"));
  auto challenge = tcp::decode_challenge(asked.payload);
  if (!challenge) return fail(challenge.status());
  nonces.callee = *challenge;
  const tcp::Join join{pe_, npes_, {::getpid(), net::host_name()}, neighbours_.contact()};
  RETURN_IF_ERROR(send(Message::kJoin, seal(secret, tcp::kJoinSeal, nonces, encode(join)), "join"));
  ASSIGN_OR_RETURN(const net::Frame frame, await(Message::kAccepted, timeout_s, "a welcome"));
  const auto opened = tcp::open_seal(secret, tcp::kAcceptedSeal, nonces, frame.payload);
  if (!opened) {
    return fail(
        Status::error(opened.status().code(),
                      fmt::format("what answers at {} is not the job's rendezvous point: {}",
                                  channel_.peer(), opened.status().text())));
  }
  auto accepted = tcp::decode_accepted(*opened);
  if (!accepted) return fail(accepted.status());
  server_ = std::move(accepted->server);
  timeout_s_ = accepted->timeout_s;
  return await_start();
}

Status TcpBootstrap::await_start() {
  ASSIGN_OR_RETURN(const net::Frame frame, await(Message::kStart, timeout_s_ + kSlack_s,
                                                 fmt::format("the start of {} PEs", npes_)));
  auto contacts = tcp::decode_start(frame.payload);
  if (!contacts) return fail(contacts.status());
  if (contacts->size() != static_cast<std::size_t>(tcp::rounds_of(npes_))) {
    return fail(Status::error(
        Code::kInternal,
        fmt::format("the rendezvous point at {} named {} neighbours to PE {} of "
                    "{}, not {}",
                    channel_.peer(), contacts->size(), pe_, npes_, tcp::rounds_of(npes_))));
  }
  neighbours_.learn(std::move(*contacts));
  return Status::ok();
}

Result<std::vector<Blob>> TcpBootstrap::allgather(std::span<const std::byte> mine) {
  if (mine.size() > tcp::kMostBlobBytes ||
      mine.size() + 64 > tcp::kMostGatheredBytes / static_cast<std::uint64_t>(npes_)) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("allgather of {} bytes from each of {} PEs: at most {} each and "
                    "{} together go through the bootstrap",
                    mine.size(), npes_, tcp::kMostBlobBytes, tcp::kMostGatheredBytes));
  }
  ASSIGN_OR_RETURN(const tcp::Exchange exchange, call(Rendezvous::Call::kAllgather, mine));
  return exchange.gathered();
}

Status TcpBootstrap::barrier() { return call(Rendezvous::Call::kBarrier, {}).status(); }

Result<tcp::Exchange> TcpBootstrap::call(Rendezvous::Call call, std::span<const std::byte> mine) {
  const std::lock_guard lock(receive_mutex_);
  RETURN_IF_ERROR(failure());
  RETURN_IF_ERROR(hear());
  const std::uint64_t sequence = ++calls_;
  tcp::Exchange exchange(pe_, npes_, tcp::Call{call, sequence}, mine);
  RETURN_IF_ERROR(carry(exchange, fmt::format("{} (call {})", to_string(call), sequence)));
  return exchange;
}

// A call that lasts, and trouble with a neighbour, are reported to the server, which sees all PEs:
// its answer names the one that is missing. Only if it says nothing, this PE's own view must do.
Status TcpBootstrap::carry(tcp::Exchange& exchange, std::string_view what) {
  const Deadline patience(std::min(kPatience_s, timeout_s_ / 10));
  const Deadline deadline(timeout_s_);
  const Deadline end(timeout_s_ + kSlack_s);
  const auto payload = encode(exchange.call());
  bool told = false;
  bool late = false;
  Status status;
  Deadline grace = Deadline::never();
  while (!end.expired()) {
    if (status.is_ok() || status.is(Code::kBusy)) status = neighbours_.advance(exchange);
    if (status.is_ok()) return status;
    const bool trouble = !status.is(Code::kBusy);
    if (Status known = failure(); !known.is_ok()) {
      if (trouble || !known.is(Code::kPeerLost) || grace.expired()) return known;
      if (grace.is_never()) grace = Deadline(kGrace_s);
      wait(exchange, true, grace.remaining_ms());
      continue;
    }
    if (!told && (trouble || patience.expired())) {
      told = true;
      RETURN_IF_ERROR(send(Message::kWaiting, payload, what));
    }
    if (!late && deadline.expired()) {
      late = true;
      RETURN_IF_ERROR(send(Message::kLate, payload, what));
    }
    const Deadline& next = !told ? patience : !late ? deadline : end;
    wait(exchange, !trouble, next.remaining_ms());
  }
  return fail(Status::error(
      status.is(Code::kBusy) ? Code::kTimeout : status.code(),
      fmt::format(
          "PE {} of {} did not get through {} within {:g} s, and the rendezvous point at {} "
          "does not say why{}{}",
          pe_, npes_, what, timeout_s_, channel_.peer(), status.is(Code::kBusy) ? "" : ": ",
          status.is(Code::kBusy) ? "" : status.text())));
}

// For the neighbours and the server, whose word is kept in failure() and is its last.
void TcpBootstrap::wait(const tcp::Exchange& exchange, bool neighbours, int at_most_ms) {
  std::vector<pollfd> polled{{failure().is_ok() ? channel_.fd() : -1, POLLIN, 0}};
  if (neighbours) {
    neighbours_.watch(exchange, polled);
    const int retry_ms = neighbours_.retry_ms();
    if (retry_ms >= 0 && (at_most_ms < 0 || retry_ms < at_most_ms)) at_most_ms = retry_ms;
  }
  if (::poll(polled.data(), polled.size(), at_most_ms) > 0 && polled[0].revents != 0) {
    hear().ignore();
  }
}

// Reads the messages that the server has sent meanwhile.
Status TcpBootstrap::hear() {
  for (;;) {
    while (const auto frame = channel_.next()) RETURN_IF_ERROR(from_server(*frame));
    const Status status = channel_.fill();
    if (status.is(Code::kBusy)) return Status::ok();
    if (!status.is_ok()) return connection_failed(status);
  }
}

void TcpBootstrap::abort(int code, std::string_view why) {
  const auto text = fmt::format("PE {} {}: {}", pe_, abort_text(code), why);
  if (!failure().is_ok()) return;
  fail(Status::error(Code::kAborted, text)).ignore();
  const auto payload = encode(tcp::Abort{code, std::string(why.substr(0, 4096))});
  const Status sent = send_some(net::encode_frame(number(Message::kAbort), payload));
  // Bytes that the socket does not take at once go with the next send. Without a connection
  // everybody knows already that this PE is lost.
  if (!sent.is_ok()) LOG(kDebug, "bootstrap", "abort: {}", sent.text());
}

Status TcpBootstrap::health() {
  if (Status known = failure(); !known.is_ok()) return known;
  // A thread that holds the mutex is reading, so news comes to failure() anyway.
  const std::unique_lock lock(receive_mutex_, std::try_to_lock);
  return lock.owns_lock() ? hear() : failure();
}

Status TcpBootstrap::leave() {
  const std::lock_guard lock(receive_mutex_);
  // A job that has ended is not waited for; the goodbye still says that this PE knows.
  const bool wait = failure().is_ok();
  Status sent = send(Message::kLeave, tcp::encode_leave(calls_), "the goodbye");
  if (!wait) return failure();
  RETURN_IF_ERROR(sent);
  ASSIGN_OR_RETURN(const net::Frame frame, await(Message::kLeft, timeout_s_ + kSlack_s, "goodbye"));
  Status status = tcp::decode_status(frame.payload);
  return status.is_ok() ? status : fail(std::move(status));
}

// The mutex is never held over a wait, so an abort can always have its say.
Status TcpBootstrap::send_some(net::Bytes frame) {
  const std::lock_guard lock(send_mutex_);
  if (!frame.empty()) channel_.queue(std::make_shared<const net::Bytes>(std::move(frame)));
  return channel_.flush();
}

Status TcpBootstrap::send(Message message, std::span<const std::byte> payload,
                          std::string_view what) {
  const Deadline deadline(timeout_s_ + kSlack_s);
  Status status = send_some(net::encode_frame(number(message), payload));
  while (status.is(Code::kBusy)) {
    status = net::wait_for(channel_.fd(), POLLOUT, deadline,
                           fmt::format("{} to take {}", channel_.peer(), what));
    if (status.is_ok()) status = send_some({});
  }
  // A server that has gone may have said why: the reader finds its last word, or the end.
  if (status.is_ok() || status.is(Code::kPeerLost)) return Status::ok();
  return connection_failed(status);
}

Result<net::Frame> TcpBootstrap::await(Message wanted, double timeout_s, std::string_view what) {
  const Deadline deadline(timeout_s);
  for (;;) {
    auto frame = channel_.receive(deadline, what);
    if (!frame) return connection_failed(frame.status());
    if (frame->type == number(wanted)) return frame;
    RETURN_IF_ERROR(from_server(*frame));
  }
}

// A message that is no answer.
Status TcpBootstrap::from_server(const net::Frame& frame) {
  if (frame.type == number(Message::kFailed)) {
    Status status = tcp::decode_status(frame.payload);
    if (!status.is_ok()) return fail(std::move(status));
  }
  return fail(Status::error(Code::kInternal,
                            fmt::format("the rendezvous point at {} sent message {} out of turn",
                                        channel_.peer(), frame.type)));
}

Status TcpBootstrap::connection_failed(const Status& how) {
  dropped_ = server_.pid == 0 && how.is(Code::kPeerLost);
  const auto server =
      server_.pid == 0 ? std::string() : fmt::format(" (pid {} on {})", server_.pid, server_.host);
  const char* mend = how.is(Code::kPeerLost)
                         ? "The process that made the unique id has ended; it must live as long as "
                           "the job"
                         : "Is the address in the unique id that of the job's rendezvous point?";
  return fail(
      Status::error(how.code(), fmt::format("PE {} lost the job's rendezvous point{}: {}. {}", pe_,
                                            server, how.text(), mend)));
}

Status TcpBootstrap::fail(Status failure) {
  const std::lock_guard lock(failure_mutex_);
  if (failure_.is_ok()) failure_ = std::move(failure);
  return failure_;
}

Status TcpBootstrap::failure() {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

Status check_against(const IdText& id, int pe, int npes) {
  if (id.npes != 0 && npes != id.npes) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("this PE was told that the job has {} PEs, but its unique id was made for {}. "
                    "Give every PE the same number (WEFT_NPES={})",
                    npes, id.npes, id.npes));
  }
  if (pe < 0 || pe >= npes) {
    return Status::error(
        Code::kOutOfRange,
        fmt::format("PE {} is outside 0..{}: the job has {} PEs. Give each process its own number "
                    "there (WEFT_PE)",
                    pe, npes - 1, npes));
  }
  return Status::ok();
}

Result<std::unique_ptr<TcpBootstrap>> reach(const IdText& id, int pe, int npes,
                                            const Deadline& deadline) {
  auto socket = net::connect_to(id.address, deadline);
  if (!socket) {
    return Status::error(
        socket.status().code(),
        fmt::format("PE {} cannot reach the job's rendezvous point: {}. The process that made the "
                    "unique id must be running and reachable from here; an id is good for one job",
                    pe, socket.status().text()));
  }
  return std::make_unique<TcpBootstrap>(
      net::Channel(std::move(*socket), net::to_string(id.address), tcp::kMostMessageBytes), pe,
      npes);
}

Status crowded_out(const IdText& id, int pe, int tries, const Deadline& deadline) {
  return Status::error(
      Code::kTimeout,
      fmt::format("PE {} could not join its job: within {:.3g} s (WEFT_START_TIMEOUT) it connected "
                  "{} times to {}, and was dropped each time. The job's rendezvous server does "
                  "that when too many strangers connect to it: see who they are (ss -tnp), or "
                  "choose a network that they do not reach (WEFT_BIND_ADDRESS, "
                  "WEFT_BOOTSTRAP_INTERFACE). If something else listens there, the id is old",
                  pe, deadline.waited_seconds(), tries, net::to_string(id.address)));
}

}  // namespace

// A connection that is dropped before the PE could prove what it is, is made again, a little later
// each time.
Result<std::unique_ptr<Bootstrap>> make_tcp_bootstrap(std::string_view unique_id, int pe, int npes,
                                                      const Options& options) {
  ASSIGN_OR_RETURN(const IdText id, parse_id_text(unique_id));
  RETURN_IF_ERROR(check_against(id, pe, npes));
  const Deadline deadline(options.start_timeout);
  int pause_ms = 1;
  for (int tries = 1;; ++tries, pause_ms = std::min(2 * pause_ms, kLongestPause_ms)) {
    ASSIGN_OR_RETURN(auto bootstrap, reach(id, pe, npes, deadline));
    const Status joined = bootstrap->join(id.secret, options.start_timeout);
    if (joined.is_ok()) {
      LOG(kDebug, "bootstrap", "PE {} of {} has met the others at {}", pe, npes,
          net::to_string(id.address));
      return std::unique_ptr<Bootstrap>(std::move(bootstrap));
    }
    if (!bootstrap->dropped()) return joined;
    if (deadline.expired()) return crowded_out(id, pe, tries, deadline);
    const int left = deadline.remaining_ms();
    (void)::poll(nullptr, 0, left < 0 ? pause_ms : std::min(pause_ms, left));
  }
}

}  // namespace weft
