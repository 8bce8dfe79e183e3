#include "perftest/start.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <weft/runtime.hpp>

#include "perftest/status.hpp"

extern char** environ;

namespace weft::perf {
namespace {

constexpr const char* kStarted = "--started-process";
constexpr int kDeadlineMs = 60000;

Status system_error(std::string_view what, int error) {
  return Status::error(Code::kIo, fmt::format("{}: {}", what, std::strerror(error)));
}

// This environment without what names another job, and with this one's.
std::vector<std::string> environment_for(const std::string& id, int pe, int npes) {
  constexpr std::string_view kOfJob[] = {
      "WEFT_PE=", "WEFT_NPES=", "WEFT_UNIQUE_ID=", "WEFT_BOOTSTRAP="};
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool mine = true;
    for (const std::string_view name : kOfJob) mine = mine && !text.starts_with(name);
    if (mine) result.emplace_back(text);
  }
  if (!id.empty()) {
    result.push_back(fmt::format("WEFT_PE={}", pe));
    result.push_back(fmt::format("WEFT_NPES={}", npes));
    result.push_back("WEFT_UNIQUE_ID=" + id);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The processes of one start and the pipe on which they report; none outlives the object.
class Processes {
 public:
  Processes() = default;
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes() {
    for (const int end : ends_)
      if (end >= 0) close(end);
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  }

  Status open() {
    return pipe2(ends_, O_CLOEXEC) == 0 ? Status::ok() : system_error("pipe2", errno);
  }

  Status start(Start what, std::vector<std::string> environment) {
    std::vector<std::string> arguments = {"weft-perf", kStarted,
                                          what == Start::kWeft ? "weft" : "bare"};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends_[1], STDOUT_FILENO);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                  pointers(arguments).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return system_error("posix_spawn of weft-perf itself", error);
    pids_.push_back(pid);
    return Status::ok();
  }

  // One byte from each: 'y', or 'n' after a message on standard error.
  Status wait_ready() {
    close(ends_[1]);
    ends_[1] = -1;
    for (std::size_t ready = 0; ready < pids_.size(); ++ready) {
      pollfd readable{ends_[0], POLLIN, 0};
      char answer = 0;
      if (poll(&readable, 1, kDeadlineMs) <= 0 || read(ends_[0], &answer, 1) != 1 || answer != 'y')
        return Status::error(Code::kTimeout,
                             fmt::format("{} of {} started processes came up (their standard error "
                                         "says more)",
                                         ready, pids_.size()));
    }
    return Status::ok();
  }

 private:
  int ends_[2] = {-1, -1};
  std::vector<pid_t> pids_;
};

bool become_pe() {
  auto runtime = Runtime::create();
  if (!runtime) fmt::print(stderr, "weft-perf: {}\n", runtime.status().to_string());
  const char answer = runtime ? 'y' : 'n';
  return write(STDOUT_FILENO, &answer, 1) == 1 && runtime.is_ok();
}

}  // namespace

Result<Ns> start_processes(int npes, Start what) {
  Processes processes;
  RETURN_IF_ERROR(processes.open());
  const Ns begin = now_ns();
  std::optional<UniqueId> id;
  if (what == Start::kWeft) {
    ASSIGN_OR_RETURN(id, UniqueId::create(npes));
  }
  for (int pe = 0; pe < npes; ++pe)
    RETURN_IF_ERROR(processes.start(what, environment_for(id ? id->text() : "", pe, npes)));
  RETURN_IF_ERROR(processes.wait_ready());
  return now_ns() - begin;
}

std::optional<int> run_started_process(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != kStarted) return std::nullopt;
  if (std::string_view(argv[2]) == "weft") return become_pe() ? 0 : 1;
  return write(STDOUT_FILENO, "y", 1) == 1 ? 0 : 1;
}

}  // namespace weft::perf
