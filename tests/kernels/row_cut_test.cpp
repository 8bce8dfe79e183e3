// How rows are cut is a pure function: no GPU, no PEs.
#include <gtest/gtest.h>

#include "kernels/collectives/all_reduce_norm/row_cut.hpp"

namespace weft::kernels {
namespace {

constexpr std::size_t KiB = 1024;

RowCutProblem on_gpu(std::size_t rows, std::size_t hidden, bool two_shot = false) {
  return {rows, hidden * 2, 4, two_shot, 128, 256, true, true, 64 * KiB};
}

TEST(RowCut, FewRowsHaveClustersOfBlocks) {
  const auto one = cut_rows(on_gpu(1, 8192));  // 1024 pairs
  ASSERT_TRUE(one);
  EXPECT_EQ(one->split, 4u);
  EXPECT_EQ(one->blocks, 4u);
  EXPECT_EQ(one->threads, 256u);
  const auto eight = cut_rows(on_gpu(8, 5120));  // 20 chunks
  ASSERT_TRUE(eight);
  EXPECT_EQ(eight->split, 3u);
  EXPECT_EQ(eight->blocks, 24u);
  EXPECT_EQ(eight->threads, 7 * 32u);
  const auto short_row = cut_rows(on_gpu(1, 64));
  ASSERT_TRUE(short_row);
  EXPECT_EQ(short_row->split, 1u);
  EXPECT_EQ(short_row->threads, 32u) << "a warp has a chunk, even of few pairs";
}

TEST(RowCut, ManyRowsShareTheBlocks) {
  const auto many = cut_rows(on_gpu(200, 8192));
  ASSERT_TRUE(many);
  EXPECT_EQ(many->split, 1u);
  EXPECT_EQ(many->blocks, 128u);
  EXPECT_EQ(many->threads, 512u);
}

TEST(RowCut, WithoutClustersARowIsABlocks) {
  RowCutProblem problem = on_gpu(1, 8192);
  problem.clusters = false;
  const auto cut = cut_rows(problem);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->split, 1u);
}

TEST(RowCut, EveryPairIsSomebodys) {
  for (const bool two_shot : {false, true})
    for (const std::size_t hidden : {1, 5, 64, 250, 4100, 5120, 8192, 70000})
      for (const std::size_t rows : {1, 3, 8, 100, 300})
        for (const unsigned threads : {32u, 100u, 256u, 512u}) {
          RowCutProblem problem = on_gpu(rows, hidden, two_shot);
          problem.threads = threads;
          problem.lamport_bytes = ~std::size_t{0};
          const auto cut = cut_rows(problem);
          if (chunks_of_row(problem.row_bytes) > kMostChunks) {
            EXPECT_FALSE(cut);
            continue;
          }
          ASSERT_TRUE(cut);
          const std::size_t pairs = pairs_of_part(problem.row_bytes, 1);
          const unsigned part = pairs_of_part(problem.row_bytes, cut->split);
          EXPECT_GE(part * cut->split, pairs);
          EXPECT_LT(part * (cut->split - 1), pairs) << "no block has nothing";
          EXPECT_LE(cut->split, kMostBlocksOfRow);
          EXPECT_EQ(cut->blocks % cut->split, 0u);
          EXPECT_LE(cut->blocks, problem.blocks);
          EXPECT_LE(cut->blocks / cut->split, rows);
          EXPECT_EQ(cut->threads % 32, 0u);
          EXPECT_GE(lanes_of_part(problem.row_bytes, cut->split, 4), part);
        }
}

TEST(RowCut, NeedsPlacesForWhatABlockSends) {
  RowCutProblem problem = on_gpu(300, 8192);  // three rows to a block
  problem.lamport_bytes = 48 * KiB;
  EXPECT_TRUE(cut_rows(problem));
  problem.lamport_bytes -= 1;
  EXPECT_FALSE(cut_rows(problem));
  problem.two_shot = true;  // to each of four a part
  problem.lamport_bytes = 12 * KiB;
  EXPECT_TRUE(cut_rows(problem));
  problem.lamport_bytes -= 1;
  EXPECT_FALSE(cut_rows(problem));
}

}  // namespace
}  // namespace weft::kernels
