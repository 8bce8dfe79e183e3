#include "host/memory/offset_allocator.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/support/random.hpp"
#include "tests/unit/memory/allocator_model.hpp"

namespace weft {
namespace {

using test::AllocatorModel;

TEST(OffsetAllocator, AnEmptySpaceHasNoRoom) {
  OffsetAllocator empty;
  EXPECT_FALSE(empty.allocate(1, 1));
  EXPECT_FALSE(empty.allocate(0, 64));
  EXPECT_FALSE(empty.free(0));
  EXPECT_FALSE(empty.size_of(0));
  EXPECT_FALSE(empty.find(0, 0));
  EXPECT_FALSE(empty.at_or_before(100));
  EXPECT_EQ(empty.space(), 0u);
  EXPECT_EQ(empty.largest_free(), 0u);
  EXPECT_EQ(empty.missing(65, 64), 128u);
}

TEST(OffsetAllocator, TakesTheBestFitAndTheLowestAmongEquals) {
  OffsetAllocator space;
  space.extend(10 * 64);
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(space.allocate(64, 64).value());
  // Free: one granule at 1, two at 3, one at 6.
  for (const std::uint64_t granule : {1, 3, 4, 6}) EXPECT_EQ(space.free(granule * 64), 64u);
  EXPECT_EQ(space.allocate(128, 64), 3u * 64);
  EXPECT_EQ(space.allocate(64, 64), 1u * 64);
  EXPECT_EQ(space.allocate(1, 64), 6u * 64);
  EXPECT_FALSE(space.allocate(1, 64));
  EXPECT_EQ(space.in_use(), 10u * 64);
}

TEST(OffsetAllocator, NeighboursMergeInEveryOrder) {
  for (const std::vector<int>& order : std::vector<std::vector<int>>{
           {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    OffsetAllocator space;
    space.extend(3 * 64);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(space.allocate(64, 64));
    for (const int i : order) ASSERT_TRUE(space.free(static_cast<std::uint64_t>(i) * 64));
    EXPECT_EQ(space.largest_free(), 3u * 64);
    EXPECT_EQ(space.allocate(3 * 64, 64), 0u);
  }
}

TEST(OffsetAllocator, GrowthMergesWithTheFreeEnd) {
  OffsetAllocator space;
  space.extend(256);
  ASSERT_EQ(space.allocate(64, 64), 0u);
  EXPECT_FALSE(space.allocate(256, 64));
  EXPECT_EQ(space.missing(256, 64), 64u);
  space.extend(64);
  EXPECT_EQ(space.allocate(256, 64), 64u);
}

TEST(OffsetAllocator, AlignsToAnyPowerOfTwo) {
  for (std::uint64_t align = 1; align <= (std::uint64_t{1} << 20); align *= 2) {
    OffsetAllocator space;
    space.extend(std::uint64_t{4} << 20);
    ASSERT_EQ(space.allocate(1, 1), 0u);
    const auto offset = space.allocate(100, align);
    ASSERT_TRUE(offset) << align;
    EXPECT_EQ(*offset % align, 0u);
    EXPECT_EQ(*offset % OffsetAllocator::kGranule, 0u);
    // The space that the alignment skipped is still free.
    EXPECT_EQ(space.in_use(), 64u + 128);
    if (align > 128) {
      EXPECT_EQ(space.allocate(64, 64), 64u);
    }
  }
}

TEST(OffsetAllocator, RefusesWhatOverflows) {
  OffsetAllocator space;
  space.extend(1024);
  ASSERT_TRUE(space.allocate(64, 64));
  const std::uint64_t max = ~std::uint64_t{0};
  for (const std::uint64_t bytes : {max, max - 1, max - 63, max - 64, max / 2}) {
    EXPECT_FALSE(space.allocate(bytes, 64)) << bytes;
    EXPECT_FALSE(space.allocate(bytes, std::uint64_t{1} << 20)) << bytes;
    EXPECT_GE(space.missing(bytes, 64), bytes - 1024) << bytes;
  }
  EXPECT_FALSE(space.allocate(64, std::uint64_t{1} << 63));
  EXPECT_FALSE(space.find(0, max));
  EXPECT_FALSE(space.find(max, max));
  EXPECT_EQ(space.in_use(), 64u);
}

TEST(OffsetAllocator, FindsTheBlockAroundARange) {
  OffsetAllocator space;
  space.extend(1024);
  ASSERT_EQ(space.allocate(100, 64), 0u);
  ASSERT_EQ(space.allocate(10, 64), 128u);
  EXPECT_TRUE(space.find(0, 100));
  EXPECT_TRUE(space.find(99, 1));
  EXPECT_TRUE(space.find(100, 0));
  EXPECT_FALSE(space.find(100, 1)) << "rounding is not the user's";
  EXPECT_FALSE(space.find(0, 101));
  EXPECT_EQ(space.find(130, 2)->offset, 128u);
  EXPECT_EQ(space.find(130, 2)->bytes, 10u);
  EXPECT_FALSE(space.free(64)) << "inside a block";
  ASSERT_EQ(space.free(0), 100u);
  EXPECT_FALSE(space.free(0)) << "twice";
  EXPECT_FALSE(space.find(0, 1));
}

// Random calls on two allocators and the model: all three agree after each.
TEST(OffsetAllocator, AgreesWithTheModelAndWithItself) {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    OffsetAllocator one, two;
    AllocatorModel model;
    std::vector<std::uint64_t> freed;
    for (int step = 0; step < 400; ++step) {
      const auto dice = random() % 100;
      if (dice < 8 && model.space() < (std::uint64_t{1} << 17)) {
        const std::uint64_t granules = random() % 200;
        one.extend(granules * 64);
        two.extend(granules * 64);
        model.extend(granules);
      } else if (dice < 60) {
        const std::uint64_t bytes = random() % (dice < 50 ? 700 : 8000);
        const std::uint64_t align = std::uint64_t{1} << random() % (dice % 2 == 0 ? 7 : 13);
        const std::uint64_t missing = one.missing(bytes, align);
        const auto expected = model.allocate(bytes, align);
        ASSERT_EQ(one.allocate(bytes, align), expected);
        ASSERT_EQ(two.allocate(bytes, align), expected);
        if (!expected) {  // what it says is missing is enough, and no less is
          ASSERT_GT(missing, 0u);
          OffsetAllocator grown = one;
          grown.extend(missing - OffsetAllocator::kGranule);
          ASSERT_FALSE(grown.allocate(bytes, align));
          grown.extend(OffsetAllocator::kGranule);
          ASSERT_TRUE(grown.allocate(bytes, align));
        }
      } else if (!model.live().empty()) {
        auto victim = model.live().begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(random() % model.live().size()));
        const std::uint64_t offset = victim->first;
        const auto expected = model.free(offset);
        ASSERT_EQ(one.free(offset), expected);
        ASSERT_EQ(two.free(offset), expected);
        ASSERT_FALSE(one.free(offset));
      }
      ASSERT_EQ(one.in_use(), model.in_use());
      ASSERT_EQ(one.live(), model.live().size());
      ASSERT_EQ(one.space(), model.space());
      const std::uint64_t probe = random() % (model.space() + 200);
      const std::uint64_t bytes = random() % 300;
      const auto found = one.find(probe, bytes);
      const auto wanted = model.find(probe, bytes);
      // Two blocks hold an empty range on the edge between them; either will do.
      ASSERT_EQ(found.has_value(), wanted.has_value()) << probe << " " << bytes;
      if (found && bytes > 0) {
        ASSERT_EQ(found->offset, wanted->offset);
      }
    }
    for (const auto& [offset, bytes] : std::map(model.live())) ASSERT_EQ(one.free(offset), bytes);
    EXPECT_EQ(one.in_use(), 0u);
    EXPECT_EQ(one.largest_free(), one.space()) << "all merged again";
  }
}

}  // namespace
}  // namespace weft
