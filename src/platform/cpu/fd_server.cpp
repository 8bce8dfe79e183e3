#include "src/platform/cpu/fd_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "src/base/log.hpp"
#include "src/base/log_limit.hpp"
#include "src/base/process.hpp"
#include "src/base/status.hpp"
#include "src/base/thread.hpp"
#include "src/platform/cpu/fd_message.hpp"

namespace weft::cpu {
namespace {

constexpr std::size_t kMostConnections = 1024;  // beyond these, fetchers wait in the backlog
constexpr int kMostAccepts = 32;                // in a round, so that fetchers are answered between

Status failure(const char* what) {
  return Status::error(
      Code::kIo,
      fmt::format(
          "cannot share memory with other processes: {}: {}{}", what, std::strerror(errno),
          errno == EMFILE || errno == ENFILE ? "; raise the limit on open files (ulimit -n)" : ""));
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
         peer.uid == ::geteuid();
}

// `fd` below zero: none goes along.
void send_answer(int socket, FdAnswer answer, int fd) {
  iovec part{&answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  // Never blocks: the answer is the only packet that this connection ever carries.
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    LOG(kDebug, "platform", "a process that asked for shared memory did not take the answer: {}",
        std::strerror(errno));
  }
}

}  // namespace

AbstractAddress abstract_address(const Uuid& name) {
  AbstractAddress out;
  out.address.sun_family = AF_UNIX;
  char* to = out.address.sun_path + 1;
  to = fmt::format_to(to, "weft-");
  for (const std::byte byte : name) to = fmt::format_to(to, "{:02x}", static_cast<unsigned>(byte));
  out.bytes = static_cast<socklen_t>(to - reinterpret_cast<char*>(&out.address));
  return out;
}

struct FdServer::State {
  Uuid name = random_uuid();
  OwnerProcess process;
  UniqueFd listener;
  UniqueFd stop;  // readable when the thread shall end
  Thread thread;
  std::vector<UniqueFd> connections;  // of the thread
  LogLimit refused;

  std::mutex mutex;
  std::map<Uuid, int> offers;

  Status start();
  void serve();
  void accept_some();
  bool accept_one();
  void answer(int socket);
};

Status FdServer::State::start() {
  listener.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return failure("no unix socket");
  stop.reset(::eventfd(0, EFD_CLOEXEC));
  if (!stop) return failure("no eventfd");
  const AbstractAddress at = abstract_address(name);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.address), at.bytes) != 0) {
    return failure("no abstract unix socket");
  }
  if (::listen(listener.get(), SOMAXCONN) != 0) return failure("cannot listen on a unix socket");

  ASSIGN_OR_RETURN(thread, start_thread({"weft-fd"}, [this] { serve(); }));
  return Status::ok();
}

void FdServer::State::serve() {
  std::vector<pollfd> polls;
  for (;;) {
    const bool full = connections.size() >= kMostConnections;
    polls.assign({{stop.get(), POLLIN, 0}, {full ? -1 : listener.get(), POLLIN, 0}});
    for (const UniqueFd& connection : connections) polls.push_back({connection.get(), POLLIN, 0});
    if (::poll(polls.data(), polls.size(), -1) < 0) continue;  // EINTR
    if (polls[0].revents != 0) return;
    for (std::size_t i = connections.size(); i-- > 0;) {
      if (polls[2 + i].revents == 0) continue;
      answer(connections[i].get());
      connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (polls[1].revents != 0) accept_some();
  }
}

void FdServer::State::accept_some() {
  for (int i = 0; i < kMostAccepts && connections.size() < kMostConnections; ++i) {
    if (!accept_one()) return;
  }
}

// False: nobody waits.
bool FdServer::State::accept_one() {
  UniqueFd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) {
    // Out of descriptors: the fetcher stays in the backlog; look again in a while, do not spin.
    if (errno == EMFILE || errno == ENFILE) ::poll(nullptr, 0, 10);
    return false;
  }
  if (same_user(connection.get())) {
    connections.push_back(std::move(connection));
    return true;
  }
  // No word to a stranger: a process of this job finds the same out before it asks.
  if (const auto more = refused.pass()) {
    LOG(kWarn, "platform",
        "a process of another user asked for shared memory of this one; refused{}", *more);
  }
  return true;
}

void FdServer::State::answer(int socket) {
  Uuid ticket;
  if (::recv(socket, ticket.data(), ticket.size(), MSG_DONTWAIT) !=
      static_cast<ssize_t>(ticket.size())) {
    return;  // gone, or not one of ours
  }
  const std::lock_guard lock(mutex);  // held while sending: the owner cannot close the descriptor
  const auto offer = offers.find(ticket);
  if (offer == offers.end()) {
    send_answer(socket, FdAnswer::kUnknownTicket, -1);
  } else {
    send_answer(socket, FdAnswer::kGiven, offer->second);
  }
}

Result<std::shared_ptr<FdServer>> FdServer::get() {
  static std::mutex mutex;
  static auto* const current = new std::weak_ptr<FdServer>;  // outlives every static Runtime
  const std::lock_guard lock(mutex);
  if (auto server = current->lock(); server != nullptr && !server->is_inherited()) return server;
  auto state = std::make_unique<State>();
  RETURN_IF_ERROR(state->start());
  std::shared_ptr<FdServer> server(new FdServer(std::move(state)));
  *current = server;
  return server;
}

FdServer::FdServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

FdServer::~FdServer() {
  if (is_inherited()) {
    keep_for_parent(std::move(state_));
    return;
  }
  ::eventfd_write(state_->stop.get(), 1);
  state_->thread.join();
}

bool FdServer::is_inherited() const { return state_->process.is_inherited(); }

const Uuid& FdServer::name() const { return state_->name; }

void FdServer::offer(const Uuid& ticket, int fd) {
  const std::lock_guard lock(state_->mutex);
  state_->offers.emplace(ticket, fd);
}

void FdServer::withdraw(const Uuid& ticket) {
  if (is_inherited()) return;
  const std::lock_guard lock(state_->mutex);
  state_->offers.erase(ticket);
}

}  // namespace weft::cpu
