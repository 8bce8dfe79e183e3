#include "src/net/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft::net {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> resolve(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status::error(
        error == EAI_AGAIN ? Code::kBusy : Code::kIo,
        fmt::format("host \"{}\" cannot be found: {}", host,
                    error == EAI_SYSTEM ? errno_text(errno) : gai_strerror(error)));
  }
  return AddressList(found, &::freeaddrinfo);
}

Result<UniqueFd> open_socket(const addrinfo& at) {
  UniqueFd fd(
      ::socket(at.ai_family, at.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at.ai_protocol));
  if (!fd) {
    return Status::error(Code::kIo, fmt::format("no socket: {}", errno_text(errno)));
  }
  return fd;
}

void set_option(int fd, int level, int name, int value) {
  // A failure here costs speed or detection of a dead host, never correctness.
  (void)::setsockopt(fd, level, name, &value, sizeof value);
}

// Small frames leave at once, and a host that vanished without a word is noticed within a minute.
void tune(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 20);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

int pending_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// The network may still come up: these are worth another try.
bool may_pass(int error) {
  return error == ENETUNREACH || error == EHOSTUNREACH || error == ETIMEDOUT || error == ENETDOWN ||
         error == EADDRNOTAVAIL || error == EAGAIN || error == EINTR;
}

Result<UniqueFd> connect_once(const addrinfo& at, const std::string& name, double seconds) {
  ASSIGN_OR_RETURN(UniqueFd fd, open_socket(at));
  tune(fd.get());
  int error = ::connect(fd.get(), at.ai_addr, at.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS || error == EINTR) {
    RETURN_IF_ERROR(
        wait_for(fd.get(), POLLOUT, Deadline(seconds), fmt::format("{} to answer", name)));
    error = pending_error(fd.get());
  }
  if (error == 0) return fd;
  return Status::error(may_pass(error) ? Code::kBusy : Code::kIo,
                       fmt::format("no connection to {}: {}", name, errno_text(error)));
}

Result<UniqueFd> connect_any(const Address& address, double seconds) {
  ASSIGN_OR_RETURN(const AddressList list, resolve(address.host, address.port, 0));
  Status last;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    auto fd = connect_once(*at, to_string(address), seconds);
    if (fd) return fd;
    last = fd.status();
  }
  return last;
}

Result<UniqueFd> listen_once(const addrinfo& at) {
  ASSIGN_OR_RETURN(UniqueFd fd, open_socket(at));
  // A port of a job that has just ended may be taken again at once.
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  tune(fd.get());  // what is accepted inherits it
  if (::bind(fd.get(), at.ai_addr, at.ai_addrlen) != 0 || ::listen(fd.get(), 4096) != 0) {
    return Status::error(Code::kIo, errno_text(errno));
  }
  return fd;
}

}  // namespace

std::string errno_text(int error) {
  return fmt::format("{} (errno {})", std::generic_category().message(error), error);
}

Status wait_for(int fd, short events, const Deadline& deadline, std::string_view what) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, deadline.remaining_ms());
    if (ready > 0) return Status::ok();
    if (ready < 0 && errno != EINTR) {
      return Status::error(Code::kIo,
                           fmt::format("waiting for {}: poll: {}", what, errno_text(errno)));
    }
    if (deadline.expired()) {
      return Status::error(Code::kTimeout,
                           fmt::format("waited {:.3g} s for {}", deadline.waited_seconds(), what));
    }
  }
}

Result<UniqueFd> listen_at(const std::string& host, int port) {
  ASSIGN_OR_RETURN(const AddressList list, resolve(host, port, AI_PASSIVE));
  std::string why;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    auto fd = listen_once(*at);
    if (fd) return fd;
    why = fd.status().text();
  }
  return Status::error(Code::kIo, fmt::format("cannot listen at {} port {}: {}", host, port, why));
}

Result<Address> local_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    return Status::error(Code::kIo, fmt::format("getsockname: {}", errno_text(errno)));
  }
  return from_sockaddr(storage);
}

Result<Accepted> accept_one(int listener) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  UniqueFd fd(::accept4(listener, reinterpret_cast<sockaddr*>(&storage), &size,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) {
    // A peer that gave up in the queue counts as no connection.
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return Status::busy();
    return Status::error(Code::kIo, fmt::format("accept: {}", errno_text(errno)));
  }
  auto peer = from_sockaddr(storage);
  return Accepted{std::move(fd), peer ? to_string(*peer) : "an unknown address"};
}

double attempt_seconds(double waited_s) { return std::clamp(waited_s / 8, 0.02, 1.0); }

Result<UniqueFd> begin_connect(const Address& address) {
  ASSIGN_OR_RETURN(const AddressList list, resolve(address.host, address.port, AI_NUMERICHOST));
  ASSIGN_OR_RETURN(UniqueFd fd, open_socket(*list));
  tune(fd.get());
  if (::connect(fd.get(), list->ai_addr, list->ai_addrlen) == 0 || errno == EINPROGRESS ||
      errno == EINTR) {
    return fd;
  }
  return Status::error(
      Code::kIo, fmt::format("no connection to {}: {}", to_string(address), errno_text(errno)));
}

// A listener whose queue is full drops what comes, and the kernel asks again after 1, 3, 7, ...
// seconds only: new attempts come in between, often at first.
Result<UniqueFd> connect_to(const Address& address, const Deadline& deadline) {
  for (int pause_ms = 1;; pause_ms = std::min(2 * pause_ms, 200)) {
    const double attempt_s = attempt_seconds(deadline.waited_seconds());
    const int left_ms = deadline.remaining_ms();
    auto fd =
        connect_any(address, left_ms < 0 ? attempt_s : std::clamp(left_ms * 1e-3, 1e-3, attempt_s));
    if (fd || !(fd.status().is(Code::kBusy) || fd.status().is(Code::kTimeout))) return fd;
    if (deadline.expired()) {
      return Status::error(Code::kTimeout, fmt::format("{}; tried for {:.3g} s", fd.status().text(),
                                                       deadline.waited_seconds()));
    }
    const int left = deadline.remaining_ms();
    (void)::poll(nullptr, 0, left < 0 ? pause_ms : std::min(pause_ms, left));
  }
}

}  // namespace weft::net
