// Bootstrap: how PEs find each other before there is a heap. Process facts only.
//
// Calls are collective and come in the same order on every PE; one thread at a time. Every wait
// has a deadline (WEFT_START_TIMEOUT), after which the error names the PEs that are missing.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <weft/options.hpp>
#include <weft/result.hpp>

namespace weft {

using Blob = std::vector<std::byte>;

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual std::string_view name() const = 0;  // "local", "tcp", "single", "pmi1" ...
  virtual int pe() const = 0;
  virtual int npes() const = 0;
  // Everybody's bytes, in PE order. The sizes may differ.
  virtual Result<std::vector<Blob>> allgather(std::span<const std::byte> mine) = 0;
  virtual Status barrier() = 0;
  // Tells every PE and the launcher that the job is over, and why. Does not wait, does not exit.
  virtual void abort(int code, std::string_view why) = 0;
  // kPeerLost or kAborted once a PE has died or the job was aborted; thread-safe, never blocks.
  virtual Status health() = 0;
  // Collective goodbye: after it a PE may go away without being reported as lost.
  virtual Status leave() = 0;
};

// Chooses by options.bootstrap and what surrounds the process; says which and why at info level.
Result<std::unique_ptr<Bootstrap>> make_bootstrap(const Options& options);
// A job of one.
std::unique_ptr<Bootstrap> make_single_bootstrap();
// The PEs of a job as threads of this process; element i is PE i's.
std::vector<std::unique_ptr<Bootstrap>> make_local_bootstraps(int npes, const Options& options);
// Meets the others at the unique id's server.
Result<std::unique_ptr<Bootstrap>> make_tcp_bootstrap(std::string_view unique_id, int pe, int npes,
                                                      const Options& options);

}  // namespace weft
