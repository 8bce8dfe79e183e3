// PEs that come late, and waits that can never end: one case each run, named by the first argument
// (waits_test.py says what must come out). A case says "returned" where a routine must not return.
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "tests/compat/check.hpp"

namespace {

constexpr unsigned kLate = 1'000'000;  // us; several times WEFT_WAIT_TIMEOUT

int data;
std::uint64_t word;
long flag, lock_word;
int in[2] = {1, 2}, sum[2];

bool is_late() {
  if (shmem_my_pe() != 0) return false;
  usleep(kLate);
  for (int pe = 1; pe < shmem_n_pes(); ++pe) shmem_int_p(&data, 42, pe);
  shmem_fence();
  return true;
}
void check_data() { CHECK(shmem_my_pe() == 0 || data == 42); }

void barrier_all() {
  is_late();
  shmem_barrier_all();
  check_data();
}
void sync_all() {
  is_late();
  shmem_sync_all();
  check_data();
}
void team_sync() {
  is_late();
  CHECK(shmem_team_sync(SHMEM_TEAM_WORLD) == 0);
  check_data();
}
void collective() {
  is_late();
  CHECK(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, sum, in, 2) == 0);
  CHECK(sum[0] == shmem_n_pes() && sum[1] == 2 * shmem_n_pes());
}
void active_set() {
  static long sync[SHMEM_REDUCE_SYNC_SIZE];
  static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  for (long& word : sync) word = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  is_late();
  shmem_int_sum_to_all(sum, in, 2, 0, 0, shmem_n_pes(), work, sync);
  CHECK(sum[0] == shmem_n_pes());
}
void allocation() {
  is_late();
  CHECK(shmem_malloc(64) != nullptr);
  check_data();
}
void wait_until() {
  if (is_late())
    for (int pe = 1; pe < shmem_n_pes(); ++pe) shmem_long_p(&flag, 1, pe);
  else
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  check_data();
}
void wait_until_any() {
  if (is_late())
    for (int pe = 1; pe < shmem_n_pes(); ++pe) shmem_long_p(&flag, 1, pe);
  else
    CHECK(shmem_long_wait_until_any(&flag, 1, nullptr, SHMEM_CMP_EQ, 1) == 0);
  check_data();
}
void set_lock() {
  static long holders;
  if (shmem_my_pe() == 0) shmem_set_lock(&lock_word);
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {
    usleep(kLate);
    CHECK(holders == 0);
  } else {
    shmem_set_lock(&lock_word);
    shmem_long_atomic_inc(&holders, 0);
  }
  shmem_clear_lock(&lock_word);
}
// Another thread of the same PE.
void thread_lock() {
  bool held = true;
  shmem_set_lock(&lock_word);
  std::thread other([&] {
    shmem_set_lock(&lock_word);
    CHECK(!held);
    shmem_clear_lock(&lock_word);
  });
  usleep(kLate);
  held = false;
  shmem_clear_lock(&lock_word);
  other.join();
}
void finalize() { is_late(); }

// Words that satisfy all the time come in turn.
void any_in_turn() {
  static int words[3] = {1, 0, 1};
  int values[3] = {1, 5, 1};
  int seen[4][3] = {};
  for (int i = 0; i < 10; ++i) ++seen[0][shmem_int_test_any(words, 3, nullptr, SHMEM_CMP_EQ, 1)];
  for (int i = 0; i < 10; ++i)
    ++seen[1][shmem_int_wait_until_any(words, 3, nullptr, SHMEM_CMP_EQ, 1)];
  for (int i = 0; i < 10; ++i)
    ++seen[2][shmem_int_test_any_vector(words, 3, nullptr, SHMEM_CMP_EQ, values)];
  for (int i = 0; i < 10; ++i)
    ++seen[3][shmem_int_wait_until_any_vector(words, 3, nullptr, SHMEM_CMP_EQ, values)];
  for (const auto& form : seen) CHECK(form[0] == 5 && form[1] == 0 && form[2] == 5);
  // Words are left out of a scan by status, wherever it begins.
  const int status[3] = {1, 0, 0};
  for (int i = 0; i < 3; ++i)
    CHECK(shmem_int_wait_until_any(words, 3, status, SHMEM_CMP_EQ, 1) == 2);
  CHECK(shmem_int_test_any(words, 3, nullptr, SHMEM_CMP_EQ, 7) == SIZE_MAX);
}

