// Corners of the standard where an implementation can go wrong though each routine works alone.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "tests/compat/check.hpp"

namespace {

int me, npes;

template <class T>
T* symmetric(std::size_t count) {
  return static_cast<T*>(shmem_calloc(count, sizeof(T)));
}

struct Sync {  // a pSync array
  long* words = [] {
    auto* fresh = static_cast<long*>(shmem_malloc(SHMEM_SYNC_SIZE * sizeof(long)));
    std::fill(fresh, fresh + SHMEM_SYNC_SIZE, SHMEM_SYNC_VALUE);
    shmem_barrier_all();
    return fresh;
  }();
  Sync() = default;
  Sync(const Sync&) = delete;
  Sync& operator=(const Sync&) = delete;
  ~Sync() {
    shmem_barrier_all();
    shmem_free(words);
  }
};

// --- active sets --------------------------------------------------------------------------------
// PEs start, start + 2^log_stride, ...: as many as there are.
struct Set {
  int start, log_stride, size;
  bool has(int pe) const {
    const int distance = pe - start, stride = 1 << log_stride;
    return distance >= 0 && distance % stride == 0 && distance / stride < size;
  }
  int pe(int rank) const { return start + (rank << log_stride); }
};

std::vector<Set> all_sets() {
  std::vector<Set> sets;
  for (int start = 0; start < npes; ++start)
    for (int log_stride = 0; (1 << log_stride) <= npes; ++log_stride)
      for (int size = 1; start + ((size - 1) << log_stride) < npes; ++size)
        sets.push_back({start, log_stride, size});
  return sets;
}

// Every set, each with data and pSyncs of its own and no barrier between: sets overlap, and a PE
// that is in none of two goes on.
void overlapping_sets() {
  const std::vector<Set> sets = all_sets();
  const std::size_t n = sets.size(), most = static_cast<std::size_t>(npes);
  auto* const syncs = symmetric<long>(2 * n * SHMEM_SYNC_SIZE);
  std::fill(syncs, syncs + 2 * n * SHMEM_SYNC_SIZE, SHMEM_SYNC_VALUE);
  auto* const src = symmetric<long>(n);
  auto* const sum = symmetric<long>(n);
  auto* const all = symmetric<long>(n * most);
  auto* const work = symmetric<long>(n * (SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1));
  shmem_barrier_all();
  for (std::size_t i = 0; i < n; ++i) {
    const Set& set = sets[i];
    if (!set.has(me)) continue;
    long* const sync = syncs + 2 * i * SHMEM_SYNC_SIZE;
    src[i] = me + 1;
    shmem_long_sum_to_all(sum + i, src + i, 1, set.start, set.log_stride, set.size,
                          work + i * (SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1), sync);
    long wanted = 0;
    for (int rank = 0; rank < set.size; ++rank) wanted += set.pe(rank) + 1;
    CHECK(sum[i] == wanted);
    shmem_fcollect64(all + i * most, src + i, 1, set.start, set.log_stride, set.size,
                     sync + SHMEM_SYNC_SIZE);
    for (int rank = 0; rank < set.size; ++rank)
      CHECK(all[i * most + static_cast<std::size_t>(rank)] == set.pe(rank) + 1);
  }
  shmem_barrier_all();
  CHECK(std::count(syncs, syncs + 2 * n * SHMEM_SYNC_SIZE, SHMEM_SYNC_VALUE) ==
        static_cast<std::ptrdiff_t>(2 * n * SHMEM_SYNC_SIZE));
  shmem_barrier_all();
  for (long* memory : {work, all, sum, src, syncs}) shmem_free(memory);
}

// Many calls over one set with two pSyncs in turn and nothing between them.
void alternating_syncs() {
  Sync syncs[2];
  auto* const src = symmetric<std::int32_t>(1);
  auto* const dst = symmetric<std::int32_t>(1);
  for (int i = 0; i < 200; ++i) {
    const int root = i % npes;
    if (me == root) *src = i;
    shmem_broadcast32(dst, src, 1, root, 0, 0, npes, syncs[i % 2].words);
    CHECK(me == root || *dst == i);
    shmem_barrier(0, 0, npes, syncs[(i + 1) % 2].words);
  }
  shmem_free(dst);
  shmem_free(src);
}

// A set's broadcast leaves its root's dest alone; a team's does not (9.9).
void root_of_a_broadcast() {
  Sync sync;
  auto* const src = symmetric<std::int64_t>(3);
  auto* const dst = symmetric<std::int64_t>(3);
  std::iota(src, src + 3, 10 * me);
  std::fill(dst, dst + 3, -1);
  const int root = npes - 1;
  shmem_barrier_all();
  shmem_broadcast64(dst, src, 3, root, 0, 0, npes, sync.words);
  for (int i = 0; i < 3; ++i) CHECK(dst[i] == (me == root ? -1 : 10 * root + i));
  shmem_barrier_all();
  CHECK(shmem_int64_broadcast(SHMEM_TEAM_WORLD, dst, src, 3, root) == 0);
  for (int i = 0; i < 3; ++i) CHECK(dst[i] == 10 * root + i);
  shmem_barrier_all();
  shmem_free(dst);
  shmem_free(src);
}

// --- collectives --------------------------------------------------------------------------------
void in_place_reductions() {
  auto* const data = symmetric<int>(1000);
  for (const std::size_t count : {std::size_t{1}, std::size_t{999}}) {
    for (std::size_t i = 0; i < count; ++i) data[i] = me + static_cast<int>(i);
    shmem_barrier_all();
    CHECK(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, data, data, count) == 0);
    bool right = true;
    for (std::size_t i = 0; i < count; ++i)
      right &= data[i] == npes * (npes - 1) / 2 + npes * static_cast<int>(i);
    CHECK(right);
    shmem_barrier_all();
  }
  shmem_free(data);
}

