// A PE's side of the tcp bootstrap: one connection to the rendezvous server. No thread of its own:
// health() looks at the socket without waiting, and a call that waits reads what comes anyway.
#include <poll.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <weft/version.hpp>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tcp/id_text.hpp"
#include "bootstrap/tcp/protocol.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/net/channel.hpp"

namespace weft {
namespace {

using tcp::Message;

// The server's own deadline comes first and names who is missing; ours is for a server that hangs.
constexpr double kSlack_s = 5;

std::uint32_t number(Message message) { return static_cast<std::uint32_t>(message); }

class TcpBootstrap final : public Bootstrap {
 public:
  TcpBootstrap(net::Channel channel, int pe, int npes)
      : channel_(std::move(channel)), pe_(pe), npes_(npes) {}

  std::string_view name() const override { return "tcp"; }
  int pe() const override { return pe_; }
  int npes() const override { return npes_; }

  // Says hello and waits until everybody has come.
  Status join(const Secret& secret, double timeout_s);

  Result<std::vector<Blob>> allgather(std::span<const std::byte> mine) override;
  Status barrier() override;
  void abort(int code, std::string_view why) override;
  Status health() override;
  Status leave() override;

 private:
  Result<tcp::Done> call(Meeting::Call call, std::span<const std::byte> mine);
  Status send_some(net::Bytes frame);
  Status send(Message message, std::span<const std::byte> payload, std::string_view what);
  Result<net::Frame> await(Message wanted, double timeout_s, std::string_view what);
  Result<tcp::Done> await_done(std::uint64_t sequence, std::string_view what);
  Status from_server(const net::Frame& frame);
  Status connection_failed(const Status& how);
  Status fail(Status failure);
  Status failure();

  net::Channel channel_;
  const int pe_;
  const int npes_;
  Meeting::Member server_;
  double timeout_s_ = 0;

