// The small things of src/base: clock, file descriptor, environment, signals, text.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <csignal>

#include "src/base/clock.hpp"
#include "src/base/signal_guard.hpp"
#include "src/base/text.hpp"
#include "src/base/unique_fd.hpp"
#include "tests/unit/base/scoped_env.hpp"

namespace weft {
namespace {

TEST(Deadline, ZeroAndLessAreNever) {
  for (const double seconds : {0.0, -1.0, 1e300}) {
    const Deadline deadline(seconds);
    EXPECT_TRUE(deadline.is_never());
    EXPECT_FALSE(deadline.expired());
    EXPECT_EQ(deadline.remaining_ms(), -1);
  }
  EXPECT_TRUE(Deadline::never().is_never());
}

TEST(Deadline, ExpiresAndThenHasNothingLeft) {
  const Deadline soon(1e-9);
  while (!soon.expired()) {
  }
  EXPECT_EQ(soon.remaining_ms(), 0);
  EXPECT_GT(soon.waited_seconds(), 0);
}

TEST(Deadline, AFarOneHasTimeLeftAndFitsPoll) {
  const Deadline later(3600);
  EXPECT_FALSE(later.expired());
  EXPECT_GT(later.remaining_ms(), 0);
  EXPECT_LE(later.remaining_ms(), 3600 * 1000);
  EXPECT_EQ(Deadline(8e9).remaining_ms(), std::numeric_limits<int>::max());
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFd, ClosesWhatItOwnsOnce) {
  int raw = -1;
  {
    UniqueFd fd(::open("/dev/null", O_RDONLY));
    raw = fd.get();
    ASSERT_TRUE(fd && is_open(raw));
    UniqueFd moved(std::move(fd));
    EXPECT_FALSE(fd);  // NOLINT: what moving leaves is the point
    EXPECT_EQ(moved.get(), raw);
    fd = std::move(moved);
    EXPECT_EQ(fd.get(), raw);
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(UniqueFd, ReleaseGivesUpOwnership) {
  UniqueFd fd(::open("/dev/null", O_RDONLY));
  const int raw = fd.release();
  fd.reset();
  EXPECT_TRUE(is_open(raw));
  ::close(raw);
}

TEST(Environment, ReadsValuesAndPrefixes) {
  ScopedEnv env;
  env.set("WARP_A", "1=2");
  env.set("WARP_B", "");
  EXPECT_EQ(environment_value("WARP_A"), "1=2");
  EXPECT_EQ(environment_value("WARP_B"), "");
  EXPECT_EQ(environment_value("WARP_C"), std::nullopt);
  const auto found = environment_with_prefix("WARP_");
  EXPECT_EQ(found.size(), 2u);
  for (const auto& [name, value] : found) EXPECT_EQ(value, name == "WARP_A" ? "1=2" : "");
}

TEST(SignalGuard, HandlersStayAsTheyWere) {
  struct sigaction mine {};
  mine.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &mine, nullptr), 0);
  {
    const SignalGuard keeps;
    ASSERT_NE(std::signal(SIGUSR1, SIG_IGN), SIG_ERR);
    ASSERT_NE(std::signal(SIGUSR2, [](int) {}), SIG_ERR);
  }
  struct sigaction now {};
  ::sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, mine.sa_handler);
  ::sigaction(SIGUSR2, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  std::signal(SIGUSR1, SIG_DFL);
}

using Views = std::vector<std::string_view>;

TEST(Text, LinesAndWords) {
  EXPECT_EQ(lines_of(""), Views());
  EXPECT_EQ(lines_of("a b\n\nc"), (Views{"a b", "", "c"}));
  EXPECT_EQ(lines_of("a\n"), Views{"a"});
  EXPECT_EQ(words_of(" \t"), Views());
  EXPECT_EQ(words_of("  a:  12\tb\r\n"), (Views{"a:", "12", "b"}));
}

TEST(Text, ANumberIsAllOfTheWord) {
  EXPECT_EQ(number_in<int>("-12"), -12);
  EXPECT_EQ(number_in<double>("0.5"), 0.5);
  EXPECT_EQ(number_in<std::uint64_t>("18446744073709551615"), 18446744073709551615u);
  for (const char* wrong : {"", "max", "12k", " 12", "0,5"})
    EXPECT_EQ(number_in<double>(wrong), std::nullopt) << wrong;
  EXPECT_EQ(number_in<std::uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(number_in<std::uint64_t>("-1"), std::nullopt);
}

}  // namespace
}  // namespace weft
