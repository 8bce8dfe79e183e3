#include "bootstrap/run/supervise.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "bootstrap/pe_list.hpp"
#include "bootstrap/run/environment.hpp"
#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft::run {
namespace {

// How long the last output may take to be read when all is over.
constexpr double kDrain_s = 30;
constexpr double kPatience_s = 0.3;

struct SocketPair {
  UniqueFd ours, theirs;
};

Result<SocketPair> make_sockets() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Status::error(Code::kIo, fmt::format("socketpair: {}", net::errno_text(errno)));
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Supervisor::Supervisor(const Arguments& arguments, const Inherited& inherited, int signals,
                       tcp::Server& server)
    : arguments_(arguments),
      inherited_(inherited),
      signals_(signals),
      server_(server),
      pmi_(arguments.npes) {}

// --- start --------------------------------------------------------------------------------------

std::optional<int> Supervisor::start(const std::vector<Binding>& bindings) {
  auto input = Input::open();
  if (!input) return start_failed(input.status());
  input_ = std::move(*input);
  for (int number = 0; number < arguments_.npes; ++number) {
    // The sinks are called only while the element lives.
    Pe& pe = pes_.emplace_back(
        number, [this, number](std::string_view line) { forward(pes_[number], 1, line); },
        [this, number](std::string_view line) {
          pes_[number].last_words.add(line);
          forward(pes_[number], 2, line);
        });
    Status status = open_files(pe);
    if (status.is_ok()) {
      status = launch(pe, bindings.empty() ? nullptr : &bindings[static_cast<std::size_t>(number)]);
    }
    if (!status.is_ok()) {
      return start_failed(
          Status::error(status.code(), fmt::format("PE {} of {} cannot be started: {}", number,
                                                   arguments_.npes, status.text())));
    }
  }
  input_.close_child_end();
  for (Pe& pe : pes_) {
    if (Status status = confirm(pe.child, arguments_.program); !status.is_ok()) {
      return start_failed(status);
    }
  }
  // Deadline takes 0 as never, and so does --timeout.
  timeout_ = Deadline(arguments_.timeout_s);
  return std::nullopt;
}

Status Supervisor::open_files(Pe& pe) const {
  if (arguments_.output_dir.empty()) return Status::ok();
  const auto open = [&](UniqueFd& fd, const char* kind) {
    const auto name = fmt::format("{}/pe{}.{}", arguments_.output_dir, pe.number, kind);
    fd.reset(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (fd) return Status::ok();
    return Status::error(
        Code::kIo, fmt::format("file {} cannot be written: {}", name, net::errno_text(errno)));
  };
  RETURN_IF_ERROR(open(pe.out_file, "out"));
  return open(pe.err_file, "err");
}

Status Supervisor::launch(Pe& pe, const Binding* binding) {
  ChildPlan plan;
  plan.program = arguments_.program;
  plan.command = arguments_.command;
  SocketPair pmi;
  if (arguments_.pmi) {
    ASSIGN_OR_RETURN(pmi, make_sockets());
  }
  plan.kept = pmi.theirs.get();
  pe.pmi = std::move(pmi.ours);
  plan.environment = environment_of(pe.number, arguments_, server_.id_text(), pmi.theirs.get());
  plan.binding = binding;
  plan.input = pe.number == 0 ? input_.for_child() : -1;
  ASSIGN_OR_RETURN(pe.child, start_child(plan, inherited_));
  pe.running = true;
  if (arguments_.report_bindings) {
    outlet_.say(binding != nullptr ? fmt::format("PE {} is bound to {}", pe.number, binding->text)
                                   : fmt::format("PE {} is not bound; it may use CPUs {}",
                                                 pe.number, allowed_cpus()));
  }
  return Status::ok();
}

int Supervisor::start_failed(const Status& status) {
  kill_all();
  for (Pe& pe : pes_) {
    if (pe.running) reap(pe.child.pid);
    pe.running = false;
  }
  outlet_.say(status.text());
  outlet_.drain(kDrain_s);
  return status.is(Code::kInvalidArgument) ? kExitNotExecutable : 1;
}

// --- the loop -----------------------------------------------------------------------------------

int Supervisor::run() {
  while (running() > 0) {
    const std::vector<Watch> watched = watches();
    std::vector<pollfd> polled;
    for (const Watch& watch : watched) polled.push_back({watch.fd, watch.events, 0});
    (void)::poll(polled.data(), polled.size(), poll_timeout());
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (polled[i].revents != 0) watched[i].act();
    }
    on_pmi_abort();
    settle();
    on_deadlines();
  }
  for (Pe& pe : pes_) {
    pe.out.finish();
    pe.err.finish();
  }
  outlet_.drain(kDrain_s);
  return status_.value_or(0);
}

// In the order of what must be known first: the job's own failure explains the ends of PEs, and
// their ends explain what they wrote. poll() passes over negative descriptors.
std::vector<Supervisor::Watch> Supervisor::watches() {
  std::vector<Watch> all;
  all.push_back({job_failed_ ? -1 : server_.failed_fd(), POLLIN, [this] { on_job_failure(); }});
  all.push_back({signals_, POLLIN, [this] { on_signals(); }});
  all.push_back({outlet_.fd(), POLLOUT, [this] { write_output(); }});
  all.push_back({input_.source(), POLLIN, [this] { input_.read_some(); }});
  all.push_back({input_.target(), POLLOUT, [this] { input_.write_some(); }});
  if (outlet_.full()) return all;
  for (Pe& pe : pes_) {
    if (!pe.running) continue;
    const auto watch = [&all](UniqueFd& fd, Lines& lines) {
      if (!fd) return;
      all.push_back({fd.get(), POLLIN, [&fd, &lines] {
                       if (fd && !read_output(fd.get(), lines, 1)) fd.reset();
                     }});
    };
    if (pe.pmi) all.push_back({pe.pmi.get(), POLLIN, [this, &pe] { serve_pmi(pe); }});
    watch(pe.child.out, pe.out);
    watch(pe.child.err, pe.err);
  }
  return all;
}

int Supervisor::poll_timeout() const {
  int first = -1;
  for (const Deadline& deadline : {timeout_, grace_, patience_}) {
    const int left = deadline.remaining_ms();
    if (left >= 0 && (first < 0 || left < first)) first = left;
  }
  return first;
}

void Supervisor::write_output() {
  const Status status = outlet_.write_some();
  if (status.is_ok() || ending_) return;
  // As for a process that writes into a pipe that nobody reads.
  status_ = kExitSignal + SIGPIPE;
  outlet_.say(fmt::format("{}; ending the job", status.text()));
  end_all(SIGTERM);
}

bool Supervisor::read_output(int fd, Lines& into, int most_reads) {
  std::array<char, 65536> piece;
  for (int i = 0; i < most_reads; ++i) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n == 0) return false;
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    into.feed(std::string_view(piece.data(), static_cast<std::size_t>(n)));
  }
  return true;
}

