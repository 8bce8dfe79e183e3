#include "bootstrap/run/remote_shell.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "bootstrap/run/environment.hpp"
#include "bootstrap/run/program.hpp"
#include "src/base/status.hpp"
#include "src/base/text.hpp"

namespace weft::run {
namespace {

// Where this program lies; the other hosts must have it there too.
std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size());
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : "weft-run";
}

// As one word of a shell's command line, whatever is in it.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

Link::Link(Host host, std::string command, Lines::Sink err)
    : host_(std::move(host)),
      command_(std::move(command)),
      err_([words = last_words_.get(), err = std::move(err)](std::string_view line) {
        words->add(line);
        err(line);
      }) {}

Result<Link> Link::open(Host host, const std::string& rsh, const Order& order,
                        const Inherited& inherited, Lines::Sink err) {
  ChildPlan plan;
  for (const std::string_view word : words_of(rsh)) plan.command.emplace_back(word);
  if (plan.command.empty()) {
    return Status::error(Code::kInvalidArgument, "--rsh: which remote shell?");
  }
  const Arguments none;
  ASSIGN_OR_RETURN(plan.program, find_program(plan.command.front(), search_path(none)));
  plan.command.push_back(host.name);
  Link link(std::move(host), fmt::format("{} {}", rsh, plan.command.back()), std::move(err));
  plan.command.push_back(quoted(own_path()) + " --agent");
  for (char** entry = ::environ; *entry != nullptr; ++entry) plan.environment.push_back(*entry);
  ASSIGN_OR_RETURN(SocketPair control, make_sockets());
  link.control_.emplace(std::move(control.ours), link.host_.name, kMostRemoteBytes);
  plan.input = control.theirs.get();
  ASSIGN_OR_RETURN(link.child_, start_child(plan, inherited));
  RETURN_IF_ERROR(confirm(link.child_, plan.program));
  link.send(Remote::kOrder, encode(order));
  return link;
}

void Link::read_frames(const OnFrame& on_frame) {
  std::array<std::byte, 65536> piece;
  const ssize_t n = ::read(child_.out.get(), piece.data(), piece.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const auto bytes = std::span(piece).first(static_cast<std::size_t>(n > 0 ? n : 0));
  const Status status = decoder_.feed(bytes);
  while (const auto frame = decoder_.next()) on_frame(*frame);
  if (n > 0 && status.is_ok()) return;
  child_.out.reset();
  if (status.is_ok()) return;
  // A login script that writes, most likely.
  err_.feed(fmt::format("{}\n", status.text()));
  kill();
}

void Link::read_err() {
  std::array<char, 4096> piece;
  const ssize_t n = ::read(child_.err.get(), piece.data(), piece.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) return err_.feed(std::string_view(piece.data(), static_cast<std::size_t>(n)));
  err_.finish();
  child_.err.reset();
}

void Link::send(Remote message, std::span<const std::byte> payload) {
  if (!control_) return;
  control_->queue(std::make_shared<const net::Bytes>(
      net::encode_frame(static_cast<std::uint32_t>(message), payload)));
  flush();
}

void Link::flush() {
  if (!control_) return;
  const Status status = control_->flush();
  if (!status.is_ok() && !status.is(Code::kBusy)) control_.reset();  // its end tells the rest
}

void Link::kill() const {
  if (alive_) ::kill(-child_.pid, SIGKILL);
}

bool Link::ended(Ending& ending, const OnFrame& on_frame) {
  if (!alive_ || !has_ended(child_.pid, ending)) return false;
  constexpr int kMostReads = 1024;  // should somebody outside the group hold the pipe and write
  for (int i = 0; i < kMostReads && child_.out; ++i) read_frames(on_frame);
  for (int i = 0; i < kMostReads && child_.err; ++i) read_err();
  ::kill(-child_.pid, SIGKILL);
  reap(child_.pid);
  alive_ = false;
  child_.out.reset();
  child_.err.reset();
  control_.reset();
  return true;
}

}  // namespace weft::run
