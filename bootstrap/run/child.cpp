#include "bootstrap/run/child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft::run {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Status::error(Code::kIo, fmt::format("pipe: {}", net::errno_text(errno)));
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

// The step that failed in the child before its program ran.
struct Failure {
  enum Step : int { kSession, kBind, kStreams, kExec } step;
  int error;
};

const char* to_text(Failure::Step step) {
  switch (step) {
    case Failure::kSession: return "its process group or death signal cannot be set";
    case Failure::kBind: return "it cannot be bound to its CPUs";
    case Failure::kStreams: return "its standard streams cannot be set up";
    case Failure::kExec: return "the program cannot be run";
  }
  return "unknown step";
}

struct ChildSide {
  const char* program;
  char* const* argv;
  char* const* environment;
  const Binding* binding;
  int input, kept, out, err, confirmation;
  pid_t parent;
  const Inherited* inherited;
};

[[noreturn]] void fail_step(const ChildSide& side, Failure::Step step) {
  const Failure failure{step, errno};
  (void)!::write(side.confirmation, &failure, sizeof failure);
  ::_exit(127);
}

// Between fork and exec of a program with threads only async-signal-safe calls are allowed.
[[noreturn]] void become_program(const ChildSide& side) {
  if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    fail_step(side, Failure::kSession);
  }
  if (::getppid() != side.parent) ::_exit(127);  // it died before the line above
  if (side.binding != nullptr &&
      ::sched_setaffinity(0, sizeof side.binding->cpus, &side.binding->cpus) != 0) {
    fail_step(side, Failure::kBind);
  }
  const int input = side.input >= 0 ? side.input : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // dup2 of a descriptor onto itself would leave it closed on exec, but only 0 can be that.
  if (input < 0 || (input != 0 && ::dup2(input, 0) < 0) || ::dup2(side.out, 1) < 0 ||
      ::dup2(side.err, 2) < 0) {
    fail_step(side, Failure::kStreams);
  }
  if (side.kept >= 0 && ::fcntl(side.kept, F_SETFD, 0) != 0) fail_step(side, Failure::kStreams);
  ::setrlimit(RLIMIT_NOFILE, &side.inherited->files);
  ::sigaction(SIGPIPE, &side.inherited->on_pipe, nullptr);
  ::sigaction(SIGXFSZ, &side.inherited->on_file_size, nullptr);
  ::sigprocmask(SIG_SETMASK, &side.inherited->mask, nullptr);
  ::execve(side.program, side.argv, side.environment);
  fail_step(side, Failure::kExec);
}

Status fork_failed(int error) {
  return Status::error(
      Code::kOutOfMemory,
      fmt::format("fork: {}. {}", net::errno_text(error),
                  error == EAGAIN ? "The limit of processes is reached; see ulimit -u and the "
                                    "cgroup's pids.max"
                                  : "There is too little memory"));
}

}  // namespace

Result<SocketPair> make_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Status::error(Code::kIo, fmt::format("socketpair: {}", net::errno_text(errno)));
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Child> start_child(const ChildPlan& plan, const Inherited& inherited) {
  ASSIGN_OR_RETURN(Pipe out, make_pipe());
  ASSIGN_OR_RETURN(Pipe err, make_pipe());
  ASSIGN_OR_RETURN(Pipe confirmation, make_pipe());
  const auto argv = pointers(plan.command);
  const auto environment = pointers(plan.environment);
  const ChildSide side{plan.program.c_str(), argv.data(),     environment.data(),
                       plan.binding,         plan.input,      plan.kept,
                       out.write.get(),      err.write.get(), confirmation.write.get(),
                       ::getpid(),           &inherited};
  const pid_t pid = ::fork();
  if (pid < 0) return fork_failed(errno);
  if (pid == 0) become_program(side);
  // Both sides set the group: whoever comes first, it is there before anybody signals it. Here it
  // fails once the child has run exec, and then it has done so itself.
  (void)::setpgid(pid, pid);
  (void)::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  (void)::fcntl(err.read.get(), F_SETFL, O_NONBLOCK);
  return Child{pid, std::move(out.read), std::move(err.read), std::move(confirmation.read)};
}

Status confirm(Child& child, const std::string& program) {
  Failure failure{};
  ssize_t n = 0;
  do {
    n = ::read(child.confirmation.get(), &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  child.confirmation.reset();
  if (n == 0) return Status::ok();  // closed by exec
  if (n != static_cast<ssize_t>(sizeof failure)) {
    return Status::error(Code::kIo, fmt::format("program {}: it ended before it ran", program));
  }
  const char* hint =
      failure.error == ENOEXEC ? ". Was it built for another machine, or is it a script without #!?"
      : failure.error == ENOENT ? ". Its interpreter (the #! line or the dynamic loader) is missing"
                                : "";
  return Status::error(failure.step == Failure::kExec ? Code::kInvalidArgument : Code::kIo,
                       fmt::format("program {}: {}: {}{}", program, to_text(failure.step),
                                   net::errno_text(failure.error), hint));
}

}  // namespace weft::run
