// Every wrong argument gives one report that names the routine as the program wrote it, the
// argument and its value; nothing crashes, and the job goes on. It runs with WEFT_CHECK=1 and
// without, when what only checks find is left out.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/compat/check.hpp"

namespace {

// A capture of the text that a call writes to standard error.
class Listener {
 public:
  Listener() : file_(std::tmpfile()), saved_(dup(STDERR_FILENO)) {}
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() {
    close(saved_);
    std::fclose(file_);
  }
  std::string hear(const std::function<void()>& call) {
    std::fflush(stderr);
    if (ftruncate(fileno(file_), 0) != 0) return "cannot listen";
    std::rewind(file_);
    dup2(fileno(file_), STDERR_FILENO);
    call();
    std::fflush(stderr);
    dup2(saved_, STDERR_FILENO);
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0, at = 0; (n = pread(fileno(file_), buffer, sizeof(buffer), at)) > 0; at += n)
      text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }

 private:
  std::FILE* file_;
  int saved_;
};

struct Misuse {
  const char* routine;
  std::vector<std::string> named;  // argument and value
  std::function<void()> call;
  bool takes_checks = false;
};

void expect_report(Listener& listener, const Misuse& misuse) {
  const std::string text = listener.hear(misuse.call);
  const auto lines = std::count(text.begin(), text.end(), '\n');
  const std::string head = misuse.routine;
  const auto first = text.find(head);
  bool right = first != std::string::npos && lines >= 1;
  for (const std::string& word : misuse.named) right &= text.find(word) != std::string::npos;
  // One report: the routine is named as its author once.
  right &= first == std::string::npos || text.find(head, first + 1) == std::string::npos;
  if (right) return;
  ++failed_checks;
  std::printf("PE %d: %s: said:\n%s", shmem_my_pe(), misuse.routine,
              text.empty() ? "nothing\n" : text.c_str());
}

std::string of(const void* address) { return fmt::format("{}", fmt::ptr(address)); }

template <class T>
T* symmetric(std::size_t count) {
  return static_cast<T*>(shmem_calloc(count, sizeof(T)));
}

}  // namespace

