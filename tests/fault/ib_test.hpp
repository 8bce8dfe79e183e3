// Common parts of the tests of ib over the fake library.
#pragma once

#include <gtest/gtest.h>

#include "tests/fault/talk.hpp"
#include "tests/support/fake_verbs/fake_verbs.hpp"

namespace weft {

inline Options by_ib() {
  Options options = options_by("ib,loopback");
  options.ib_library = FAKE_VERBS_LIBRARY;
  return options;
}

class IbTest : public ::testing::Test {
 protected:
  void TearDown() override {
    FakeVerbsLive live{};
    fake_verbs_live(&live);
    EXPECT_EQ(live, FakeVerbsLive{}) << "something was not given back";
  }
};

}  // namespace weft
