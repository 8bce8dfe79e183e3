#include "bootstrap/run/input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft::run {

Result<Input> Input::open() {
  Input input;
  if (::isatty(0) == 0) return input;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Status::error(Code::kIo, fmt::format("pipe: {}", net::errno_text(errno)));
  }
  input.relayed_ = true;
  input.child_end_.reset(ends[0]);
  input.parent_end_.reset(ends[1]);
  (void)::fcntl(input.parent_end_.get(), F_SETFL, O_NONBLOCK);
  return input;
}

// In the background a read would stop this process.
int Input::source() const {
  const bool wanted = relayed_ && parent_end_ && buffer_.empty();
  return wanted && ::tcgetpgrp(0) == ::getpgrp() ? 0 : -1;
}

void Input::read_some() {
  std::array<char, 4096> piece;
  const ssize_t n = ::read(0, piece.data(), piece.size());
  if (n > 0) {
    buffer_.append(piece.data(), static_cast<std::size_t>(n));
    return write_some();
  }
  if (n == 0 || (errno != EINTR && errno != EAGAIN)) parent_end_.reset();  // the end, for PE 0 too
}

void Input::write_some() {
  const ssize_t n = ::write(parent_end_.get(), buffer_.data(), buffer_.size());
  if (n >= 0) {
    buffer_.erase(0, static_cast<std::size_t>(n));
  } else if (errno != EAGAIN && errno != EINTR) {
    buffer_.clear();  // PE 0 reads no more
    parent_end_.reset();
  }
}

}  // namespace weft::run