// --- PMI ----------------------------------------------------------------------------------------

void Supervisor::serve_pmi(Pe& pe) {
  std::array<char, 4096> piece;
  while (pe.pmi) {
    const ssize_t n = ::recv(pe.pmi.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return pe.pmi.reset();
    pe.pmi_messages.feed(std::string_view(piece.data(), static_cast<std::size_t>(n)));
    for (;;) {
      const auto message = pe.pmi_messages.next();
      if (!message) {
        outlet_.say(fmt::format("PE {}: {}", pe.number, message.status().text()));
        return pe.pmi.reset();
      }
      if (!message->has_value()) break;
      for (const auto& answer : pmi_.handle(pe.number, **message)) tell_pmi(answer);
    }
  }
}

// Who does not read its answers is cut off: they are few, and a socket holds them all.
void Supervisor::tell_pmi(const Pmi1Server::Answer& answer) {
  Pe& pe = pes_[static_cast<std::size_t>(answer.pe)];
  const std::string text = encode(answer.message, pmi::Form::kLine);
  const ssize_t sent = ::send(pe.pmi.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(text.size())) pe.pmi.reset();
}

void Supervisor::on_pmi_abort() {
  if (!pmi_.abort_code() || ending_) return;
  status_ = *pmi_.abort_code();
  outlet_.say(fmt::format("a PE aborted the job through PMI with code {}", *status_));
  end_all(SIGTERM);
}

void Supervisor::on_deadlines() {
  if (timeout_.expired() && !ending_) {
    status_ = kExitTimeout;
    outlet_.say(fmt::format("the job has run for its --timeout of {:g} s; ending it",
                            arguments_.timeout_s));
    end_all(SIGTERM);
  }
  if (!grace_.expired()) return;
  grace_ = Deadline::never();
  std::vector<int> left;
  for (const Pe& pe : pes_) {
    if (pe.running) left.push_back(pe.number);
  }
  if (left.empty()) return;
  outlet_.say(fmt::format("{} did not end within {:g} s (--grace); killing", name_pes(left),
                          arguments_.grace_s));
  kill_all();
}

// --- signals ------------------------------------------------------------------------------------

void Supervisor::on_signals() {
  signalfd_siginfo info{};
  bool children = false;
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      children = true;
    } else {
      on_signal(signal);
    }
  }
  if (children) on_children();
}

void Supervisor::on_signal(int signal) {
  switch (signal) {
    case SIGUSR1:
    case SIGUSR2:
    case SIGCONT: return signal_all(signal);
    case SIGTSTP:
      signal_all(SIGTSTP);
      ::kill(::getpid(), SIGSTOP);  // the shell sees a stopped job; SIGCONT goes to all
      return;
    default: break;
  }
  if (interrupted_ != 0) {
    outlet_.say(fmt::format("{} again: killing all PEs", signal_name(signal)));
    return kill_all();
  }
  interrupted_ = signal;
  outlet_.say(fmt::format("{}: ending all PEs (once more: at once)", signal_name(signal)));
  end_all(signal);
}

// --- ends ---------------------------------------------------------------------------------------

