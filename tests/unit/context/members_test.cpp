// The members of a team, against the definition, for all small cases.
#include "host/team/members.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

Team strided(int start, int stride, int size, int rank) {
  return {.id = 0, .start = start, .stride = stride, .size = size, .rank = rank};
}

TEST(Members, StridedAgainstTheDefinition) {
  for (const Team& parent : {strided(0, 1, 7, 0), strided(12, -2, 6, 3), strided(3, 5, 1, 0)})
    for (int start = -2; start <= 8; ++start)
      for (int stride = -8; stride <= 8; ++stride)
        for (int size = -1; size <= 8; ++size) {
          bool valid = size >= 1 && (stride != 0 || size == 1);
          Pes wanted;
          for (int i = 0; valid && i < size; ++i) {
            const int pe = parent.pe_of(start + i * stride);
            valid = pe >= 0;
            wanted.push_back(pe);
          }
          const auto members = strided_members(parent, start, stride, size);
          ASSERT_EQ(members.is_ok(), valid) << start << " " << stride << " " << size;
          if (valid) {
            EXPECT_EQ(*members, wanted);
          }
        }
}

TEST(Members, StridedHugeNumbers) {
  const Team parent = strided(0, 1, 5, 0);
  constexpr int kMost = 2147483647;
  EXPECT_CODE(strided_members(parent, 4, kMost, 5), Code::kOutOfRange);
  EXPECT_CODE(strided_members(parent, 4, -kMost - 1, 5), Code::kOutOfRange);
  EXPECT_CODE(strided_members(parent, kMost, 1, 2), Code::kOutOfRange);
  EXPECT_CODE(strided_members(parent, 0, 1, kMost), Code::kOutOfRange);
}

TEST(Members, GridCoversEveryRankOnce) {
  for (int size = 1; size <= 12; ++size)
    for (int xrange = 1; xrange <= 14; ++xrange) {
      const Team parent = strided(100, 3, size, 0);
      for (int rank = 0; rank < size; ++rank) {
        const auto grid = grid_members(parent, xrange, rank);
        ASSERT_OK(grid);
        const int pe = parent.pe_of(rank);
        EXPECT_EQ(rank_in(grid->x, pe), rank % xrange);
        EXPECT_EQ(rank_in(grid->y, pe), rank / xrange);
        for (int other = 0; other < size; ++other) {
          EXPECT_EQ(rank_in(grid->x, parent.pe_of(other)) >= 0, other / xrange == rank / xrange);
          EXPECT_EQ(rank_in(grid->y, parent.pe_of(other)) >= 0, other % xrange == rank % xrange);
        }
      }
    }
  EXPECT_CODE(grid_members(strided(0, 1, 4, 0), 0, 0), Code::kInvalidArgument);
  EXPECT_OK(grid_members(strided(0, 1, 4, 0), 2147483647, 3));
}

TEST(Members, ListsOfEverySort) {
  const Team parent = strided(10, 10, 5, 0);
  EXPECT_EQ(listed_members(parent, {4, 0, 2}).value(), (Pes{50, 10, 30}));
  EXPECT_CODE(listed_members(parent, {}), Code::kInvalidArgument);
  EXPECT_CODE(listed_members(parent, {1, 5}), Code::kOutOfRange);
  EXPECT_CODE(listed_members(parent, {1, -1}), Code::kOutOfRange);
  EXPECT_CODE(listed_members(parent, {1, 2, 1}), Code::kInvalidArgument);
}

TEST(Members, ShapeOfAList) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 300; ++round) {
    const int size = 1 + static_cast<int>(random() % 6);
    Pes pes;
    for (int i = 0; i < size; ++i) pes.push_back(static_cast<int>(random() % 4) + 10 * i);
    const auto team = strided_team(pes);
    bool even = true;
    for (std::size_t i = 2; i < pes.size(); ++i)
      even = even && pes[i] - pes[i - 1] == pes[1] - pes[0];
    ASSERT_EQ(team.has_value(), even);
    for (int r = 0; even && r < size; ++r)
      EXPECT_EQ(team->pe_of(r), pes[static_cast<std::size_t>(r)]);
  }
}

TEST(IdMask, LowestCommonId) {
  for (const int ids : {4, 63, 64, 65, 130, 4096}) {
    IdMask mask(ids);
    EXPECT_EQ(mask.bits().size(), IdMask::words(ids));
    for (int id = 0; id < ids; ++id) {
      ASSERT_EQ(IdMask::lowest(mask.bits().data(), mask.bits().size()), id);
      EXPECT_TRUE(mask.is_free(id));
      mask.take(id);
      EXPECT_FALSE(mask.is_free(id));
    }
    EXPECT_EQ(IdMask::lowest(mask.bits().data(), mask.bits().size()), -1);
    mask.give(ids - 1);
    EXPECT_EQ(IdMask::lowest(mask.bits().data(), mask.bits().size()), ids - 1);
  }
}

}  // namespace
}  // namespace weft
