// NVSHMEM's calls for a warp or block begin and end with its barrier: what one of its threads does
// behind a call comes after what all of them did in it. There are more threads than cores, so some
// are late; ThreadSanitizer sees it whoever is late (which is why this is here and not in
// tests/compat).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/compat/nvshmem/kernels/calls.hpp"

namespace weft::test {
namespace {

using namespace nvshmem::kernels;

constexpr std::uint64_t kRounds = 24;
constexpr std::size_t kBytes = std::size_t{48} << 10;  // of a group: each thread has a long share

void sync_group(int scope) {
  if (scope == 1) dev::Warp{}.sync();
  if (scope == 2) dev::Block{}.sync();
}
bool leads(int scope) { return dev::thread_rank() % (kThreads / groups_of(scope)) == 0; }
bool is_last(int scope) { return (dev::thread_rank() + 1) % (kThreads / groups_of(scope)) == 0; }

// One of a group's, symmetric.
struct Group {
  unsigned char *src, *dst;
  std::uint64_t *signal, *told, *read;
  int* wrong;
};

bool holds_only(const unsigned char* data, std::uint64_t round) {
  const auto value = static_cast<unsigned char>(round);
  return std::all_of(data, data + kBytes, [=](unsigned char byte) { return byte == value; });
}

// In each round all threads fill src, send(group, next, round) brings it to the next PE and then to
// `told` the number of the round, and that PE's leader looks whether all is there.
template <class Send>
void check_rounds(Way way, Send send) {
  on_pes_with_module_state(way, 2, [&](Pe& pe, WithModuleState& pictured) {
    const int next = pe.next();
    for (const int scope : {1, 2}) {
      auto* src = pe.allocate<unsigned char>(kBytes * kThreads);
      auto* dst = pe.allocate<unsigned char>(kBytes * kThreads);
      auto* words = pe.allocate<std::uint64_t>(3 * kThreads);
      auto* wrong = pe.allocate<int>(kThreads);
      std::fill_n(words, 3 * kThreads, 0);
      std::fill_n(wrong, kThreads, 0);
      pe.barrier();
      pictured.run(kThreads, [=] {
        const unsigned mine = my_group(scope);
        const std::size_t at = mine * kBytes;
        const Group group{
            src + at,    dst + at, words + 3 * mine, words + 3 * mine + 1, words + 3 * mine + 2,
            wrong + mine};
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
          if (leads(scope)) std::memset(group.src, static_cast<int>(round), kBytes);
          send(group, scope, next, round);
          if (leads(scope)) {
            nvshmem_signal_wait_until(group.told, NVSHMEM_CMP_GE, round);
            *group.wrong += holds_only(group.dst, round) && *group.signal <= round ? 0 : 1;
            nvshmem_fence();  // it has been read before it is said so
            nvshmemx_signal_op(group.read, round, NVSHMEM_SIGNAL_SET, next);
            nvshmem_signal_wait_until(group.read, NVSHMEM_CMP_GE, round);
          }
          sync_group(scope);
        }
      });
      pe.barrier();
      for (unsigned group = 0; group < groups_of(scope); ++group) EXPECT_EQ(0, wrong[group]);
    }
  });
}

class NvshmemScopeTest : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, NvshmemScopeTest, ::testing::Values(Way::kMapped, Way::kRing),
                         way_name);

TEST_P(NvshmemScopeTest, OneThreadSignalsBehindANonblockingPut) {
  check_rounds(GetParam(), [](const Group& group, int scope, int next, std::uint64_t round) {
    WEFT_AT_SCOPE(scope, putmem_nbi, group.dst, group.src, kBytes, next);
    if (!leads(scope)) return;
    nvshmem_fence();
    nvshmemx_signal_op(group.told, round, NVSHMEM_SIGNAL_SET, next);
  });
}

TEST_P(NvshmemScopeTest, OneThreadSignalsBehindATypedNonblockingPut) {
  check_rounds(GetParam(), [](const Group& group, int scope, int next, std::uint64_t round) {
    WEFT_AT_SCOPE(scope, uint8_put_nbi, group.dst, group.src, kBytes, next);
    if (!leads(scope)) return;
    nvshmem_fence();
    nvshmemx_signal_op(group.told, round, NVSHMEM_SIGNAL_SET, next);
  });
}

