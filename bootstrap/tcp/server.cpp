#include "bootstrap/tcp/server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <weft/version.hpp>

#include "bootstrap/tcp/exchange.hpp"
#include "bootstrap/tcp/seal.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/net/interface.hpp"

namespace weft::tcp {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A process that has ended left little behind: a few messages.
constexpr int kMostLastPieces = 64;
// With everybody here, no more than kMostAccepts strangers come in so much time.
constexpr milliseconds kPauseWhenFull{10};

Rendezvous::Time after(Rendezvous::Time now, double seconds) {
  return now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int poll_timeout(Rendezvous::Time deadline) {
  if (deadline == Rendezvous::Time::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

void raise_signal(const UniqueFd& event) {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then it is raised already.
  (void)!::write(event.get(), &one, sizeof one);
}

Result<UniqueFd> make_event() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) {
    return Status::error(Code::kIo, fmt::format("eventfd: {}", net::errno_text(errno)));
  }
  return event;
}

// One connection per PE: the limit of open files must allow them.
Status ensure_files(int npes) {
  const rlim_t needed = static_cast<rlim_t>(npes) + Server::kMostStrangers + 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return Status::ok();
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  if (limit.rlim_cur >= needed && ::setrlimit(RLIMIT_NOFILE, &limit) == 0) return Status::ok();
  if (limit.rlim_cur > static_cast<rlim_t>(npes) + 64 && ::setrlimit(RLIMIT_NOFILE, &limit) == 0) {
    return Status::ok();
  }
  return Status::error(Code::kIo,
                       fmt::format("{} PEs need as many open files in the process where they meet, "
                                   "but its limit is {}. Raise it: ulimit -n {}",
                                   npes, limit.rlim_max, needed));
}

Result<std::string> host_for(const Options& options) {
  if (options.bootstrap_interface.empty()) {
    return options.bind_address.empty() ? "127.0.0.1" : options.bind_address;
  }
  auto host = net::choose_host(options.bootstrap_interface, net::list_interfaces());
  if (host) return host;
  return Status::error(host.status().code(),
                       fmt::format("WEFT_BOOTSTRAP_INTERFACE: {}", host.status().text()));
}

Result<UniqueFd> listen_for(const Options& options) {
  const int port = static_cast<int>(options.bind_port);
  ASSIGN_OR_RETURN(const std::string address, host_for(options));
  auto listener = net::listen_at(address, port);
  if (listener) return listener;
  return Status::error(
      listener.status().code(),
      fmt::format("{}. {}", listener.status().text(),
                  port != 0 ? "Choose another port with WEFT_BIND_PORT (0 takes a free one), or "
                              "another address with WEFT_BIND_ADDRESS"
                            : "WEFT_BIND_ADDRESS must be an address of this host"));
}

Status check_number(int npes) {
  if (npes >= 1) return ensure_files(npes);
  return Status::error(Code::kInvalidArgument,
                       fmt::format("a job of {} PEs: there must be at least one", npes));
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(std::optional<int> npes, const Options& options) {
  IdText id;
  if (npes) {
    RETURN_IF_ERROR(check_number(*npes));
    id.npes = *npes;
  }
  ASSIGN_OR_RETURN(id.secret, random_bits());
  ASSIGN_OR_RETURN(UniqueFd listener, listen_for(options));
  ASSIGN_OR_RETURN(id.address, net::local_address(listener.get()));
  // Everywhere is no address that another host could call.
  if (id.address.host == "0.0.0.0" || id.address.host == "::") {
    id.address.host = net::reachable_host();
  }
  ASSIGN_OR_RETURN(UniqueFd wake, make_event());
  ASSIGN_OR_RETURN(UniqueFd failed, make_event());
  std::unique_ptr<Server> server(new Server(std::move(id), std::move(listener), std::move(wake),
                                            std::move(failed), options.start_timeout));
  ASSIGN_OR_RETURN(server->thread_,
                   start_thread({"weft-server"}, [serving = server.get()] { serving->run(); }));
  return server;
}

Server::Server(IdText id, UniqueFd listener, UniqueFd wake, UniqueFd failed, double timeout_s)
    : id_(std::move(id)),
      npes_(id_.npes),
      timeout_s_(timeout_s),
      self_{process_.pid(), net::host_name()},
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      failed_(std::move(failed)),
      rendezvous_(std::make_unique<Rendezvous>(std::max(npes_, 1), timeout_s)) {}

Server::~Server() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    closing_deadline_ = after(Clock::now(), timeout_s_);
  }
  raise_signal(wake_);
  thread_.join();
}

void Server::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  raise_signal(wake_);
}

