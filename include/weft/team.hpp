// A team: some PEs, in order. A plain value that host code and kernels copy freely.
#pragma once

#include <cstdint>

#include <weft/target.hpp>

namespace weft {

inline constexpr std::int32_t kWorldId = 0;  // of the team of all PEs, in their order

// PE numbers are global (0 .. npes-1); ranks count inside one team (0 .. size-1).
// A team is a strided triple, or a list when `list` is set (the table then lies in this PE's
// symmetric heap, where kernels can read it too).
struct Team {
  std::int32_t id = -1;  // same on all members; indexes the team's block of signal words
  std::int32_t start = 0;
  std::int32_t stride = 1;
  std::int32_t size = 0;
  std::int32_t rank = -1;  // of the PE that holds the value; -1: not a member
  const std::int32_t* list = nullptr;

  WEFT_HOST_DEVICE bool is_member() const { return rank >= 0; }

  // -1 when rank is outside the team.
  WEFT_HOST_DEVICE int pe_of(int rank_in_team) const {
    if (rank_in_team < 0 || rank_in_team >= size) return -1;
    return list != nullptr ? list[rank_in_team] : start + rank_in_team * stride;
  }

  // -1 when pe is not a member. O(1) for strided teams, O(size) for lists.
  WEFT_HOST_DEVICE int rank_of(int pe) const {
    if (list != nullptr) {
      for (int r = 0; r < size; ++r)
        if (list[r] == pe) return r;
      return -1;
    }
    const int distance = pe - start;
    if (stride == 0) return size == 1 && distance == 0 ? 0 : -1;
    if (distance % stride != 0) return -1;
    const int r = distance / stride;
    return r >= 0 && r < size ? r : -1;
  }
};

// The rank in `to` of the PE that has rank `rank` in `from`; -1 if there is none.
WEFT_HOST_DEVICE int translate(const Team& from, int rank, const Team& to) {
  const int pe = from.pe_of(rank);
  return pe < 0 ? -1 : to.rank_of(pe);
}

}  // namespace weft
