#include "bootstrap/run/output_queue.hpp"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "src/base/clock.hpp"
#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft::run {
namespace {

// How much a descriptor that polls as writable takes without blocking.
std::size_t piece_bytes(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return PIPE_BUF;
  if (S_ISREG(info.st_mode)) return 65536;
  if (S_ISCHR(info.st_mode)) return 256;  // a terminal
  return PIPE_BUF;
}

}  // namespace

void Outlet::put(int fd, std::string_view line) {
  waiting_ += line.size();
  // Lines for the same place go together: fewer, larger writes.
  if (queue_.size() > 1 && queue_.back().fd == fd && queue_.back().text.size() < 65536) {
    queue_.back().text += line;
  } else {
    queue_.push_back({fd, std::string(line)});
  }
}

void Outlet::say(std::string_view text) { put(2, fmt::format("weft-run: {}\n", text)); }

Status Outlet::write_some() {
  if (queue_.empty()) return Status::ok();
  Piece& front = queue_.front();
  const std::size_t bytes = std::min(front.text.size() - written_, piece_bytes(front.fd));
  const ssize_t n = ::write(front.fd, front.text.data() + written_, bytes);
  if (n < 0) {
    if (errno == EINTR || errno == EAGAIN) return Status::ok();
    const int error = errno;
    waiting_ -= front.text.size() - written_;
    written_ = 0;
    const int fd = front.fd;
    queue_.pop_front();
    const char* const what = fd == 1   ? "standard output"
                             : fd == 2 ? "standard error"
                                       : "a file of --output-dir";
    return Status::error(error == EPIPE ? Code::kPeerLost : Code::kIo,
                         fmt::format("{} cannot be written, and what the PEs wrote is lost: {}",
                                     what, net::errno_text(error)));
  }
  written_ += static_cast<std::size_t>(n);
  waiting_ -= static_cast<std::size_t>(n);
  if (written_ == front.text.size()) {
    queue_.pop_front();
    written_ = 0;
  }
  return Status::ok();
}

Status Outlet::drain(double seconds) {
  const Deadline deadline(seconds);
  Status first;
  while (!queue_.empty()) {
    pollfd entry{fd(), POLLOUT, 0};
    if (::poll(&entry, 1, deadline.remaining_ms()) == 0 && deadline.expired()) {
      return Status::error(Code::kIo, fmt::format("nobody read the last {} bytes of output within "
                                                  "{:g} s, and they are lost",
                                                  waiting_, seconds));
    }
    // A failure drops the piece, and what other descriptors wait for still goes.
    if (Status written = write_some(); !written.is_ok() && first.is_ok()) first = written;
  }
  return first;
}

}  // namespace weft::run
