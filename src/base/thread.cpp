#include "src/base/thread.hpp"

#include <signal.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {
namespace {

struct Start {
  const char* name;
  std::function<void()> body;
};

void* thread_main(void* start) {
  const std::unique_ptr<Start> mine(static_cast<Start*>(start));
  ::pthread_setname_np(::pthread_self(), mine->name);
  mine->body();
  return nullptr;
}

// A new thread has the signal mask of the one that makes it.
class SignalsBlocked {
 public:
  explicit SignalsBlocked(std::initializer_list<int> but) {
    sigset_t all;
    ::sigfillset(&all);
    for (const int number : but) ::sigdelset(&all, number);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

const char* help_for(int error) {
  switch (error) {
    case EAGAIN:
    case ENOMEM:
      return "raise the limit on processes (ulimit -u, the container's pids limit) or on address "
             "space (ulimit -v)";
    case EPERM:
    case ENOSYS:
      return "a seccomp filter of the container forbids clone or clone3; a newer container "
             "runtime, or another profile, allows them";
    default: return "see pthread_create(3)";
  }
}

}  // namespace

std::string describe_no_thread(int error) {
  return fmt::format("{}; {}", std::strerror(error), help_for(error));
}

Result<Thread> start_thread(const ThreadPlan& plan, std::function<void()> body) {
  auto start = std::make_unique<Start>(Start{plan.name, std::move(body)});
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  if (plan.stack_bytes != 0) ::pthread_attr_setstacksize(&attributes, plan.stack_bytes);
  pthread_t handle{};
  int refused = 0;
  {
    std::optional<SignalsBlocked> blocked;
    if (!plan.is_program) blocked.emplace(plan.signals);
    refused = ::pthread_create(&handle, &attributes, thread_main, start.get());
  }
  ::pthread_attr_destroy(&attributes);
  if (refused != 0)
    return Status::error(Code::kOutOfMemory,
                         fmt::format("no thread {}: {}", plan.name, describe_no_thread(refused)));
  static_cast<void>(start.release());  // the thread's
  return Thread(handle);
}

}  // namespace weft
