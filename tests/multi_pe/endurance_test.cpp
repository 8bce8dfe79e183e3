// Many rounds without a pause of barriers, and of data with signals, between PEs whose threads are
// held up at random: what one round leaves behind, or takes for the next one's, shows here.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>
#include <weft/weft.hpp>

#include <weft/dev/platform.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/gpu_driver.hpp"
#include "tests/multi_pe/neighbours.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

constexpr std::uint64_t kRounds = kTsan ? 500 : kAsan ? 1'000 : WEFT_TARGET_CPU ? 3'000 : 100'000;
constexpr std::uint64_t kRoundsInTurns = 500;  // of processes that share a GPU
constexpr unsigned kThreads = WEFT_TARGET_CPU ? 3 : 96;
constexpr std::size_t kLamport = 37;

// Well mixed bits of three numbers (splitmix64).
WEFT_DEVICE std::uint64_t mix(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = seed + a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Holds up this thread in a few rounds, for a while that differs each time.
WEFT_DEVICE void dawdle(std::uint64_t seed, int pe, std::uint64_t round) {
  const std::uint64_t bits =
      mix(seed, static_cast<std::uint64_t>(pe) << 32 | round, dev::thread_rank());
  if (bits % 32 != 0) return;
  for (std::uint64_t spins = (bits >> 8) % 200; spins > 0; --spins) dev::platform::relax();
}

// Every PE tells all others its round, unfenced; the barrier completes it, and nobody is further
// than one round ahead.
struct Meet {
  DeviceContext handle;
  Team team;
  std::uint64_t* rounds;  // symmetric, one for each PE
  std::uint64_t last, seed;
  std::uint64_t* wrong;  // how often a thread saw what cannot be
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const dev::Block block;
    for (std::uint64_t round = 1; round <= last; ++round) {
      dawdle(seed, ctx.pe(), round);
      for (int pe = block.rank(); pe < ctx.npes(); pe += block.size())
        ctx.p(rounds + ctx.pe(), round, pe);
      if (!dev::barrier(ctx, block, team)) return ctx.atomic_inc(wrong, ctx.pe());
      for (int pe = block.rank(); pe < ctx.npes(); pe += block.size()) {
        const std::uint64_t seen = ctx.atomic_fetch(rounds + pe, ctx.pe());
        if (seen != round && seen != round + 1) ctx.atomic_inc(wrong, ctx.pe());
      }
    }
  }
};

// Every PE sends a vector with a signal to the next, and tells the one before that its vector has
// been read; two places take turns.
struct Halo {
  DeviceContext handle;
  std::uint64_t *mine, *inbox;  // kLamport; symmetric, two of kLamport
  std::uint64_t *came, *read;   // symmetric
  std::uint64_t last, seed;
  std::uint64_t* wrong;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const dev::Block block;
    const int next = (ctx.pe() + 1) % ctx.npes(), before = (ctx.pe() + ctx.npes() - 1) % ctx.npes();
    for (std::uint64_t round = 1; round <= last; ++round) {
      std::uint64_t* const place = inbox + round % 2 * kLamport;
      for (auto i = static_cast<std::size_t>(block.rank()); i < kLamport;
           i += static_cast<std::size_t>(block.size()))
        mine[i] = mix(seed, static_cast<std::uint64_t>(ctx.pe()), round * kLamport + i);
      dawdle(seed, ctx.pe(), round);
      bool came_in_time =
          round < 3 || ctx.wait_until(block, read, Cmp::kGe, round - 2);  // it may be overwritten
      if (came_in_time) {
        ctx.put(block, place, mine, kLamport, next, set(came, round));
        came_in_time = ctx.wait_until(block, came, Cmp::kGe, round);
      }
      if (!came_in_time) return ctx.atomic_inc(wrong, ctx.pe());
      dawdle(~seed, ctx.pe(), round);
      for (auto i = static_cast<std::size_t>(block.rank()); i < kLamport;
           i += static_cast<std::size_t>(block.size()))
        if (place[i] != mix(seed, static_cast<std::uint64_t>(before), round * kLamport + i))
          ctx.atomic_inc(wrong, ctx.pe());
      block.sync();  // all have read
      if (block.rank() == 0) ctx.signal(set(read, round), before);
    }
  }
};

class EnduranceTest : public ::testing::TestWithParam<PeGroup> {};

Status none_wrong(Runtime& rt, const std::uint64_t* wrong) {
  RETURN_IF_ERROR(dev::synchronize());
  RETURN_IF_ERROR(rt.health());
  std::uint64_t seen = 1;
  RETURN_IF_ERROR(rt.context().get(&seen, wrong, 1, rt.pe()));
  EXPECT_EQ(seen, 0u) << "PE " << rt.pe();
  return rt.barrier();
}

std::uint64_t rounds_of(const PeGroup& group) {
  return take_turns(group) ? kRoundsInTurns : kRounds;
}

TEST_P(EnduranceTest, Barriers) {
  const std::uint64_t seed = test_seed(), last = rounds_of(GetParam());
  EXPECT_OK(run_pes(GetParam(), [seed, last](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const rounds,
                     rt.callocate_device<std::uint64_t>(static_cast<std::size_t>(rt.npes())));
    ASSIGN_OR_RETURN(auto* const wrong, rt.callocate_device<std::uint64_t>(1));
    ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
    RETURN_IF_ERROR(
        dev::launch({1, kThreads}, Meet{handle, rt.world(), rounds, last, seed, wrong}));
    return none_wrong(rt, wrong);
  }));
}

TEST_P(EnduranceTest, DataWithSignals) {
  const std::uint64_t seed = test_seed(), last = rounds_of(GetParam());
  EXPECT_OK(run_pes(GetParam(), [seed, last](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const vectors, rt.callocate_device<std::uint64_t>(3 * kLamport));
    ASSIGN_OR_RETURN(auto* const words, rt.callocate_device<std::uint64_t>(3));
    ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
    RETURN_IF_ERROR(dev::launch({1, kThreads}, Halo{handle, vectors, vectors + kLamport, words,
                                                    words + 1, last, seed, words + 2}));
    return none_wrong(rt, words + 2);
  }));
}

std::vector<PeGroup> groups() {
  Options options;
  library_of(options) = driver().file;
  return {{Pes::kThreads, 2, options, {}},
          {Pes::kThreads, 3, options, {}},
          {Pes::kProcesses, 2, options, {}},
          {Pes::kProcesses, 4, options, {}}};
}
INSTANTIATE_TEST_SUITE_P(Pes, EnduranceTest, ::testing::ValuesIn(groups()), pe_group_name);

}  // namespace
}  // namespace weft
