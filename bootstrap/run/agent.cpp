#include "bootstrap/run/agent.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>
#include <weft/version.hpp>

#include "bootstrap/run/environment.hpp"
#include "bootstrap/run/program.hpp"
#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft::run {

int Agent::run() {
  const auto order = await_order();
  if (!order) return refuse(order.status(), 1);
  grace_s_ = order->grace_s;
  if (Status status = start(*order); !status.is_ok()) {
    signal_all(SIGKILL);
    for (Pe& pe : pes_) reap(pe.child.pid);
    return refuse(status, status.is(Code::kOutOfRange)        ? kExitNotFound
                          : status.is(Code::kInvalidArgument) ? kExitNotExecutable
                                                              : 1);
  }
  while (running() > 0) {
    std::vector<pollfd> polled{{connected_ ? STDIN_FILENO : -1, POLLIN, 0}, {signals_, POLLIN, 0}};
    for (const Pe& pe : pes_) {
      polled.push_back({pe.child.out.get(), POLLIN, 0});
      polled.push_back({pe.child.err.get(), POLLIN, 0});
    }
    (void)::poll(polled.data(), polled.size(), poll_timeout());
    if (polled[0].revents != 0) hear();
    for (std::size_t i = 2; i < polled.size(); ++i) {
      if (polled[i].revents != 0) pass_on(pes_[(i - 2) / 2], i % 2 == 0 ? 1 : 2);
    }
    if (polled[1].revents != 0) on_signals();
    on_deadlines();
  }
  return 0;
}

Result<Order> Agent::await_order() {
  for (;;) {
    RETURN_IF_ERROR(net::wait_for(STDIN_FILENO, POLLIN, silence_, "weft-run's order"));
    std::array<std::byte, 65536> piece;
    const ssize_t n = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status::error(Code::kPeerLost, "weft-run has gone before its order came");
    RETURN_IF_ERROR(decoder_.feed(std::span(piece).first(static_cast<std::size_t>(n))));
    const auto frame = decoder_.next();
    if (!frame) continue;
    ASSIGN_OR_RETURN(Order order, decode_order(frame->payload));
    if (order.version == WEFT_VERSION) return order;
    return Status::error(Code::kVersionMismatch,
                         fmt::format("weft-run is Weft {}, but here it is {}. Install the same "
                                     "Weft on all hosts",
                                     order.version, WEFT_VERSION));
  }
}

Status Agent::start(const Order& order) {
  if (::chdir(order.directory.c_str()) != 0) {
    return Status::error(Code::kIo,
                         fmt::format("directory {}: {}", order.directory, net::errno_text(errno)));
  }
  Arguments arguments;
  arguments.npes = order.npes;
  arguments.environment = order.environment;
  ChildPlan plan;
  plan.command = order.command;
  ASSIGN_OR_RETURN(plan.program, find_program(plan.command.front(), search_path(arguments)));
  std::vector<Binding> bindings;
  if (const auto to = static_cast<BindTo>(order.bind); to != BindTo::kNone) {
    ASSIGN_OR_RETURN(bindings, plan_bindings(to, order.count));
  }
  for (int i = 0; i < order.count; ++i) {
    plan.environment = environment_of(order.first + i, arguments, order.unique_id, -1);
    plan.binding = bindings.empty() ? nullptr : &bindings[static_cast<std::size_t>(i)];
    ASSIGN_OR_RETURN(Child child, start_child(plan, inherited_));
    pes_.push_back({order.first + i, std::move(child)});
  }
  for (Pe& pe : pes_) RETURN_IF_ERROR(confirm(pe.child, plan.program));
  for (const Pe& pe : pes_) send(Remote::kStarted, encode(Started{pe.number, pe.child.pid}));
  return Status::ok();
}

int Agent::refuse(const Status& why, int exit_status) {
  send(Remote::kRefused, encode(Refused{exit_status, std::string(why.text())}));
  return exit_status;
}

