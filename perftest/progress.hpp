// Where a long run is, on standard error, when that is a terminal.
#pragma once

#include <cstddef>
#include <string_view>

#include "perftest/timer.hpp"

namespace weft::perf {

class Progress {
 public:
  // `steps`: how many there will be. Silent unless `show` and standard error is a terminal.
  Progress(bool show, std::size_t steps);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(std::string_view what);  // the next step begins
  void clear();                      // before anything else is printed

 private:
  const bool show_;
  const std::size_t steps_;
  const Ns begin_;
  std::size_t step_ = 0;
  bool visible_ = false;
};

}  // namespace weft::perf
