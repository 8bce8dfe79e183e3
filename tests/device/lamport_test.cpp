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

// The differences between a word and a pair of words.
struct Words {
  using Data = std::uint64_t;
  using Awaited = dev::AwaitedLamport;
  static WEFT_HOST_DEVICE Data of(std::uint64_t value) { return value; }
  static WEFT_HOST_DEVICE bool is(Data data, std::uint64_t value) { return data == value; }
  static WEFT_DEVICE void send(Data* place, Data data) { dev::send_lamport(place, data); }
};
struct Pairs {
  using Data = dev::LamportPair;
  using Awaited = dev::AwaitedLamportPair;
  static WEFT_HOST_DEVICE Data of(std::uint64_t value) { return {value, ~value << 1}; }
  static WEFT_HOST_DEVICE bool is(Data data, std::uint64_t value) {
    return data.first == value && data.second == ~value << 1;
  }
  static WEFT_DEVICE void send(Data* place, Data data) { dev::send_lamport(place, data); }
};

// Everybody sends to everybody, in a kernel of its own for each round; places have two halves, used
// in turns. Odd threads skip every third round.
template <class Kind>
struct Exchange {
  using Data = typename Kind::Data;
  DeviceContext handle;
  Data* places;  // [2][npes][threads]
  unsigned round;
  int* wrong;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const unsigned me = dev::thread_rank();
    if (me % 2 == 1 && round % 3 == 0) return;
    Data* const half = places + (round & 1) * static_cast<unsigned>(ctx.npes()) * kThreads + me;
    for (int pe = 0; pe < ctx.npes(); ++pe)
      Kind::send(ctx.ptr(half + static_cast<unsigned>(ctx.pe()) * kThreads, pe),
                 Kind::of(value_of(ctx.pe(), round, me)));
    Data data[8];
    const auto awaited = [&](int k) -> typename Kind::Awaited {
      if (k >= ctx.npes()) return {nullptr, -1};
      return {half + static_cast<unsigned>(k) * kThreads, k};
    };
    bool ok = dev::receive_lamport<8>(handle, "exchange", awaited, data);
    for (int pe = 0; ok && pe < ctx.npes(); ++pe) ok = Kind::is(data[pe], value_of(pe, round, me));
    if (!ok) wrong[me] = 1;
  }
};

class WordTest : public ::testing::TestWithParam<int> {};

template <class Kind>
void exchange(int npes) {
  using Data = typename Kind::Data;
  on_pes(Way::kMapped, npes, [](Pe& pe) {
    const std::size_t all = 2 * static_cast<std::size_t>(pe.npes()) * kThreads;
    const std::size_t count = all * sizeof(Data) / sizeof(std::uint64_t);
    auto* const places = pe.allocate<Data>(all);
    auto* const words = reinterpret_cast<std::uint64_t*>(places);
    for (std::size_t i = 0; i < count; ++i) words[i] = dev::kLamportEmpty;
    SharedVector<int> wrong(kThreads, 0);
    pe.barrier();
    for (unsigned round = 1; round <= 40; ++round)
      pe.run(1, kThreads, Exchange<Kind>{pe.handle(), places, round, wrong.data()});
    for (const int w : wrong) EXPECT_EQ(w, 0);
    pe.barrier();
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(words[i], dev::kLamportEmpty) << i;
  });
}
TEST_P(WordTest, BringThemselvesFromAll) { exchange<Words>(GetParam()); }
TEST_P(WordTest, BringThemselvesInPairs) { exchange<Pairs>(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Pes, WordTest, ::testing::Values(1, 2, 3, 8),
                         ::testing::PrintToStringParamName());

// Three are awaited.
template <class Kind>
struct TakeThree {
  DeviceContext handle;
  typename Kind::Data* places;
  int* answer;
  WEFT_DEVICE void operator()() const {
    typename Kind::Data data[3];
    const auto awaited = [&](int k) -> typename Kind::Awaited { return {places + k, k}; };
    *answer = dev::receive_lamport<3>(handle, "three words", awaited, data) ? 1 : 0;
  }
};

// All have come but word `missing`, which is part of what PE 1 sends.
template <class Kind>
void report(std::size_t missing) {
  using Data = typename Kind::Data;
  constexpr std::size_t kCount = 3 * sizeof(Data) / sizeof(std::uint64_t);
  JobOptions options;
  options.npes = 3;
  options.deadline_ns = 20'000'000;
  DeviceJob job(options);
  const std::uint64_t offset = job.allocate<Data>(3);
  auto* const places = job.at<Data>(0, offset);
  auto* const words = reinterpret_cast<std::uint64_t*>(places);
  for (std::size_t i = 0; i < kCount; ++i) words[i] = i == missing ? dev::kLamportEmpty : i;
  SharedVector<int> answer(1, -1);
  enter_pe(0);
  EXPECT_OK(dev::launch({1, 1, 0}, TakeThree<Kind>{job.handle(0), places, answer.data()}));
  EXPECT_OK(dev::synchronize());
  EXPECT_EQ(answer[0], 0);
  for (std::size_t i = 0; i < kCount; ++i)
    EXPECT_EQ(words[i], i == missing ? dev::kLamportEmpty : i);
  FaultRecord record;
  ASSERT_TRUE(job.take_fault(0, &record));
  EXPECT_EQ(record.code, static_cast<std::uint32_t>(FaultCode::kWaitTimeout));
  EXPECT_EQ(record.pe, 1);
  EXPECT_STREQ(record.where, "three words");
  EXPECT_EQ(record.offset, offset + 8 * missing);
}
TEST(Words, ThatDoNotComeAreReported) { report<Words>(1); }
TEST(Words, HalvesOfPairsThatDoNotComeAreReported) {
  report<Pairs>(2);
  report<Pairs>(3);
}

}  // namespace
}  // namespace weft::test