// Any of them may give nothing, or all.
void collect_of_unlike_counts() {
  constexpr std::size_t kMost = 9;
  auto* const src = symmetric<short>(kMost);
  auto* const dst = symmetric<short>(kMost * static_cast<std::size_t>(npes));
  std::fill(src, src + kMost, static_cast<short>(me + 1));
  shmem_barrier_all();
  std::mt19937 random(7);
  for (int turn = 0; turn < 30; ++turn) {
    std::vector<short> wanted;
    std::size_t mine = 0;
    for (int pe = 0; pe < npes; ++pe) {
      const std::size_t count = turn == 0 ? 0 : random() % 3 == 0 ? 0 : random() % (kMost + 1);
      if (pe == me) mine = count;
      wanted.insert(wanted.end(), count, static_cast<short>(pe + 1));
    }
    CHECK(shmem_short_collect(SHMEM_TEAM_WORLD, dst, src, mine) == 0);
    CHECK(std::equal(wanted.begin(), wanted.end(), dst));
    shmem_barrier_all();
  }
  shmem_free(dst);
  shmem_free(src);
}

// --- teams --------------------------------------------------------------------------------------
// Members and non-members; downwards; by one PE; of a team of a team.
void splits() {
  shmem_team_t backwards = SHMEM_TEAM_INVALID;
  const int status =
      shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, nullptr, 0, &backwards);
  CHECK(status == 0);
  CHECK(shmem_team_my_pe(backwards) == npes - 1 - me);
  CHECK(shmem_team_n_pes(backwards) == npes);
  CHECK(shmem_team_translate_pe(backwards, 0, SHMEM_TEAM_WORLD) == npes - 1);
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, backwards) == npes - 1);
  auto* const src = symmetric<int>(1);
  auto* const dst = symmetric<int>(static_cast<std::size_t>(npes));
  *src = me;
  shmem_barrier_all();
  CHECK(shmem_int_fcollect(backwards, dst, src, 1) == 0);
  for (int rank = 0; rank < npes; ++rank) CHECK(dst[rank] == npes - 1 - rank);

  // Without PE 0: it takes part in the split, and is no member.
  shmem_team_t others = SHMEM_TEAM_WORLD;
  if (npes > 1) {
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, npes - 1, nullptr, 0, &others) == 0);
    CHECK((others == SHMEM_TEAM_INVALID) == (me == 0));
    if (me != 0) {
      CHECK(shmem_team_my_pe(others) == me - 1);
      CHECK(shmem_int_fcollect(others, dst, src, 1) == 0);
      for (int rank = 0; rank < npes - 1; ++rank) CHECK(dst[rank] == rank + 1);
      CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, others) == -1);
      shmem_team_t last = SHMEM_TEAM_WORLD;
      CHECK(shmem_team_split_strided(others, npes - 2, 1, 1, nullptr, 0, &last) == 0);
      CHECK((last == SHMEM_TEAM_INVALID) == (me != npes - 1));
      shmem_team_destroy(last);
    }
    shmem_team_destroy(others);
  }
  shmem_barrier_all();
  shmem_team_destroy(backwards);
  shmem_free(dst);
  shmem_free(src);
}

// PEs that do not exist: a failure on all, and no team.
void bad_splits() {
  shmem_team_t team = SHMEM_TEAM_WORLD;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes + 1, nullptr, 0, &team) != 0);
  CHECK(team == SHMEM_TEAM_INVALID);
  team = SHMEM_TEAM_WORLD;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, nullptr, 0, &team) != 0);
  CHECK(team == SHMEM_TEAM_INVALID);
}

void invalid_teams() {
  shmem_team_config_t config{7};
  CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1);
  CHECK(shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
  CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID) == -1);
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, npes, SHMEM_TEAM_WORLD) == -1);
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0);
  CHECK(ctx == SHMEM_CTX_INVALID);
  CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
  shmem_team_destroy(SHMEM_TEAM_INVALID);
}