// --- what must not return ------------------------------------------------------------------------

void say_returned() {
  std::printf("returned\n");
  std::fflush(stdout);
}
void never_set() {
  if (shmem_my_pe() == 0) return;
  shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  say_returned();
}
void never_come() {
  if (shmem_my_pe() == 0) shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  shmem_barrier_all();
  say_returned();
}
void never_cleared() {
  if (shmem_my_pe() == 0) shmem_set_lock(&lock_word);
  shmem_barrier_all();
  if (shmem_my_pe() == 0) return;  // to finalize
  shmem_set_lock(&lock_word);
  say_returned();
}
// WEFT_FAULT lets each operation but the first few fail.
void failed_put() {
  for (int i = 0; i < 1000; ++i) shmem_int_p(&data, i, 0);
  shmem_quiet();
  say_returned();
}
void failed_put_signal() {
  static std::uint64_t signal;
  for (int i = 0; i < 1000; ++i)
    shmem_int_put_signal(&data, in, 1, &signal, 1, SHMEM_SIGNAL_ADD, 0);
  say_returned();
}
void lost_peer() {
  if (shmem_my_pe() == 0) {
    usleep(kLate / 4);
    kill(getpid(), SIGKILL);
  }
  shmem_barrier_all();
  say_returned();
}

// Loops that a program waits by, for a PE that is gone.
template <class Read>
void poll_lost_peer(Read read) {
  std::signal(SIGTERM, SIG_IGN);  // of weft-run: the loop ends by itself
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {
    usleep(kLate / 4);
    kill(getpid(), SIGKILL);
  }
  while (read() != 1) {
  }
  say_returned();
}
void lost_signal_fetch() {
  poll_lost_peer([] { return shmem_signal_fetch(&word); });
}
void lost_g() {
  poll_lost_peer([] { return shmem_uint64_g(&word, 0); });
}
void lost_get() {
  poll_lost_peer([] {
    std::uint64_t value = 0;
    shmem_getmem(&value, &word, sizeof(value), 0);
    return value;
  });
}
void lost_fetch() {
  poll_lost_peer([] { return shmem_uint64_atomic_fetch(&word, shmem_my_pe()); });
}
void lost_fetch_add() {
  poll_lost_peer([] { return shmem_uint64_atomic_fetch_add(&word, 0, 0); });
}
void lost_swap() {
  poll_lost_peer([] { return shmem_uint64_atomic_compare_swap(&word, 1, 0, 0); });
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case kCases[] = {
    {"barrier_all", barrier_all},
    {"sync_all", sync_all},
    {"team_sync", team_sync},
    {"collective", collective},
    {"active_set", active_set},
    {"allocation", allocation},
    {"wait_until", wait_until},
    {"wait_until_any", wait_until_any},
    {"set_lock", set_lock},
    {"thread_lock", thread_lock},
    {"finalize", finalize},
    {"any_in_turn", any_in_turn},
    {"never_set", never_set},
    {"never_come", never_come},
    {"never_cleared", never_cleared},
    {"failed_put", failed_put},
    {"failed_put_signal", failed_put_signal},
    {"lost_peer", lost_peer},
    {"lost_signal_fetch", lost_signal_fetch},
    {"lost_g", lost_g},
    {"lost_get", lost_get},
    {"lost_fetch", lost_fetch},
    {"lost_fetch_add", lost_fetch_add},
    {"lost_swap", lost_swap},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  int level = 0;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
  for (const Case& one : kCases)
    if (name == one.name) one.run();
  shmem_finalize();
  return exit_status();
}
