// What threads of the library begin with.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace weft {

// Signals are for the threads of the program; the name is what ps, top and gdb show, of at most 15
// letters.
inline void begin_thread(const char* name) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace weft