void predefined_teams() {
  const int sharing = shmem_team_n_pes(SHMEM_TEAM_SHARED);
  CHECK(sharing >= 1 && sharing <= npes);
  auto* const word = symmetric<int>(1);
  for (int rank = 0; rank < sharing; ++rank) {
    const int pe = shmem_team_translate_pe(SHMEM_TEAM_SHARED, rank, SHMEM_TEAM_WORLD);
    CHECK(pe == me || shmem_ptr(word, pe) != nullptr);  // a fault injector hides even my own
    CHECK(shmem_ptr(word, pe) == shmem_team_ptr(SHMEM_TEAM_SHARED, word, rank));
  }
  shmem_barrier_all();
  shmem_free(word);
}

// --- contexts -----------------------------------------------------------------------------------
// A team's context counts PEs as the team does.
void contexts_of_teams() {
  shmem_team_t backwards = SHMEM_TEAM_INVALID;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, nullptr, 0, &backwards);
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  CHECK(shmem_team_create_ctx(backwards, 0, &ctx) == 0);
  auto* const word = symmetric<long>(2);
  shmem_barrier_all();
  shmem_ctx_long_p(ctx, word, 100 + me, 0);  // rank 0 is the last PE
  if (me == 0) shmem_ctx_long_atomic_add(ctx, word + 1, 5, 0);
  shmem_ctx_quiet(ctx);
  shmem_barrier_all();
  CHECK(me == npes - 1 ? *word >= 100 && *word < 100 + npes : *word == 0);
  CHECK(word[1] == (me == npes - 1 ? 5 : 0));
  CHECK(shmem_ctx_long_g(ctx, word, npes - 1) == shmem_long_g(word, 0));
  shmem_team_t team = SHMEM_TEAM_INVALID;
  CHECK(shmem_ctx_get_team(ctx, &team) == 0 && team == backwards);
  CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team) == 0 && team == SHMEM_TEAM_WORLD);
  shmem_barrier_all();
  shmem_ctx_destroy(ctx);
  shmem_team_destroy(backwards);
  shmem_free(word);
}

// --- ordering -----------------------------------------------------------------------------------
// A flag behind a fence never comes before its data.
void fence_orders() {
  constexpr int kTurns = 50;
  constexpr std::size_t kCount = 300;
  auto* const data = symmetric<int>(kCount);
  auto* const flag = symmetric<int>(1);
  auto* const answer = symmetric<int>(1);
  const int next = (me + 1) % npes, previous = (me + npes - 1) % npes;
  for (int turn = 1; turn <= kTurns; ++turn) {
    const std::vector<int> sent(kCount, turn);
    shmem_int_put_nbi(data, sent.data(), kCount, next);
    shmem_fence();
    shmem_int_atomic_set(flag, turn, next);
    shmem_quiet();
    shmem_int_wait_until(flag, SHMEM_CMP_EQ, turn);
    CHECK(std::count(data, data + kCount, turn) == static_cast<std::ptrdiff_t>(kCount));
    shmem_int_atomic_set(answer, turn, previous);
    shmem_quiet();
    shmem_int_wait_until(answer, SHMEM_CMP_EQ, turn);
  }
  shmem_barrier_all();
  shmem_free(answer);
  shmem_free(flag);
  shmem_free(data);
}

// Gets without waiting, many at once, are there after quiet; those of another context need its own.
void nonblocking_gets() {
  constexpr std::size_t kCount = 64;
  auto* const src = symmetric<int>(kCount);
  std::iota(src, src + kCount, 1000 * me);
  shmem_ctx_t ctx = SHMEM_CTX_INVALID;
  CHECK(shmem_ctx_create(0, &ctx) == 0);
  shmem_barrier_all();
  for (int pe = 0; pe < npes; ++pe) {
    std::vector<int> one(kCount, -1), other(kCount, -1);
    for (std::size_t i = 0; i < kCount; ++i) {
      shmem_int_get_nbi(&one[i], src + i, 1, pe);
      shmem_ctx_int_get_nbi(ctx, &other[i], src + i, 1, pe);
    }
    shmem_quiet();
    for (std::size_t i = 0; i < kCount; ++i) CHECK(one[i] == 1000 * pe + static_cast<int>(i));
    shmem_ctx_quiet(ctx);
    for (std::size_t i = 0; i < kCount; ++i) CHECK(other[i] == 1000 * pe + static_cast<int>(i));
  }
  shmem_barrier_all();
  shmem_ctx_destroy(ctx);
  shmem_free(src);
}

