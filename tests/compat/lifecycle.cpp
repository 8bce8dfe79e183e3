// Start and end: one case each run, named by the first argument (lifecycle_test.py says what must
// come out).
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/compat/check.hpp"

namespace {

// Something that needs the others.
void use() {
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  auto* const word = static_cast<int*>(shmem_calloc(1, sizeof(int)));
  CHECK(word != nullptr);
  shmem_int_p(word, 10 + me, (me + 1) % npes);
  shmem_barrier_all();
  CHECK(*word == 10 + (me + npes - 1) % npes);
  shmem_barrier_all();
  shmem_free(word);
}

bool initialized() {
  int answer = -1;
  shmem_query_initialized(&answer);
  return answer != 0;
}

int plain() {
  CHECK(!initialized());
  shmem_init();
  CHECK(initialized());
  use();
  shmem_finalize();
  CHECK(!initialized());
  return exit_status();
}

// 1.6: each start has its end.
int twice() {
  shmem_init();
  shmem_init();
  use();
  shmem_finalize();
  CHECK(initialized());
  use();
  shmem_finalize();
  CHECK(!initialized());
  return exit_status();
}

int again() {
  for (int turn = 0; turn < 3; ++turn) {
    shmem_init();
    use();
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    shmem_team_t team = SHMEM_TEAM_INVALID;
    CHECK(shmem_ctx_create(0, &ctx) == 0);  // left to finalize
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, nullptr, 0, &team) == 0);
    shmem_finalize();
  }
  return exit_status();
}

int no_finalize() {
  shmem_init();
  use();
  return exit_status();
}

int no_finalize_status() {
  shmem_init();
  use();
  return 5;
}

int older() {
  start_pes(0);
  start_pes(0);  // the second does nothing
  use();
  return exit_status();
}

int threads(int level) {
  int provided = -1, queried = -1;
  CHECK(shmem_init_thread(level, &provided) == 0);
  shmem_query_thread(&queried);
  CHECK(provided >= level && queried == provided);
  use();
  shmem_finalize();
  return exit_status();
}

int bad_level() {
  int provided = -1;
  CHECK(shmem_init_thread(99, &provided) != 0);
  CHECK(!initialized());
  return exit_status();
}

// The others wait for ever.
int global_exit(int pe, int status) {
  shmem_init();
  use();
  if (shmem_my_pe() == pe) shmem_global_exit(status);
  shmem_barrier_all();
  shmem_barrier_all();
  return 99;
}

// A child that ends, by whatever call, ends nobody's job but its own process.
int fork_then(const std::string& end) {
  shmem_init();
  auto* const word = static_cast<long*>(shmem_calloc(1, sizeof(long)));
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (end == "calls") {
      CHECK(shmem_malloc(8) == nullptr);
      CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) != 0);
      shmem_long_p(word, 99, (shmem_my_pe() + 1) % shmem_n_pes());
      shmem_barrier_all();
      int provided = 0;
      CHECK(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) != 0);
    }
    if (end == "finalize") shmem_finalize();
    if (end == "global_exit") shmem_global_exit(0);
    std::exit(exit_status());
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(*word == 0);
  use();
  if (end != "exit") shmem_finalize();  // else at the exit of the parent
  return exit_status();
}

int before() {
  int word = 0;
  shmem_int_p(&word, 1, 0);
  CHECK(shmem_malloc(8) == nullptr);
  CHECK(shmem_my_pe() == -1 && shmem_n_pes() == -1);
  CHECK(shmem_int_atomic_fetch_inc(&word, 0) == 0);
  shmem_quiet();
  shmem_barrier_all();
  CHECK(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &word, &word, 1) != 0);
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  CHECK(shmem_ctx_create(0, &ctx) != 0);
  shmem_finalize();
  shmem_init();
  use();
  shmem_finalize();
  return failed_checks == 0 ? 0 : 1;
}

int after() {
  shmem_init();
  auto* const word = static_cast<long*>(shmem_calloc(1, sizeof(long)));
  shmem_finalize();
  shmem_long_p(word, 1, 0);
  CHECK(shmem_long_g(word, 0) == 0);
  shmem_set_lock(word);
  CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) != 0);
  shmem_free(word);
  shmem_finalize();
  return exit_status();
}

int full() {
  shmem_init();
  CHECK(shmem_malloc(std::size_t{1} << 30) == nullptr);
  shmem_finalize();
  return exit_status();
}

int finalize_twice() {
  shmem_init();
  shmem_finalize();
  shmem_finalize();
  return exit_status();
}

// The standard's example makes a team of half the PEs: of one, that is none.
int empty_team() {
  shmem_init();
  shmem_team_t team = SHMEM_TEAM_WORLD;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, 0, nullptr, 0, &team) != 0);
  CHECK(team == SHMEM_TEAM_INVALID);
  shmem_finalize();
  return exit_status();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return argc > i ? std::atoi(argv[i]) : 0; };
  if (which == "plain") return plain();
  if (which == "twice") return twice();
  if (which == "again") return again();
  if (which == "no_finalize") return no_finalize();
  if (which == "no_finalize_status") return no_finalize_status();
  if (which == "older") return older();
  if (which == "threads") return threads(number(2));
  if (which == "bad_level") return bad_level();
  if (which == "global_exit") return global_exit(number(2), number(3));
  if (which == "fork") return fork_then(argc > 2 ? argv[2] : "");
  if (which == "before") return before();
  if (which == "after") return after();
  if (which == "full") return full();
  if (which == "finalize_twice") return finalize_twice();
  if (which == "empty_team") return empty_team();
  std::printf("no such case\n");
  return 2;
}
