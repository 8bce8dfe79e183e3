#include "perftest/progress.hpp"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

namespace weft::perf {

Progress::Progress(bool show, std::size_t steps)
    : show_(show && isatty(STDERR_FILENO) == 1), steps_(steps), begin_(now_ns()) {}

// Short runs need none.
void Progress::step(std::string_view what) {
  ++step_;
  if (!show_ || now_ns() - begin_ < 1'000'000'000) return;
  fmt::print(stderr, "\r\x1b[K[{}/{}] {}", step_, steps_, what);
  std::fflush(stderr);
  visible_ = true;
}

void Progress::clear() {
  if (!visible_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  visible_ = false;
}

}  // namespace weft::perf
