#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "src/base/status.hpp"
#include "src/platform/cpu/fd_message.hpp"
#include "src/platform/cpu/fd_server.hpp"

namespace weft::cpu {
namespace {

Status failure(const char* what, int error) {
  switch (error) {
    case ECONNREFUSED:
      return Status::error(
          Code::kPeerLost,
          "cannot open a peer's memory: nobody listens on its socket. The peer has ended, or lives "
          "in another network namespace (containers of one job must share it, e.g. docker run "
          "--network=host or --network=container:NAME)");
    case EAGAIN:
      return Status::error(Code::kTimeout,
                           "cannot open a peer's memory: its process is there but does not answer. "
                           "It may be stopped, or short of file descriptors (ulimit -n)");
    case ECONNRESET:
    case EPIPE:
      return Status::error(Code::kPeerLost,
                           "cannot open a peer's memory: its process ended meanwhile");
    case EMFILE:
    case ENFILE:
      return Status::error(Code::kOutOfMemory,
                           fmt::format("cannot open a peer's memory: {}: {}; raise the limit on "
                                       "open files (ulimit -n)",
                                       what, std::strerror(error)));
    default:
      return Status::error(Code::kIo, fmt::format("cannot open a peer's memory: {}: {}", what,
                                                  std::strerror(error)));
  }
}

Status check_user(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
    return failure("SO_PEERCRED", errno);
  }
  if (peer.uid == ::geteuid()) return Status::ok();
  return Status::error(Code::kInvalidArgument,
                       fmt::format("cannot open a peer's memory: it runs as user {}, this process "
                                   "as user {}; PEs that share memory must run as one user",
                                   peer.uid, ::geteuid()));
}

Status set_deadline(int socket, double seconds) {
  timeval limit{};
  limit.tv_sec = static_cast<time_t>(std::floor(seconds));
  limit.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  if (limit.tv_sec == 0 && limit.tv_usec == 0) limit.tv_usec = 1;  // zero would be no limit
  if (::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
      ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) {
    return failure("no deadline", errno);
  }
  return Status::ok();
}

Result<UniqueFd> receive_fd(int socket) {
  FdAnswer answer{};
  iovec part{&answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return failure("no answer", errno);
  if (got == 0) return failure("no answer", ECONNRESET);

  UniqueFd fd;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int received;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    fd.reset(received);
  }
  if (got != sizeof answer) return failure("an answer of the wrong size", EPROTO);
  switch (answer) {
    case FdAnswer::kGiven:
      if (fd) return fd;
      return failure("the descriptor was dropped on its way", EMFILE);
    case FdAnswer::kUnknownTicket:
      return Status::error(Code::kInvalidArgument,
                           "cannot open a peer's memory: the peer no longer has this chunk, or the "
                           "bytes that describe it are wrong");
  }
  return failure("an unknown answer", EPROTO);
}

}  // namespace

Result<UniqueFd> fetch_fd(const Uuid& server, const Uuid& ticket, double seconds) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return failure("no unix socket", errno);
  RETURN_IF_ERROR(set_deadline(socket.get(), seconds));

  const AbstractAddress at = abstract_address(server);
  int connected;
  do {
    connected = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at.address), at.bytes);
  } while (connected != 0 && errno == EINTR);
  if (connected != 0) return failure("connect", errno);
  RETURN_IF_ERROR(check_user(socket.get()));  // before the ticket is told to anybody
  if (::send(socket.get(), ticket.data(), ticket.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE) {
    return failure("send", errno);  // after EPIPE, an answer may be waiting to be read
  }
  return receive_fd(socket.get());
}

}  // namespace weft::cpu