// Signals of many PEs at one word add up, and each comes behind its data.
void signals_add_up() {
  auto* const data = symmetric<long>(static_cast<std::size_t>(npes));
  auto* const signal = symmetric<std::uint64_t>(1);
  shmem_barrier_all();
  for (int pe = 0; pe < npes; ++pe) {
    const long value = 7 * me + 1;
    shmem_long_put_signal_nbi(data + me, &value, 1, signal, 1, SHMEM_SIGNAL_ADD, pe);
    shmem_quiet();
  }
  CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_GE, static_cast<std::uint64_t>(npes)) ==
        static_cast<std::uint64_t>(npes));
  for (int pe = 0; pe < npes; ++pe) CHECK(data[pe] == 7 * pe + 1);
  shmem_barrier_all();
  shmem_long_put_signal(data, data, 0, signal, 99, SHMEM_SIGNAL_SET, (me + 1) % npes);
  shmem_quiet();
  CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 99) == 99);
  shmem_barrier_all();
  shmem_free(signal);
  shmem_free(data);
}

// --- memory -------------------------------------------------------------------------------------
void memory_corners() {
  auto* block = static_cast<unsigned char*>(shmem_malloc(1000));
  for (int i = 0; i < 1000; ++i) block[i] = static_cast<unsigned char>(i * 7 + me);
  block = static_cast<unsigned char*>(shmem_realloc(block, 300000));
  bool kept = block != nullptr;
  for (int i = 0; i < 1000 && kept; ++i) kept = block[i] == static_cast<unsigned char>(i * 7 + me);
  CHECK(kept);
  const unsigned char mine = shmem_uchar_g(block + 999, (me + 1) % npes);
  CHECK(mine == static_cast<unsigned char>(999 * 7 + (me + 1) % npes));
  shmem_barrier_all();
  CHECK(shmem_realloc(block, 0) == nullptr);       // as free
  void* const fresh = shmem_realloc(nullptr, 10);  // as malloc
  CHECK(fresh != nullptr);
  shmem_free(fresh);
  CHECK(shmem_malloc(0) == nullptr && shmem_calloc(3, 0) == nullptr &&
        shmem_align(64, 0) == nullptr);
  CHECK(shmem_malloc_with_hints(0, SHMEM_MALLOC_SIGNAL_REMOTE) == nullptr);
  auto* const word = static_cast<std::uint64_t*>(
      shmem_malloc_with_hints(sizeof(std::uint64_t), SHMEM_MALLOC_ATOMICS_REMOTE));
  *word = 0;
  shmem_barrier_all();
  shmem_uint64_atomic_inc(word, 0);
  shmem_barrier_all();
  CHECK(me != 0 || *word == static_cast<std::uint64_t>(npes));
  shmem_barrier_all();
  shmem_free(word);
}

// --- locks and atomics --------------------------------------------------------------------------
void contended_locks() {
  constexpr int kTurns = 30;
  auto* const locks = symmetric<long>(3);
  auto* const counters = symmetric<int>(3);
  shmem_barrier_all();
  for (int i = 0; i < kTurns; ++i) {
    const int which = i % 3;
    shmem_set_lock(locks + which);
    CHECK(shmem_test_lock(locks + which) != 0);  // held, even by me
    const int seen = shmem_int_g(counters + which, 0);
    shmem_int_p(counters + which, seen + 1,
                0);  // visible to the next owner: clear_lock completes it
    shmem_clear_lock(locks + which);
  }
  shmem_barrier_all();
  if (me == 0)
    for (int which = 0; which < 3; ++which) CHECK(counters[which] == npes * kTurns / 3);
  if (shmem_test_lock(locks) == 0) shmem_clear_lock(locks);  // free again
  shmem_barrier_all();
  shmem_free(counters);
  shmem_free(locks);
}

// Every ticket is given once, whoever asks.
void tickets() {
  constexpr int kEach = 100;
  auto* const next = symmetric<unsigned>(1);
  auto* const taken = symmetric<int>(static_cast<std::size_t>(kEach * npes));
  shmem_barrier_all();
  for (int i = 0; i < kEach; ++i)
    shmem_int_atomic_inc(taken + shmem_uint_atomic_fetch_inc(next, 0), 0);
  shmem_barrier_all();
  if (me == 0) CHECK(std::count(taken, taken + kEach * npes, 1) == kEach * npes);
  shmem_barrier_all();
  shmem_free(taken);
  shmem_free(next);
}

}  // namespace

int main() {
  shmem_init();
  me = shmem_my_pe();
  npes = shmem_n_pes();
  overlapping_sets();
  alternating_syncs();
  root_of_a_broadcast();
  in_place_reductions();
  collect_of_unlike_counts();
  splits();
  bad_splits();
  invalid_teams();
  predefined_teams();
  contexts_of_teams();
  fence_orders();
  nonblocking_gets();
  signals_add_up();
  memory_corners();
  contended_locks();
  tickets();
  shmem_finalize();
  return exit_status();
}
