// What launches on GPUs say; the launches themselves are compiled into programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/device/launch.hpp>

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(LaunchTest, AGridHasThreadsAndNotMoreThanTheKernelTakes) {
  EXPECT_TRUE(detail::check_grid({1, 1}, 1024).is_ok());
  EXPECT_TRUE(detail::check_grid({7, 256}, 256).is_ok());
  for (const dev::Grid& empty : {dev::Grid{0, 32}, dev::Grid{1, 0}}) {
    const Status status = detail::check_grid(empty, 1024);
    EXPECT_TRUE(status.is(Code::kInvalidArgument));
    EXPECT_THAT(status.text(), HasSubstr("nothing to run"));
  }
  const Status large = detail::check_grid({2, 257, 64}, 256);
  EXPECT_TRUE(large.is(Code::kOutOfRange));
  EXPECT_THAT(large.text(), AllOf(HasSubstr("2 blocks of 257 threads with 64 bytes"),
                                  HasSubstr("takes 256 threads a block at most")));
}

TEST(LaunchTest, FailuresSayWhatTheGpusRuntimeSays) {
  const Status launch = detail::launch_failed({3, 64, 0}, "too many resources requested");
  EXPECT_TRUE(launch.is(Code::kInternal));
  EXPECT_THAT(launch.text(), AllOf(HasSubstr("launching 3 blocks of 64 threads"),
                                   HasSubstr("too many resources requested")));
  const Status stream = detail::stream_failed("waiting for a stream", "an illegal address");
  EXPECT_TRUE(stream.is(Code::kInternal));
  EXPECT_STREQ(stream.text(), "waiting for a stream: an illegal address");
}

}  // namespace
}  // namespace weft
