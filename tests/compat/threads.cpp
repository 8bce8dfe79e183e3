// SHMEM_THREAD_MULTIPLE: threads of every PE on the default context and on contexts of their own,
// at once; SERIALIZED: threads in turn. Also what ThreadSanitizer looks at.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/compat/check.hpp"

namespace {

constexpr int kThreads = 3;
constexpr int kTurns = 40;

int me, npes;

template <class F>
void on_threads(F f) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back([=] { f(thread); });
  for (std::thread& thread : threads) thread.join();
}

// The work of one thread on one context: its own words of all PEs, and a counter of PE 0.
void work(shmem_ctx_t ctx, long* words, long* counter, int thread) {
  const std::size_t own = static_cast<std::size_t>(me * kThreads + thread);
  for (long turn = 1; turn <= kTurns; ++turn) {
    for (int pe = 0; pe < npes; ++pe) {
      shmem_ctx_long_put(ctx, words + own, &turn, 1, pe);
      shmem_ctx_fence(ctx);
    }
    shmem_ctx_quiet(ctx);
    const int pe = static_cast<int>(turn) % npes;
    CHECK(shmem_ctx_long_g(ctx, words + own, pe) == turn);
    long copy = 0;
    shmem_ctx_long_get_nbi(ctx, &copy, words + own, 1, pe);
    shmem_ctx_quiet(ctx);
    CHECK(copy == turn);
    shmem_ctx_long_atomic_inc(ctx, counter, 0);
    CHECK(shmem_ctx_long_atomic_fetch_add(ctx, counter, 1, 0) >= 0);
  }
  shmem_ctx_quiet(ctx);
}

struct Shared {
  long* words =
      static_cast<long*>(shmem_calloc(static_cast<std::size_t>(npes) * kThreads, sizeof(long)));
  long* counter = static_cast<long*>(shmem_calloc(1, sizeof(long)));
  void check_and_free() {
    shmem_barrier_all();
    for (int i = 0; i < npes * kThreads; ++i) CHECK(words[i] == kTurns);
    CHECK(me != 0 || *counter == 2L * npes * kThreads * kTurns);
    shmem_barrier_all();
    shmem_free(counter);
    shmem_free(words);
  }
};

void default_context() {
  Shared shared;
  on_threads([&](int thread) { work(SHMEM_CTX_DEFAULT, shared.words, shared.counter, thread); });
  shared.check_and_free();
}

// Each thread makes, uses and destroys its own: kinds that threads may not share, and one that they
// may.
void own_contexts() {
  for (const long options : {0L, long{SHMEM_CTX_SERIALIZED}, long{SHMEM_CTX_PRIVATE}}) {
    Shared shared;
    on_threads([&](int thread) {
      shmem_ctx_t ctx = SHMEM_CTX_INVALID;
      CHECK(shmem_ctx_create(options, &ctx) == 0);
      work(ctx, shared.words, shared.counter, thread);
      shmem_ctx_destroy(ctx);
    });
    shared.check_and_free();
  }
}

void one_shared_context() {
  Shared shared;
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  CHECK(shmem_ctx_create(0, &ctx) == 0);
  on_threads([&](int thread) { work(ctx, shared.words, shared.counter, thread); });
  shmem_ctx_destroy(ctx);
  shared.check_and_free();
}

// One at a time, as SHMEM_CTX_SERIALIZED and SHMEM_THREAD_SERIALIZED want it.
void in_turn(shmem_ctx_t ctx) {
  Shared shared;
  std::mutex mutex;
  on_threads([&](int thread) {
    const std::lock_guard lock(mutex);
    work(ctx, shared.words, shared.counter, thread);
  });
  shared.check_and_free();
}

// A thread waits for what another thread of this PE, and one of its neighbour, sends.
void waits_beside_puts() {
  auto* const flags = static_cast<long*>(shmem_calloc(kThreads, sizeof(long)));
  auto* const signal = static_cast<std::uint64_t*>(shmem_calloc(1, sizeof(std::uint64_t)));
  on_threads([&](int thread) {
    const int next = (me + 1) % npes;
    for (long turn = 1; turn <= kTurns; ++turn) {
      shmem_long_p(flags + thread, turn, next);
      shmem_quiet();
      shmem_long_wait_until(flags + thread, SHMEM_CMP_GE, turn);
      shmem_signal_add(signal, 1, next);
    }
    shmem_quiet();
  });
  CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, kThreads * kTurns) == kThreads * kTurns);
  shmem_barrier_all();
  shmem_free(signal);
  shmem_free(flags);
}