Status Server::failure() const {
  const std::lock_guard lock(mutex_);
  return rendezvous_->anybody_came() ? rendezvous_->failure() : Status::ok();
}

std::optional<int> Server::abort_code() const {
  const std::lock_guard lock(mutex_);
  return rendezvous_->abort_code();
}

std::optional<int> Server::culprit() const {
  const std::lock_guard lock(mutex_);
  return rendezvous_->culprit();
}

Server::Load Server::load() const {
  const std::lock_guard lock(mutex_);
  return load_;
}

Status Server::ended(int pe, std::string_view how) {
  Status failure;
  {
    const std::lock_guard lock(mutex_);
    const Time now = Clock::now();
    // Messages that it sent before its end come first.
    Connection* const its = pe_connection(pe);
    for (int i = 0; i < kMostLastPieces && its != nullptr && serve(*its, now); ++i) continue;
    publish(now);
    rendezvous_->lose(pe, how);
    if (rendezvous_->anybody_came() && rendezvous_->culprit() == pe)
      failure = rendezvous_->failure();
    publish(now);
  }
  raise_signal(wake_);  // the loop sends it
  return failure;
}

void Server::run() {
  std::unique_lock lock(mutex_);
  while (!may_end(Clock::now())) {
    const Time now = Clock::now();
    polled_.assign(
        {{wake_.get(), POLLIN, 0}, {now < accept_again_ ? -1 : listener_.get(), POLLIN, 0}});
    watch(connections_);
    watch(strangers_);
    const std::size_t members = connections_.size();
    const int timeout = poll_timeout(next_deadline());
    lock.unlock();
    (void)::poll(polled_.data(), polled_.size(), timeout);  // a signal only means another round
    lock.lock();

    std::uint64_t count = 0;
    (void)!::read(wake_.get(), &count, sizeof count);
    const Time after_poll = Clock::now();
    ++load_.rounds;
    // Members first. Meanwhile nobody but this loop adds to the lists or takes from them.
    serve_ready(connections_, 2, after_poll);
    serve_ready(strangers_, 2 + members, after_poll);
    if (polled_[1].revents != 0) accept_some(after_poll);
    expire(after_poll);
    publish(after_poll);
    flush(connections_);
    flush(strangers_);
    publish(Clock::now());
    erase_closed();
  }
  connections_.clear();
  strangers_.clear();
  listener_.reset();
  finished_.store(true, std::memory_order_release);
}

// A dismissed connection is watched for its end only.
void Server::watch(const std::list<Connection>& connections) {
  for (const Connection& connection : connections) {
    const int wanted = connection.state == Connection::State::kDismissed ? POLLRDHUP : POLLIN;
    const int events = connection.channel.flushed() ? wanted : wanted | POLLOUT;
    polled_.push_back({connection.channel.fd(), static_cast<short>(events), 0});
  }
}

// The list is as it was when it was polled, from `first` on. One that proves the secret moves
// behind the others of connections_.
void Server::serve_ready(std::list<Connection>& connections, std::size_t first, Time now) {
  auto next = connections.begin();
  for (std::size_t i = first; next != connections.end() && i < polled_.size(); ++i) {
    Connection& connection = *next++;
    const int events = polled_[i].revents & ~POLLOUT;
    if (events == 0 || connection.closed) continue;
    serve(connection, now);
  }
}

// True once nobody needs the rendezvous point any more, or the timeout has passed.
bool Server::may_end(Time now) const {
  if (!closing_) return false;
  std::size_t members = 0;
  for (const Connection& connection : connections_) {
    if (connection.state == Connection::State::kMember) ++members;
    if (!connection.channel.flushed() && now < closing_deadline_) return false;
  }
  if (members == 0 || failure_published_) return true;
  if (now < closing_deadline_) return false;
  LOG(kWarn, "bootstrap",
      "the rendezvous point of the job at {} goes away while {} of its {} PEs have not left",
      net::to_string(id_.address), members, npes_);
  return true;
}

Server::Time Server::next_deadline() const {
  Time next = std::min(rendezvous_->deadline(), closing_deadline_);
  if (accept_again_ > Clock::now()) next = std::min(next, accept_again_);
  for (const auto* connections : {&connections_, &strangers_}) {
    for (const Connection& connection : *connections) {
      next = std::min(next, connection.leave_deadline);
      if (connection.state == Connection::State::kMember) continue;
      next = std::min(next, connection.deadline);
    }
  }
  return next;
}

