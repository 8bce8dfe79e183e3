#include "bootstrap/run/exit_status.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace weft::run {

std::string signal_name(int signal) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
  if (const char* name = ::sigabbrev_np(signal); name != nullptr) return fmt::format("SIG{}", name);
#endif
  return fmt::format("signal {}", signal);
}

std::string to_string(const Ending& ending) {
  if (ending.signal == 0) return fmt::format("exited with code {}", ending.code);
  return fmt::format("was killed by signal {} ({}: {}){}", ending.signal,
                     signal_name(ending.signal), ::strsignal(ending.signal),
                     ending.core ? ", core dumped" : "");
}

std::string hint(const Ending& ending) {
  switch (ending.signal) {
    case SIGKILL: return "if nobody sent that, the kernel may have run out of memory: see dmesg";
    case SIGBUS:
      return "memory that could not be had when it was touched is a frequent reason: see free -m, "
             "the cgroup's memory.max and the huge pages";
    default: return "";
  }
}

bool has_ended(pid_t pid, Ending& ending) {
  siginfo_t info{};
  int result = 0;
  do {
    result = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (result != 0 && errno == EINTR);
  if (result != 0 || info.si_pid == 0) return false;
  const bool exited = info.si_code == CLD_EXITED;
  ending.code = exited ? info.si_status : 0;
  ending.signal = exited ? 0 : info.si_status;
  ending.core = info.si_code == CLD_DUMPED;
  return true;
}

std::optional<int> stop_signal(pid_t pid) {
  siginfo_t info{};
  int result = 0;
  do {
    result = ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WCONTINUED | WNOHANG);
  } while (result != 0 && errno == EINTR);
  if (result != 0 || info.si_pid == 0) return std::nullopt;
  return info.si_code == CLD_STOPPED ? info.si_status : 0;
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace weft::run
