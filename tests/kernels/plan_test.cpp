// Plans are a pure function: no GPU, no PEs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/kernels/plan.hpp>
#include <weft/kernels/types.hpp>

#include "kernels/collectives/limits.hpp"
#include "tests/support/status.hpp"

namespace weft::kernels {
namespace {

const std::vector<PlanRow> kTable = {
    {Collective::kAllReduce, 2, 4096, Algorithm::kLL, 8, 64},
    {Collective::kAllReduce, 0, 1024, Algorithm::kLL, 4, 64},
    {Collective::kAllReduce, 0, 65536, Algorithm::kTwoShotLL, 4, 64},
    {Collective::kAllReduce, 0, 1 << 20, Algorithm::kSimple, 16, 128},
    {Collective::kAllGather, 0, 1 << 20, Algorithm::kLL, 16, 32},
};
const PlanLimits kLimits{32, 8192, 65536};

Plan made(std::size_t bytes, int npes, bool mapped = true, const PlanLimits& limits = kLimits) {
  auto plan = kernels::plan(Collective::kAllReduce, bytes, npes, mapped, limits, kTable);
  EXPECT_OK(plan.status());
  return plan.value_or(Plan{});
}

TEST(Plan, TakesTheFirstRowThatFits) {
  EXPECT_EQ(made(1024, 8).algorithm, Algorithm::kLL);
  EXPECT_EQ(made(1025, 8).algorithm, Algorithm::kTwoShotLL);
  EXPECT_EQ(made(4096, 2).algorithm, Algorithm::kLL);
  EXPECT_EQ(made(4097, 2).algorithm, Algorithm::kTwoShotLL);
  EXPECT_EQ(made(65537, 8).algorithm, Algorithm::kSimple);
  EXPECT_EQ(made(std::size_t{1} << 40, 8).algorithm, Algorithm::kSimple);  // behind the last
}

TEST(Plan, TakesNoMoreBlocksThanHaveSomethingToDo) {
  EXPECT_EQ(made(8, 8).blocks, 1u);
  EXPECT_EQ(made(512, 8).blocks, 1u);
  EXPECT_EQ(made(513, 8).blocks, 2u);
  EXPECT_EQ(made(8 * 512 + 8, 8).blocks, 2u);  // two shots: a part for each member
  EXPECT_EQ(made(1 << 20, 8).blocks, 16u);
  PlanLimits two = kLimits;
  two.channels = 2;
  EXPECT_EQ(made(1 << 20, 8, true, two).blocks, 2u);
}

// More blocks rather than more rounds, each of which takes a message's way.
TEST(Plan, BlocksSendTheirLLInARoundIfTheyCan) {
  PlanLimits small = kLimits;
  small.ll_bytes = 256;  // half of what the threads of a block send at once
  EXPECT_EQ(made(1024, 8, true, small).blocks, 4u);
  EXPECT_EQ(made(1024, 2, true, small).blocks, 4u);
  EXPECT_EQ(made(4096, 2, true, small).blocks, 8u) << "as many as the row says";
}

TEST(Plan, PiecesAreLinesAndFitIntoTheirSlots) {
  for (const std::size_t bytes : {1u, 100u, 5000u, 1u << 20, 1u << 30}) {
    const Plan plan = made(bytes, 3, false);
    EXPECT_EQ(plan.algorithm, Algorithm::kSimple) << "unmapped members get no packets";
    EXPECT_EQ(plan.piece % 128, 0u);
    EXPECT_GE(plan.piece, 128u);
    EXPECT_LE(plan.piece, kLimits.simple_bytes);
  }
}

TEST(Plan, AsksLittleOfTheHost) {
  EXPECT_EQ(made(5000, 3, false).blocks, 1u);
  EXPECT_EQ(made(5000, 3, false).piece, 16384u);
  EXPECT_LE(made(1 << 30, 3, false).blocks, 8u);
}

TEST(Plan, IsForced) {
  auto plan = kernels::plan(Collective::kAllReduce, 100000, 8, true, kLimits, kTable,
                            Algorithm::kLL, 3, 96);
  ASSERT_OK(plan.status());
  EXPECT_EQ(plan->algorithm, Algorithm::kLL);
  EXPECT_EQ(plan->blocks, 3u);
  EXPECT_EQ(plan->threads, 96u);
  EXPECT_EQ(to_string(*plan), "ll, 3 blocks of 96 threads");
}

TEST(Plan, TheRootOfABroadcastSendsItsBytesOnce) {
  const std::vector<PlanRow> table = {
      {Collective::kBroadcast, 0, 0, Algorithm::kScatteredSimple, 4, 64}};
  const auto made = [&](int npes, bool mapped) {
    auto plan = kernels::plan(Collective::kBroadcast, 1 << 20, npes, mapped, kLimits, table);
    EXPECT_OK(plan.status());
    return plan.value_or(Plan{});
  };
  EXPECT_EQ(made(5, true).algorithm, Algorithm::kScatteredSimple);
  EXPECT_EQ(made(5, true).piece, 65536u);  // 2^20 bytes over 4 blocks and 4 others
  EXPECT_EQ(made(5, false).algorithm, Algorithm::kScatteredSimple);
  EXPECT_EQ(made(2, true).algorithm, Algorithm::kSimple);
  EXPECT_EQ(made(1, true).algorithm, Algorithm::kSimple);
}

// In an AllToAllV a piece is what a block takes of a message by LL, behind a header of 128 bytes:
// one round, or all by Simple.
TEST(Plan, AllToAllVTakesPacketsForOneRound) {
  const std::vector<PlanRow> table = {{Collective::kAllToAllV, 0, 1 << 20, Algorithm::kLL, 4, 512}};
  const PlanLimits limits{8, 4096, 65536};
  const auto made = [&](std::size_t bytes, Algorithm forced = Algorithm::kAuto) {
    auto plan = kernels::plan(Collective::kAllToAllV, bytes, 8, true, limits, table, forced);
    EXPECT_OK(plan.status());
    return plan.value_or(Plan{});
  };
  for (const std::size_t bytes : {0, 1, 5000, 4 * 3968}) {
    const Plan plan = made(bytes);
    EXPECT_EQ(plan.algorithm, Algorithm::kLL) << bytes;
    EXPECT_GE(plan.piece * plan.blocks, bytes);
    EXPECT_GE(plan.piece, 128u);
    EXPECT_LE(plan.piece, 3968u);
    EXPECT_EQ(plan.piece % 128, 0u);
  }
  EXPECT_EQ(made(4 * 3968 + 1).algorithm, Algorithm::kSimple);
  const Plan forced = made(4 * 3968 + 1, Algorithm::kLL);
  EXPECT_EQ(forced.algorithm, Algorithm::kLL);
  EXPECT_EQ(to_string(forced), "ll, 4 blocks of 512 threads, pieces of 3968 bytes");
}

// Messages that do not fit go in passes through halves of the slots, and where there is no room at
// all, by LL.
TEST(Plan, LamportTakesSeveralPassesWhereMessagesDoNotFit) {
  const auto made = [&](std::size_t bytes, Algorithm forced, std::size_t lamport_bytes,
                        bool mapped) {
    const PlanLimits limits{8, 4096, 65536, lamport_bytes};
    auto plan = kernels::plan(Collective::kAllReduce, bytes, 4, mapped, limits, kTable, forced, 8);
    EXPECT_OK(plan.status());
    return plan.value_or(Plan{});
  };
  for (const std::size_t bytes : {0, 1, 7000, 8 * 1000}) {
    const Plan plan = made(bytes, Algorithm::kLamport, 1000, true);
    EXPECT_EQ(plan.algorithm, Algorithm::kLamport) << bytes;
    EXPECT_LE(bytes, 1000 * plan.blocks) << "in one pass";
    EXPECT_EQ(plan.piece, 0u);
  }
  EXPECT_EQ(to_string(made(8001, Algorithm::kLamport, 1000, true)),
            "lamport, 8 blocks of 64 threads, pieces of 384 bytes");
  EXPECT_EQ(made(8001, Algorithm::kLamport, 8, true).piece, 64u);
  EXPECT_EQ(made(4 * 8000, Algorithm::kTwoShotLamport, 1000, true).piece, 0u);
  EXPECT_EQ(made(4 * 8000 + 4, Algorithm::kTwoShotLamport, 1000, true).piece, 384u);
  EXPECT_EQ(made(100, Algorithm::kLamport, 0, true).algorithm, Algorithm::kLL);
  EXPECT_EQ(made(100, Algorithm::kTwoShotLamport, 0, true).algorithm, Algorithm::kTwoShotLL);
  EXPECT_EQ(made(100, Algorithm::kLamport, 1000, false).algorithm, Algorithm::kSimple);
}

// A pass waits for the one before. The row has 16 blocks, the workspace twice as many channels.
TEST(Plan, LamportTakesMoreBlocksRatherThanPasses) {
  PlanLimits limits = kLimits;
  limits.lamport_bytes = 1000;
  const auto made = [&](std::size_t bytes, unsigned blocks) {
    auto plan = kernels::plan(Collective::kAllGather, bytes, 2, true, limits, kTable,
                              Algorithm::kLamport, blocks);
    EXPECT_OK(plan.status());
    return plan.value_or(Plan{});
  };
  EXPECT_EQ(to_string(made(16000, 0)), "lamport, 16 blocks of 32 threads");
  EXPECT_EQ(to_string(made(17001, 0)), "lamport, 18 blocks of 32 threads");
  EXPECT_EQ(to_string(made(32000, 0)), "lamport, 32 blocks of 32 threads");
  EXPECT_EQ(to_string(made(32001, 0)), "lamport, 16 blocks of 32 threads, pieces of 384 bytes");
  EXPECT_EQ(to_string(made(17001, 16)), "lamport, 16 blocks of 32 threads, pieces of 384 bytes");
}

// Integers, for which a table's Lamport rows are not.
TEST(Plan, WithoutRoomForWordsTheTableMeansPacketsOfOneRound) {
  const std::vector<PlanRow> table = {
      {Collective::kAllReduce, 0, 4000, Algorithm::kLamport, 4, 64},
      {Collective::kAllReduce, 0, 1 << 20, Algorithm::kTwoShotLamport, 4, 64}};
  const auto made = [&](std::size_t bytes) {
    auto plan = kernels::plan(Collective::kAllReduce, bytes, 2, true, {8, 512, 65536}, table);
    EXPECT_OK(plan.status());
    return plan.value_or(Plan{}).algorithm;
  };
  EXPECT_EQ(made(4 * 512), Algorithm::kLL);
  EXPECT_EQ(made(4 * 512 + 1), Algorithm::kSimple);
  EXPECT_EQ(made(2 * 4 * 512), Algorithm::kTwoShotLL);
  EXPECT_EQ(made(2 * 4 * 512 + 1), Algorithm::kSimple);
}

TEST(Plan, AnOperatorHasAsManyBlocksAsItsCallsMayTake) {
  const auto most = [](std::size_t bytes, int npes) {
    return most_blocks(Collective::kAllReduce, bytes, npes, false, kTable);
  };
  EXPECT_EQ(most(4096, 2), 8u);
  EXPECT_EQ(most(4097, 2), 8u);  // the smaller ones, too
  EXPECT_EQ(most(4096, 3), 4u);
  EXPECT_EQ(most(65537, 3), 16u);
  EXPECT_EQ(most(std::size_t{1} << 40, 3), 16u);
}

TEST(Plan, RefusesWhatThereIsNot) {
  const auto refused = [](Collective what, Algorithm forced) {
    return kernels::plan(what, 8, 8, true, kLimits, kTable, forced).status();
  };
  EXPECT_CODE(refused(Collective::kAllGather, Algorithm::kTwoShotLL), Code::kUnsupported);
  EXPECT_CODE(refused(Collective::kAllReduce, Algorithm::kScatteredSimple), Code::kUnsupported);
  EXPECT_CODE(refused(Collective::kAllToAllV, Algorithm::kAuto), Code::kInvalidArgument);
  EXPECT_CODE(refused(Collective::kBroadcast, Algorithm::kAuto), Code::kInvalidArgument);
}

TEST(Plan, BuiltInTablesHaveEveryCollective) {
  for (const bool gpu : {false, true})
    for (const Collective what :
         {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
          Collective::kAllToAll, Collective::kAllToAllV, Collective::kBroadcast,
          Collective::kAllReduceNorm})
      for (const int npes : {1, 2, 8, 64})
        for (std::size_t bytes = 1; bytes < std::size_t{1} << 32; bytes *= 7)
          EXPECT_OK(kernels::plan(what, bytes, npes, true, kLimits, builtin_table(gpu)).status());
}

TEST(DType, HasSizesAndNames) {
  EXPECT_EQ(bytes_of(DType::kFloat32), 4u);
  EXPECT_EQ(bytes_of(DType::kBfloat16), 2u);
  EXPECT_EQ(bytes_of(DType::kUint8), 1u);
  EXPECT_EQ(bytes_of(DType::kFloat8E4m3), 1u);
  EXPECT_STREQ(to_string(DType::kFloat16), "float16");
  EXPECT_EQ(bytes_of(static_cast<DType>(99)), 0u);
}

}  // namespace
}  // namespace weft::kernels