// A PE says hello with its connection, so most are known for what they are at once.
void Server::accept_some(Time now) {
  int accepted = 0;
  for (; accepted < kMostAccepts && make_room(now); ++accepted) {
    auto caller = net::accept_one(listener_.get());
    if (!caller) {
      if (!caller.status().is(Code::kBusy)) {
        if (const auto more = full_.pass()) {
          LOG(kWarn, "bootstrap", "the rendezvous point at {} cannot let anybody in: {}{}",
              net::to_string(id_.address), caller.status().text(), *more);
        }
        accept_again_ = now + milliseconds(100);  // out of files, most likely: let some go first
      }
      break;
    }
    strangers_.push_back({.channel = net::Channel(std::move(caller->socket),
                                                  std::move(caller->peer), kMostHelloBytes),
                          .deadline = after(now, timeout_s_)});
    load_.most_strangers = std::max(load_.most_strangers, strangers_.size());
    serve(strangers_.back(), now);
  }
  load_.accepted += static_cast<std::uint64_t>(accepted);
  load_.most_accepted = std::max(load_.most_accepted, accepted);
  // A caller that comes after everybody is here has time.
  if (accepted == kMostAccepts && started_) accept_again_ = now + kPauseWhenFull;
}

// Strangers must not keep PEs out: the oldest goes, which every round since it came has asked for
// its hello. False: so many have proved the secret that the next must wait for one to go.
bool Server::make_room(Time now) {
  std::erase_if(strangers_, [](const Connection& stranger) { return stranger.closed; });
  if (connections_.size() >= kMostStrangers + 2 * static_cast<std::size_t>(npes_)) {
    accept_again_ = now + milliseconds(100);
    return false;
  }
  if (strangers_.size() >= kMostStrangers) {
    hang_up(strangers_.front(),
            Status::error(Code::kBusy, "too many that did not prove to be PEs"));
    strangers_.pop_front();
  }
  return true;
}

Server::Connection* Server::pe_connection(int pe) {
  const auto at = static_cast<std::size_t>(pe);
  return pe >= 0 && at < members_.size() ? members_[at] : nullptr;
}

// Takes one piece of what has come, so that nobody keeps the others waiting. False: there was none,
// or will be none any more.
bool Server::serve(Connection& connection, Time now) {
  if (connection.closed) return false;
  if (connection.state == Connection::State::kDismissed) {
    hang_up(connection, Status::error(Code::kPeerLost, "it has gone"));
    return false;
  }
  const std::uint64_t before = connection.channel.received();
  const Status status = connection.channel.fill();
  load_.most_bytes = std::max(load_.most_bytes, connection.channel.received() - before);
  while (!connection.closed && connection.state != Connection::State::kDismissed) {
    const auto frame = connection.channel.next();
    if (!frame) break;
    handle(connection, *frame, now);
  }
  if (connection.closed || status.is(Code::kBusy)) return false;
  if (!status.is_ok()) hang_up(connection, status);
  return status.is_ok();
}

// The rest goes when the socket takes more; a connection that broke says so when it is
// read.
void Server::flush(std::list<Connection>& connections) {
  for (Connection& connection : connections) {
    if (connection.closed || connection.channel.flushed()) continue;
    const Status status = connection.channel.flush();
    if (status.is_ok() || status.is(Code::kBusy)) continue;
    if (connection.state == Connection::State::kDismissed) hang_up(connection, status);
  }
}

void Server::erase_closed() {
  const auto closed = [](const Connection& connection) { return connection.closed; };
  std::erase_if(connections_, closed);
  std::erase_if(strangers_, closed);
}

void Server::handle(Connection& connection, const net::Frame& frame, Time now) {
  switch (connection.state) {
    case Connection::State::kStranger: return challenge(connection, frame, now);
    case Connection::State::kChallenged: return admit(connection, frame, now);
    case Connection::State::kMember: return handle_member(connection, frame, now);
    case Connection::State::kDismissed: return;
  }
}

