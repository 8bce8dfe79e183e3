// Routine: the collectives, as errors name them and as kernels and hosts tell one from another.
#pragma once

#include <cstdint>

namespace weft {

enum class Routine : std::uint32_t {
  kSync,
  kBarrier,
  kBroadcast,
  kFcollect,
  kCollect,
  kAlltoall,
  kAlltoalls,
  kReduce,
  kReduceScatter,
  kScanInclusive,
  kScanExclusive,
};

}  // namespace weft
