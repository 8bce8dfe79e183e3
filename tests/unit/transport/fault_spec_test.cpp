#include "host/transport/fault/spec.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(FaultSpec, NothingIsNoFault) {
  const auto spec = parse_fault_spec("");
  ASSERT_TRUE(spec.is_ok());
  EXPECT_FALSE(spec->late);
  EXPECT_EQ(spec->drop, 0);
  EXPECT_EQ(spec->fail_after, 0u);
  EXPECT_EQ(spec->kill_pe, -1);
}

TEST(FaultSpec, ReadsEveryKey) {
  const auto spec = parse_fault_spec(
      "seed=18446744073709551615, late=1,drop=0.25,delay=1,delay_calls=5,duplicate=0.5,busy=0.125,"
      "max_bytes=100,fail_after=7,kill_pe=3,kill_after=9");
  ASSERT_TRUE(spec.is_ok()) << spec.status().to_string();
  EXPECT_EQ(spec->seed, ~std::uint64_t{0});
  EXPECT_TRUE(spec->late);
  EXPECT_EQ(spec->drop, 0.25);
  EXPECT_EQ(spec->delay, 1);
  EXPECT_EQ(spec->delay_calls, 5u);
  EXPECT_EQ(spec->duplicate, 0.5);
  EXPECT_EQ(spec->busy, 0.125);
  EXPECT_EQ(spec->max_bytes, 100u);
  EXPECT_EQ(spec->fail_after, 7u);
  EXPECT_EQ(spec->kill_pe, 3);
  EXPECT_EQ(spec->kill_after, 9u);
}

TEST(FaultSpec, AnUnknownKeyIsNamedWithTheKnownOnes) {
  const auto spec = parse_fault_spec("seed=1,duplicat=0.5");
  ASSERT_FALSE(spec.is_ok());
  const std::string text(spec.status().text());
  EXPECT_EQ(spec.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(text, HasSubstr("'duplicat'"));
  for (const char* key : {"seed", "late", "drop", "delay", "delay_calls", "duplicate", "busy",
                          "max_bytes", "fail_after", "kill_pe", "kill_after"})
    EXPECT_THAT(text, HasSubstr(key));
}

TEST(FaultSpec, ABadValueIsNamedWithItsRange) {
  for (const char* bad :
       {"drop=1.5", "drop=-0.1", "drop=nan", "drop=", "drop=x", "drop=0.5x", "delay_calls=0",
        "late=2", "late=yes", "busy=1", "seed=-1", "kill_pe=-2", "kill_pe=1.5",
        "fail_after=99999999999999999999", "late", "=3", "late=1,,drop=0"}) {
    const auto spec = parse_fault_spec(bad);
    ASSERT_FALSE(spec.is_ok()) << bad;
    EXPECT_EQ(spec.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(std::string(spec.status().text()), HasSubstr("WEFT_FAULT")) << bad;
  }
  EXPECT_THAT(std::string(parse_fault_spec("drop=1.5").status().text()),
              HasSubstr("drop=1.5 is not a number from 0 to 1"));
}

}  // namespace
}  // namespace weft
