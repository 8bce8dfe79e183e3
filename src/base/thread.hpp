// Threads of the library.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>
#include <thread>
#include <utility>

namespace weft {

// Signals are for the threads of the program: a thread that is started while this lives takes none,
// but for those named.
class SignalsBlocked {
 public:
  explicit SignalsBlocked(std::initializer_list<int> but = {}) {
    sigset_t all;
    ::sigfillset(&all);
    for (const int number : but) ::sigdelset(&all, number);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// The name is what ps, top and gdb show, of at most 15 letters.
template <class Body>
std::thread start_thread(const char* name, Body body) {
  const SignalsBlocked blocked;
  return std::thread([name, body = std::move(body)] {
    ::pthread_setname_np(::pthread_self(), name);
    body();
  });
}

}  // namespace weft
