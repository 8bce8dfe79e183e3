#include "src/base/thread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>

#include "src/base/status.hpp"
#include "tests/support/refused_threads.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(Threads, RunTheirBodyUnderTheirName) {
  std::array<char, 16> name{};
  auto thread = start_thread(
      {"weft-test"}, [&] { ::pthread_getname_np(::pthread_self(), name.data(), name.size()); });
  ASSERT_TRUE(thread.is_ok());
  EXPECT_TRUE(thread->joinable());
  thread->join();
  EXPECT_FALSE(thread->joinable());
  EXPECT_STREQ(name.data(), "weft-test");
}

TEST(Threads, TakeTheSignalsOfTheirPlanOnly) {
  sigset_t before{}, inside{};
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
  auto thread = start_thread({.name = "weft-test", .signals = {SIGPROF}},
                             [&] { ::pthread_sigmask(SIG_BLOCK, nullptr, &inside); });
  ASSERT_TRUE(thread.is_ok());
  thread->join();
  EXPECT_EQ(::sigismember(&inside, SIGTERM), 1);
  EXPECT_EQ(::sigismember(&inside, SIGPROF), 0);
  sigset_t after{};
  ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGTERM), ::sigismember(&before, SIGTERM));
}

TEST(Threads, AreJoinedWhenTheirObjectGoesOrIsAssigned) {
  std::atomic<int> ended{0};
  {
    Thread held;
    for (int i = 0; i < 2; ++i) {
      auto thread = start_thread({"weft-test"}, [&] { ++ended; });
      ASSERT_TRUE(thread.is_ok());
      held = std::move(*thread);
      EXPECT_GE(ended, i);
    }
  }
  EXPECT_EQ(ended, 2);
}

// The text that a child, which gets no threads for `error`, has for it; "-": there are no filters.
std::string text_where_threads_are_refused(int error) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::string text = "-";
    if (refuse_threads(static_cast<unsigned>(error))) {
      const auto thread = start_thread({"weft-test"}, [] {});
      text = thread.is_ok() ? "it started" : std::string(thread.status().text());
    }
    ::_exit(::write(ends[1], text.data(), text.size()) > 0 ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text(1024, '\0');
  const ssize_t bytes = ::read(ends[0], text.data(), text.size());
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  return text;
}

TEST(Threads, ThatAreRefusedAreAStatusWhichSaysWhatHelps) {
  const std::string text = text_where_threads_are_refused(EAGAIN);
  if (text == "-") GTEST_SKIP() << "no seccomp filters here";
  EXPECT_THAT(text, HasSubstr("no thread weft-test"));
  EXPECT_THAT(text, HasSubstr("ulimit -u"));
  EXPECT_THAT(text_where_threads_are_refused(EPERM), HasSubstr("seccomp"));
}

}  // namespace
}  // namespace weft
