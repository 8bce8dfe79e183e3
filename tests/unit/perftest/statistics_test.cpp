#include "perftest/statistics.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace weft::perf {
namespace {

TEST(Statistics, NothingGivesZeros) {
  const Summary summary = summarize({});
  EXPECT_EQ(summary.samples, 0u);
  EXPECT_EQ(summary.p50, 0);
}

TEST(Statistics, OneSampleIsEverything) {
  const Summary summary = summarize({7});
  EXPECT_EQ(summary.min, 7);
  EXPECT_EQ(summary.p50, 7);
  EXPECT_EQ(summary.p99, 7);
  EXPECT_EQ(summary.max, 7);
}

TEST(Statistics, NearestRank) {
  std::vector<double> samples(100);
  std::iota(samples.begin(), samples.end(), 1);
  std::shuffle(samples.begin(), samples.end(), std::mt19937(std::random_device{}()));
  const Summary summary = summarize(samples);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.p50, 50);
  EXPECT_EQ(summary.p99, 99);
  EXPECT_EQ(summary.max, 100);
  EXPECT_EQ(summary.samples, 100u);
}

TEST(Statistics, QuantileIsASampleWithEnoughBelow) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (std::size_t n = 1; n < 60; ++n) {
    std::vector<double> samples(n);
    for (double& sample : samples) sample = static_cast<double>(random() % 20);
    std::sort(samples.begin(), samples.end());
    for (const double fraction : {0.0, 0.01, 0.5, 0.99, 1.0}) {
      const double q = quantile(samples, fraction);
      const auto not_above = std::upper_bound(samples.begin(), samples.end(), q) - samples.begin();
      EXPECT_GE(static_cast<double>(not_above), fraction * static_cast<double>(n));
      EXPECT_TRUE(std::binary_search(samples.begin(), samples.end(), q));
    }
  }
}

TEST(Statistics, RatioIsTheMedianOfPairs) {
  // The machine was ten times slower during the last two pairs; the ratio does not care.
  EXPECT_DOUBLE_EQ(paired_ratio({12, 24, 12, 120, 240}, {10, 20, 10, 100, 200}), 1.2);
  EXPECT_DOUBLE_EQ(paired_ratio({3, 5, 100}, {1, 1, 1}), 5);
  EXPECT_EQ(paired_ratio({1, 2}, {}), 0);
  EXPECT_EQ(paired_ratio({1}, {0}), 0) << "a baseline of no time says nothing";
  EXPECT_DOUBLE_EQ(paired_ratio({4, 6, 9}, {2}), 2) << "what has no pair is left out";
}

}  // namespace
}  // namespace weft::perf
