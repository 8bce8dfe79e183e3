// Plans of fused operators, and the tile scheduler behind one: no kernel runs.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "kernels/fused/all_gather_gemm/plan.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_plan.hpp"
#include "kernels/fused/gemm_reduce_scatter/plan.hpp"
#include "kernels/fused/gemm_reduce_scatter/overlapped_scheduler.hpp"

namespace weft::kernels {
namespace {

TEST(AgGemmPlan, OverlapsWhatIsLargeAndNotWhatIsSmall) {
  using ag_gemm::plan;
  const ag_gemm::Plan large = plan({8, 1024, 3584, 8192}, {}, -1, 0, false);
  EXPECT_GE(large.push_blocks, 4u);
  EXPECT_LE(large.overlap_from, 1024);
  EXPECT_GE(large.overlap_from, 64);
  const ag_gemm::Plan small = plan({8, 16, 3584, 8192}, {}, -1, 0, false);
  EXPECT_EQ(small.push_blocks, 0u);
  EXPECT_EQ(small.overlap_from, 17);
  EXPECT_EQ(plan({8, 16, 3584, 8192}, {}, -1, 0, true).overlap_from, 1);
  EXPECT_EQ(plan({8, 1024, 3584, 8192}, {}, -1, 20, false).push_blocks, 20u);
}

TEST(AgGemmPlan, RowsGoInARingWhereTheyTakeAsLongAsTheGemm) {
  EXPECT_TRUE(ag_gemm::plan({4, 2048, 1376, 4096}, {}, -1, 0, false).is_ring);
  EXPECT_TRUE(ag_gemm::plan({4, 1024, 1280, 5120}, {}, -1, 0, false).is_ring);
  EXPECT_FALSE(ag_gemm::plan({4, 2048, 6656, 16384}, {}, -1, 0, false).is_ring);
  EXPECT_FALSE(ag_gemm::plan({4, 512, 6400, 5120}, {}, -1, 0, false).is_ring);
}

TEST(AgGemmPlan, TilesWithoutSegmentsNeverOverlap) {
  for (const gemm::Tile& tile : gemm::kTiles) {
    const int index = gemm::tile_of(tile.m, tile.n, tile.splits);
    const ag_gemm::Plan made = ag_gemm::plan({8, 1024, 3584, 8192}, {}, index, 0, true);
    EXPECT_EQ(made.push_blocks != 0, gemm::has_segments(tile)) << name_of(tile);
    EXPECT_EQ(std::isfinite(ag_gemm::overlapped_us({8, 1024, 3584, 8192}, {}, index, 8)),
              gemm::has_segments(tile));
  }
}

// Every tile of every member's rows once; the others' before mine, and of mine each later than the
// others have theirs, by the margin.
TEST(GemmRsScheduler, WaitsOnlyForWhatIsEarlier) {
  for (const int members : {1, 2, 3, 8}) {
    for (const auto& [margin, is_round_robin] :
         {std::pair(1, false), {5, false}, {12, false}, {1, true}, {5, true}, {12, true}}) {
      constexpr int kRows = 3, kColumns = 4, kTiles = kRows * kColumns;
      const auto scheduler = [&](int rank) {
        return gemm_rs::ScatterScheduler{
            {1, 0, kRows, kColumns, 2, 64, 64, 1, 7}, members, rank, margin, is_round_robin};
      };
      std::vector<std::map<std::tuple<int, int, int>, int>> position(
          static_cast<std::size_t>(members));
      gemm::Work work{};
      for (int rank = 0; rank < members; ++rank) {
        int index = 0;
        for (; scheduler(rank).work(index, 0, &work); ++index) {
          const bool is_new = position[static_cast<std::size_t>(rank)]
                                  .emplace(std::tuple(work.segment, work.row, work.column), index)
                                  .second;
          ASSERT_TRUE(is_new) << "twice: rank " << rank << ", position " << index;
          if (index == 0 && members > 1) ASSERT_EQ(work.segment, (rank + 1) % members);
        }
        ASSERT_EQ(index, members * kTiles);
        ASSERT_TRUE(scheduler(rank).has(index - 1));
        ASSERT_FALSE(scheduler(rank).has(index));
      }
      for (int mine = 0; mine < members; ++mine)
        for (const auto& [tile, at] : position[static_cast<std::size_t>(mine)]) {
          if (std::get<0>(tile) != mine) continue;
          for (int other = 0; other < members; ++other) {
            if (other == mine) continue;
            ASSERT_GE(at, position[static_cast<std::size_t>(other)].at(tile) + margin);
          }
        }
    }
  }
}

TEST(GemmRsPlan, OverlapsWhatIsLargeAndNotWhatIsSmall) {
  using gemm_rs::overlapped_plan;
  using gemm_rs::sequential_us;
  const gemm_rs::Shape large{2, 4096, 8192, 3584}, small{2, 8, 5120, 3200};
  const gemm_rs::Plan plan = overlapped_plan(large, {});
  EXPECT_LT(plan.us, sequential_us(large, {}));
  EXPECT_EQ(plan.gemm.segments, 2);
  EXPECT_GT(plan.margin, 0);
  EXPECT_GT(overlapped_plan(small, {}).us, sequential_us(small, {}));
  for (int tile = 0; tile < static_cast<int>(gemm::kTiles.size()); ++tile)
    EXPECT_EQ(std::isfinite(overlapped_plan(large, {}, tile).us),
              gemm_rs::scatters(gemm::kTiles[static_cast<std::size_t>(tile)]));
}

// A tile that is sent has to come before it is waited for, and links are not to be filled beyond
// what they carry: unless a tile's time is too short for that and links do not take longer in all.
TEST(GemmRsPlan, SendsATileInLessThanItsTime) {
  for (const int members : {2, 3, 8}) {
    for (const int k : {64, 1024, 3200, 8192}) {
      const gemm_rs::Plan plan = gemm_rs::overlapped_plan({members, 1024, 5120, k}, {});
      const gemm::Plan& p = plan.gemm;
      const gemm::Tile& tile = gemm::kTiles[static_cast<std::size_t>(p.tile)];
      const double tile_us = 1.2 * gemm::ceil_div(k, 64) * tile.k_block_us;
      EXPECT_GE(plan.send_us, 0);
      EXPECT_LE(plan.send_us, std::max(tile_us, 0.8 * 2.0 * tile.m * tile.n * p.blocks / 330e3));
      EXPECT_LE(plan.margin, p.blocks / p.cluster);
      if (k < 3200) continue;
      EXPECT_LT(2.0 * tile.m * tile.n * p.blocks / plan.send_us, 450e3) << "bytes a us";
    }
  }
}

// As measured: with few rows one kernel is faster, and tiles of fewer columns are.
TEST(OneKernelPlan, TakesFewRowsWhoseTilesAreOneWave) {
  using gemm_rs::one_kernel_plan;
  using gemm_rs::Reduction;
  for (const bool scatters : {false, true}) {
    for (const int m : {1, 16, 64, 128}) {
      for (const int k : {1024, 3200}) {
        const gemm_rs::OneKernelShape shape{2, m, 5120, k, scatters};
        const gemm_rs::OneKernelPlan plan = one_kernel_plan(shape, {});
        EXPECT_LT(plan.us, gemm_rs::other_strategies_us(shape, {})) << m << " rows";
        EXPECT_EQ(plan.gemm.waves, 1);
        EXPECT_EQ(gemm::tile_at(plan.gemm.tile).n, 40) << "128 tiles for 132 SMs";
        EXPECT_EQ(plan.reduction, scatters ? Reduction::kScatter : Reduction::kOneShot);
      }
    }
    for (const char* tile : {"64x48/k", "128x48/k", "64x40", "128x40"})
      EXPECT_FALSE(
          std::isfinite(one_kernel_plan({2, 256, 5120, 3200, scatters}, {},
                                        *gemm::tile_named("", tile, gemm_rs::kOneKernelTiles))
                            .us))
          << "two waves";
    const gemm_rs::OneKernelPlan wide = one_kernel_plan({2, 16, 6400, 5120, scatters}, {});
    EXPECT_LT(wide.us, 40);
    EXPECT_EQ(wide.gemm.waves, 1);
    EXPECT_EQ(gemm::tile_at(wide.gemm.tile).n, 56) << "134 tiles of 48 columns are two waves";
  }
  EXPECT_EQ(one_kernel_plan({8, 128, 5120, 3200}, {}).reduction, Reduction::kTwoShot);
  EXPECT_EQ(one_kernel_plan({8, 128, 5120, 3200, true}, {}).reduction, Reduction::kScatter);
}

// As measured on two GPUs: of more rows, which tiles are fastest and how many waves they take.
TEST(OneKernelPlan, TakesManyRowsInWaves) {
  using gemm_rs::one_kernel_plan;
  const std::map<int, int> waves = {{256, 1}, {512, 2}, {1024, 2}, {2048, 4}};
  for (const auto& [m, expected] : waves) {
    const gemm_rs::OneKernelShape shape{2, m, 5120, 3200};
    const gemm_rs::OneKernelPlan plan = one_kernel_plan(shape, {});
    EXPECT_LT(plan.us, gemm_rs::other_strategies_us(shape, {})) << m << " rows";
    EXPECT_EQ(plan.gemm.waves, expected) << m << " rows";
    EXPECT_EQ(plan.reduction, gemm_rs::Reduction::kOneShot);
    EXPECT_EQ(one_kernel_plan({8, m, 5120, 3200}, {}).reduction, gemm_rs::Reduction::kTwoShot);
  }
  for (int tile = gemm_rs::kOneKernelTiles.first; tile < gemm_rs::kOneKernelTiles.end; ++tile) {
    const gemm::Tile& shape = gemm::tile_at(tile);
    EXPECT_EQ(std::isfinite(one_kernel_plan({2, 2048, 5120, 3200}, {}, tile).us),
              gemm_rs::fits_one_kernel(shape) && shape.sharing == 2);
    EXPECT_FALSE(std::isfinite(one_kernel_plan({2, 2048, 5120, 3200, true}, {}, tile).us));
  }
}

// As measured on four GPUs: owners add up from 32 rows on, and of 1024 all is no longer faster.
TEST(OneKernelPlan, TakesFewerRowsOfMoreMembers) {
  using gemm_rs::one_kernel_plan;
  using gemm_rs::Reduction;
  const std::map<int, std::pair<int, Reduction>> expected = {
      {1, {1, Reduction::kOneShot}},   {16, {1, Reduction::kOneShot}},
      {32, {1, Reduction::kTwoShot}},  {64, {1, Reduction::kTwoShot}},
      {128, {1, Reduction::kTwoShot}}, {256, {1, Reduction::kTwoShot}},
      {512, {2, Reduction::kTwoShot}}};
  for (const auto& [m, as] : expected) {
    const gemm_rs::OneKernelShape shape{4, m, 5120, 3200};
    const gemm_rs::OneKernelPlan plan = one_kernel_plan(shape, {});
    EXPECT_LT(plan.us, gemm_rs::other_strategies_us(shape, {})) << m << " rows";
    EXPECT_EQ(plan.gemm.waves, as.first) << m << " rows";
    EXPECT_EQ(plan.reduction, as.second) << m << " rows";
    EXPECT_LE(m * 5120, gemm_rs::most_elements(4));
  }
  const gemm_rs::OneKernelShape thin{4, 512, 5120, 1024};  // nothing hides what is sent
  EXPECT_GT(one_kernel_plan(thin, {}).us, gemm_rs::other_strategies_us(thin, {}));
  EXPECT_GT(1024 * 5120, gemm_rs::most_elements(4));
  EXPECT_LT(1024 * 5120, gemm_rs::most_elements(2));
}

// Every row has one owner, as ReduceScatter has it, whether there are fewer rows than members or
// more.
TEST(OneKernelPlan, SharesRowsOut) {
  using gemm_rs::Reduction;
  using gemm_rs::rows_of;
  for (int members = 1; members <= 8; ++members) {
    for (int m = 1; m <= 40; ++m) {
      const int each = (m + members - 1) / members;
      int next = 0;
      for (int rank = 0; rank < members; ++rank) {
        const gemm_rs::Rows rows = rows_of(Reduction::kScatter, rank, each, m);
        EXPECT_EQ(rows.first, next);
        EXPECT_LE(rows.count, each);
        for (int r = 0; r < rows.count; ++r) EXPECT_EQ((next + r) / each, rank);
        next += rows.count;
        EXPECT_EQ(rows_of(Reduction::kTwoShot, rank, each, m).count, m);
      }
      EXPECT_EQ(next, m);
    }
  }
}

}  // namespace
}  // namespace weft::kernels
