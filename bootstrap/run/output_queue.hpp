// weft-run's own standard output and error: one queue for both, so that what comes in order goes
// in order, and a slow reader never blocks the supervisor (only, by and by, the PEs that write).
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include <weft/status.hpp>

namespace weft::run {

class Outlet {
 public:
  // A line for descriptor 1 or 2, newline included.
  void put(int fd, std::string_view line);
  // A message of weft-run itself.
  void say(std::string_view text);

  // PEs should not be read while this much waits.
  bool full() const { return waiting_ >= kMostWaiting; }
  bool empty() const { return queue_.empty(); }
  // The descriptor to poll for POLLOUT; -1 if nothing waits.
  int fd() const { return queue_.empty() ? -1 : queue_.front().fd; }
  // Writes one piece, small enough not to block after POLLOUT. kPeerLost: nobody reads any more;
  // kIo: no space left, or no such descriptor.
  Status write_some();
  // Writes everything, for as long as somebody takes it: for the end. The first failure.
  Status drain(double seconds);

 private:
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 20;
  struct Piece {
    int fd;
    std::string text;
  };

  std::deque<Piece> queue_;
  std::size_t waiting_ = 0;
  std::size_t written_ = 0;  // of the front
};

}  // namespace weft::run