// Both ways to a signal; the thread that tells of it is another than the one that sets it.
template <class Put>
void check_signals(Way way, Put put) {
  check_rounds(way, [=](const Group& group, int scope, int next, std::uint64_t round) {
    put(group, scope, next, round);
    if (is_last(scope)) {
      nvshmem_fence();
      nvshmemx_signal_op(group.told, round, NVSHMEM_SIGNAL_SET, next);
    }
    // A group that is told of the round finds its signal set.
    if (leads(scope)) {
      nvshmem_signal_wait_until(group.told, NVSHMEM_CMP_GE, round);
      *group.wrong += nvshmem_signal_fetch(group.signal) == round ? 0 : 1;
    }
  });
}
TEST_P(NvshmemScopeTest, AnotherThreadTellsOfAPutsSignal) {
  check_signals(GetParam(), [](const Group& group, int scope, int next, std::uint64_t round) {
    WEFT_AT_SCOPE(scope, putmem_signal, group.dst, group.src, kBytes, group.signal, round,
                  NVSHMEM_SIGNAL_SET, next);
  });
}
TEST_P(NvshmemScopeTest, AnotherThreadTellsOfANonblockingPutsSignal) {
  check_signals(GetParam(), [](const Group& group, int scope, int next, std::uint64_t round) {
    WEFT_AT_SCOPE(scope, putmem_signal_nbi, group.dst, group.src, kBytes, group.signal, round,
                  NVSHMEM_SIGNAL_SET, next);
  });
}

TEST_P(NvshmemScopeTest, OneThreadWaitsForANonblockingGet) {
  on_pes_with_module_state(GetParam(), 2, [](Pe& pe, WithModuleState& pictured) {
    const int next = pe.next();
    for (const int scope : {1, 2}) {
      auto* src = pe.allocate<unsigned char>(kBytes * kThreads);
      auto* dst = pe.allocate<unsigned char>(kBytes * kThreads);
      auto* wrong = pe.allocate<int>(kThreads);
      std::memset(src, 7, kBytes * kThreads);
      std::fill_n(wrong, kThreads, 0);
      pe.barrier();
      pictured.run(kThreads, [=] {
        unsigned char* const mine = dst + my_group(scope) * kBytes;
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
          if (leads(scope)) std::memset(mine, 0, kBytes);
          WEFT_AT_SCOPE(scope, getmem_nbi, mine, src, kBytes, next);
          if (leads(scope)) {
            nvshmem_quiet();
            wrong[my_group(scope)] += holds_only(mine, 7) ? 0 : 1;
          }
        }
      });
      pe.barrier();
      for (unsigned group = 0; group < groups_of(scope); ++group) EXPECT_EQ(0, wrong[group]);
    }
  });
}

// All that anybody did before a call is there for each behind it, also where there is nothing to
// move.
TEST_P(NvshmemScopeTest, ACallOfNoElementsIsABarrier) {
  on_pes_with_module_state(GetParam(), 2, [](Pe& pe, WithModuleState& pictured) {
    int* data = pe.allocate<int>(1);
    auto* done = pe.allocate<std::uint64_t>(kThreads);
    auto* wrong = pe.allocate<int>(kThreads);
    std::fill_n(done, kThreads, 0);
    std::fill_n(wrong, kThreads, 0);
    pe.barrier();
    const int next = pe.next();
    pictured.run(kThreads, [=] {
      const unsigned me = dev::thread_rank();
      std::uint64_t round = 0;
      for (const int scope : {1, 2}) {
        const unsigned size = kThreads / groups_of(scope);
        const unsigned neighbour = me / size * size + (me + 1) % size;
        const auto meets = [&](auto call) {
          done[me] = ++round;
          call();
          wrong[me] += done[neighbour] == round ? 0 : 1;
          sync_group(scope);
        };
        for (std::uint64_t i = 0; i < kRounds; ++i) {
          meets([&] { WEFT_AT_SCOPE(scope, int_put, data, data, 0, next); });
          meets([&] { WEFT_AT_SCOPE(scope, int_get, data, data, 0, next); });
          meets([&] { WEFT_AT_SCOPE(scope, int_put_nbi, data, data, 0, next); });
          meets([&] { WEFT_AT_SCOPE(scope, int_get_nbi, data, data, 0, next); });
          meets([&] { WEFT_AT_SCOPE(scope, int_iput, data, data, 1, 1, 0, next); });
          meets([&] { WEFT_AT_SCOPE(scope, int_iget, data, data, 1, 1, 0, next); });
        }
      }
    });
    pe.barrier();
    for (unsigned thread = 0; thread < kThreads; ++thread) EXPECT_EQ(0, wrong[thread]);
  });
}

}  // namespace
}  // namespace weft::test
