// Routines that are no family: each is called at least once, and says so by its name.
#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "tests/compat/census/census.hpp"

namespace census {
namespace {

std::set<std::string>& names_called() {
  static std::set<std::string> names;
  return names;
}
void called(const char* name) { names_called().insert(name); }

#define CALL(name, ...) (called(#name), name(__VA_ARGS__))
#define EXPECT(name, holds) expect(Subject{#name, {}}, holds, #holds)

// Ends in tests/compat/lifecycle.cpp, or is what this program starts and ends with.
constexpr const char* kElsewhere[] = {"shmem_init", "shmem_finalize", "shmem_global_exit",
                                      "shmem_init_thread", "start_pes"};

void queries() {
  int local = 0, major = 0, minor = 0, level = -1, initialized = 0;
  EXPECT(shmem_my_pe, CALL(shmem_my_pe) == me());
  EXPECT(shmem_n_pes, CALL(shmem_n_pes) == npes());
  EXPECT(_my_pe, CALL(_my_pe) == me());
  EXPECT(_num_pes, CALL(_num_pes) == npes());
  CALL(shmem_query_thread, &level);
  EXPECT(shmem_query_thread, level >= SHMEM_THREAD_SINGLE && level <= SHMEM_THREAD_MULTIPLE);
  CALL(shmem_query_initialized, &initialized);
  EXPECT(shmem_query_initialized, initialized != 0);
  CALL(shmem_info_get_version, &major, &minor);
  EXPECT(shmem_info_get_version, major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
  EXPECT(shmem_info_get_version, major == 1 && minor == 5);
  char name[SHMEM_MAX_NAME_LEN];
  std::memset(name, 'x', sizeof(name));
  CALL(shmem_info_get_name, name);
  EXPECT(shmem_info_get_name, std::strcmp(name, SHMEM_VENDOR_STRING) == 0);

  begin();
  *reinterpret_cast<int*>(target()) = 100 + me();
  shmem_barrier_all();
  for (int pe = 0; pe < npes(); ++pe) {
    EXPECT(shmem_pe_accessible, CALL(shmem_pe_accessible, pe) == 1);
    EXPECT(shmem_addr_accessible, CALL(shmem_addr_accessible, target(), pe) == 1);
    EXPECT(shmem_addr_accessible, shmem_addr_accessible(&local, pe) == 0);
    // Null where memory is not mapped; never where ops are recorded.
    const auto* word = static_cast<const int*>(CALL(shmem_ptr, target(), pe));
    EXPECT(shmem_ptr, !records() || word == nullptr || pe == me());
    EXPECT(shmem_ptr, word == nullptr || *word == 100 + pe);
    EXPECT(shmem_ptr, shmem_ptr(&local, pe) == nullptr);
    EXPECT(shmem_team_ptr, CALL(shmem_team_ptr, SHMEM_TEAM_WORLD, target(), pe) == word);
  }
  EXPECT(shmem_pe_accessible, shmem_pe_accessible(-1) == 0);
  EXPECT(shmem_pe_accessible, shmem_pe_accessible(npes()) == 0);
  EXPECT(shmem_team_ptr, shmem_team_ptr(SHMEM_TEAM_INVALID, target(), 0) == nullptr);
  shmem_barrier_all();
}

template <class P>
bool aligned(P* p, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
}

void memory() {
  void* const block = CALL(shmem_malloc, 100);
  EXPECT(shmem_malloc, block != nullptr && shmem_addr_accessible(block, npes() - 1) == 1);
  EXPECT(shmem_malloc, shmem_malloc(0) == nullptr);
  std::memset(block, 7, 100);
  auto* const larger = static_cast<unsigned char*>(CALL(shmem_realloc, block, 100000));
  EXPECT(shmem_realloc, larger != nullptr && larger[0] == 7 && larger[99] == 7);
  auto* const smaller = static_cast<unsigned char*>(shmem_realloc(larger, 10));
  EXPECT(shmem_realloc, smaller != nullptr && smaller[0] == 7 && smaller[9] == 7);
  CALL(shmem_free, smaller);
  shmem_free(nullptr);
  void* const page = CALL(shmem_align, 4096, 1);
  EXPECT(shmem_align, page != nullptr && aligned(page, 4096));
  // Less than a pointer's is rounded up to that.
  for (const std::size_t few : {1, 2, 4}) {
    void* const word = CALL(shmem_align, few, 1);
    EXPECT(shmem_align, word != nullptr && aligned(word, sizeof(void*)));
    shmem_free(word);
  }
  shmem_free(page);
  auto* const zeros = static_cast<char*>(CALL(shmem_calloc, 33, 7));
  EXPECT(shmem_calloc, zeros != nullptr && std::count(zeros, zeros + 33 * 7, '\0') == 33 * 7);
  shmem_free(zeros);
  EXPECT(shmem_calloc, shmem_calloc(0, 8) == nullptr);
  void* const hinted =
      CALL(shmem_malloc_with_hints, 64, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
  EXPECT(shmem_malloc_with_hints, hinted != nullptr);
  shmem_free(hinted);

  void* old = CALL(shmalloc, 10);
  EXPECT(shmalloc, old != nullptr);
  old = CALL(shrealloc, old, 20);
  EXPECT(shrealloc, old != nullptr);
  CALL(shfree, old);
  old = CALL(shmemalign, 256, 3);
  EXPECT(shmemalign, aligned(old, 256));
  shfree(old);
}

void teams() {
  EXPECT(shmem_team_my_pe, CALL(shmem_team_my_pe, SHMEM_TEAM_WORLD) == me());
  EXPECT(shmem_team_n_pes, CALL(shmem_team_n_pes, SHMEM_TEAM_WORLD) == npes());
  EXPECT(shmem_team_my_pe, shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1);
  EXPECT(shmem_team_n_pes, shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);

  const int evens = (npes() + 1) / 2;
  shmem_team_config_t config{2};
  shmem_team_t even = SHMEM_TEAM_WORLD;  // to be overwritten
  EXPECT(shmem_team_split_strided, CALL(shmem_team_split_strided, SHMEM_TEAM_WORLD, 0, 2, evens,
                                        &config, SHMEM_TEAM_NUM_CONTEXTS, &even) == 0);
  if (me() % 2 != 0) {
    EXPECT(shmem_team_split_strided, even == SHMEM_TEAM_INVALID);
  } else {
    EXPECT(shmem_team_split_strided, shmem_team_my_pe(even) == me() / 2);
    EXPECT(shmem_team_split_strided, shmem_team_n_pes(even) == evens);
    shmem_team_config_t got{-1};
    EXPECT(shmem_team_get_config,
           CALL(shmem_team_get_config, even, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0);
    EXPECT(shmem_team_get_config, got.num_contexts == 2);
    for (int rank = 0; rank < evens; ++rank)
      EXPECT(shmem_team_translate_pe,
             CALL(shmem_team_translate_pe, even, rank, SHMEM_TEAM_WORLD) == 2 * rank);
    EXPECT(shmem_team_sync, CALL(shmem_team_sync, even) == 0);

    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    EXPECT(shmem_team_create_ctx, CALL(shmem_team_create_ctx, even, 0, &ctx) == 0);
    shmem_team_t whose = SHMEM_TEAM_INVALID;
    EXPECT(shmem_ctx_get_team, CALL(shmem_ctx_get_team, ctx, &whose) == 0);
    EXPECT(shmem_ctx_get_team, whose == even);
    shmem_ctx_destroy(ctx);
  }
  called("shmem_team_get_config");  // one PE of two is no member
  called("shmem_team_translate_pe");
  called("shmem_team_sync");
  called("shmem_team_create_ctx");
  called("shmem_ctx_get_team");
  shmem_barrier_all();
  CALL(shmem_team_destroy, even);

  shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
  EXPECT(shmem_team_split_2d,
         CALL(shmem_team_split_2d, SHMEM_TEAM_WORLD, 2, nullptr, 0, &x, nullptr, 0, &y) == 0);
  EXPECT(shmem_team_split_2d, shmem_team_my_pe(x) == me() % 2);
  EXPECT(shmem_team_split_2d, shmem_team_my_pe(y) == me() / 2);
  EXPECT(shmem_team_split_2d, shmem_team_n_pes(x) == std::min(2, npes() - me() / 2 * 2));
  EXPECT(shmem_team_split_2d, shmem_team_n_pes(y) == (npes() - me() % 2 + 1) / 2);
  shmem_team_destroy(x);
  shmem_team_destroy(y);
}

void contexts() {
  for (const long options : {0L, long{SHMEM_CTX_SERIALIZED}, long{SHMEM_CTX_PRIVATE},
                             SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE}) {
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    EXPECT(shmem_ctx_create, CALL(shmem_ctx_create, options, &ctx) == 0);
    EXPECT(shmem_ctx_create, ctx != SHMEM_CTX_INVALID);
    const shmem_ctx_session_config_t session{3};
    CALL(shmem_ctx_session_start, ctx, SHMEM_CTX_SESSION_BATCH, &session,
         SHMEM_CTX_SESSION_TOTAL_OPS);
    begin();
    const int value = 10 * me() + 1;
    shmem_ctx_int_put(ctx, reinterpret_cast<int*>(target()), &value, 1, peer());
    CALL(shmem_ctx_fence, ctx);
    shmem_ctx_int_p(ctx, reinterpret_cast<int*>(target()) + 1, 5, peer());
    CALL(shmem_ctx_quiet, ctx);
    CALL(shmem_ctx_session_stop, ctx);
    shmem_barrier_all();
    const int* const words = reinterpret_cast<int*>(target());
    EXPECT(shmem_ctx_quiet, words[0] == 10 * writer() + 1 && words[1] == 5);
    CALL(shmem_ctx_destroy, ctx);
  }
  shmem_ctx_destroy(SHMEM_CTX_INVALID);
  shmem_ctx_session_start(SHMEM_CTX_INVALID, 0, nullptr, 0);
  shmem_ctx_session_stop(SHMEM_CTX_INVALID);
  shmem_team_t team = SHMEM_TEAM_WORLD;
  EXPECT(shmem_ctx_get_team, shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0);
  EXPECT(shmem_ctx_get_team, team == SHMEM_TEAM_INVALID);
}

void signals() {
  begin();
  auto* const word = reinterpret_cast<std::uint64_t*>(source());
  *word = 1;
  shmem_barrier_all();
  CALL(shmem_signal_set, word, 40, peer());
  shmem_quiet();
  EXPECT(shmem_signal_wait_until, CALL(shmem_signal_wait_until, word, SHMEM_CMP_EQ, 40) == 40);
  shmem_barrier_all();
  CALL(shmem_signal_add, word, 2, peer());
  shmem_quiet();
  EXPECT(shmem_signal_add, shmem_signal_wait_until(word, SHMEM_CMP_GT, 40) == 42);
  shmem_barrier_all();
  CALL(shmem_ctx_signal_set, context(), word, 7, peer());
  shmem_ctx_quiet(context());
  EXPECT(shmem_ctx_signal_set, shmem_signal_wait_until(word, SHMEM_CMP_LT, 42) == 7);
  shmem_barrier_all();
  CALL(shmem_ctx_signal_add, context(), word, 3, peer());
  shmem_ctx_quiet(context());
  shmem_barrier_all();
  EXPECT(shmem_ctx_signal_add, CALL(shmem_signal_fetch, word) == 10);
}

void waits() {
  begin();
  auto* const word = reinterpret_cast<long*>(source());
  *word = 1;
  shmem_barrier_all();
  shmem_long_p(word, 2, peer());
  shmem_quiet();
  CALL(shmem_wait, word, 1);
  EXPECT(shmem_wait, *word == 2);
  shmem_barrier_all();
  shmem_long_p(word, -3, peer());
  shmem_quiet();
  CALL(shmem_wait_until, word, SHMEM_CMP_LT, 0);
  EXPECT(shmem_wait_until, *word == -3);
}

void synchronisation() {
  static long* const sync = static_cast<long*>(shmem_malloc(4 * SHMEM_SYNC_SIZE * sizeof(long)));
  std::fill(sync, sync + 4 * SHMEM_SYNC_SIZE, SHMEM_SYNC_VALUE);
  begin();
  // Values that were put before the call are there after it.
  const auto check = [](const char* name, const std::function<void()>& barrier, bool is_barrier) {
    static int value = 0;
    ++value;
    for (int pe = 0; pe < npes(); ++pe)
      shmem_int_p(reinterpret_cast<int*>(target()) + me(), value, pe);
    if (!is_barrier) quiet();
    barrier();
    for (int pe = 0; pe < npes(); ++pe)
      expect(Subject{name, {}}, reinterpret_cast<int*>(target())[pe] == value,
             fmt::format("PE {} had not come, or its put had not", pe));
    shmem_barrier_all();
  };
  check(
      "shmem_barrier_all", [] { CALL(shmem_barrier_all); }, true);
  check(
      "shmem_sync_all", [] { CALL(shmem_sync_all); }, false);
  for (int i = 0; i < 4; ++i) {
    long* const at = sync + i * SHMEM_SYNC_SIZE;
    check(
        "shmem_barrier", [at] { CALL(shmem_barrier, 0, 0, npes(), at); }, true);
    check(
        "shmem_sync", [at] { CALL(shmem_sync, 0, 0, npes(), at); }, false);
  }
  EXPECT(shmem_barrier,
         std::count(sync, sync + 4 * SHMEM_SYNC_SIZE, SHMEM_SYNC_VALUE) == 4 * SHMEM_SYNC_SIZE);
  shmem_barrier_all();
  shmem_free(sync);

  begin();
  shmem_int_p(reinterpret_cast<int*>(target()), 1, peer());
  CALL(shmem_fence);
  shmem_int_p(reinterpret_cast<int*>(target()) + 1, 2, peer());
  CALL(shmem_quiet);
  shmem_barrier_all();
  EXPECT(shmem_quiet, reinterpret_cast<int*>(target())[1] == 2);
}

void locks() {
  static long* const lock = static_cast<long*>(shmem_calloc(1, sizeof(long)));
  static int* const counter = static_cast<int*>(shmem_calloc(1, sizeof(int)));
  constexpr int kTurns = 10;
  for (int i = 0; i < kTurns; ++i) {
    if (i % 2 == 0)
      CALL(shmem_set_lock, lock);
    else
      while (CALL(shmem_test_lock, lock) != 0) {
      }
    const int seen = shmem_int_g(counter, 0);
    shmem_int_p(counter, seen + 1, 0);
    shmem_quiet();
    CALL(shmem_clear_lock, lock);
  }
  shmem_barrier_all();
  EXPECT(shmem_set_lock, shmem_int_g(counter, 0) == kTurns * npes());
  shmem_barrier_all();
  shmem_free(counter);
  shmem_free(lock);
}

void leftovers() {
  CALL(shmem_set_cache_inv);
  CALL(shmem_set_cache_line_inv, target());
  CALL(shmem_clear_cache_inv);
  CALL(shmem_clear_cache_line_inv, target());
  CALL(shmem_udcflush);
  CALL(shmem_udcflush_line, target());
  CALL(shmem_pcontrol, 1);
  CALL(shmem_pcontrol, 0, "more", 2);
}

}  // namespace

void check_plain() {
  queries();
  memory();
  teams();
  contexts();
  signals();
  waits();
  synchronisation();
  locks();
  leftovers();
  for (const char* name : kElsewhere) called(name);
#define SHMEM_PLAIN(name) \
  if (names_called().count(#name) == 0) fail(Subject{#name, {}}, "is never called");
#include <plain.inc>
#undef SHMEM_PLAIN
}

}  // namespace census