// Only a protocol that this server does not speak is answered before it has proved anything.
void Server::challenge(Connection& connection, const net::Frame& frame, Time now) {
  if (frame.type != static_cast<std::uint32_t>(Message::kHello)) {
    return hang_up(connection,
                   Status::error(Code::kIo, fmt::format("it began with message {}", frame.type)));
  }
  auto hello = decode_hello(frame.payload);
  if (!hello) return hang_up(connection, hello.status());
  if (Status refusal = check_version(*hello); !refusal.is_ok()) {
    return refuse(connection, refusal, now);
  }
  connection.nonces = {hello->nonce, {}};
  if (!open_seal(id_.secret, kHelloSeal, connection.nonces, frame.payload)) {
    return refuse(connection, wrong_secret(), now);
  }
  const auto nonce = random_bits();
  if (!nonce) return hang_up(connection, nonce.status());
  connection.nonces.callee = *nonce;
  connection.state = Connection::State::kChallenged;
  tell(connection, Message::kChallenge, encode_challenge(*nonce));
  const auto its = std::ranges::find_if(
      strangers_, [&](const Connection& stranger) { return &stranger == &connection; });
  connections_.splice(connections_.end(), strangers_, its);
}

Status Server::wrong_secret() const {
  return Status::error(Code::kInvalidArgument,
                       fmt::format("a PE came to {} with the secret of another job. Its unique id "
                                   "is old or was changed: give every PE the text that this job's "
                                   "UniqueId::text() gave",
                                   net::to_string(id_.address)));
}

void Server::admit(Connection& connection, const net::Frame& frame, Time now) {
  if (frame.type != static_cast<std::uint32_t>(Message::kJoin)) {
    return hang_up(connection, Status::error(Code::kIo, fmt::format("it answered with message {}",
                                                                    frame.type)));
  }
  const auto payload = open_seal(id_.secret, kJoinSeal, connection.nonces, frame.payload);
  if (!payload) return refuse(connection, wrong_secret(), now);
  const auto join = decode_join(*payload);
  if (!join) return hang_up(connection, join.status());
  Status refusal = check_number_of(*join);
  if (refusal.is_ok() && npes_ == 0) refusal = take_number(join->npes);
  if (refusal.is_ok()) refusal = rendezvous_->join(join->pe, join->member, now);
  if (!refusal.is_ok()) return refuse(connection, refusal, now);
  connection.state = Connection::State::kMember;
  connection.pe = join->pe;
  contacts_.resize(static_cast<std::size_t>(npes_));
  contacts_[static_cast<std::size_t>(join->pe)] = join->contact;
  members_.resize(static_cast<std::size_t>(npes_));
  members_[static_cast<std::size_t>(join->pe)] = &connection;
  connection.channel.set_most(kMostMessageBytes);
  tell(connection, Message::kAccepted,
       seal(id_.secret, kAcceptedSeal, connection.nonces, encode(Accepted{timeout_s_, self_})));
}

void Server::refuse(Connection& connection, const Status& why, Time now) {
  if (const auto more = refused_.pass()) {
    LOG(kInfo, "bootstrap", "refused {}: {}{}", connection.channel.peer(), why.text(), *more);
  }
  dismiss(connection, Message::kFailed, why, now);
}

Status Server::check_version(const Hello& hello) const {
  if (hello.protocol == kProtocol && hello.version == WEFT_VERSION) return Status::ok();
  return Status::error(
      Code::kVersionMismatch,
      fmt::format(
          "this PE is Weft {} (protocol {}), the rendezvous point at {} is Weft {} (protocol "
          "{}). Build and run every PE and the launcher with the same Weft",
          hello.version, hello.protocol, net::to_string(id_.address), WEFT_VERSION, kProtocol));
}

Status Server::check_number_of(const Join& join) const {
  if (npes_ == 0 || join.npes == npes_) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("PE {} says that the job has {} PEs, but {} {}. Give every PE the "
                  "same number (WEFT_NPES={})",
                  join.pe, join.npes,
                  id_.npes != 0 ? "the unique id was made for" : "one that came before said", npes_,
                  npes_));
}

// Nobody can have joined the rendezvous that this one replaces.
Status Server::take_number(int npes) {
  RETURN_IF_ERROR(check_number(npes));
  npes_ = npes;
  rendezvous_ = std::make_unique<Rendezvous>(npes_, timeout_s_);
  return Status::ok();
}

