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
  std::string version, build, compiler, cpu, gpu, mode;  // mode: "processes" or "threads"
  int pes = 0, cores = 0;
  unsigned blocks = 1, threads = 1;
  bool bidir = false;
  bool pinned = false;  // host tests: each PE on a core of its own
  std::uint64_t seed = 0;
  std::vector<std::string> warnings;
};

// Something timed beside a line.
struct Timed {
  std::string name;
  double p50 = 0;  // ns
};

// One line of a row's table.
struct Line {
  const Row* row = nullptr;
  Point point;
  Work work;                       // of one iteration
  Measurement measured;            // its floor is the baseline
  std::string baseline = "floor";  // name of what measured.floor is
  std::string shape, layer, plan;  // where the row has such
  std::vector<Timed> others;       // timed beside it, and its baseline
  std::size_t workspace = 0;       // bytes of symmetric memory; 0: none, or not said
  bool by_plan = true;             // the operator chose its plan
  double efficiency = 0;           // the longest of what it does at once, over its time; 0: none

  bool has_baseline() const { return measured.floor.samples != 0; }
  double speedup() const;    // the baseline's time over Weft's: above 1 Weft is ahead
  double bandwidth() const;  // GB/s (1e9 bytes), from p50
  double tflops() const;     // 1e12 operations of arithmetic a second, from p50
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
// For PEs that do not report.
std::unique_ptr<Reporter> make_silent_reporter();

// "8.1 ns", "3.42 us", "1.20 ms": three digits that matter.
std::string format_ns(double ns);

}  // namespace weft::perf
