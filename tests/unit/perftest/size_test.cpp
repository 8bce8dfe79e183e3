#include "perftest/size.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::perf {
namespace {

using testing::HasSubstr;

TEST(Size, TakesPlainNumbersAndUnits) {
  const std::pair<const char*, std::uint64_t> cases[] = {{"0", 0},
                                                         {"8", 8},
                                                         {"1k", 1024},
                                                         {"4K", 4096},
                                                         {"64kb", 65536},
                                                         {"2m", 2u << 20},
                                                         {"1MiB", 1u << 20},
                                                         {"3g", std::uint64_t{3} << 30},
                                                         {"1t", std::uint64_t{1} << 40},
                                                         {"12B", 12},
                                                         {"16777215t", 16777215ull << 40}};
  for (const auto& [text, bytes] : cases) {
    auto size = parse_size(text);
    ASSERT_TRUE(size) << text << ": " << size.status().text();
    EXPECT_EQ(*size, bytes) << text;
  }
}

TEST(Size, RefusesEverythingElse) {
  for (const char* text : {"", "k", "-1", "1.5k", "1 k", "8x", "1kk", "1mm", "1ib", "0x10", "+3",
                           "18446744073709551616", "16777216t", "1k "}) {
    auto size = parse_size(text);
    EXPECT_FALSE(size) << text << " gave " << *size;
    if (!size) EXPECT_THAT(size.status().text(), HasSubstr(text)) << text;
  }
}

TEST(Size, PrintsWhatItTakes) {
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{1024},
        std::uint64_t{1536}, std::uint64_t{1} << 20, (std::uint64_t{1} << 20) + 1,
        std::uint64_t{3} << 30, std::uint64_t{5} << 40, std::uint64_t{7} << 50})
    EXPECT_EQ(*parse_size(format_size(bytes)), bytes) << format_size(bytes);
  EXPECT_EQ(format_size(4096), "4k");
  EXPECT_EQ(format_size(1 << 20), "1m");
  EXPECT_EQ(format_size(1000), "1000");
}

}  // namespace
}  // namespace weft::perf
