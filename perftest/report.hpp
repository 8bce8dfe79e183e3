// The output: a table for people, CSV or JSON for programs.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "perftest/measure.hpp"
#include "perftest/registry.hpp"

namespace weft::perf {

// The build, the machine and the job of a run.
struct RunInfo {
  std::string version, build, compiler, cpu, mode;  // mode: "processes" or "threads"
  int pes = 0, cores = 0;
  unsigned blocks = 1, threads = 1;
  bool bidir = false;
  bool pinned = false;  // host tests: each PE on a core of its own
  std::uint64_t seed = 0;
  std::vector<std::string> warnings;
};

// One line of a row's table.
struct Line {
  const Row* row = nullptr;
  Point point;
  Work work;  // of one iteration
  Measurement measured;

  double bandwidth() const;  // GB/s (1e9 bytes), from p50
  double rate() const;       // million operations a second, from p50
};

// One promise.
struct Claim {
  std::string what;
  std::string measured, floor;  // with unit
  double ratio = 0;             // measured to floor; 0: there is no baseline
  double value = 0;             // what is compared with the limit, lower is better
  double limit = 0;
  std::string_view unit;  // of value and limit: "ns", "x", ...
  std::string wrong;      // not empty: data was wrong
  std::string note;
  bool held() const { return wrong.empty() && value <= limit; }
};

class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void begin(const RunInfo& info) = 0;
  virtual void start(const Row& row) = 0;  // lines of this row follow
  virtual void add(const Line& line) = 0;
  virtual void finish(const Row& row) = 0;
  virtual void add(const Claim& claim) = 0;
  virtual void end(bool stopped) = 0;
};

std::unique_ptr<Reporter> make_reporter(const Options& options, std::ostream& out);

// "8.1 ns", "3.42 us", "1.20 ms": three digits that matter.
std::string format_ns(double ns);

}  // namespace weft::perf
