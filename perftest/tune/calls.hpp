// Calls behind one another, and how long they take: on a GPU as a CUDA graph of its driver, so that
// what launching them costs the host does not count; on host threads one after the other.
#pragma once

#include <functional>
#include <memory>

#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>

namespace weft::perf::tune {

class Calls {
 public:
  virtual ~Calls() = default;
  // Runs all of them; microseconds of one.
  virtual Result<double> run() = 0;
};

// Where they are made: one for all measurements of a PE.
class Recorder {
 public:
  static Result<std::unique_ptr<Recorder>> create(Runtime& runtime);
  virtual ~Recorder() = default;
  virtual Result<std::unique_ptr<Calls>> record(int count,
                                                const std::function<Status(Stream)>& call) = 0;
};

}  // namespace weft::perf::tune
