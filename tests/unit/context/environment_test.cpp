// Sizes as OpenSHMEM and NVSHMEM write them into the environment.
#include <gtest/gtest.h>

#include <clocale>

#include "host/api/environment.hpp"

namespace weft {
namespace {

constexpr double kKib = 1024, kMib = 1024 * kKib, kGib = 1024 * kMib, kTib = 1024 * kGib;

TEST(Sizes, ANumberAndAMultiplier) {
  EXPECT_EQ(bytes_in("100"), 100);
  EXPECT_EQ(bytes_in("1e6"), 1e6);
  EXPECT_EQ(bytes_in(" 2k"), 2 * kKib);
  EXPECT_EQ(bytes_in("0.5G"), kGib / 2);
  EXPECT_EQ(bytes_in("3T"), 3 * kTib);
}

TEST(Sizes, WhatStandsBehindTheMultiplierIsIgnored) {
  EXPECT_EQ(bytes_in("1GB"), kGib);
  EXPECT_EQ(bytes_in("64MiB"), 64 * kMib);
  EXPECT_EQ(bytes_in("20kk"), 20 * kKib);
  EXPECT_EQ(bytes_in("1G "), kGib);
}

TEST(Sizes, WhatIsNone) {
  for (const char* const text : {"", "G", "-1", "0", "nan", "1 G", "1,5G", "1B", "much"})
    EXPECT_LT(bytes_in(text), 0) << text;
}

// A program may have set its own.
TEST(Sizes, APointWhateverTheLocale) {
  bool found = false;
  for (const char* const name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"})
    found = found || std::setlocale(LC_NUMERIC, name) != nullptr;
  EXPECT_EQ(bytes_in("0.5G"), kGib / 2);
  std::setlocale(LC_NUMERIC, "C");
  if (!found) GTEST_SKIP() << "no locale with a decimal comma is installed";
}

}  // namespace
}  // namespace weft
