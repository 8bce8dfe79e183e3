#include "host/proxy/backoff.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Backoff, SpinsThenYieldsThenSleepsLongerUpToAMillisecond) {
  Backoff backoff;
  Backoff::Pause last = Backoff::kNone;
  bool spun = false, yielded = false;
  for (int i = 0; i < 10000; ++i) {
    const Backoff::Pause pause = backoff.next(true);
    EXPECT_GE(pause, last);
    EXPECT_LE(pause, Backoff::kLongest);
    spun |= pause == Backoff::kNone;
    yielded |= pause == Backoff::kYield;
    last = pause;
  }
  EXPECT_TRUE(spun);
  EXPECT_TRUE(yielded);
  EXPECT_EQ(last, Backoff::kLongest);
  backoff.reset();
  EXPECT_EQ(backoff.next(true), Backoff::kNone);
}

TEST(Backoff, LooksRarelyWhenNothingCanCome) {
  Backoff backoff;
  for (int i = 0; i < 1000; ++i) backoff.next(true);
  EXPECT_EQ(backoff.next(false), Backoff::kNothingToDo);
  EXPECT_EQ(backoff.next(true), Backoff::kNone);  // looks at once again, when there is something
}

}  // namespace
}  // namespace weft
