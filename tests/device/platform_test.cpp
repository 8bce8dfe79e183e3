// Where threads stand, how they meet, and launching.
#include <gtest/gtest.h>

#include <vector>

#include "tests/device/kernels.hpp"
#include "tests/support/status.hpp"

namespace weft::test {
namespace {

TEST(PlatformTest, EveryThreadKnowsItsPlaceAndHearsItsLeaders) {
  for (unsigned blocks : {1u, 3u})
    for (unsigned threads : {1u, 3u, 4u, 5u, 8u, 13u}) {
      std::vector<Place> places(blocks * threads);
      ASSERT_OK(dev::launch({blocks, threads, 2 * threads * sizeof(int)}, Survey{places.data()}));
      ASSERT_OK(dev::synchronize());
      for (unsigned b = 0; b < blocks; ++b)
        for (unsigned t = 0; t < threads; ++t) {
          const Place& p = places[b * threads + t];
          const unsigned warp = t / cpu::kWarpSize * cpu::kWarpSize;
          EXPECT_EQ(p.thread, t);
          EXPECT_EQ(p.threads, threads);
          EXPECT_EQ(p.block, b);
          EXPECT_EQ(p.blocks, blocks);
          EXPECT_EQ(p.warp_rank, static_cast<int>(t - warp));
          EXPECT_EQ(p.warp_size, static_cast<int>(std::min(cpu::kWarpSize, threads - warp)));
          EXPECT_EQ(p.block_rank, static_cast<int>(t));
          EXPECT_EQ(p.block_threads, static_cast<int>(threads));
          EXPECT_EQ(p.from_warp_leader, 1000 + warp);
          EXPECT_EQ(p.from_block_leader, 2000u);
          EXPECT_TRUE(p.warp_all);
          EXPECT_TRUE(p.block_all);
          EXPECT_FALSE(p.but_one);
          EXPECT_EQ(p.shared, places[b * threads].shared);
          EXPECT_TRUE(b == 0 || p.shared != places[0].shared);
        }
    }
}

TEST(PlatformTest, AHostThreadIsAGridOfItsOwn) {
  EXPECT_EQ(dev::thread_rank(), 0u);
  EXPECT_EQ(dev::block_size(), 1u);
  EXPECT_EQ(dev::block_rank(), 0u);
  EXPECT_EQ(dev::grid_size(), 1u);
  const dev::Block block;
  block.sync();
  dev::Warp{}.sync();
  EXPECT_EQ(block.broadcast(5), 5);
  EXPECT_TRUE(block.all(true));
  EXPECT_FALSE(dev::Warp{}.all(false));
  EXPECT_EQ(dev::shared<int>(), nullptr);
}

TEST(PlatformTest, AnEmptyGridIsRefused) {
  EXPECT_CODE(dev::launch({0, 1}, Survey{}), Code::kInvalidArgument);
  EXPECT_CODE(dev::launch({1, 0}, Survey{}), Code::kInvalidArgument);
}

struct Append {
  std::vector<int>* list;
  int value;
  WEFT_DEVICE void operator()() const { list->push_back(value); }
};

TEST(PlatformTest, AStreamRunsItsGridsInOrder) {
  auto stream = dev::create_stream();
  ASSERT_OK(stream);
  std::vector<int> list;
  for (int i = 0; i < 20; ++i) EXPECT_OK(dev::launch({1, 1}, Append{&list, i}, *stream));
  EXPECT_OK(dev::synchronize(*stream));
  ASSERT_EQ(list.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(list[static_cast<std::size_t>(i)], i);
  EXPECT_OK(dev::destroy_stream(*stream));
}

}  // namespace
}  // namespace weft::test
