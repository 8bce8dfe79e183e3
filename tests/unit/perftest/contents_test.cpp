#include "perftest/contents.hpp"

#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::perf {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::uint64_t fresh_key() {
  const std::uint64_t key = std::random_device{}();
  testing::Test::RecordProperty("key", std::to_string(key));
  return key;
}

TEST(Contents, WhatIsFilledIsExpected) {
  const std::uint64_t key = fresh_key();
  for (const std::size_t bytes : {0u, 1u, 7u, 8u, 9u, 4099u}) {
    std::vector<std::byte> memory(bytes + 1);
    fill(memory.data(), bytes, key);
    EXPECT_TRUE(expect("data", 0, memory.data(), bytes, key)) << bytes;
    EXPECT_EQ(memory[bytes], std::byte{0}) << "wrote past the end";
  }
}

TEST(Contents, EveryByteThatDidNotArriveIsFound) {
  const std::uint64_t key = fresh_key();
  constexpr std::size_t kBytes = 37;
  std::vector<std::byte> right(kBytes), memory(kBytes);
  fill(right.data(), kBytes, key);
  for (std::size_t i = 0; i < kBytes; ++i) {
    fill_wrong(memory.data(), kBytes, key);
    const std::byte poison = memory[i];
    memory = right;
    memory[i] = poison;  // all has arrived but this one
    const Status status = expect("put", 3, memory.data(), kBytes, key);
    ASSERT_FALSE(status) << "byte " << i;
    EXPECT_THAT(std::string(status.text()),
                AllOf(HasSubstr("put on PE 3"), HasSubstr("byte " + std::to_string(i) + " of 37")));
  }
}

TEST(Contents, KeysGiveDifferentBytes) {
  std::vector<std::byte> a(64), b(64);
  fill(a.data(), 64, 1);
  fill(b.data(), 64, 2);
  EXPECT_NE(a, b);
  EXPECT_NE(mix(1, 2), mix(2, 1));
}

TEST(Contents, ComplementDiffersEverywhere) {
  std::vector<std::byte> a(33), b(33);
  fill(a.data(), 33, fresh_key());
  complement(b.data(), a.data(), 33);
  for (std::size_t i = 0; i < 33; ++i) EXPECT_NE(a[i], b[i]);
  const Status status = expect_equal("broadcast", 1, b.data(), a.data(), 33);
  EXPECT_THAT(std::string(status.text()), HasSubstr("byte 0 of 33"));
  EXPECT_TRUE(expect_equal("broadcast", 1, a.data(), a.data(), 33));
}

}  // namespace
}  // namespace weft::perf
