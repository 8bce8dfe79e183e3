// weft-run at a terminal: what is typed goes to PE 0, and Ctrl-C to everybody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "src/base/unique_fd.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

// weft-run with a terminal of its own; this side is its keyboard and screen.
class Terminal {
 public:
  explicit Terminal(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), WEFT_RUN);
    arguments.push_back(nullptr);
    int keyboard = -1;
    pid_ = ::forkpty(&keyboard, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      ::execv(arguments[0], const_cast<char* const*>(arguments.data()));
      ::_exit(98);
    }
    terminal_.reset(keyboard);
  }
  ~Terminal() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  // False where the machine gives no pseudo-terminals (a chroot without /dev/pts).
  bool exists() const { return pid_ >= 0; }

  void type(std::string_view text) {
    ASSERT_EQ(::write(terminal_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  // Until the screen shows `text`; false when it goes dark first.
  bool await(const std::string& text) {
    std::array<char, 4096> piece;
    while (screen_.find(text) == std::string::npos) {
      const ssize_t n = ::read(terminal_.get(), piece.data(), piece.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      screen_.append(piece.data(), static_cast<std::size_t>(n));
    }
    return true;
  }
  int wait() {
    await("\x01 never shown");
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& screen() const { return screen_; }

 private:
  pid_t pid_ = -1;
  UniqueFd terminal_;
  std::string screen_;
};

TEST(Terminal, WhatIsTypedGoesToPeZero) {
  Terminal terminal({"-n", "2", WEFT_LAUNCH_PROGRAM, "input"});
  if (!terminal.exists()) GTEST_SKIP() << "no pseudo-terminal: " << std::strerror(errno);
  ASSERT_TRUE(terminal.await("PE 1 read 0"));
  terminal.type("hello\n\x04");  // Ctrl-D: the end of the input
  EXPECT_EQ(terminal.wait(), 0) << terminal.screen();
  EXPECT_THAT(terminal.screen(), HasSubstr("PE 0 read 6"));
}

TEST(Terminal, ControlCEndsEverybody) {
  Terminal terminal({"-n", "2", "--prefix", WEFT_LAUNCH_PROGRAM, "sleep"});
  if (!terminal.exists()) GTEST_SKIP() << "no pseudo-terminal: " << std::strerror(errno);
  ASSERT_TRUE(terminal.await("[0] pid"));
  ASSERT_TRUE(terminal.await("[1] pid"));
  terminal.type("\x03");
  EXPECT_EQ(terminal.wait(), 130) << terminal.screen();
  EXPECT_THAT(terminal.screen(), HasSubstr("SIGINT: ending all PEs"));
}

}  // namespace
}  // namespace weft