void Agent::hear() {
  std::array<std::byte, 4096> piece;
  const ssize_t n = ::read(STDIN_FILENO, piece.data(), piece.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  const auto bytes = std::span(piece).first(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n <= 0 || !decoder_.feed(bytes).is_ok()) {
    connected_ = false;
    return end_all("the connection to weft-run has ended");
  }
  silence_ = Deadline(kSilence_s);
  while (const auto frame = decoder_.next()) on_frame(*frame);
}

void Agent::on_frame(const net::Frame& frame) {
  if (frame.type != static_cast<std::uint32_t>(Remote::kSignal)) return;
  const auto signal = decode_signal(frame.payload);
  if (!signal) return;
  signal_all(*signal);
  // A stopped job has a stopped weft-run, which does not beat.
  if (*signal == SIGTSTP) silence_ = Deadline::never();
}

void Agent::on_signals() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGTERM || signal == SIGHUP || signal == SIGINT || signal == SIGQUIT) {
      end_all("the remote shell is ending");
    }
  }
  for (Pe& pe : pes_) {
    Ending ending;
    if (pe.running && has_ended(pe.child.pid, ending)) record_end(pe, ending);
  }
}

void Agent::record_end(Pe& pe, const Ending& ending) {
  ::kill(-pe.child.pid, SIGKILL);  // whatever it left behind in its group goes with it
  constexpr int kMostReads = 1024;
  for (const int fd : {1, 2}) {
    for (int i = 0; i < kMostReads && pass_on(pe, fd); ++i) {
    }
  }
  reap(pe.child.pid);
  pe.child.out.reset();
  pe.child.err.reset();
  pe.running = false;
  send(Remote::kEnded, encode(Ended{pe.number, ending}));
}

// True: there was something, and more may be there.
bool Agent::pass_on(Pe& pe, int fd) {
  UniqueFd& from = fd == 1 ? pe.child.out : pe.child.err;
  std::array<char, 65536> piece;
  const ssize_t n = ::read(from.get(), piece.data(), piece.size());
  if (n == 0) from.reset();
  if (n <= 0) return false;
  send(Remote::kOutput, encode(Output{pe.number, fd, {piece.data(), static_cast<std::size_t>(n)}}));
  return true;
}

void Agent::end_all(const char* why) {
  if (!grace_.is_never()) return;
  // Where nobody reads any more this fails, and that must not matter.
  (void)std::fputs(fmt::format("weft-run: {}; ending {} PEs\n", why, running()).c_str(), stderr);
  signal_all(SIGTERM);
  signal_all(SIGCONT);
  grace_ = Deadline(std::max(grace_s_, 0.001));
}

void Agent::signal_all(int signal) {
  for (const Pe& pe : pes_) {
    if (pe.running) ::kill(-pe.child.pid, signal);
  }
}

void Agent::on_deadlines() {
  if (silence_.expired()) {
    silence_ = Deadline::never();
    end_all("the connection to weft-run is cut");
  }
  if (!grace_.expired()) return;
  signal_all(SIGKILL);
  grace_ = Deadline(1);  // again for whoever came in between
}

int Agent::poll_timeout() const {
  const int silence = silence_.remaining_ms();
  const int grace = grace_.remaining_ms();
  if (silence < 0 || grace < 0) return std::max(silence, grace);
  return std::min(silence, grace);
}

int Agent::running() const {
  return static_cast<int>(std::ranges::count_if(pes_, [](const Pe& pe) { return pe.running; }));
}

// Blocks as long as weft-run does not read, so that PEs that write too much wait too. Nobody is
// left to hear it once the connection has ended.
void Agent::send(Remote message, std::span<const std::byte> payload) {
  const net::Bytes frame = net::encode_frame(static_cast<std::uint32_t>(message), payload);
  for (std::size_t sent = 0; connected_ && sent < frame.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, frame.data() + sent, frame.size() - sent);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      (void)net::wait_for(STDOUT_FILENO, POLLOUT, Deadline(kSilence_s), "weft-run to read").is_ok();
    } else if (errno != EINTR) {
      connected_ = false;
      end_all("the connection to weft-run has ended");
    }
  }
}

}  // namespace weft::run
