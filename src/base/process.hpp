// Which process an object belongs to.
//
// A child of fork() has a copy of every object of its parent, in whatever state it was, and none of
// the threads that serve them. Its use of a copy must concern nobody: it neither says
// goodbye to peers nor joins threads nor waits. The one question for that is is_inherited().
#pragma once

#include <unistd.h>

#include <memory>

namespace weft {

class OwnerProcess {
 public:
  OwnerProcess() noexcept : pid_(current()) {}
  pid_t pid() const noexcept { return pid_; }
  // Whether this process is a child, made by fork(), of the one that made the object.
  bool is_inherited() const noexcept { return pid_ != current(); }

  // getpid() without a system call.
  static pid_t current() noexcept;

 private:
  pid_t pid_;
};

// An object of the parent is not destroyed in a child: its destructors would join threads that are
// not there, and close what is shared. Leak checkers still find it.
void keep_for_parent(std::shared_ptr<void> inherited);

}  // namespace weft
