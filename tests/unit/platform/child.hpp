// A forked child with a line to its parent, for tests of what processes do to each other.
//
// The body runs in the child and returns true when all was as expected; it must not use gtest.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "src/base/unique_fd.hpp"
#include "src/platform/platform.hpp"

namespace weft::test {

// Whole messages between the two; the other end's death reads as nothing.
class Line {
 public:
  explicit Line(int fd) : fd_(fd) {}
  void send(const Blob& message) const {
    if (::send(fd_.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0) std::perror("send");
  }
  void signal() const { send(Blob(1)); }
  Blob receive() const {
    Blob message(1 << 16);
    const ssize_t got = ::recv(fd_.get(), message.data(), message.size(), 0);
    message.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return message;
  }

 private:
  UniqueFd fd_;
};

class Child {
 public:
  template <class Body>
  explicit Child(Body body) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::perror("pair");
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      const bool well = body(Line(ends[1]));
      std::fflush(nullptr);
      ::_exit(well ? 0 : 1);
    }
    ::close(ends[1]);
    line_ = Line(ends[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill(); }

  const Line& line() const { return line_; }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }
  // True when the child's body returned true.
  bool wait() {
    if (pid_ <= 0) return false;
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t pid_ = -1;
  Line line_{-1};
};

// In a child: says what failed and goes on.
inline bool expect(bool holds, const std::string& what) {
  if (!holds) std::fprintf(stderr, "child: %s\n", what.c_str());
  return holds;
}

// Counts of the whole process. Sanitizers map and open things when they like; use differences of
// many.
std::size_t open_descriptors();
std::size_t mappings();

}  // namespace weft::test
