#include "perftest/floor/flags.hpp"

#include <sched.h>

#include <cstring>

namespace weft::perf::floor {

void give_way() { sched_yield(); }

void PingPong::send(std::uint64_t value) const {
  if (bytes == 8) {
    *static_cast<std::uint64_t*>(dst) = *static_cast<const std::uint64_t*>(src);
  } else if (bytes != 0) {
    std::memcpy(dst, src, bytes);
  }
  raise(theirs, value);
}

Ns PingPong::run(std::uint64_t value, Count iters) const {
  return time_plain(iters, [self = *this, value](Count i) {
    if (self.first) self.send(value + i);
    wait_for(self.mine, value + i);
    if (!self.first) self.send(value + i);
  });
}

Result<FlagBarrier> FlagBarrier::create(Job& job) {
  FlagBarrier barrier;
  std::size_t rounds = 0;
  while ((std::size_t{1} << rounds) < static_cast<std::size_t>(job.npes())) ++rounds;
  ASSIGN_OR_RETURN(auto* const flags, job.symmetric<std::uint64_t>((rounds + 1) * kFlagStride));
  barrier.mine_ = flags;
  for (std::size_t round = 0; round < rounds; ++round) {
    const int to = (job.pe() + (1 << round)) % job.npes();
    void* const there = job.ctx().ptr(flags + round * kFlagStride, to);
    if (there == nullptr) barrier.usable_ = false;
    barrier.theirs_.push_back(static_cast<std::uint64_t*>(there));
  }
  return barrier;
}

}  // namespace weft::perf::floor