  std::mutex receive_mutex_;  // whoever holds it reads the socket
  std::uint64_t calls_ = 0;   // guarded by receive_mutex_
  std::mutex send_mutex_;     // guards the sending side of channel_
  std::mutex failure_mutex_;
  Status failure_;  // guarded by failure_mutex_: the first one; it stays
};

Status TcpBootstrap::join(const Secret& secret, double timeout_s) {
  const std::lock_guard lock(receive_mutex_);
  tcp::Hello hello;
  hello.version = WEFT_VERSION;
  hello.secret = secret;
  hello.pe = pe_;
  hello.npes = npes_;
  hello.member = {::getpid(), net::host_name()};
  timeout_s_ = timeout_s;
  RETURN_IF_ERROR(send(Message::kHello, encode(hello), "hello"));
  ASSIGN_OR_RETURN(const net::Frame frame, await(Message::kAccepted, timeout_s, "a welcome"));
  auto accepted = tcp::decode_accepted(frame.payload);
  if (!accepted) return fail(accepted.status());
  server_ = std::move(accepted->server);
  timeout_s_ = accepted->timeout_s;
  channel_.set_most(tcp::kMostGatheredBytes);
  return await_done(0, fmt::format("the start of {} PEs", npes_)).status();
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
  ASSIGN_OR_RETURN(tcp::Done done, call(Meeting::Call::kAllgather, mine));
  return std::move(done.gathered);
}

Status TcpBootstrap::barrier() { return call(Meeting::Call::kBarrier, {}).status(); }

Result<tcp::Done> TcpBootstrap::call(Meeting::Call call, std::span<const std::byte> mine) {
  const std::lock_guard lock(receive_mutex_);
  RETURN_IF_ERROR(failure());
  const std::uint64_t sequence = ++calls_;
  const auto what = fmt::format("{} (call {})", to_string(call), sequence);
  RETURN_IF_ERROR(send(Message::kCall, encode(tcp::Call{call, sequence, mine}), what));
  return await_done(sequence, what);
}

void TcpBootstrap::abort(int code, std::string_view why) {
  const auto text = fmt::format("PE {} aborted the job with code {}: {}", pe_, code, why);
  if (!failure().is_ok()) return;
  fail(Status::error(Code::kAborted, text)).ignore();
  const auto payload = encode(tcp::Abort{code, std::string(why.substr(0, 4096))});
  const Status sent = send_some(net::encode_frame(number(Message::kAbort), payload));
  // What the socket does not take at once goes with the next send. Without a connection everybody
  // knows already that this PE is lost.
  if (!sent.is_ok()) LOG(kDebug, "bootstrap", "abort: {}", sent.text());
}

Status TcpBootstrap::health() {
  if (Status known = failure(); !known.is_ok()) return known;
  // Whoever holds the mutex is reading, so news comes to failure() anyway.
  const std::unique_lock lock(receive_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return failure();
  for (;;) {
    while (const auto frame = channel_.next()) RETURN_IF_ERROR(from_server(*frame));
    const Status status = channel_.fill();
    if (status.is(Code::kBusy)) return Status::ok();
    if (!status.is_ok()) return connection_failed(status);
  }
}

Status TcpBootstrap::leave() {
  const std::lock_guard lock(receive_mutex_);
  // A job that has ended is not waited for; the goodbye still says that this PE knows.
  const bool wait = failure().is_ok();
  Status sent = send(Message::kLeave, {}, "the goodbye");
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

Result<tcp::Done> TcpBootstrap::await_done(std::uint64_t sequence, std::string_view what) {
  ASSIGN_OR_RETURN(const net::Frame frame, await(Message::kDone, timeout_s_ + kSlack_s, what));
  auto done = tcp::decode_done(frame.payload, npes_);
  if (!done) return fail(done.status());
  const std::size_t expected = sequence == 0 ? 0 : static_cast<std::size_t>(npes_);
  if (done->sequence != sequence || done->gathered.size() != expected) {
    return fail(Status::error(
        Code::kInternal,
        fmt::format("the meeting point at {} answered call {} with {} parts, but "
                    "{} with {} parts was awaited",
                    channel_.peer(), done->sequence, done->gathered.size(), what, expected)));
  }
  return done;
}

// A message that is no answer.
Status TcpBootstrap::from_server(const net::Frame& frame) {
  if (frame.type == number(Message::kFailed)) {
    Status status = tcp::decode_status(frame.payload);
    if (!status.is_ok()) return fail(std::move(status));
  }
  return fail(Status::error(Code::kInternal,
                            fmt::format("the meeting point at {} sent message {} out of turn",
                                        channel_.peer(), frame.type)));
}

Status TcpBootstrap::connection_failed(const Status& how) {
  const auto who =
      server_.pid == 0 ? std::string() : fmt::format(" (pid {} on {})", server_.pid, server_.host);
  const char* mend = how.is(Code::kPeerLost)
                         ? "The process that made the unique id has ended; it must live as long as "
                           "the job"
                         : "Is the address in the unique id that of the job's meeting point?";
  return fail(Status::error(how.code(), fmt::format("PE {} lost the job's meeting point{}: {}. {}",
                                                    pe_, who, how.text(), mend)));
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

}  // namespace

Result<std::unique_ptr<Bootstrap>> make_tcp_bootstrap(std::string_view unique_id, int pe, int npes,
                                                      const Options& options) {
  ASSIGN_OR_RETURN(const IdText id, parse_id_text(unique_id));
  RETURN_IF_ERROR(check_against(id, pe, npes));
  auto socket = net::connect_to(id.address, Deadline(options.start_timeout));
  if (!socket) {
    return Status::error(
        socket.status().code(),
        fmt::format("PE {} cannot reach the job's meeting point: {}. The process that made the "
                    "unique id must be running and reachable from here; an id is good for one job",
                    pe, socket.status().text()));
  }
  auto bootstrap = std::make_unique<TcpBootstrap>(
      net::Channel(std::move(*socket), net::to_string(id.address), tcp::kMostWelcomeBytes), pe,
      npes);
  RETURN_IF_ERROR(bootstrap->join(id.secret, options.start_timeout));
  LOG(kDebug, "bootstrap", "PE {} of {} has met the others at {}", pe, npes,
      net::to_string(id.address));
  return std::unique_ptr<Bootstrap>(std::move(bootstrap));
}

}  // namespace weft
