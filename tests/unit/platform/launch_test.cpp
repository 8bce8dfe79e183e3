// The errors of launches on GPUs; the launches themselves are compiled into programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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
  const Status launch = detail::launch_failed({3, 64, 0}, "too many resources requested", 701);
  EXPECT_TRUE(launch.is(Code::kInternal));
  EXPECT_THAT(launch.text(), AllOf(HasSubstr("launching 3 blocks of 64 threads"),
                                   HasSubstr("too many resources requested")));
  const Status stream = detail::stream_failed("waiting for a stream", "an invalid handle", 400);
  EXPECT_TRUE(stream.is(Code::kInternal));
  EXPECT_STREQ(stream.text(), "waiting for a stream: an invalid handle");
}

TEST(LaunchTest, TheFailureOfAKernelNamesTheLastCalls) {
  constexpr int kIllegalAddress = 700;
  detail::note_operator("AllGather");
  detail::note_launch("weft::Status launch(Grid, Kernel) [with Kernel = First; Stream = void*]");
  detail::note_launch("weft::Status launch(Grid, Kernel) [Kernel = Second<int>]");
  detail::note_launch("weft::Status launch(Grid, Kernel) [Kernel = weft::kernels::cuda::Sum<int>]");
  detail::note_operator("AllReduce");
  detail::note_operator(std::string(500, 'x').c_str());
  EXPECT_STREQ(detail::stream_failed("waiting for a stream", "an invalid handle", 400).text(),
               "waiting for a stream: an invalid handle");
  const std::string calls = ". Before it, this process queued: " + std::string(96, 'x') +
                            ", before that AllReduce, before that Second<int>, before that First";
  EXPECT_EQ(std::string(detail::stream_failed("waiting", "bad address", kIllegalAddress).text()),
            "waiting: bad address" + calls);
  EXPECT_THAT(detail::launch_failed({1, 1, 0}, "bad address", kIllegalAddress).text(),
              HasSubstr("bad address" + calls));
}

}  // namespace
}  // namespace weft