int main() {
  shmem_init();
  Listener listener;
  const int npes = shmem_n_pes(), next = (shmem_my_pe() + 1) % npes;
  const std::string absent = "pe is " + std::to_string(npes);
  auto* const words = symmetric<long>(64);
  auto* const ints = reinterpret_cast<int*>(words);
  auto* const signal = symmetric<std::uint64_t>(1);
  long local[8] = {};
  int local_ints[8] = {};
  std::uint64_t local_signal = 0;
  int none[2] = {};
  std::size_t at[2] = {};
  shmem_team_t team = SHMEM_TEAM_INVALID;
  shmem_ctx_t ctx = SHMEM_CTX_INVALID, gone = SHMEM_CTX_INVALID;
  shmem_ctx_create(0, &ctx);
  shmem_ctx_create(0, &gone);
  shmem_ctx_destroy(gone);
  static int not_heap = 0;
  const auto bad_cmp = std::string("cmp is 77");

  const Misuse each_alone[] = {
      // The PE.
      {"shmem_int_put", {absent}, [&] { shmem_int_put(ints, local_ints, 1, npes); }},
      {"shmem_putmem", {"pe is -1"}, [&] { shmem_putmem(ints, local_ints, 1, -1); }},
      {"shmem_put128_nbi", {absent}, [&] { shmem_put128_nbi(words, local, 1, npes); }},
      {"shmem_ctx_long_get", {absent}, [&] { shmem_ctx_long_get(ctx, local, words, 1, npes); }},
      {"shmem_double_g",
       {"pe is -7"},
       [&] { shmem_double_g(reinterpret_cast<double*>(words), -7); }},
      {"shmem_long_p", {absent}, [&] { shmem_long_p(words, 1, npes); }},
      {"shmem_long_iput", {absent}, [&] { shmem_long_iput(words, local, 1, 1, 1, npes); }},
      {"shmem_long_ibget", {absent}, [&] { shmem_long_ibget(local, words, 1, 1, 1, 1, npes); }},
      {"shmem_long_atomic_add", {absent}, [&] { shmem_long_atomic_add(words, 1, npes); }},
      {"shmem_int_atomic_fetch_inc", {absent}, [&] { shmem_int_atomic_fetch_inc(ints, npes); }},
      {"shmem_int_finc", {absent}, [&] { shmem_int_finc(ints, npes); }},
      {"shmem_long_put_signal",
       {absent},
       [&] { shmem_long_put_signal(words, local, 1, signal, 1, SHMEM_SIGNAL_SET, npes); }},
      {"shmem_signal_add", {absent}, [&] { shmem_signal_add(signal, 1, npes); }},
      // Symmetric addresses.
      {"shmem_long_put", {"argument dest"}, [&] { shmem_long_put(local, words, 1, next); }},
      {"shmem_long_put",
       {"argument dest is null"},
       [&] { shmem_long_put(nullptr, local, 1, next); }},
      {"shmem_long_put",
       {"argument source is null"},
       [&] { shmem_long_put(words, nullptr, 1, next); }},
      {"shmem_getmem", {"argument source"}, [&] { shmem_getmem(local, local, 8, next); }},
      {"shmem_long_iget",
       {"argument source"},
       [&] { shmem_long_iget(words, local, 1, 1, 2, next); }},
      {"shmem_long_p", {"argument dest"}, [&] { shmem_long_p(local, 1, next); }},
      {"shmem_long_atomic_set", {"argument dest"}, [&] { shmem_long_atomic_set(local, 1, next); }},
      {"shmem_long_put_signal",
       {"argument sig_addr"},
       [&] { shmem_long_put_signal(words, local, 1, &local_signal, 1, SHMEM_SIGNAL_SET, next); }},
      {"shmem_signal_set", {"argument dest"}, [&] { shmem_signal_set(&local_signal, 1, next); }},
      {"shmem_long_wait_until",
       {"argument ivar"},
       [&] { shmem_long_wait_until(local, SHMEM_CMP_EQ, 0); }},
      // Sizes and strides.
      {"shmem_long_put",
       {"argument nelems"},
       [&] { shmem_long_put(words, local, ~std::size_t{0}, next); }},
      {"shmem_long_iput",
       {"argument dst is 0"},
       [&] { shmem_long_iput(words, local, 0, 1, 2, next); }},
      {"shmem_long_iget",
       {"argument sst is -1"},
       [&] { shmem_long_iget(local, words, 1, -1, 2, next); }},
      {"shmem_iput32", {"argument sst is 0"}, [&] { shmem_iput32(words, local, 1, 0, 2, next); }},
      // Constants.
      {"shmem_long_wait_until", {bad_cmp}, [&] { shmem_long_wait_until(words, 77, 0); }},
      {"shmem_int_test", {bad_cmp}, [&] { shmem_int_test(ints, 77, 0); }},
      {"shmem_int_wait_until_any",
       {bad_cmp},
       [&] { shmem_int_wait_until_any(ints, 2, none, 77, 0); }},
      {"shmem_int_test_some", {bad_cmp}, [&] { shmem_int_test_some(ints, 2, at, none, 77, 0); }},
      {"shmem_signal_wait_until", {bad_cmp}, [&] { shmem_signal_wait_until(signal, 77, 0); }},
      {"shmem_long_put_signal",
       {"sig_op is 9"},
       [&] { shmem_long_put_signal(words, local, 1, signal, 1, 9, next); }},
      {"shmem_ctx_create",
       {"options is 0x100"},
       [&] {
         shmem_ctx_t other = SHMEM_CTX_INVALID;
         CHECK(shmem_ctx_create(0x100, &other) != 0 && other == SHMEM_CTX_INVALID);
       }},
      // Contexts.
      {"shmem_ctx_long_put",
       {"ctx"},
       [&] { shmem_ctx_long_put(SHMEM_CTX_INVALID, words, local, 1, next); }},
      {"shmem_ctx_long_get", {"ctx"}, [&] { shmem_ctx_long_get(gone, local, words, 1, next); }},
      {"shmem_ctx_quiet", {"ctx"}, [&] { shmem_ctx_quiet(gone); }},
      {"shmem_ctx_destroy", {"ctx"}, [&] { shmem_ctx_destroy(gone); }},
      {"shmem_ctx_destroy", {"SHMEM_CTX_DEFAULT"}, [&] { shmem_ctx_destroy(SHMEM_CTX_DEFAULT); }},
      // Memory.
      {"shmem_free", {"argument ptr", of(local)}, [&] { shmem_free(local); }},
      {"shmem_free", {"argument ptr", of(words + 1)}, [&] { shmem_free(words + 1); }},
      {"shmem_free", {"argument ptr", of(&not_heap)}, [&] { shmem_free(&not_heap); }},
      {"shmem_realloc",
       {"argument ptr", of(local)},
       [&] { CHECK(shmem_realloc(local, 10) == nullptr); }},
      {"shmem_align", {"argument alignment is 3"}, [&] { CHECK(shmem_align(3, 10) == nullptr); }},
      {"shmem_malloc",
       {"9223372036854775807 bytes"},
       [&] { CHECK(shmem_malloc(~std::size_t{0} / 2) == nullptr); }},
      // Locks.
      {"shmem_set_lock", {"argument lock is " + of(local)}, [&] { shmem_set_lock(local); }},
      {"shmem_clear_lock", {"argument lock is " + of(local)}, [&] { shmem_clear_lock(local); }},
      {"shmem_clear_lock",
       {"argument lock is " + of(words), "does not hold"},
       [&] { shmem_clear_lock(words); }},
      // Teams and their collectives: all members are wrong in the same way, and go on.
      {"shmem_team_split_strided",
       {"argument size is " + std::to_string(npes + 1)},
       [&] {
         CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes + 1, nullptr, 0, &team) != 0);
         CHECK(team == SHMEM_TEAM_INVALID);
       }},
      {"shmem_long_broadcast",
       {"root " + std::to_string(npes)},
       [&] { CHECK(shmem_long_broadcast(SHMEM_TEAM_WORLD, words, words + 8, 1, npes) != 0); }},
      {"shmem_long_sum_reduce",
       {"dest (32 bytes at " + of(words), "source (32 bytes at " + of(words + 1), "overlap"},
       [&] { CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, words, words + 1, 4) != 0); },
       true},
      {"shmem_int_fcollect",
       {"argument dest", of(local_ints)},
       [&] { CHECK(shmem_int_fcollect(SHMEM_TEAM_WORLD, local_ints, ints, 1) != 0); }},
      {"shmem_long_alltoalls",
       {"argument dst is 0"},
       [&] { CHECK(shmem_long_alltoalls(SHMEM_TEAM_WORLD, words, words + 32, 0, 1, 1) != 0); }},
      {"shmem_double_max_reduce",
       {"team"},
       [&] {
         auto* const doubles = reinterpret_cast<double*>(words);
         CHECK(shmem_double_max_reduce(SHMEM_TEAM_INVALID, doubles, doubles + 1, 1) != 0);
       }},
      {"shmem_team_sync", {"team"}, [&] { CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0); }},
      {"shmem_team_destroy", {"predefined"}, [&] { shmem_team_destroy(SHMEM_TEAM_WORLD); }},
      // Active sets.
      {"shmem_barrier",
       {"PE_size " + std::to_string(npes + 1)},
       [&] { shmem_barrier(0, 0, npes + 1, words); }},
      {"shmem_broadcast32",
       {"root " + std::to_string(npes)},
       [&] { shmem_broadcast32(ints, ints + 8, 1, npes, 0, 0, npes, words + 32); }},
      {"shmem_int_sum_to_all",
       {"dest (16 bytes at " + of(ints), "overlap"},
       [&] { shmem_int_sum_to_all(ints, ints + 1, 4, 0, 0, npes, ints + 40, words + 32); },
       true},
      {"shmem_collect64",
       {"logPE_stride 31"},
       [&] { shmem_collect64(words, words + 8, 1, 0, 31, npes, words + 32); }},
      {"shmem_fcollect32",
       {"argument pSync is " + of(local)},
       [&] { shmem_fcollect32(ints, ints + 8, 1, 0, 0, npes, local); },
       true},
      {"shmem_long_max_to_all",
       {"argument pWrk is " + of(local)},
       [&] { shmem_long_max_to_all(words, words + 8, 1, 0, 0, npes, local, words + 32); },
       true},
  };
  const bool checks = std::getenv("WEFT_CHECK") != nullptr;
  for (const Misuse& misuse : each_alone) {
    if (misuse.takes_checks && !checks) continue;
    expect_report(listener, misuse);
    std::memset(words + 32, 0, 32 * sizeof(long));
    shmem_barrier_all();
  }

  // All still works.
  shmem_long_p(words, 5, next);
  shmem_barrier_all();
  CHECK(words[0] == 5);
  shmem_ctx_destroy(ctx);
  shmem_free(signal);
  shmem_free(words);
  const std::string twice = listener.hear([&] { shmem_free(words); });
  CHECK(twice.find("shmem_free:") != std::string::npos);
  shmem_finalize();
  return exit_status();
}
