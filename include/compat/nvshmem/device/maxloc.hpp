// The greatest of the members' values and where it was: double2 pairs of a value (x) and an index
// (y).
#pragma once

#include <cstddef>

#include "collective.hpp"

namespace weft::nvshmem {
inline namespace WEFT_TARGET {

struct MaxLocs {
  // dest[i] = the source[i] with the greatest x; of several such, the smallest y, so that all
  // members get the same pair. dest may be source.
  template <class Pair>
  WEFT_DEVICE static int maxloc_reduce(nvshmem_team_t team, Pair* dest, const Pair* source,
                                       std::size_t count) {
    int code = NVSHMEMX_SUCCESS;
    for (std::size_t i = 0; i < count && code == NVSHMEMX_SUCCESS; ++i)
      code = reduce_pair(team, &dest[i], &source[i]);
    return code;
  }

 private:
  template <class Pair>
  WEFT_DEVICE static int reduce_pair(nvshmem_team_t team, Pair* dest, const Pair* source) {
    using Calls = Collectives<dev::Block>;
    const dev::Block block;
    const Pair mine = *source;
    block.sync();  // all threads have read `source`, which may be `dest`
    if (const int failed = Calls::reduce<ReduceOp::kMax>(team, &dest->x, &source->x, 1))
      return failed;
    const double greatest = dest->x;
    const bool is_mine = mine.x == greatest || greatest != greatest;
    if (block.rank() == 0)
      dest->y = is_mine ? mine.y : dev::coll::identity<ReduceOp::kMin, double>();
    block.sync();  // the leader's dest->y is there, which every thread may send
    return Calls::reduce<ReduceOp::kMin>(team, &dest->y, &dest->y, 1);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::nvshmem
