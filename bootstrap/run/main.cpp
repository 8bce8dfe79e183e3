// weft-run: starts a program as the PEs of a job, and watches over them. It serves the
// rendezvous point itself, so the PEs need nothing but three variables of the environment.
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "bootstrap/run/agent.hpp"
#include "bootstrap/run/arguments.hpp"
#include "bootstrap/run/environment.hpp"
#include "bootstrap/run/program.hpp"
#include "bootstrap/run/supervise.hpp"
#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft::run {
namespace {

int say(int exit_status, std::string_view text) {
  fmt::print(stderr, "weft-run: {}\n", text);
  return exit_status;
}

// Signals come through a descriptor. A signal that the caller wants ignored (nohup) stays ignored.
Result<UniqueFd> take_signals(Inherited& inherited) {
  sigset_t taken;
  ::sigemptyset(&taken);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    struct sigaction present {};
    ::sigaction(signal, nullptr, &present);
    if (present.sa_handler != SIG_IGN) ::sigaddset(&taken, signal);
  }
  ::sigaddset(&taken, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &taken, &inherited.mask);
  // An ignored SIGCHLD would make children vanish before anybody could ask how they ended.
  ::signal(SIGCHLD, SIG_DFL);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &inherited.on_pipe);
  ::sigaction(SIGXFSZ, &ignore, &inherited.on_file_size);  // output beyond ulimit -f is reported
  UniqueFd fd(::signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) return Status::error(Code::kIo, fmt::format("signalfd: {}", net::errno_text(errno)));
  return fd;
}

// Three pipes and a connection per PE; the PEs get the old limit back.
void allow_files(int npes, Inherited& inherited) {
  ::getrlimit(RLIMIT_NOFILE, &inherited.files);
  rlimit limit = inherited.files;
  const rlim_t needed = 8 * static_cast<rlim_t>(npes) + 512;
  if (limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // too few show where they are missing, with a message
}

Status make_output_dir(const std::string& dir) {
  if (dir.empty() || ::mkdir(dir.c_str(), 0777) == 0 || errno == EEXIST) return Status::ok();
  return Status::error(
      Code::kIo, fmt::format("--output-dir {} cannot be made: {}", dir, net::errno_text(errno)));
}

Result<std::vector<Binding>> bindings_for(const Arguments& arguments) {
  if (arguments.bind == BindTo::kNone || !arguments.hosts.empty()) return std::vector<Binding>();
  return plan_bindings(arguments.bind, arguments.npes);
}

// An address that every PE can reach, if the user names none.
Options reachable(Options options, const Arguments& arguments) {
  if (options.bind_address.empty() && !arguments.hosts.empty()) options.bind_address = "0.0.0.0";
  return options;
}

int run_job(const Arguments& arguments, const Options& options,
            const std::vector<Binding>& bindings) {
  Inherited inherited{};
  allow_files(arguments.npes, inherited);
  // Before the server's thread: it must not take a signal that is meant for the supervisor.
  auto signals = take_signals(inherited);
  if (!signals) return say(1, signals.status().text());
  auto server = tcp::Server::start(arguments.npes, reachable(options, arguments));
  if (!server) return say(1, server.status().text());
  Supervisor supervisor(arguments, options, inherited, signals->get(), **server);
  if (const auto failed = supervisor.start(bindings)) return *failed;
  return supervisor.run();
}

int run_hosts(const Arguments& arguments, const Options& options) {
  if (Status made = make_output_dir(arguments.output_dir); !made.is_ok()) {
    return say(kExitUsage, made.text());
  }
  return run_job(arguments, options, {});
}

// The agent, which a weft-run on another host has started here.
int run_agent() {
  Inherited inherited{};
  ::getrlimit(RLIMIT_NOFILE, &inherited.files);
  auto signals = take_signals(inherited);
  if (!signals) return say(1, signals.status().text());
  return Agent(inherited, signals->get()).run();
}

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--agent") return run_agent();
  Arguments arguments;
  if (const auto done = parse_arguments(argc, argv, arguments)) return *done;
  const auto options = Options::from_environment();
  if (!options) return say(kExitUsage, options.status().text());
  if (!arguments.hosts.empty()) return run_hosts(arguments, *options);
  auto program = find_program(arguments.command.front(), search_path(arguments));
  if (!program) {
    return say(program.status().is(Code::kOutOfRange) ? kExitNotFound : kExitNotExecutable,
               program.status().text());
  }
  arguments.program = std::move(*program);
  const auto bindings = bindings_for(arguments);
  if (!bindings) return say(kExitUsage, bindings.status().text());
  if (Status made = make_output_dir(arguments.output_dir); !made.is_ok()) {
    return say(kExitUsage, made.text());
  }
  return run_job(arguments, *options, *bindings);
}

}  // namespace
}  // namespace weft::run

int main(int argc, char** argv) { return weft::run::main(argc, argv); }
