// Keeps the signal handlers of the process as they are while others' libraries start: some take
// SIGTERM and SIGSEGV for themselves, without being asked.
#pragma once

#include <csignal>

#include <array>

namespace weft {

class SignalGuard {
 public:
  SignalGuard() {
    for (int number = 1; number < NSIG; ++number)
      known_[at(number)] = ::sigaction(number, nullptr, &before_[at(number)]) == 0;
  }
  ~SignalGuard() {
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction now {};
      if (!known_[at(number)] || ::sigaction(number, nullptr, &now) != 0) continue;
      if (now.sa_sigaction != before_[at(number)].sa_sigaction)
        ::sigaction(number, &before_[at(number)], nullptr);
    }
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  static constexpr std::size_t at(int number) { return static_cast<std::size_t>(number); }

  std::array<struct sigaction, NSIG> before_{};
  std::array<bool, NSIG> known_{};
};

}  // namespace weft