void Supervisor::on_job_failure() {
  job_failed_ = true;
  const auto code = server_.abort_code();
  // Without an abort the PEs know what failed; their own ends will tell.
  if (!code || ending_) return;
  // A process has 8 bits for its status; what is not 0 must not become 0 in them.
  status_ = *code != 0 ? std::max(*code & 0xff, 1) : 0;
  if (*code != 0) outlet_.say(server_.failure().text());
  end_all(SIGTERM);
}

void Supervisor::on_children() {
  for (Pe& pe : pes_) {
    if (!pe.running || !has_ended(pe.child.pid, pe.ending)) continue;
    bury(pe);
    if (pe.failed()) failed_.push_back(&pe);
  }
  if (server_.abort_code() && !job_failed_) on_job_failure();
  if (!failed_.empty() && interrupted_ != 0) status_ = kExitSignal + interrupted_;
}

// Says which PE failed first, and ends the others. A dying process loses its connection a moment
// before it is a dead child, and in that moment others may fail for it: then its end is awaited.
void Supervisor::settle() {
  if (failed_.empty() || ending_) return;
  const int culprit = server_.culprit().value_or(-1);
  if (culprit >= 0 && pes_[static_cast<std::size_t>(culprit)].running && !patience_.expired()) {
    if (patience_.is_never()) patience_ = Deadline(kPatience_s);
    return;
  }
  // Then those that were killed; an exit code may be only the echo of another PE's end.
  const auto weight = [&](const Pe* pe) {
    return pe->number == culprit ? 0 : pe->ending.signal != 0 ? 1 : 2;
  };
  const Pe& first = **std::ranges::min_element(failed_, {}, weight);
  status_ = std::max(first.ending.status(), 1);
  report_failure(first);
  end_all(SIGTERM);
}

void Supervisor::bury(Pe& pe) {
  // Whatever it left behind in its group goes with it.
  ::kill(-pe.child.pid, SIGKILL);
  constexpr int kMostReads = 1024;  // should somebody outside the group hold the pipe and write
  if (pe.child.out) read_output(pe.child.out.get(), pe.out, kMostReads);
  if (pe.child.err) read_output(pe.child.err.get(), pe.err, kMostReads);
  serve_pmi(pe);
  pe.out.finish();
  pe.err.finish();
  reap(pe.child.pid);
  pe.running = false;
  const Status lost =
      server_.ended(pe.number, fmt::format("it {} before it left the job", to_string(pe.ending)));
  if (!pe.ending.clean()) return;
  if (!lost.is_ok())
    pe.debt = "other PEs still needed it: its runtime was not destroyed before the end";
  if (pmi_.is_inside(pe.number))
    pe.debt = "it said no goodbye through PMI: is MPI_Finalize missing?";
}

void Supervisor::report_failure(const Pe& pe) {
  outlet_.say(fmt::format("PE {} of {} (pid {}, {}) {}", pe.number, arguments_.npes, pe.child.pid,
                          arguments_.command.front(), to_string(pe.ending)));
  if (const auto what = hint(pe.ending); !what.empty()) outlet_.say(what);
  if (!pe.debt.empty()) {
    outlet_.say(fmt::format("but {}", pe.debt));
  } else if (const Status failure = server_.failure();
             !failure.is_ok() && server_.culprit() != pe.number) {
    outlet_.say(fmt::format("before that, the job had failed: {}", failure.text()));
  }
  if (pe.last_words.lines().empty()) {
    outlet_.say("it wrote nothing to standard error");
  } else {
    outlet_.say(fmt::format("the last words of PE {}:", pe.number));
    for (const auto& line : pe.last_words.lines()) outlet_.say("  | " + line);
  }
  if (const int others = running(); others > 0) {
    outlet_.say(
        fmt::format("ending the other {}", others == 1 ? "PE" : fmt::format("{} PEs", others)));
  }
}

void Supervisor::end_all(int signal) {
  ending_ = true;
  patience_ = Deadline::never();
  signal_all(signal);
  signal_all(SIGCONT);  // who is stopped must wake to end
  // 0 s of grace is none; a Deadline of 0 would be endless.
  if (arguments_.grace_s > 0) {
    grace_ = Deadline(arguments_.grace_s);
  } else {
    kill_all();
  }
}

void Supervisor::signal_all(int signal) {
  for (const Pe& pe : pes_) {
    // Not reaped yet, so the number is still its group's.
    if (pe.running) ::kill(-pe.child.pid, signal);
  }
}

void Supervisor::kill_all() { signal_all(SIGKILL); }

int Supervisor::running() const {
  return static_cast<int>(std::ranges::count_if(pes_, [](const Pe& pe) { return pe.running; }));
}

void Supervisor::forward(const Pe& pe, int fd, std::string_view line) {
  const UniqueFd& file = fd == 1 ? pe.out_file : pe.err_file;
  const int to = file ? file.get() : fd;
  if (arguments_.prefix && !file) {
    outlet_.put(to, fmt::format("[{}] {}", pe.number, line));
  } else {
    outlet_.put(to, line);
  }
}

}  // namespace weft::run
