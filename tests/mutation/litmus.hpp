// Common parts of the litmus programs. A program is a few threads that pass data along one promise
// of the device API; ThreadSanitizer, the late proxy and the checks say when the promise is broken.
// They are compiled alone (no test framework), since the mutation test compiles them once per
// mutant.
#pragma once

#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <weft/dev/platform.hpp>
#include <weft/dev/rma.hpp>
#include <weft/dev/atomic.hpp>
#include <weft/dev/signal.hpp>
#include <weft/dev/sync.hpp>

#include "tests/device/device_job.hpp"
#include "tests/device/late_proxy.cpp"  // it uses device code, so it is under mutation, too
#include "tests/device/run_threads.hpp"

namespace weft::litmus {

using dev::Block;
using dev::Context;
using dev::Thread;
using dev::Warp;
using test::DeviceJob;
using test::JobOptions;
using test::run_grids;
using Word = std::uint64_t;

inline constexpr unsigned kThreads = 6;  // a warp of four and one of two
inline constexpr std::size_t kRounds = 8;
inline constexpr std::size_t kPart = 9;  // words that a thread moves by itself

inline void fail(const char* program, const char* what) {
  std::fprintf(stderr, "litmus %s: %s\n", program, what);
  _exit(1);
}
// Ends a program that hangs: what spins burns processor time, whereas a busy machine only makes
// everything late.
inline void limit_processor_time(int seconds) {
  itimerval limit = {};
  limit.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
}
inline constexpr std::uint64_t kNoSoonerThan = 1'000'000'000'000;  // ns, of waits: as good as never

// The jobs that programs run on; the first argument is the seed of the proxy's delays.
struct Jobs {
  JobOptions mapped, by_ring;
};
inline Jobs begin(int argc, char** argv) {
  limit_processor_time(30);
  Jobs jobs;
  jobs.mapped.seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  jobs.mapped.deadline_ns = kNoSoonerThan;
  jobs.by_ring = jobs.mapped;
  jobs.by_ring.mapped = false;
  return jobs;
}

#define LITMUS(condition)                         \
  do {                                            \
    if (!(condition)) fail(__func__, #condition); \
  } while (false)

// A thread that has fenced releases all its later stores (platform/cpu.hpp), which would hide that
// a later fence is missing. Each round forgets.
inline void forget_fences() { dev::platform::self().fenced = false; }

// Which group of `Scope` in its block the thread belongs to.
template <class Scope>
int group_of() {
  return static_cast<int>(dev::platform::thread_rank()) / Scope{}.size();
}
template <>
inline int group_of<Warp>() {
  return static_cast<int>(dev::platform::thread_rank() / dev::platform::kWarpSize);
}

// Words of one kind, one range per (round, group).
class Lines {
 public:
  Lines(DeviceJob& job, std::size_t words, std::size_t ranges)
      : words_(words), offset_(job.allocate<Word>(words * ranges)) {}
  std::size_t count() const { return words_; }
  Word* of(DeviceJob& job, int pe, std::size_t range = 0) const {
    return job.at<Word>(pe, offset_) + range * words_;
  }

 private:
  std::size_t words_;
  std::uint64_t offset_;
};

inline Word mark(std::size_t range, std::size_t i) { return (range + 1) * 1000 + i; }

// The threads of `scope` fill a range together: thread r writes elements r, r + size, ...
template <class Scope>
void fill(Scope scope, Word* words, std::size_t count, std::size_t range) {
  for (auto i = static_cast<std::size_t>(scope.rank()); i < count;
       i += static_cast<std::size_t>(scope.size()))
    words[i] = mark(range, i);
}
// The same, each thread writing what its neighbour will read.
template <class Scope>
void fill_for_neighbours(Scope scope, Word* words, std::size_t count, std::size_t range) {
  for (auto i = static_cast<std::size_t>((scope.rank() + 1) % scope.size()); i < count;
       i += static_cast<std::size_t>(scope.size()))
    words[i] = mark(range, i);
}
// Each overwrites what its neighbour wrote.
template <class Scope>
void spoil(Scope scope, Word* words, std::size_t count) {
  for (auto i = static_cast<std::size_t>((scope.rank() + 1) % scope.size()); i < count;
       i += static_cast<std::size_t>(scope.size()))
    words[i] = ~Word{0};
}
inline bool is_filled(const Word* words, std::size_t count, std::size_t range) {
  for (std::size_t i = 0; i < count; ++i)
    if (words[i] != mark(range, i)) return false;
  return true;
}

}  // namespace weft::litmus
