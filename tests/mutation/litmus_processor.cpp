// Litmus programs of what only the processor itself can show: the mutation test compiles them
// without ThreadSanitizer, whose own work between two accesses would hide it. Exit status 0: every
// promise was kept.
#include "tests/mutation/litmus.hpp"

#include <sched.h>

#include <atomic>
#include <vector>

namespace weft::litmus {
namespace {

// To run on a processor of its own; on a machine with one there is nothing to observe.
void stay_on_processor(int n) {
  cpu_set_t allowed, mine;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  CPU_ZERO(&mine);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && n-- == 0) CPU_SET(cpu, &mine);
  if (CPU_COUNT(&mine) == 1) sched_setaffinity(0, sizeof(mine), &mine);
}

// Two PEs each put a word and then look for the other's: after quiet, at least one finds it. Many
// turns, for they must run at the same moment to miss each other; fewer on a busy machine.
void each_looks(const JobOptions& options) {
  DeviceJob job(options);
  constexpr Word kTurns = 20'000;
  constexpr std::size_t kApart = 16, kSets = 1024;  // cold lines make stores slow
  const Lines words(job, 2 * kApart, kSets);
  std::atomic<Word> arrived{0}, turns{kTurns};
  std::vector<unsigned char> found(2 * (kTurns + 1));
  const std::uint64_t end = dev::platform::clock_ns() + 5'000'000'000;
  run_grids(2, 1, 1, [&](int pe) {
    const Context ctx(job.handle(pe));
    const auto me = static_cast<std::size_t>(pe), other = 1 - me;
    stay_on_processor(pe);
    for (Word turn = 1; turn <= turns.load(std::memory_order_relaxed); ++turn) {
      forget_fences();
      if (pe == 0 && dev::platform::clock_ns() > end) turns.store(turn, std::memory_order_relaxed);
      arrived.fetch_add(1, std::memory_order_release);  // with the word about the last turn
      while (arrived.load(std::memory_order_acquire) < 2 * turn) dev::platform::relax();
      // The PE that came last is ahead by the time that news takes; some of these delays make up
      // for it.
      for (Word delay = pe == 0 ? turn % 256 : turn / 256 % 256; delay > 0; --delay)
        asm volatile("");
      Word* const word = words.of(job, pe, turn % kSets);
      ctx.p(word + kApart * me, turn, 1 - pe);
      if (turn % 2 == 0) {
        ctx.quiet(Thread{});
      } else {
        ctx.quiet_pe(1 - pe);
      }
      found[2 * turn + me] = ctx.g(word + kApart * other, pe) >= turn;
    }
  });
  for (Word turn = 1; turn <= turns.load(); ++turn) LITMUS(found[2 * turn] || found[2 * turn + 1]);
}

}  // namespace
}  // namespace weft::litmus

int main(int argc, char** argv) {
  using namespace weft::litmus;
  each_looks(begin(argc, argv).mapped);
  return 0;
}
