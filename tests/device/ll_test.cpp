// Packets: data comes with its flag, from several members at once; a wait that fails says whom it
// was for; units of any length at any address.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/device/kernels.hpp"
#include "tests/device/world.hpp"

namespace weft::test {
namespace {

WEFT_HOST_DEVICE std::uint64_t value_of(int from, std::uint32_t flag, unsigned thread) {
  return (std::uint64_t{flag} << 40) + static_cast<std::uint64_t>(from) * 1000 + thread;
}

// Everybody sends to everybody, some rounds long; places have two halves, used in turns.
struct Exchange {
  DeviceContext handle;
  dev::LLPacket* places;  // [2][npes][threads]
  std::uint32_t first, rounds;
  int* wrong;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const unsigned me = dev::thread_rank(), threads = dev::block_size();
    bool ok = true;
    for (std::uint32_t flag = first; ok && flag != first + rounds; ++flag) {
      dev::LLPacket* const half =
          places + (flag & 1) * static_cast<unsigned>(ctx.npes()) * threads + me;
      for (int pe = 0; pe < ctx.npes(); ++pe)
        dev::send_ll(ctx.ptr(half + static_cast<unsigned>(ctx.pe()) * threads, pe),
                     value_of(ctx.pe(), flag, me), flag);
      std::uint64_t data[8];
      const auto awaited = [&](int k) -> dev::AwaitedLL {
        if (k >= ctx.npes()) return {nullptr, -1};
        return {half + static_cast<unsigned>(k) * threads, k};
      };
      ok = dev::receive_ll<8>(ctx, "exchange", awaited, flag, data);
      for (int pe = 0; ok && pe < ctx.npes(); ++pe) ok = data[pe] == value_of(pe, flag, me);
      ok = dev::Block{}.all(ok);
    }
    if (!ok) wrong[me] = 1;
  }
};

class PacketTest : public ::testing::TestWithParam<int> {};

TEST_P(PacketTest, BringTheirFlagsFromAll) {
  on_pes(Way::kMapped, GetParam(), [](Pe& pe) {
    constexpr unsigned kThreads = 2 * kWarp + 1;
    auto* const places =
        pe.allocate<dev::LLPacket>(2 * static_cast<std::size_t>(pe.npes()) * kThreads);
    SharedVector<int> wrong(kThreads, 0);
    pe.barrier();
    pe.run(1, kThreads, Exchange{pe.handle(), places, 0xffffff00u, 200, wrong.data()});
    for (const int w : wrong) EXPECT_EQ(w, 0);
    pe.barrier();
  });
}
INSTANTIATE_TEST_SUITE_P(Pes, PacketTest, ::testing::Values(1, 2, 3, 8),
                         ::testing::PrintToStringParamName());

// The second of three packets does not come.
struct TakeThree {
  DeviceContext handle;
  const dev::LLPacket* places;
  int* answer;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    std::uint64_t data[3];
    const auto awaited = [&](int k) -> dev::AwaitedLL { return {places + k, k}; };
    *answer = dev::receive_ll<3>(ctx, "three packets", awaited, 7, data) ? 1 : 0;
  }
};

TEST(Packets, ThatDoNotComeAreReported) {
  JobOptions options;
  options.npes = 3;
  options.deadline_ns = 20'000'000;
  DeviceJob job(options);
  const std::uint64_t offset = job.allocate<dev::LLPacket>(3);
  auto* const places = job.at<dev::LLPacket>(0, offset);
  for (const int k : {0, 2}) places[k].words[0] = places[k].words[1] = std::uint64_t{7} << 32;
  places[1].words[0] = std::uint64_t{7} << 32;  // half of it is none
  places[1].words[1] = std::uint64_t{6} << 32;
  SharedVector<int> answer(1, -1);
  enter_pe(0);
  EXPECT_OK(dev::launch({1, 1, 0}, TakeThree{job.handle(0), places, answer.data()}));
  EXPECT_OK(dev::synchronize());
  EXPECT_EQ(answer[0], 0);
  FaultRecord record;
  ASSERT_TRUE(job.take_fault(0, &record));
  EXPECT_EQ(record.code, static_cast<std::uint32_t>(FaultCode::kWaitTimeout));
  EXPECT_EQ(record.pe, 1);
  EXPECT_STREQ(record.where, "three packets");
  EXPECT_EQ(record.wanted, 7u);
  EXPECT_EQ(record.offset, offset + sizeof(dev::LLPacket));
}

struct CopyUnits {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
  WEFT_DEVICE void operator()() const {
    for (std::size_t u = dev::thread_rank(); u < dev::packed_units(bytes); u += dev::block_size())
      dev::store_unit(to, bytes, u, dev::load_unit(from, bytes, u));
  }
};

TEST(Packets, UnitsHaveAnyLengthAndAddress) {
  enter_pe(0);
  std::mt19937_64 random(test_seed());
  for (std::size_t bytes = 0; bytes <= 25; ++bytes) {
    SharedVector<std::byte> from(64), to(64, std::byte{0xaa});
    for (std::byte& b : from) b = static_cast<std::byte>(random());
    const std::size_t at = random() % 9, there = 8 + random() % 9;
    EXPECT_OK(dev::launch({1, 3, 0}, CopyUnits{to.data() + there, from.data() + at, bytes}));
    EXPECT_OK(dev::synchronize());
    for (std::size_t i = 0; i < to.size(); ++i)
      EXPECT_EQ(to[i], i >= there && i < there + bytes ? from[at + i - there] : std::byte{0xaa})
          << bytes << " bytes from " << at << " to " << there << ", byte " << i;
  }
}

}  // namespace
}  // namespace weft::test
