// The limits of what plans may ask for.
#pragma once

#include <cstddef>
#include <vector>

#include <weft/device/ll.hpp>
#include <weft/kernels/plan.hpp>

namespace weft::kernels {

inline constexpr unsigned kMostBlocks = 1024;
inline constexpr unsigned kMostThreadsOfBlock = 512;  // that kernels are compiled for
// The same of AllReduceNorm by LL, whose threads have so much under way that half as many have
// registers for it.
inline constexpr unsigned kMostThreadsOfRows = 256;
// AllToAllV by LL: so many units of a slot come before the data's, the first of them a header. A
// whole line, so that data begin at one.
inline constexpr std::size_t kHeaderUnits = 16;
inline constexpr std::size_t kHeaderBytes = kHeaderUnits * dev::kLLPacketBytes;

// The largest number of blocks in calls with up to so many bytes.
unsigned most_blocks(Collective what, std::size_t bytes, int npes, bool symmetric,
                     const std::vector<PlanRow>& table);
// To sums of whole messages, or their minima or maxima.
constexpr bool reduces(Collective what) {
  return what == Collective::kAllReduce || what == Collective::kReduceScatter;
}
// Its Lamport words are sums of floats, and no other data.
constexpr bool sends_sums(Collective what) {
  return reduces(what) || what == Collective::kAllReduceNorm;
}

}  // namespace weft::kernels
