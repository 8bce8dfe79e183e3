// weft-run as the launcher of programs that speak PMI-1: the test program writes the lines itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fault/launch/launched.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(LaunchPmi, ProcessesExchangeWhatTheyPut) {
  for (const int npes : {1, 2, 7}) {
    Launched job({"-n", std::to_string(npes), "PROGRAM", "pmi", "finalize"});
    EXPECT_EQ(job.wait(), 0) << job.err();
    for (int pe = 0; pe < npes; ++pe) {
      const std::string next = std::to_string((pe + 1) % npes);
      EXPECT_THAT(job.out(), HasSubstr("PE " + std::to_string(pe) + " got from-" + next + "\n"));
    }
    EXPECT_EQ(job.err(), "");
    EXPECT_TRUE(job.all_gone());
  }
}

TEST(LaunchPmi, WhoSaysNoGoodbyeHasFailed) {
  Launched job({"-n", "2", "PROGRAM", "pmi", "vanish"});
  EXPECT_EQ(job.wait(), 1);
  EXPECT_THAT(job.err(), HasSubstr("MPI_Finalize"));
  EXPECT_TRUE(job.all_gone());
}

TEST(LaunchPmi, AnAbortEndsAllWithItsCode) {
  Launched job({"-n", "3", "PROGRAM", "pmi", "abort"});
  EXPECT_EQ(job.wait(), 37);
  EXPECT_THAT(job.err(), HasSubstr("through PMI with code 37"));
  EXPECT_TRUE(job.all_gone());
}

TEST(LaunchPmi, OneThatIsKilledAtTheBarrierEndsTheJob) {
  Launched job({"-n", "3", "PROGRAM", "pmi", "kill"});
  EXPECT_EQ(job.wait(), 137);
  EXPECT_TRUE(job.all_gone());
}

TEST(LaunchPmi, WhatIsNoPmiIsSaidAndEndsNobody) {
  Launched job({"-n", "2", "PROGRAM", "pmi", "nonsense"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_THAT(job.err(), HasSubstr("PE 1: no PMI message"));
}

TEST(LaunchPmi, NoneOffersNone) {
  Launched job({"-n", "1", "--pmi", "none", "PROGRAM", "environment", "PMI_FD", "PMI_RANK"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.out(), "PMI_FD=(unset)\nPMI_RANK=(unset)\n");
  Launched wrong({"-n", "1", "--pmi", "2", "PROGRAM", "meet"});
  EXPECT_EQ(wrong.wait(), 2);
}

}  // namespace
}  // namespace weft
