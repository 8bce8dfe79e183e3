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

#include <weft/version.hpp>

#include "bootstrap/pe_list.hpp"
#include "bootstrap/run/environment.hpp"
#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft::run {
namespace {

// How long the last output may take to be read when all is over.
constexpr double kDrain_s = 30;
constexpr double kPatience_s = 0.3;
// How long a remote shell may take to end after its PEs, or to bring word that they are killed.
constexpr double kFarewell_s = 3;

}  // namespace

Supervisor::Supervisor(const Arguments& arguments, const Options& options,
                       const Inherited& inherited, int signals, tcp::Server& server)
    : arguments_(arguments),
      options_(options),
      inherited_(inherited),
      signals_(signals),
      server_(server),
      pmi_(arguments.npes) {}

// --- start --------------------------------------------------------------------------------------

std::optional<int> Supervisor::start(const std::vector<Binding>& bindings) {
  const bool here = arguments_.hosts.empty();
  if (here) {
    auto input = Input::open();
    if (!input) return start_failed(input.status());
    input_ = std::move(*input);
  }
  for (int number = 0; number < arguments_.npes; ++number) {
    // The sinks are called only while the element lives.
    Pe& pe = pes_.emplace_back(
        number, [this, number](std::string_view line) { forward(pes_[number], 1, line); },
        [this, number](std::string_view line) { forward_error(pes_[number], line); });
    Status status = open_files(pe);
    if (status.is_ok() && here) {
      status = launch(pe, bindings.empty() ? nullptr : &bindings[static_cast<std::size_t>(number)]);
    }
    if (!status.is_ok()) {
      return start_failed(
          Status::error(status.code(), fmt::format("PE {} of {} cannot be started: {}", number,
                                                   arguments_.npes, status.text())));
    }
  }
  input_.close_child_end();
  if (!here) {
    if (Status status = start_hosts(); !status.is_ok()) return start_failed(status);
  }
  for (Pe& pe : pes_) {
    if (pe.link != nullptr) continue;
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
  close_links();
  for (Pe& pe : pes_) {
    if (pe.running && pe.link == nullptr) reap(pe.child.pid);
    pe.running = false;
  }
  outlet_.say(status.text());
  outlet_.drain(kDrain_s).ignore();  // the start has failed already
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
  close_links();
  for (Pe& pe : pes_) {
    pe.out.finish();
    pe.err.finish();
  }
  for (const std::string& line : repeats_.summary()) outlet_.say(line);
  if (Status drained = outlet_.drain(kDrain_s); !drained.is_ok()) {
    lose_output(drained);
    outlet_.drain(kDrain_s).ignore();  // the message about it
  }
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
  for (Link& link : links_) all.push_back({link.send_fd(), POLLOUT, [&link] { link.flush(); }});
  if (outlet_.full()) return all;
  for (Link& link : links_) {
    all.push_back({link.frames_fd(), POLLIN, [this, &link] {
                     link.read_frames([&](const net::Frame& frame) { on_frame(link, frame); });
                   }});
    all.push_back({link.err_fd(), POLLIN, [&link] { link.read_err(); }});
  }
  for (Pe& pe : pes_) {
    if (!pe.running) continue;
    const auto watch = [&all](UniqueFd& fd, Lines& lines) {
      if (!fd) return;
      all.push_back({fd.get(), POLLIN, [&fd, &lines] {
                       if (fd && !read_output(fd.get(), lines, 1)) fd.reset();
                     }});
    };
    if (pe.pmi) all.push_back({pe.pmi.get(), POLLIN, [this, &pe] { serve_pmi(pe, 1); }});
    watch(pe.child.out, pe.out);
    watch(pe.child.err, pe.err);
  }
  return all;
}

int Supervisor::poll_timeout() const {
  int first = -1;
  for (const Deadline& deadline : {timeout_, grace_, patience_, beat_, start_, cut_}) {
    const int left = deadline.remaining_ms();
    if (left >= 0 && (first < 0 || left < first)) first = left;
  }
  return first;
}

void Supervisor::write_output() {
  const Status status = outlet_.write_some();
  if (status.is_ok()) return;
  lose_output(status);
  if (!ending_) end_all(SIGTERM);
}

// Lost output is no success, whatever the PEs return. A PE's failure keeps its status.
void Supervisor::lose_output(const Status& why) {
  if (output_lost_) return;
  output_lost_ = true;
  // As for a process that writes into a pipe that nobody reads.
  const int status = why.is(Code::kPeerLost) ? kExitSignal + SIGPIPE : 1;
  if (status_.value_or(0) == 0) status_ = status;
  outlet_.say(fmt::format("{}{}", why.text(), ending_ || running() == 0 ? "" : "; ending the job"));
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

void Supervisor::serve_pmi(Pe& pe, int most_reads) {
  std::array<char, 4096> piece;
  for (int i = 0; i < most_reads && pe.pmi; ++i) {
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

// A PE that does not read its answers is cut off: they are few, and a socket holds them all.
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
  if (beat_.expired()) {
    for (Link& link : links_) link.send(Remote::kBeat, {});
    beat_ = Deadline(kBeat_s);
  }
  if (start_.expired()) {
    start_ = Deadline::never();
    for (const Pe& pe : pes_) {
      if (!pe.running || pe.pid != 0 || ending_) continue;
      outlet_.say(fmt::format("host {}: no answer through {} within {:g} s (WEFT_START_TIMEOUT)",
                              pe.link->host().name, pe.link->command(), options_.start_timeout));
      status_ = 1;
      kill_all();
      end_all(SIGTERM);
    }
  }
  if (cut_.expired()) {
    cut_ = Deadline::never();
    for (const Link& link : links_) link.kill();
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

// --- other hosts ---------------------------------------------------------------------------------

Status Supervisor::start_hosts() {
  for (const Host& host : arguments_.hosts) RETURN_IF_ERROR(start_host(host));
  start_ = Deadline(options_.start_timeout);
  beat_ = Deadline(kBeat_s);
  return Status::ok();
}

Status Supervisor::start_host(const Host& host) {
  std::array<char, 4096> directory{};
  if (::getcwd(directory.data(), directory.size()) == nullptr) {
    return Status::error(Code::kIo, fmt::format("getcwd: {}", net::errno_text(errno)));
  }
  const Order order{WEFT_VERSION,       server_.id_text(), host.first,
                    host.count,         arguments_.npes,   static_cast<int>(arguments_.bind),
                    arguments_.grace_s, directory.data(),  environment_for_hosts(arguments_),
                    arguments_.command};
  auto link = Link::open(host, arguments_.rsh, order, inherited_,
                         [this](std::string_view line) { outlet_.put(2, line); });
  if (!link) {
    return Status::error(link.status().code(),
                         fmt::format("host {} cannot be called: {}. --rsh names a remote shell",
                                     host.name, link.status().text()));
  }
  links_.push_back(std::move(*link));
  for (Pe& pe : pes_) {
    if (pe.number < host.first || pe.number >= host.first + host.count) continue;
    pe.link = &links_.back();
    pe.running = true;
  }
  return Status::ok();
}

void Supervisor::on_frame(Link& link, const net::Frame& frame) {
  const auto pe_of = [&](int number) -> Pe* {
    const int at = number - link.host().first;
    return at >= 0 && at < link.host().count ? &pes_[static_cast<std::size_t>(number)] : nullptr;
  };
  switch (static_cast<Remote>(frame.type)) {
    case Remote::kStarted:
      if (const auto started = decode_started(frame.payload)) {
        if (Pe* const pe = pe_of(started->pe)) pe->pid = started->pid;
      }
      return;
    case Remote::kOutput:
      if (const auto output = decode_output(frame.payload)) {
        Pe* const pe = pe_of(output->pe);
        if (pe != nullptr) (output->fd == 1 ? pe->out : pe->err).feed(output->bytes);
      }
      return;
    case Remote::kEnded:
      if (const auto ended = decode_ended(frame.payload)) {
        Pe* const pe = pe_of(ended->pe);
        if (pe == nullptr || !pe->running) return;
        pe->ending = ended->ending;
        record_end(*pe);
        if (pe->failed()) failed_.push_back(pe);
      }
      return;
    case Remote::kRefused:
      if (const auto refused = decode_refused(frame.payload)) {
        outlet_.say(fmt::format("host {}: {}", link.host().name, refused->why));
        if (!status_) status_ = std::max(refused->exit_status, 1);
        if (!ending_) end_all(SIGTERM);
      }
      return;
    default: return;  // of a later weft-run
  }
}

void Supervisor::on_links() {
  for (Link& link : links_) {
    Ending ending;
    if (link.ended(ending, [&](const net::Frame& frame) { on_frame(link, frame); })) {
      lose_host(link, ending);
    }
  }
}

// Its agent ends after its PEs; if some are left, they end without it.
void Supervisor::lose_host(Link& link, const Ending& ending) {
  std::vector<int> lost;
  bool started = false;
  for (Pe& pe : pes_) {
    if (pe.link != &link) continue;
    started = started || pe.pid != 0;
    if (!pe.running) continue;
    lost.push_back(pe.number);
    pe.running = false;
    (void)server_.ended(pe.number,
                        fmt::format("the connection to host {} has ended", link.host().name));
  }
  if (lost.empty() || ending_) return;
  outlet_.say(fmt::format("host {}: the remote shell ({}) {} {} {}. {}", link.host().name,
                          link.command(), to_string(ending),
                          started ? "before the end of" : "before it could start", name_pes(lost),
                          started ? "The connection is cut, or somebody has ended weft-run there"
                                  : "Can you call it by hand, without a password? weft-run must "
                                    "lie where it lies here"));
  status_ = std::max(ending.status(), 1);
  end_all(SIGTERM);
}

// When nothing runs any more, or nothing shall: agents end by themselves, and who does not is
// ended.
void Supervisor::close_links() {
  for (Link& link : links_) link.hang_up();
  const Deadline deadline(kFarewell_s);
  const auto alive = [](const Link& link) { return link.alive(); };
  while (std::ranges::any_of(links_, alive)) {
    if (deadline.expired()) {
      for (const Link& link : links_) link.kill();
    }
    on_links();
    (void)::poll(nullptr, 0, 2);
  }
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
    case SIGCONT: suspended_ = false; [[fallthrough]];
    case SIGUSR1:
    case SIGUSR2: return signal_all(signal);
    case SIGTSTP:
      suspended_ = true;
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
  on_links();
  for (Pe& pe : pes_) {
    if (!pe.running || pe.link != nullptr) continue;
    note_stop(pe);
    if (!has_ended(pe.child.pid, pe.ending)) continue;
    record_end(pe);
    if (pe.failed()) failed_.push_back(&pe);
  }
  if (server_.abort_code() && !job_failed_) on_job_failure();
}

// A PE that was stopped makes the others wait, so the user gets a message.
void Supervisor::note_stop(Pe& pe) {
  const auto signal = stop_signal(pe.child.pid);
  if (!signal) return;
  pe.stopped_by = *signal;
  if (*signal == 0 || suspended_ || ending_) return;
  outlet_.say(
      fmt::format("PE {} of {} (pid {}) was stopped by {}; the others may wait for it. It "
                  "goes on by: kill -CONT {}",
                  pe.number, arguments_.npes, pe.child.pid, signal_name(*signal), pe.child.pid));
}

// Says which PE failed first, and ends the others. A dying process loses its connection a moment
// before it is a dead child, and in that moment others may fail for it: then its end is awaited.
void Supervisor::settle() {
  if (!failed_.empty() && interrupted_ != 0) status_ = kExitSignal + interrupted_;
  if (failed_.empty() || ending_) return;
  const int culprit = server_.culprit().value_or(-1);
  const bool dying = culprit >= 0 && pes_[static_cast<std::size_t>(culprit)].running;
  // From another host the news of an end may overtake an abort that came before it.
  const bool overtaken = culprit < 0 && failed_.front()->link != nullptr;
  if ((dying || overtaken) && !patience_.expired()) {
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

void Supervisor::record_end(Pe& pe) {
  if (pe.link == nullptr) {
    // Whatever it left behind in its group goes with it.
    ::kill(-pe.child.pid, SIGKILL);
  }
  constexpr int kMostReads = 1024;  // should somebody outside the group hold the pipe and write
  if (pe.child.out) read_output(pe.child.out.get(), pe.out, kMostReads);
  if (pe.child.err) read_output(pe.child.err.get(), pe.err, kMostReads);
  serve_pmi(pe, kMostReads);
  pe.out.finish();
  pe.err.finish();
  if (pe.link == nullptr) reap(pe.child.pid);
  pe.running = false;
  // The rendezvous point learns of a PE's end on another host by its connection, in order with its
  // abort.
  if (pe.link != nullptr && !pe.ending.clean()) return;
  const Status lost =
      server_.ended(pe.number, fmt::format("it {} before it left the job", to_string(pe.ending)));
  if (!pe.ending.clean()) return;
  if (!lost.is_ok())
    pe.debt = "other PEs still needed it: its runtime was not destroyed before the end";
  if (pmi_.is_inside(pe.number))
    pe.debt = "it said no goodbye through PMI: is MPI_Finalize missing?";
}

void Supervisor::report_failure(const Pe& pe) {
  const auto process = pe.link == nullptr
                           ? fmt::format("pid {}", pe.child.pid)
                           : fmt::format("pid {} on {}", pe.pid, pe.link->host().name);
  outlet_.say(fmt::format("PE {} of {} ({}, {}) {}", pe.number, arguments_.npes, process,
                          arguments_.command.front(), to_string(pe.ending)));
  if (const auto what = hint(pe.ending); !what.empty()) outlet_.say(what);
  if (!pe.debt.empty()) {
    outlet_.say(fmt::format("but {}", pe.debt));
  } else if (const Status failure = server_.failure();
             !failure.is_ok() && server_.culprit() != pe.number) {
    outlet_.say(fmt::format("before that, the job had failed: {}", failure.text()));
  }
  for (const Pe& other : pes_) {
    if (other.running && other.stopped_by != 0) {
      outlet_.say(
          fmt::format("PE {} (pid {}) is stopped by {}, and the others may have waited for "
                      "it in vain",
                      other.number, other.child.pid, signal_name(other.stopped_by)));
    }
  }
  if (pe.last_words.lines().empty()) {
    outlet_.say(pe.message_is_shown ? "its last message is above"
                                    : "it wrote nothing to standard error");
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
    if (pe.running && pe.link == nullptr) ::kill(-pe.child.pid, signal);
  }
  for (Link& link : links_) link.send(Remote::kSignal, encode_signal(signal));
}

void Supervisor::kill_all() {
  signal_all(SIGKILL);
  if (!links_.empty()) cut_ = Deadline(kFarewell_s);
}

int Supervisor::running() const {
  return static_cast<int>(std::ranges::count_if(pes_, [](const Pe& pe) { return pe.running; }));
}

// Messages of the library are shown once: not by each PE, nor again among the last words.
void Supervisor::forward_error(Pe& pe, std::string_view line) {
  const auto kind = pe.err_file ? Repeats::Line::kProgram : repeats_.look(pe.number, line);
  if (kind == Repeats::Line::kProgram)
    pe.last_words.add(line);
  else
    pe.message_is_shown = true;
  if (kind != Repeats::Line::kRepeat) forward(pe, 2, line);
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
