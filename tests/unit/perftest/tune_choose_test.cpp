// The tables that are made from measurements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perftest/tune/choose.hpp"
#include "tests/support/status.hpp"

namespace weft::perf::tune {
namespace {

using kernels::Algorithm;
using kernels::Collective;

constexpr Way kFew = {Algorithm::kLL, 32, 128}, kMany = {Algorithm::kLL, 128, 512},
              kSimple = {Algorithm::kSimple, 128, 512}, kThere = {Algorithm::kZeroCopy, 128, 512};

TEST(Choose, TakesTheBestOfEachSize) {
  const auto rows = choose(Collective::kAllReduce, 4,
                           {{kSimple, 4096, 4},
                            {kFew, 1024, 1},
                            {kMany, 1024, 2},
                            {kFew, 2048, 3},
                            {kMany, 2048, 2},
                            {kSimple, 2048, 5}});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].up_to, 1024u);
  EXPECT_EQ(rows[0].blocks, 32u);
  EXPECT_EQ(rows[1].up_to, 2048u);
  EXPECT_EQ(rows[1].threads, 512u);
  EXPECT_EQ(rows[2].up_to, ~std::size_t{0});
  EXPECT_EQ(rows[2].algorithm, Algorithm::kSimple);
  for (const auto& row : rows) {
    EXPECT_EQ(row.most_pes, 4);
    EXPECT_EQ(row.what, Collective::kAllReduce);
  }
}

TEST(Choose, KeepsAWayWhileAnotherIsHardlyBetter) {
  const auto rows = choose(Collective::kAllGather, 2,
                           {{kFew, 8, 1.0}, {kMany, 8, 1.2}, {kFew, 16, 1.02}, {kMany, 16, 1.0}});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].blocks, 32u);
}

TEST(Choose, LeavesAWayThatWasNotMeasuredAnyMore) {
  const auto rows =
      choose(Collective::kAllGather, 2, {{kFew, 8, 1}, {kSimple, 8, 4}, {kSimple, 16, 9}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].up_to, 8u);
  EXPECT_EQ(rows[1].algorithm, Algorithm::kSimple);
}

std::vector<std::pair<std::size_t, Algorithm>> text_of(const std::vector<kernels::PlanRow>& rows) {
  std::vector<std::pair<std::size_t, Algorithm>> made;
  for (const auto& row : rows) made.emplace_back(row.up_to, row.algorithm);
  return made;
}

// Operators whose buffers are not symmetric go by the other rows.
TEST(Choose, PutsWhatTakesSymmetricBuffersWhereItPays) {
  constexpr auto kAll = ~std::size_t{0};
  const auto rows = choose(Collective::kAllGather, 2,
                           {{kFew, 8, 1},
                            {kFew, 16, 2},
                            {kFew, 32, 8},
                            {kSimple, 8, 4},
                            {kSimple, 16, 4},
                            {kSimple, 32, 4},
                            {kSimple, 64, 8},
                            {kThere, 8, 0.5},
                            {kThere, 16, 3},
                            {kThere, 32, 3},
                            {kThere, 64, 5}});
  EXPECT_THAT(text_of(rows), ::testing::ElementsAre(std::pair(16, Algorithm::kLL),
                                                    std::pair(31, Algorithm::kSimple),
                                                    std::pair(kAll, Algorithm::kZeroCopy),
                                                    std::pair(kAll, Algorithm::kSimple)));
  EXPECT_THAT(text_of(choose(Collective::kAllGather, 2, {{kSimple, 8, 2}, {kThere, 8, 1}})),
              ::testing::ElementsAre(std::pair(7, Algorithm::kSimple),
                                     std::pair(kAll, Algorithm::kZeroCopy),
                                     std::pair(kAll, Algorithm::kSimple)));
  EXPECT_THAT(text_of(choose(Collective::kAllGather, 2, {{kSimple, 8, 1}, {kThere, 8, 2}})),
              ::testing::ElementsAre(std::pair(kAll, Algorithm::kSimple)));
}

TEST(Choose, HasNothingToSayOfNothing) {
  EXPECT_TRUE(choose(Collective::kAllGather, 2, {}).empty());
}

TEST(Ways, AreThoseThatTheCollectiveHas) {
  for (const Collective what :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
        Collective::kAllToAll, Collective::kAllToAllV, Collective::kBroadcast,
        Collective::kAllReduceNorm})
    for (const bool gpu : {false, true})
      for (const int npes : {1, 2, 8}) {
        const auto ways = ways_of(what, npes, gpu);
        EXPECT_FALSE(ways.empty());
        for (const Way& way : ways) {
          const kernels::PlanLimits limits{1024, 4096, 65536};
          EXPECT_OK(kernels::plan(what, 1 << 20, npes, true, limits, kernels::builtin_table(gpu),
                                  way.algorithm, way.blocks, way.threads)
                        .status());
        }
      }
}

}  // namespace
}  // namespace weft::perf::tune
