// Baselines of signals and barriers: stores and loads of flag words, nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "perftest/job.hpp"

namespace weft::perf::floor {

void give_way();  // yields the core

// Spins until *flag >= value. A peer that shares our core gets to run once in a while, as any
// hand-written loop on a small machine must do.
inline void wait_for(const std::uint64_t* flag, std::uint64_t value) {
  for (unsigned spins = 1; __atomic_load_n(flag, __ATOMIC_ACQUIRE) < value; ++spins) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (spins % 1024 == 0) give_way();
  }
}

// Pairs with the acquire in wait_for.
inline void raise(std::uint64_t* flag, std::uint64_t value) {
  __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

// One side of `iters` rounds: sends `bytes` and raises the peer's flag, waits for its own. `first`
// begins. `value` is the flag's value of the first round.
struct PingPong {
  void* dst;  // in the peer's memory
  const void* src;
  std::size_t bytes;  // 0: flags only
  std::uint64_t* theirs;
  const std::uint64_t* mine;
  bool first;
  Ns run(std::uint64_t value, Count iters) const;
  void send(std::uint64_t value) const;
};

// Dissemination barrier: in round r tell the PE 2^r further, wait for the one 2^r before. Two PEs:
// one flag each.
class FlagBarrier {
 public:
  static Result<FlagBarrier> create(Job& job);  // collective
  bool usable() const { return usable_; }       // every peer is mapped here
  void wait() {
    ++epoch_;
    for (std::size_t round = 0; round < theirs_.size(); ++round) {
      raise(theirs_[round], epoch_);
      wait_for(mine_ + round * kFlagStride, epoch_);
    }
  }

 private:
  static constexpr std::size_t kFlagStride = 16;  // words: two cache lines, prefetched in pairs
  std::vector<std::uint64_t*> theirs_;
  const std::uint64_t* mine_ = nullptr;
  std::uint64_t epoch_ = 0;
  bool usable_ = true;
};

}  // namespace weft::perf::floor
