// Job: one PE's side of a run. Symmetric buffers that live as long as one line of the table, and
// the exchange by which all PEs take the same decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <weft/runtime.hpp>
#include <weft/wait.hpp>

#include "perftest/options.hpp"
#include "perftest/status.hpp"

namespace weft::perf {

// The message that each PE sends to all others after each step.
struct Report {
  Ns elapsed = 0;
  std::uint64_t batch = 0;  // set by PE 0: operations of the next sample
  std::uint32_t stop = 0;   // a signal came
  std::uint32_t wrong = 0;  // data was wrong here
  char text[232] = {};      // what was wrong
};

class Job {
 public:
  // Collective.
  static Result<std::unique_ptr<Job>> create(Runtime& runtime, const Options& options);

  Runtime& runtime() const { return runtime_; }
  Context& ctx() const { return runtime_.context(); }
  const Options& options() const { return options_; }
  int pe() const { return runtime_.pe(); }
  int npes() const { return runtime_.npes(); }
  bool leads() const { return pe() == 0; }
  std::uint64_t seed() const { return seed_; }

  // Peer tests run between PE 0 and PE 1; the others wait.
  int peer() const { return pe() == 0 ? 1 : pe() == 1 ? 0 : -1; }
  bool in_pair() const { return peer() >= 0; }
  // One of the pair sends, or both with --bidir.
  bool sends() const { return pe() == 0 || (pe() == 1 && options_.bidir); }
  bool receives() const { return pe() == 1 || (pe() == 0 && options_.bidir); }

  // The same random key on every PE; every call a new one. Collective in the sense that all PEs
  // must call it equally often.
  std::uint64_t fresh_key();

  // Collective; freed by release(). Zeroed on this PE, so synchronise before a peer writes to it.
  template <class T>
  Result<T*> symmetric(std::size_t count) {
    ASSIGN_OR_RETURN(void* memory, symmetric_bytes(bytes_of<T>(count)));
    return static_cast<T*>(memory);
  }
  Result<void*> symmetric_bytes(std::size_t bytes);
  Status release();  // collective

  // Where kernels leave their times: two words for each block.
  Ns* clock() const { return clock_; }

  // Collective, after what PE 0 has a part in: who has none sleeps until PE 0 is done with it. One
  // who waits in a barrier takes a core, which on hosts with few is that of the network.
  Status rest(bool has_no_part);

  // Collective: everyone's report, in PE order; also a barrier.
  Result<std::vector<Report>> exchange(const Report& mine);

 private:
  Job(Runtime& runtime, const Options& options) : runtime_(runtime), options_(options) {}

  Runtime& runtime_;
  const Options& options_;
  std::uint64_t seed_ = 0;
  std::uint64_t keys_ = 0;
  Report* reports_ = nullptr;  // two sets of one per PE: a fast PE may be one exchange ahead
  unsigned parity_ = 0;
  std::uint64_t* done_ = nullptr;  // of PE 0's parts
  std::uint64_t parts_ = 0;
  Ns* clock_ = nullptr;
  std::vector<void*> buffers_;
};

}  // namespace weft::perf
