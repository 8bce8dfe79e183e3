// How strongly, and for whom, an atomic operation of the device API is ordered.
#pragma once

#include <cstdint>

namespace weft::dev {

enum class Order {
  kRelaxed,  // atomic, nothing more
  kAcquire,  // loads: what was written before the release it reads from is visible after it
  kRelease,  // stores: what came before it is visible to who acquires it
  kAcqRel,   // read-modify-write: both
};

// The threads that take part: those of my block, of my device, or of all devices and hosts.
enum class Reach { kBlock, kDevice, kSystem };

// Two words that lie one behind the other, at a multiple of 16 bytes.
struct Pair {
  std::uint64_t first, second;
};

}  // namespace weft::dev
