// Sleeping on a word. A bare system call on purpose: ThreadSanitizer does not know it, so it adds
// no order between threads beyond what the word's own acquire and release give.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::cpu {

using FutexWord = std::atomic<std::uint32_t>;

// Returns when woken, at once if `word` is not `seen`, or for no reason.
void futex_wait(FutexWord& word, std::uint32_t seen);
void futex_wake(FutexWord& word, std::uint32_t threads);

}  // namespace weft::cpu
