// A file descriptor that closes itself, and is never one of the standard streams.
//
// A program may run with descriptors 0, 1 or 2 closed, and then the next file or socket gets that
// number: what the program prints would go into the symmetric heap or to a peer. So whatever a
// UniqueFd takes over lies above them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace weft {

// Keeps the numbers of those that are closed from the descriptors that libraries of others open.
// Read and written they fail as closed ones do, and after exec() they are closed again.
inline void hold_standard_streams() noexcept {
  const int error = errno;
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number, which is `fd` unless another thread takes it first.
    const int held = ::open("/", O_PATH | O_CLOEXEC);
    if (held > 2) ::close(held);
  }
  errno = error;
}

// `fd`, or in its place a copy above 2, closed on exec. Below zero, with errno, if there is none.
inline int above_standard_streams(int fd) noexcept {
  if (fd < 0 || fd > 2) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  const int error = errno;
  ::close(fd);
  hold_standard_streams();  // it had that number because one of them is closed
  errno = error;
  return moved;
}

class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  explicit UniqueFd(int fd) noexcept : fd_(above_standard_streams(fd)) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    const int old = std::exchange(fd_, above_standard_streams(fd));
    if (old >= 0 && old != fd_) ::close(old);
  }

 private:
  int fd_ = -1;
};

}  // namespace weft
