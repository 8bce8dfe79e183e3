// Plans of the GEMM, and the tile schedulers: each piece of C and of k is done once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/gemm/plan.hpp"
#include "kernels/gemm/plan_sm80.hpp"
#include "kernels/gemm/tile_scheduler.hpp"

namespace weft::kernels::gemm {
namespace {

std::string tile_for(int m, int n, int k) {
  return name_of(tile_at(plan(m, n, k, {}, -1, 1, kOfTwoBytes).tile));
}

// The shapes that were measured get the tiles that were fastest.
TEST(GemmPlan, TakesTheTileThatWasFastest) {
  EXPECT_EQ(tile_for(8192, 3584, 8192), "128x256");
  EXPECT_EQ(tile_for(8192, 8192, 3584), "128x256");
  EXPECT_EQ(tile_for(8192, 6144, 12288), "128x256");
  EXPECT_EQ(tile_for(8192, 4096, 1376), "128x256");
  EXPECT_EQ(tile_for(4096, 5120, 3200), "128x256");
  EXPECT_EQ(tile_for(4096, 1280, 5120), "256x160");
  EXPECT_EQ(tile_for(2048, 5120, 3200), "256x160");
  EXPECT_EQ(tile_for(1024, 5120, 3200), "256x160");
  EXPECT_EQ(tile_for(8192, 1376, 4096), "256x176");
  EXPECT_EQ(tile_for(8192, 3696, 8192), "128x208");
  EXPECT_EQ(tile_for(512, 6400, 5120), "128x208");
  EXPECT_EQ(tile_for(256, 6400, 5120), "128x112");
  EXPECT_EQ(tile_for(512, 5120, 3200), "128x160");
  EXPECT_EQ(tile_for(256, 5120, 3200), "128x80");
  EXPECT_EQ(tile_for(128, 5120, 3200), "128x40");
  EXPECT_EQ(tile_for(64, 5120, 3200), "64x40");
  EXPECT_EQ(tile_for(1, 5120, 1024), "64x40");
  EXPECT_EQ(tile_for(16, 6400, 5120), "64x56");
  EXPECT_EQ(tile_for(128, 4096, 4096), "128x32");
  EXPECT_EQ(tile_for(64, 4096, 4096), "64x32");
  EXPECT_EQ(tile_for(64, 6144, 4096), "64x48");
  EXPECT_EQ(tile_for(64, 7168, 2048), "64x56");
  EXPECT_EQ(tile_for(128, 7168, 2048), "128x64");
  EXPECT_EQ(tile_for(128, 6144, 4096), "128x64");
}

TEST(GemmPlan, SplitsKWhereTilesAreFew) {
  const Plan few = plan(16, 512, 8192, {});
  EXPECT_TRUE(kTiles[few.tile].splits);
  EXPECT_GE(few.cluster, 2);
  EXPECT_LE(few.cluster, kMostSplits);
  EXPECT_EQ(few.blocks, few.rows * few.columns * few.cluster);
  EXPECT_FALSE(kTiles[plan(16, 512, 64, {}).tile].splits) << "there is one k-block";
}

// k in pairs.
TEST(GemmPlan, HasTilesOfE4m3) {
  const auto plan_of = [](int m, int n, int k, int tile = -1, DeviceModel device = {}) {
    return plan(m, n, k / 2, device, tile, 1, kOfE4m3);
  };
  for (int m : {1, 64, 128, 300, 1024, 4096}) {
    for (int n : {100, 2112, 7168, 24576}) {
      for (int k : {2, 128, 7168}) {
        const Plan p = plan_of(m, n, k);
        EXPECT_GE(p.tile, kOfE4m3.first);
        EXPECT_LT(p.tile, kOfE4m3.end);
        EXPECT_LE(p.cluster, std::max(2, ceil_div(k, 128)));
        EXPECT_GE(p.rows * tile_at(p.tile).m * tile_at(p.tile).sharing, m);
        EXPECT_GE(p.columns * tile_at(p.tile).n, n);
      }
    }
  }
  DeviceModel one;
  one.num_sms = 1;
  one.clusters = {0, 1};
  EXPECT_EQ(plan_of(300, 300, 4096, -1, one).cluster, 1) << "there is no room for two blocks";
  EXPECT_EQ(*tile_named("", "192x128", kOfE4m3), tile_of(192, 128, false, kOfE4m3));
  EXPECT_FALSE(tile_named("", "128x256", kOfE4m3).is_ok());
  EXPECT_EQ(*tile_named("", "64x40", kOfTwoBytes), tile_of(64, 40));
  EXPECT_FALSE(tile_named("", "64x40").is_ok()) << "not all operators have it";
}

// Measured on an H200 (docs/measurements/2026-11-26-gemm.md).
TEST(GemmPlan, TakesTheTileOfE4m3ThatWasFastest) {
  const auto tile_of_e4m3 = [](int m, int n, int k) {
    return name_of(tile_at(plan(m, n, k / 2, {}, -1, 1, kOfE4m3).tile));
  };
  EXPECT_EQ(tile_of_e4m3(4096, 2112, 7168), "192x128");
  EXPECT_EQ(tile_of_e4m3(4096, 24576, 1536), "192x128");
  EXPECT_EQ(tile_of_e4m3(4096, 7168, 16384), "192x128");
  EXPECT_EQ(tile_of_e4m3(8192, 8192, 8192), "128x192");
  EXPECT_EQ(tile_of_e4m3(2048, 7168, 2048), "128x192");
  EXPECT_EQ(tile_of_e4m3(1024, 24576, 1536), "128x192");
  EXPECT_EQ(tile_of_e4m3(512, 4096, 7168), "128x128");
  EXPECT_EQ(tile_of_e4m3(256, 7168, 2048), "128x128");
  EXPECT_EQ(tile_of_e4m3(128, 7168, 2048), "128x64");
  EXPECT_EQ(tile_of_e4m3(128, 4096, 7168), "128x64/k");
  EXPECT_EQ(tile_of_e4m3(64, 7168, 16384), "64x56");
  EXPECT_EQ(tile_of_e4m3(1, 7168, 2048), "64x56");
  EXPECT_EQ(tile_of_e4m3(16, 4096, 7168), "64x64/k");
}

TEST(GemmPlan, LeavesMultiprocessorsAlone) {
  DeviceModel device;
  device.num_sms = 100;
  for (int size = 1; size <= kMostSplits; ++size) device.clusters[size] = 100 / size;
  for (int tile = 0; tile < kFirstE4m3; ++tile) {
    if (tile_at(tile).splits) continue;
    EXPECT_LE(plan(8192, 8192, 512, device, tile).blocks, 100) << tile;
  }
  device.num_sms = 1;
  device.clusters = {0, 1};
  EXPECT_EQ(plan(8192, 8192, 512, device).blocks, 1);
}

// Where the blocks that are left over cost less than the start.
TEST(GemmPlan, StartsEarlyWhereBlocksFillTheGpuOrBytesAreFew) {
  const auto starts_early = [](int m, int n, int k, int tile) {
    return plan(m, n, k, {}, tile, 1, kOfTwoBytes).starts_early;
  };
  EXPECT_TRUE(starts_early(64, 5120, 3200, tile_of(64, 40)));
  EXPECT_FALSE(starts_early(64, 5120, 3200, tile_of(64, 64))) << "80 blocks";
  EXPECT_TRUE(starts_early(64, 1280, 5120, tile_of(64, 64, true))) << "100, few bytes";
  EXPECT_FALSE(starts_early(16, 6400, 5120, tile_of(64, 64))) << "100, many bytes";
}

TEST(GemmPlan, SaysWhatItIs) {
  const std::string text = describe(plan(8192, 3584, 8192, {}));
  EXPECT_THAT(text, ::testing::HasSubstr("tile 128x256, 4 stages, 2 blocks to a cluster"));
  EXPECT_THAT(text, ::testing::HasSubstr("64 x 14 tiles"));
  EXPECT_THAT(text, ::testing::HasSubstr("132 blocks, 7 waves"));
}

TEST(GemmPlan, TilesAreFoundByTheirShape) {
  for (int i = 0; i < kFirstE4m3; ++i)
    EXPECT_EQ(tile_of(tile_at(i).m, tile_at(i).n, tile_at(i).splits), i);
  EXPECT_EQ(tile_of(1, 1), -1);
}

TEST(GemmPlanSm80, TakesTheLargeTileWhereThereAreManyOfThem) {
  EXPECT_EQ(sm80::plan(8192, 8192, {}).tile, 0);
  EXPECT_EQ(sm80::plan(4096, 3584, {}).tile, 0);
  EXPECT_EQ(sm80::plan(512, 512, {}).tile, 1);  // 16 large ones leave most SMs idle
  EXPECT_EQ(sm80::plan(16, 5120, {}).tile, 1);
  EXPECT_EQ(sm80::plan(16, 5120, {}, 0).tile, 0) << "it was asked for";
}

TEST(GemmPlanSm80, LeavesMultiprocessorsAlone) {
  const sm80::DeviceModel device{10, {10, 10}};
  for (int tile = 0; tile < sm80::kTileCount; ++tile) {
    EXPECT_EQ(sm80::plan(8192, 8192, device, tile).blocks, 10);
    EXPECT_EQ(sm80::plan(1, 1, device, tile).blocks, 1);
  }
}

TEST(GemmPlanSm80, TilesHaveNames) {
  for (int i = 0; i < sm80::kTileCount; ++i) {
    const std::string name = name_of(sm80::kTiles[i]);
    const auto found = sm80::tile_named(name);
    ASSERT_TRUE(found.is_ok());
    EXPECT_EQ(*found, i);
    EXPECT_TRUE(sm80::is_name(name));
  }
  EXPECT_EQ(*sm80::tile_named(""), -1);
  EXPECT_FALSE(sm80::is_name("128x128"));
  EXPECT_THAT(sm80::tile_named("sm80/3x3").status().text(), ::testing::HasSubstr("sm80/128x128"));
  EXPECT_THAT(describe(sm80::plan(8192, 8192, {})),
              ::testing::HasSubstr("tile sm80/128x128, 3 stages; 64 x 64 tiles"));
}

// The work of the blocks of a grid, by tile.
template <class Scheduler>
std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> everything(
    const Scheduler& scheduler, int clusters, int blocks, int most_waves) {
  std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> done;
  for (int cluster = 0; cluster < clusters; ++cluster) {
    for (int rank = 0; rank < blocks; ++rank) {
      Work work{};
      int waves = 0;
      for (int index = cluster; scheduler.work(index, rank, &work); index += clusters, ++waves)
        done[{work.row, work.column}].push_back({work.k_begin, work.k_end});
      EXPECT_LE(waves, most_waves);
    }
  }
  return done;
}

TEST(GemmScheduler, GroupsDoEachTileOnce) {
  for (int m : {1, 128, 129, 1000, 2500}) {
    for (int n : {1, 256, 300, 2000}) {
      for (int tile = 0; tile < kAllTiles; ++tile) {
        const Tile& t = tile_at(tile);
        if (t.splits) continue;
        const Plan p = plan(m, n, 640, {}, tile, 1, {0, kAllTiles});
        const TileScheduler<false> scheduler{1,   0,   p.rows,    p.columns, p.group_rows,
                                             t.m, t.n, t.sharing, 10};
        const auto done = everything(scheduler, p.blocks / p.cluster, p.cluster, p.waves);
        const int rows = ceil_div(m, t.m * t.sharing) * t.sharing, columns = ceil_div(n, t.n);
        ASSERT_EQ(done.size(), static_cast<std::size_t>(rows * columns));
        for (int r = 0; r < rows; ++r)
          for (int c = 0; c < columns; ++c)
            ASSERT_THAT(done.at({r * t.m, c * t.n}), ::testing::ElementsAre(std::pair(0, 10)));
      }
    }
  }
}

TEST(GemmScheduler, GroupsDoEachTileOfSm80Once) {
  for (int m : {1, 128, 129, 1000, 2500}) {
    for (int n : {1, 64, 300, 2000}) {
      for (int tile = 0; tile < sm80::kTileCount; ++tile) {
        const sm80::Tile& t = sm80::kTiles[tile];
        const sm80::Plan p = sm80::plan(m, n, {3, {6, 9}}, tile);
        const TileScheduler<false> scheduler{1,   0,   p.rows, p.columns, p.group_rows,
                                             t.m, t.n, 1,      10};
        const auto done = everything(scheduler, p.blocks, 1, p.waves);
        ASSERT_EQ(done.size(), static_cast<std::size_t>(ceil_div(m, t.m) * ceil_div(n, t.n)));
        for (const auto& [position, k_blocks] : done)
          ASSERT_THAT(k_blocks, ::testing::ElementsAre(std::pair(0, 10)));
      }
    }
  }
}

// Every tile once, and the segments one after the other from the first that was asked for.
TEST(GemmScheduler, SegmentsFollowOneAnother) {
  for (int segments : {1, 2, 3, 8}) {
    for (int m : {1, 255, 257, 1000}) {
      const Plan p = plan(m, 700, 640, {}, tile_of(128, 256), segments);
      const Tile& t = kTiles[p.tile];
      for (int first = 0; first < segments; ++first) {
        const TileScheduler<true> scheduler{segments, first, p.rows,    p.columns, p.group_rows,
                                            t.m,      t.n,   t.sharing, 10};
        std::map<std::tuple<int, int, int>, int> done;
        const int tiles = p.rows * p.columns;  // of clusters, in a segment
        Work work{};
        for (int index = 0; index < segments * tiles; ++index) {
          for (int rank = 0; rank < p.cluster; ++rank) {
            ASSERT_TRUE(scheduler.work(index, rank, &work));
            ASSERT_EQ(work.segment, (first + index / tiles) % segments);
            ++done[{work.segment, work.row, work.column}];
          }
        }
        ASSERT_FALSE(scheduler.work(segments * tiles, 0, &work));
        ASSERT_EQ(done.size(), static_cast<std::size_t>(segments * p.rows * t.sharing * p.columns));
        for (const auto& [tile, times] : done) ASSERT_EQ(times, 1);
      }
    }
  }
}

TEST(GemmScheduler, SplitsDoEachKBlockOnce) {
  for (int splits = 1; splits <= kMostSplits; ++splits) {
    for (int k_blocks : {8, 9, 100}) {
      const SplitKScheduler scheduler{3, 5, 64, 64, splits, k_blocks};
      const auto done = everything(scheduler, 3 * 5, splits, 1);
      ASSERT_EQ(done.size(), 15u);
      for (const auto& [tile, pieces] : done) {
        ASSERT_EQ(pieces.size(), static_cast<std::size_t>(splits));
        int at = 0;
        for (const auto& [begin, end] : pieces) {
          ASSERT_EQ(begin, at);
          ASSERT_GT(end, begin) << "an empty sum would be garbage";
          at = end;
        }
        ASSERT_EQ(at, k_blocks);
      }
    }
  }
}

}  // namespace
}  // namespace weft::kernels::gemm
