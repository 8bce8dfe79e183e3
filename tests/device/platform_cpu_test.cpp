// A case that only the CPU target has: device code outside any grid.
#include <gtest/gtest.h>

#include <weft/device.hpp>

namespace weft::test {
namespace {

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

}  // namespace
}  // namespace weft::test