// Threads hold different teams; each team's collectives come from one thread.
void teams_of_threads() {
  shmem_team_t teams[kThreads];
  long* data[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, nullptr, 0, &teams[i]) == 0);
    data[i] = static_cast<long*>(shmem_calloc(2, sizeof(long)));
  }
  on_threads([&](int thread) {
    for (long turn = 0; turn < kTurns; ++turn) {
      data[thread][0] = turn + thread;
      CHECK(shmem_long_sum_reduce(teams[thread], data[thread] + 1, data[thread], 1) == 0);
      CHECK(data[thread][1] == npes * (turn + thread));
      CHECK(shmem_team_sync(teams[thread]) == 0);
    }
  });
  shmem_barrier_all();
  for (int i = kThreads; i-- > 0;) {
    shmem_free(data[i]);
    shmem_team_destroy(teams[i]);
  }
}

// Two calls, each of other PEs: on PE 0 by two threads, of which the first comes first; elsewhere
// one after the other, the second first. Neither may wait for the other.
template <class First, class Second>
void in_opposite_orders(First first, Second second) {
  shmem_barrier_all();
  if (me == 0) {
    std::thread thread(first);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it waits for the others by now
    second();
    thread.join();
  } else {
    second();
    first();
  }
  shmem_barrier_all();
}

void splits_in_opposite_orders() {
  shmem_team_t parents[2], children[4];
  for (shmem_team_t& parent : parents)
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, nullptr, 0, &parent) == 0);
  const auto split = [&](int parent, int child) {
    CHECK(shmem_team_split_strided(parents[parent], 0, 1, npes, nullptr, 0, &children[child]) == 0);
  };
  in_opposite_orders([&] { split(0, 0); }, [&] { split(1, 1); });
  in_opposite_orders([&] { shmem_team_destroy(children[0]); }, [&] { split(1, 2); });
  in_opposite_orders([&] { split(0, 3); },
                     [&] { CHECK(shmem_calloc(1000, sizeof(long)) != nullptr); });
  for (const int child : {1, 2, 3}) shmem_team_destroy(children[child]);
  for (shmem_team_t parent : parents) shmem_team_destroy(parent);
}

// Sets of two and of three PEs that have not been used before, each in a thread of its own.
void sets_in_opposite_orders() {
  auto* const syncs = static_cast<long*>(shmem_malloc(2 * SHMEM_SYNC_SIZE * sizeof(long)));
  std::fill(syncs, syncs + 2 * SHMEM_SYNC_SIZE, SHMEM_SYNC_VALUE);
  const auto barrier_of = [&](int size) {
    if (me < size) shmem_barrier(0, 0, size, syncs + (size - 2) * SHMEM_SYNC_SIZE);
  };
  in_opposite_orders([&] { barrier_of(2); }, [&] { barrier_of(3); });
  shmem_free(syncs);
}

// Teams take no contexts: all members get theirs, however many contexts one of them has.
void teams_without_contexts() {
  std::vector<shmem_ctx_t> taken;
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  while (me == 0 && shmem_ctx_create(0, &ctx) == 0) taken.push_back(ctx);
  CHECK(me != 0 || taken.size() > 10);
  shmem_team_t row, column;
  CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, nullptr, 0, &row, nullptr, 0, &column) == 0);
  CHECK(shmem_team_sync(column) == 0);
  shmem_team_destroy(row);
  shmem_team_destroy(column);
  for (const shmem_ctx_t each : taken) shmem_ctx_destroy(each);
}

}  // namespace

int main(int argc, char**) {
  const bool multiple = argc == 1;  // any argument: serialized
  const int wanted = multiple ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SERIALIZED;
  int provided = -1, seen = -1;
  CHECK(shmem_init_thread(wanted, &provided) == 0);
  me = shmem_my_pe();
  npes = shmem_n_pes();
  shmem_query_thread(&seen);
  CHECK(provided >= wanted && seen == provided);
  if (multiple) {
    default_context();
    own_contexts();
    one_shared_context();
    waits_beside_puts();
    teams_of_threads();
    splits_in_opposite_orders();
    if (npes >= 3) sets_in_opposite_orders();
    teams_without_contexts();
  }
  in_turn(SHMEM_CTX_DEFAULT);
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
  in_turn(ctx);
  shmem_ctx_destroy(ctx);
  shmem_finalize();
  return exit_status();
}
