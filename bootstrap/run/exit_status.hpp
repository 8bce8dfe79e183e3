// How a process ended, in words.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace weft::run {

struct Ending {
  int code = 0;    // exit code, if it ended by itself
  int signal = 0;  // what killed it, else 0
  bool core = false;

  bool clean() const { return signal == 0 && code == 0; }
  // As a shell gives it.
  int status() const { return signal != 0 ? 128 + signal : code; }
};

std::string signal_name(int signal);  // "SIGSEGV"
// "was killed by signal 11 (SIGSEGV: Segmentation fault), core dumped", "exited with code 3".
std::string to_string(const Ending& ending);
// A usual cause of such an end; "" if none is known.
std::string hint(const Ending& ending);

// Looks whether a child has ended, and leaves it a zombie: its process group keeps its number until
// reap(), so that signalling the group cannot hit a stranger.
bool has_ended(pid_t pid, Ending& ending);
// By which signal a child has been stopped since the last call; 0: it goes on again.
std::optional<int> stop_signal(pid_t pid);
void reap(pid_t pid);

}  // namespace weft::run
