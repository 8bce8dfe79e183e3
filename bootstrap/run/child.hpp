// One PE's process: started, confirmed, signalled with all its descendants.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include <weft/result.hpp>

#include "bootstrap/run/bind.hpp"
#include "src/base/unique_fd.hpp"

namespace weft::run {

// State that the launcher changed for itself and that a child must get back.
struct Inherited {
  sigset_t mask;
  struct sigaction on_pipe, on_file_size;
  rlimit files;
};

struct ChildPlan {
  std::string program;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  const Binding* binding = nullptr;
  int input = -1;  // becomes standard input; -1: /dev/null
  int kept = -1;   // stays open in the program; -1: nothing does
};

struct Child {
  pid_t pid = -1;
  UniqueFd out;  // non-blocking
  UniqueFd err;
  UniqueFd confirmation;
};

// Between weft-run and a child, which inherits `theirs` if its plan says so.
struct SocketPair {
  UniqueFd ours, theirs;
};
Result<SocketPair> make_sockets();

// Forks. The program may still turn out not to run: confirm() tells. The child leads a process
// group of its own and dies with this process.
Result<Child> start_child(const ChildPlan& plan, const Inherited& inherited);
// Waits for the exec (moments, however long the program runs).
Status confirm(Child& child, const std::string& program);

}  // namespace weft::run
