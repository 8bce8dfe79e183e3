// Words: data that are their own flag, from several members at once; places that are free again; a
// wait that fails says whom it was for.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/device/kernels.hpp"
#include "tests/device/world.hpp"

namespace weft::test {
namespace {

WEFT_HOST_DEVICE std::uint64_t value_of(int from, unsigned round, unsigned thread) {
  return (std::uint64_t{round} << 40) + static_cast<std::uint64_t>(from) * 1000 + thread;
}

constexpr unsigned kThreads = 2 * kWarp + 1;

// Everybody sends to everybody, in a kernel of its own for each round; places have two halves, used
// in turns. Odd threads skip every third round.
struct Exchange {
  DeviceContext handle;
  std::uint64_t* places;  // [2][npes][threads]
  unsigned round;
  int* wrong;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const unsigned me = dev::thread_rank();
    if (me % 2 == 1 && round % 3 == 0) return;
    std::uint64_t* const half =
        places + (round & 1) * static_cast<unsigned>(ctx.npes()) * kThreads + me;
    for (int pe = 0; pe < ctx.npes(); ++pe)
      dev::send_word(ctx.ptr(half + static_cast<unsigned>(ctx.pe()) * kThreads, pe),
                     value_of(ctx.pe(), round, me));
    std::uint64_t data[8];
    const auto awaited = [&](int k) -> dev::AwaitedWord {
      if (k >= ctx.npes()) return {nullptr, -1};
      return {half + static_cast<unsigned>(k) * kThreads, k};
    };
    bool ok = dev::take_words<8>(handle, "exchange", awaited, data);
    for (int pe = 0; ok && pe < ctx.npes(); ++pe) ok = data[pe] == value_of(pe, round, me);
    if (!ok) wrong[me] = 1;
  }
};

class WordTest : public ::testing::TestWithParam<int> {};

TEST_P(WordTest, BringThemselvesFromAll) {
  on_pes(Way::kMapped, GetParam(), [](Pe& pe) {
    const std::size_t count = 2 * static_cast<std::size_t>(pe.npes()) * kThreads;
    auto* const places = pe.allocate<std::uint64_t>(count);
    for (std::size_t i = 0; i < count; ++i) places[i] = dev::kNoWord;
    SharedVector<int> wrong(kThreads, 0);
    pe.barrier();
    for (unsigned round = 1; round <= 40; ++round)
      pe.run(1, kThreads, Exchange{pe.handle(), places, round, wrong.data()});
    for (const int w : wrong) EXPECT_EQ(w, 0);
    pe.barrier();
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(places[i], dev::kNoWord) << i;
  });
}
INSTANTIATE_TEST_SUITE_P(Pes, WordTest, ::testing::Values(1, 2, 3, 8),
                         ::testing::PrintToStringParamName());

// Of three, the second does not come.
struct TakeThree {
  DeviceContext handle;
  std::uint64_t* places;
  int* answer;
  WEFT_DEVICE void operator()() const {
    std::uint64_t data[3];
    const auto awaited = [&](int k) -> dev::AwaitedWord { return {places + k, k}; };
    *answer = dev::take_words<3>(handle, "three words", awaited, data) ? 1 : 0;
  }
};

TEST(Words, ThatDoNotComeAreReported) {
  JobOptions options;
  options.npes = 3;
  options.deadline_ns = 20'000'000;
  DeviceJob job(options);
  const std::uint64_t offset = job.allocate<std::uint64_t>(3);
  auto* const places = job.at<std::uint64_t>(0, offset);
  places[0] = 5;
  places[1] = dev::kNoWord;
  places[2] = 6;
  SharedVector<int> answer(1, -1);
  enter_pe(0);
  EXPECT_OK(dev::launch({1, 1, 0}, TakeThree{job.handle(0), places, answer.data()}));
  EXPECT_OK(dev::synchronize());
  EXPECT_EQ(answer[0], 0);
  EXPECT_EQ(places[0], 5u);
  FaultRecord record;
  ASSERT_TRUE(job.take_fault(0, &record));
  EXPECT_EQ(record.code, static_cast<std::uint32_t>(FaultCode::kWaitTimeout));
  EXPECT_EQ(record.pe, 1);
  EXPECT_STREQ(record.where, "three words");
  EXPECT_EQ(record.offset, offset + 8);
}

}  // namespace
}  // namespace weft::test
