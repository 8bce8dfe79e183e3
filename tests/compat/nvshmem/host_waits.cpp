// PEs that come late, and waits that can never end, as tests/compat/waits.cpp has them for
// OpenSHMEM; waits_test.py there says what must come out.
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/compat/nvshmem/host_check.hpp"

namespace {

constexpr unsigned kLate = 1'000'000;  // us; several times WEFT_WAIT_TIMEOUT

int* data;
std::uint64_t* flag;

bool is_late() {
  if (nvshmem_my_pe() != 0) return false;
  usleep(kLate);
  nvshmem_int_p(data, 42, right());
  nvshmem_fence();
  return true;
}
void check_data() { CHECK(nvshmem_my_pe() == 0 || read(data, 1)[0] == 42); }
void say_returned() {
  std::printf("returned\n");
  std::fflush(stdout);
}

// Loops that a program waits by, for a PE that is gone.
template <class Read>
void poll_lost_peer(Read read) {
  std::signal(SIGTERM, SIG_IGN);  // of weft-run: the loop ends by itself
  if (nvshmem_my_pe() == 0) {
    usleep(kLate / 4);
    kill(getpid(), SIGKILL);
  }
  while (read() != 1) {
  }
  say_returned();
}

void run(const std::string& name) {
  if (name == "lost_signal_fetch") return poll_lost_peer([] { return nvshmem_signal_fetch(flag); });
  if (name == "lost_g") return poll_lost_peer([] { return nvshmem_uint64_g(flag, 0); });
  if (name == "never_set") {
    if (nvshmem_my_pe() == 0) return;
    nvshmem_signal_wait_until(flag, NVSHMEM_CMP_EQ, 1);
    return say_returned();
  }
  if (name == "lost_peer") {
    if (nvshmem_my_pe() == 0) {
      usleep(kLate / 4);
      kill(getpid(), SIGKILL);
    }
    nvshmem_barrier_all();
    return say_returned();
  }
  const bool late = is_late();
  if (name == "barrier_all") {
    nvshmem_barrier_all();
  } else if (name == "sync_all") {
    nvshmem_sync_all();
  } else if (name == "team_sync") {
    CHECK(nvshmem_team_sync(NVSHMEM_TEAM_WORLD) == 0);
  } else if (name == "wait_until") {
    if (late)
      nvshmemx_signal_op(flag, 1, NVSHMEM_SIGNAL_SET, right());
    else
      nvshmem_signal_wait_until(flag, NVSHMEM_CMP_EQ, 1);
  }
  if (name != "finalize") check_data();
}

}  // namespace

int main(int, char** argv) {
  nvshmem_init();
  data = symmetric<int>(1);
  flag = symmetric<std::uint64_t>(1);
  nvshmem_barrier_all();
  run(argv[1]);
  nvshmem_finalize();
  return exit_status();
}
