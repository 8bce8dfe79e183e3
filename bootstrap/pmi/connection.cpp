#include "bootstrap/pmi/connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft::pmi {
namespace {

Status gone(std::string_view what, std::string_view why) {
  return Status::error(
      Code::kPeerLost,
      fmt::format("the launcher's PMI connection ended while {} was under way: {}", what, why));
}

}  // namespace

Connection::Connection(int fd) : fd_(fd) { (void)::fcntl(fd_.get(), F_SETFD, FD_CLOEXEC); }

void Connection::set_form(Form form) {
  form_ = form;
  decoder_.set_form(form);
}

// A question is far smaller than a socket's buffer, so a launcher that does not take it is stuck.
Status Connection::tell(const Message& message) {
  const std::lock_guard lock(send_mutex_);
  const std::string text = encode(message, form_);
  const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(text.size())) return Status::ok();
  return gone(message.command, sent < 0 ? net::errno_text(errno) : "it takes nothing more");
}

Result<Message> Connection::ask(const Message& question, std::string_view wanted,
                                const Deadline& deadline) {
  RETURN_IF_ERROR(tell(question));
  ASSIGN_OR_RETURN(Message answer, receive(deadline, question.command));
  if (answer.command != wanted) {
    return Status::error(Code::kIo,
                         fmt::format("the launcher answered PMI {} with {} instead of {}",
                                     question.command, answer.command, wanted));
  }
  if (answer.find("rc") == nullptr || answer.number("rc") == 0) return answer;
  return Status::error(Code::kIo,
                       fmt::format("the launcher refused PMI {}: rc={} {}{}", question.command,
                                   answer.text("rc"), answer.text("msg"), answer.text("errmsg")));
}

Result<Message> Connection::receive(const Deadline& deadline, std::string_view what) {
  for (;;) {
    ASSIGN_OR_RETURN(auto message, decoder_.next());
    if (message) return std::move(*message);
    RETURN_IF_ERROR(net::wait_for(fd_.get(), POLLIN, deadline,
                                  fmt::format("the launcher's answer to PMI {}", what)));
    std::array<char, 4096> piece;
    const ssize_t n = ::recv(fd_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n > 0) decoder_.feed(std::string_view(piece.data(), static_cast<std::size_t>(n)));
    if (n == 0) return gone(what, "the launcher closed it");
    if (n < 0 && errno != EAGAIN && errno != EINTR) return gone(what, net::errno_text(errno));
  }
}

}  // namespace weft::pmi
