#include "src/base/option_values.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weft {
namespace {

TEST(Values, Bool) {
  for (const char* yes : {"1", "true", "TRUE", "yes", "On"}) EXPECT_TRUE(*parse_bool(yes)) << yes;
  for (const char* no : {"0", "false", "No", "OFF"}) EXPECT_FALSE(*parse_bool(no)) << no;
  for (const char* bad : {"", "2", "y", " 1", "true "}) {
    EXPECT_FALSE(parse_bool(bad).is_ok()) << bad;
  }
}

TEST(Values, Int) {
  EXPECT_EQ(*parse_int("0"), 0);
  EXPECT_EQ(*parse_int("-17"), -17);
  EXPECT_EQ(*parse_int("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(*parse_int("-9223372036854775808"), INT64_MIN);
  for (const char* bad : {"", "-", "+1", "1x", "0x10", "1.0", " 1", "9223372036854775808"}) {
    EXPECT_TRUE(parse_int(bad).status().is(Code::kInvalidArgument)) << bad;
  }
}

TEST(Values, Bytes) {
  EXPECT_EQ(*parse_bytes("0"), 0u);
  EXPECT_EQ(*parse_bytes("17"), 17u);
  EXPECT_EQ(*parse_bytes("17b"), 17u);
  EXPECT_EQ(*parse_bytes("64k"), 65536u);
  EXPECT_EQ(*parse_bytes("64KiB"), 65536u);
  EXPECT_EQ(*parse_bytes("3MB"), 3u << 20);
  EXPECT_EQ(*parse_bytes("2G"), std::uint64_t{2} << 30);
  EXPECT_EQ(*parse_bytes("5tib"), std::uint64_t{5} << 40);
  EXPECT_EQ(*parse_bytes("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(*parse_bytes("16777215t"), std::uint64_t{16777215} << 40);
  for (const char* bad : {"", "k", "-1", "1.5g", "1 k", "1kk", "1i", "1ki", "1p", "16777216t",
                          "18014398509481984k", "18446744073709551616"}) {
    EXPECT_TRUE(parse_bytes(bad).status().is(Code::kInvalidArgument)) << bad;
  }
}

TEST(Values, Seconds) {
  EXPECT_DOUBLE_EQ(*parse_seconds("2"), 2);
  EXPECT_DOUBLE_EQ(*parse_seconds("0.5"), 0.5);
  EXPECT_DOUBLE_EQ(*parse_seconds("250ms"), 0.25);
  EXPECT_DOUBLE_EQ(*parse_seconds("3S"), 3);
  EXPECT_DOUBLE_EQ(*parse_seconds("2m"), 120);
  EXPECT_DOUBLE_EQ(*parse_seconds("1h"), 3600);
  EXPECT_DOUBLE_EQ(*parse_seconds("0"), 0);
  for (const char* bad : {"", "s", "-1", "nan", "inf", "1d", "1 s", "1e999", "1ss"}) {
    EXPECT_TRUE(parse_seconds(bad).status().is(Code::kInvalidArgument)) << bad;
  }
}

TEST(Values, ErrorsShowTheValueAndWhatIsAccepted) {
  const Status status = parse_bytes("12q").status();
  EXPECT_STREQ(status.text(), "'12q' has no known unit 'q'; accepted: k, m, g, t");
}

TEST(Values, FormattedValuesReadBack) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t bytes = random() >> (random() % 64) << (random() % 41);
    EXPECT_EQ(*parse_bytes(format_bytes(bytes)), bytes);
    const double seconds = static_cast<double>(random() % 1000000) / 1000;
    EXPECT_NEAR(*parse_seconds(format_seconds(seconds)), seconds, 1e-9 * seconds);
  }
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(17179869184), "16g");
  EXPECT_EQ(format_bytes(1025), "1025");
  EXPECT_EQ(format_seconds(0), "0s");
  EXPECT_EQ(format_seconds(0.001), "1ms");
  EXPECT_EQ(format_seconds(90), "90s");
  EXPECT_EQ(format_seconds(86400), "24h");
}

}  // namespace
}  // namespace weft
