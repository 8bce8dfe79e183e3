#include "src/platform/cpu/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace weft::cpu {

static_assert(sizeof(FutexWord) == 4 && FutexWord::is_always_lock_free);

void futex_wait(FutexWord& word, std::uint32_t seen) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void futex_wake(FutexWord& word, std::uint32_t threads) {
  const auto most = std::min<std::uint32_t>(threads, INT_MAX);
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
}

}  // namespace weft::cpu
