#include "src/net/channel.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft::net {

Channel::Channel(UniqueFd socket, std::string peer, std::uint64_t most_bytes)
    : socket_(std::move(socket)), peer_(std::move(peer)), decoder_(most_bytes) {}

Status Channel::lost(std::string_view action, int error) const {
  const bool ended = error == ECONNRESET || error == EPIPE || error == ETIMEDOUT;
  return Status::error(ended ? Code::kPeerLost : Code::kIo,
                       fmt::format("{} {}: {}", action, peer_, errno_text(error)));
}

Status Channel::fill() {
  std::array<std::byte, kMostPiece> piece;
  for (;;) {
    const ssize_t n = ::recv(fd(), piece.data(), piece.size(), 0);
    if (n > 0) {
      received_ += static_cast<std::uint64_t>(n);
      Status status = decoder_.feed(std::span(piece).first(static_cast<std::size_t>(n)));
      if (status.is_ok()) return status;
      return Status::error(status.code(), fmt::format("from {}: {}", peer_, status.text()));
    }
    if (n == 0) {
      return Status::error(Code::kPeerLost,
                           fmt::format("{} closed the connection{}", peer_,
                                       decoder_.partial() ? " in the middle of a frame" : ""));
    }
    if (errno == EAGAIN) return Status::busy();
    if (errno != EINTR) return lost("receiving from", errno);
  }
}

Status Channel::flush() {
  while (!out_.empty()) {
    const Bytes& frame = *out_.front();
    const ssize_t n =
        ::send(fd(), frame.data() + sent_, frame.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EAGAIN) return Status::busy();
      if (errno == EINTR) continue;
      return lost("sending to", errno);
    }
    sent_ += static_cast<std::size_t>(n);
    if (sent_ == frame.size()) {
      out_.pop_front();
      sent_ = 0;
    }
  }
  return Status::ok();
}

Result<Frame> Channel::receive(const Deadline& deadline, std::string_view what) {
  for (;;) {
    if (auto frame = next()) return std::move(*frame);
    Status status = fill();
    if (status.is_ok()) continue;
    if (!status.is(Code::kBusy)) return status;
    RETURN_IF_ERROR(wait_for(fd(), POLLIN, deadline, fmt::format("{} from {}", what, peer_)));
  }
}

}  // namespace weft::net