void Server::handle_member(Connection& connection, const net::Frame& frame, Time now) {
  switch (static_cast<Message>(frame.type)) {
    case Message::kWaiting:
    case Message::kLate: {
      auto call = decode_call(frame.payload);
      if (!call) return hang_up(connection, call.status());
      const bool late = frame.type == static_cast<std::uint32_t>(Message::kLate);
      return late ? rendezvous_->time_out(connection.pe, call->call, call->sequence)
                  : rendezvous_->wait(connection.pe, call->call, call->sequence);
    }
    case Message::kLeave: {
      auto calls = decode_leave(frame.payload);
      if (!calls) return hang_up(connection, calls.status());
      rendezvous_->leave_after(connection.pe, *calls);
      connection.leave_deadline = after(now, timeout_s_);
      return;
    }
    case Message::kAbort: {
      auto abort = decode_abort(frame.payload);
      if (!abort) return hang_up(connection, abort.status());
      return rendezvous_->abort(connection.pe, abort->code, abort->why);
    }
    default:
      return hang_up(connection, Status::error(Code::kIo, fmt::format("it sent message {}, which "
                                                                      "no PE sends",
                                                                      frame.type)));
  }
}

void Server::hang_up(Connection& connection, const Status& why) {
  connection.closed = true;
  if (pe_connection(connection.pe) == &connection) {
    members_[static_cast<std::size_t>(connection.pe)] = nullptr;
  }
  if (connection.state == Connection::State::kMember) {
    rendezvous_->lose(connection.pe,
                      fmt::format("its connection ended before it left the job ({})", why.text()));
  } else if (connection.state != Connection::State::kDismissed) {
    if (const auto more = turned_away_.pass()) {
      LOG(kInfo, "bootstrap", "{} was turned away at {}: {}{}", connection.channel.peer(),
          net::to_string(id_.address), why.text(), *more);
    }
  }
}

// A last word; then the other side closes. Closing first could destroy the word on its way.
void Server::dismiss(Connection& connection, Message message, const Status& why, Time now) {
  tell(connection, message, encode(why));
  connection.state = Connection::State::kDismissed;
  connection.leave_deadline = Time::max();
  connection.deadline = after(now, timeout_s_);
}

void Server::expire(Time now) {
  rendezvous_->expire(now);
  for (auto* connections : {&connections_, &strangers_}) {
    for (Connection& connection : *connections) {
      if (now >= connection.leave_deadline) {
        dismiss(connection, Message::kLeft, rendezvous_->leave_timeout(), now);
      }
      if (connection.state != Connection::State::kMember && now >= connection.deadline) {
        hang_up(connection, Status::error(Code::kTimeout, "it said nothing"));
      }
    }
  }
}

void Server::publish(Time now) {
  if (!rendezvous_->failure().is_ok()) return publish_failure(now);
  if (!rendezvous_->everybody_here()) return;
  if (!std::exchange(started_, true)) publish_start();
  if (rendezvous_->everybody_left()) publish_leave(now);
}

void Server::publish_failure(Time now) {
  for (Connection& connection : connections_) {
    if (connection.leave_deadline == Time::max()) continue;
    dismiss(connection, Message::kLeft, rendezvous_->failure(), now);
  }
  if (std::exchange(failure_published_, true)) return;
  raise_signal(failed_);
  const auto frame = std::make_shared<const net::Bytes>(net::encode_frame(
      static_cast<std::uint32_t>(Message::kFailed), encode(rendezvous_->failure())));
  for (Connection& connection : connections_) {
    if (connection.state == Connection::State::kMember) connection.channel.queue(frame);
  }
}

// Everybody learns where those behind it listen, and no more: log2(n) of n.
void Server::publish_start() {
  for (Connection& connection : connections_) {
    if (connection.state != Connection::State::kMember) continue;
    std::vector<Contact> contacts;
    for (int round = 0; round < rounds_of(npes_); ++round) {
      contacts.push_back(contacts_[static_cast<std::size_t>(behind(connection.pe, npes_, round))]);
    }
    tell(connection, Message::kStart, encode_start(contacts));
  }
}

void Server::publish_leave(Time now) {
  for (Connection& connection : connections_) {
    if (connection.state != Connection::State::kMember) continue;
    dismiss(connection, Message::kLeft, Status::ok(), now);
  }
  rendezvous_ = std::make_unique<Rendezvous>(npes_, timeout_s_);
  started_ = false;
}

void Server::tell(Connection& connection, Message message, std::span<const std::byte> payload) {
  connection.channel.queue(std::make_shared<const net::Bytes>(
      net::encode_frame(static_cast<std::uint32_t>(message), payload)));
}

}  // namespace weft::tcp
