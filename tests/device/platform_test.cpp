// Where threads stand, how they meet, and launching.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include <weft/dev/team_sync.hpp>

#include "tests/device/kernels.hpp"
#include "tests/device/shared_memory.hpp"
#include "tests/support/status.hpp"

namespace weft::test {
namespace {

TEST(PlatformTest, EveryThreadKnowsItsPlaceAndHearsItsLeaders) {
  for (unsigned blocks : {1u, 3u})
    for (unsigned threads : {1u, kWarp - 1, kWarp, kWarp + 1, 2 * kWarp, 3 * kWarp + 1}) {
      SharedVector<Place> places(blocks * threads);
      ASSERT_OK(dev::launch({blocks, threads, threads * sizeof(unsigned)}, Survey{places.data()}));
      ASSERT_OK(dev::synchronize());
      for (unsigned b = 0; b < blocks; ++b)
        for (unsigned t = 0; t < threads; ++t) {
          const Place& p = places[b * threads + t];
          const unsigned warp = t / kWarp * kWarp;
          EXPECT_EQ(p.thread, t);
          EXPECT_EQ(p.threads, threads);
          EXPECT_EQ(p.block, b);
          EXPECT_EQ(p.blocks, blocks);
          EXPECT_EQ(p.warp_rank, static_cast<int>(t - warp));
          EXPECT_EQ(p.warp_size, static_cast<int>(std::min(kWarp, threads - warp)));
          EXPECT_EQ(p.block_rank, static_cast<int>(t));
          EXPECT_EQ(p.block_threads, static_cast<int>(threads));
          EXPECT_EQ(p.from_warp_leader, 1000 + warp);
          EXPECT_EQ(p.from_block_leader, 2000u);
          EXPECT_TRUE(p.warp_all);
          EXPECT_TRUE(p.block_all);
          EXPECT_FALSE(p.but_one);
          EXPECT_EQ(p.shared, places[b * threads].shared);
          EXPECT_EQ(p.mirrored, 100 * b + threads - 1 - t);
        }
    }
}

TEST(PlatformTest, AnEmptyGridIsRefused) {
  EXPECT_CODE(dev::launch({0, 1}, Survey{}), Code::kInvalidArgument);
  EXPECT_CODE(dev::launch({1, 0}, Survey{}), Code::kInvalidArgument);
}

struct Append {
  int* list;
  std::size_t* count;
  int value;
  WEFT_DEVICE void operator()() const { list[(*count)++] = value; }
};

TEST(PlatformTest, AStreamRunsItsGridsInOrder) {
  Stream stream = nullptr;
  ASSERT_OK(dev::create_stream(&stream));
  SharedVector<int> list(20, -1);
  SharedVector<std::size_t> count(1);
  for (int i = 0; i < 20; ++i)
    EXPECT_OK(dev::launch({1, 1}, Append{list.data(), count.data(), i}, stream));
  EXPECT_OK(dev::synchronize(stream));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(list[static_cast<std::size_t>(i)], i);
  EXPECT_OK(dev::destroy_stream(stream));
}

constexpr int kVotes = 8;

// Each thread votes kVotes times; one says no at `refuses`. `left`: the vote in which a thread
// heard that, and `seen` how many of its neighbour's words, told before each vote, it found behind
// it.
struct Vote {
  std::uint64_t* broken;
  int *told, *left, *seen;
  int refuses;
  WEFT_DEVICE void operator()() const {
    const dev::Block block;
    const int me = block.rank(), neighbour = (me + 1) % block.size();
    int vote = 0;
    for (; vote < kVotes; ++vote) {
      told[vote * block.size() + me] = vote + 1;
      const bool agreed =
          dev::agree_in_memory(block, broken, vote != refuses || me != block.size() / 2);
      seen[me] += told[vote * block.size() + neighbour] == vote + 1;
      if (!agreed) break;
    }
    left[me] = vote;
  }
};

TEST(PlatformTest, ABlockAgreesWithoutAVoteOfTheHardware) {
  for (unsigned threads : {1u, kWarp, 2 * kWarp + 1})
    for (int refuses : {0, 3, kVotes - 1, kVotes}) {
      SharedVector<std::uint64_t> broken(1);
      SharedVector<int> told(kVotes * threads), left(threads, -1), seen(threads);
      ASSERT_OK(dev::launch({1, threads},
                            Vote{broken.data(), told.data(), left.data(), seen.data(), refuses}));
      ASSERT_OK(dev::synchronize());
      EXPECT_EQ(broken[0], refuses < kVotes ? 1u : 0u);
      for (unsigned t = 0; t < threads; ++t) {
        EXPECT_EQ(left[t], refuses);
        EXPECT_EQ(seen[t], std::min(refuses + 1, kVotes));
      }
    }
}

}  // namespace
}  // namespace weft::test
