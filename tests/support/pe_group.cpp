#include "tests/support/pe_group.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "src/base/log.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitizer.hpp"

extern char** environ;

#ifdef WEFT_TEST_ASAN
// AMD's runtime keeps what it allocates when it is asked for GPUs, of which there are none.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:libamdhip64.so\n";
}
#endif

namespace weft {

namespace {

constexpr const char* kPe = "PE_GROUP_PE";
constexpr const char* kCall = "PE_GROUP_CALL";
constexpr const char* kId = "PE_GROUP_ID";

// Exit status of a PE: 0, or these.
constexpr int kExpectFailed = 1;
constexpr int kCodeBase = 100;  // + Code

// Which run of processes of the running test this is; parent and child count alike.
int next_call() {
  static std::string test;
  static int calls = 0;
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = fmt::format("{}.{} {}", info->test_suite_name(), info->name(),
                                       info->result()->start_timestamp());
  if (name != test) calls = 0;
  test = name;
  return calls++;
}

Options options_of(const PeGroup& group, int pe) {
  Options options = group.options;
  if (group.tune) group.tune(pe, options);
  return options;
}

Status run_body(const PeGroup& group, const PeBody& body, int pe) {
  auto id = UniqueId::parse(std::getenv(kId));
  if (!id) return id.status();
  set_log_pe(pe);
  auto runtime = Runtime::create(*id, pe, group.npes, options_of(group, pe));
  if (!runtime) return runtime.status();
  Status status = body(*runtime);
  if (!status.is_ok()) runtime->abort(1, status.to_string());
  return status;
}

// The child's end: never returns.
[[noreturn]] void be_pe(const PeGroup& group, const PeBody& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Status status = run_body(group, body, std::atoi(std::getenv(kPe)));
  std::fflush(nullptr);
  if (!status.is_ok()) {
    std::fprintf(stderr, "%s\n", status.to_string().c_str());
    std::exit(kCodeBase + static_cast<int>(status.code()));
  }
  std::exit(::testing::Test::HasFailure() ? kExpectFailed : 0);
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string contents(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), file)) > 0;)
    text.append(buffer, n);
  return text;
}

struct Child {
  pid_t pid = -1;
  File output{nullptr, std::fclose};
};

Child start(int pe, int call, const std::string& id) {
  Child child;
  child.output.reset(std::tmpfile());
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string filter = fmt::format("--gtest_filter={}.{}", info->test_suite_name(), info->name());
  std::string program = "/proc/self/exe";
  char* arguments[] = {program.data(), filter.data(), nullptr};

  std::vector<std::string> variables = {
      fmt::format("{}={}", kPe, pe), fmt::format("{}={}", kCall, call),
      fmt::format("{}={}", kId, id), fmt::format("WEFT_TEST_SEED={}", test_seed())};
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(child.output.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(child.output.get()), STDERR_FILENO);
  const int error =
      posix_spawn(&child.pid, program.c_str(), &actions, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << "posix_spawn of PE " << pe;
  if (error != 0) child.pid = -1;
  return child;
}

PeEnd wait_for(const Child& child) {
  PeEnd end;
  int status = 0;
  if (child.pid < 0 || waitpid(child.pid, &status, 0) != child.pid) {
    end.code = Code::kInternal;
    return end;
  }
  end.log = contents(child.output.get());
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else if (WEXITSTATUS(status) > kCodeBase) {
    end.code = static_cast<Code>(WEXITSTATUS(status) - kCodeBase);
  } else {
    end.failed = WEXITSTATUS(status) != 0;  // a sanitizer's own exit status, too
  }
  return end;
}

bool is_good(const PeEnd& end) { return end.code == Code::kOk && end.signal == 0 && !end.failed; }

// The end of a PE that was told that another had failed.
bool is_consequence(const PeEnd& end) {
  return end.code == Code::kAborted || end.code == Code::kPeerLost;
}

Status status_of_end(int pe, const PeEnd& end) {
  std::string how = end.signal != 0 ? fmt::format("was killed by signal {}", end.signal)
                    : end.failed    ? "failed a check"
                                    : fmt::format("failed with '{}'", to_string(end.code));
  const Code code = end.code == Code::kOk ? Code::kInternal : end.code;
  return Status::error(code,
                       fmt::format("the process of PE {} {}; it wrote:\n{}", pe, how, end.log));
}

}  // namespace

bool is_pe_process() { return std::getenv(kPe) != nullptr; }

std::string late_fault() { return fmt::format("seed={},late=1", test_seed() & 0xffffffffu); }

std::vector<PeGroup> pe_groups(const std::vector<int>& npes, const Options& options) {
  std::vector<PeGroup> groups;
  for (const Pes pes : {Pes::kThreads, Pes::kProcesses})
    for (const bool late : {false, true})
      for (const int n : npes) {
        PeGroup group{pes, n, options, {}};
        if (late) group.options.fault = late_fault();
        groups.push_back(std::move(group));
      }
  return groups;
}

std::string pe_group_name(const ::testing::TestParamInfo<PeGroup>& info) {
  const PeGroup& group = info.param;
  return fmt::format("{}_{}{}", group.pes == Pes::kThreads ? "threads" : "processes", group.npes,
                     group.options.fault.empty() ? "" : "_late");
}

void PrintTo(const PeGroup& group, std::ostream* out) {
  *out << group.npes << (group.pes == Pes::kThreads ? " threads" : " processes");
  if (!group.options.fault.empty()) *out << " with " << group.options.fault;
}

std::vector<PeEnd> watch_pes(const PeGroup& group, const PeBody& body) {
  const int call = next_call();
  if (is_pe_process()) {
    if (std::atoi(std::getenv(kCall)) == call) be_pe(group, body);
    return std::vector<PeEnd>(static_cast<std::size_t>(group.npes));
  }
  auto id = UniqueId::create(group.npes, group.options);
  std::vector<PeEnd> ends(static_cast<std::size_t>(group.npes));
  if (!id) {
    for (PeEnd& end : ends) end = {id.status().code(), 0, false, id.status().to_string()};
    return ends;
  }
  std::vector<Child> children;
  for (int pe = 0; pe < group.npes; ++pe) children.push_back(start(pe, call, id->text()));
  for (std::size_t pe = 0; pe < children.size(); ++pe) ends[pe] = wait_for(children[pe]);
  return ends;
}

Status run_pes(const PeGroup& group, const PeBody& body) {
  if (group.pes == Pes::kThreads) return run_local(group.npes, body, group.options);
  const std::vector<PeEnd> ends = watch_pes(group, body);
  // The cause before its consequences.
  for (const bool consequences : {false, true})
    for (std::size_t pe = 0; pe < ends.size(); ++pe)
      if (!is_good(ends[pe]) && is_consequence(ends[pe]) == consequences)
        return status_of_end(static_cast<int>(pe), ends[pe]);
  return Status::ok();
}

}  // namespace weft
