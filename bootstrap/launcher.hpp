// Weft wants four things of a foreign launcher: who am I, how many are we, one text from PE 0 to
// all (where the rendezvous is), and an end of the whole job. Everything else the PEs tell each
// other over tcp, so lost PEs, aborts and deadlines are the same under every launcher.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <weft/options.hpp>
#include <weft/result.hpp>

#include "bootstrap/bootstrap.hpp"
#include "src/base/clock.hpp"

namespace weft {

class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual std::string_view name() const = 0;  // of its row in launchers.def.hpp
  virtual int pe() const = 0;
  virtual int npes() const = 0;
  // All PEs run on this host. False if the launcher does not tell.
  virtual bool one_host() const = 0;
  // Collective. Every PE gets the text that PE 0 gives; any bytes, any length.
  virtual Result<std::string> broadcast(std::string_view text, const Deadline& deadline) = 0;
  // The launcher is to end the job with `code`. From any thread; with MPI it does not return.
  virtual void abort(int code) = 0;
  // The goodbye to the launcher: after it this process may end without being taken for lost.
  virtual void finalize() = 0;
};

// `fd`, `pe`, `npes`, `job`: what PMI_FD, PMI_RANK, PMI_SIZE and PMI_JOBID say. The launcher object
// closes `fd`.
Result<std::unique_ptr<Launcher>> make_pmi1_launcher(int fd, int pe, int npes,
                                                     const Deadline& deadline);
Result<std::unique_ptr<Launcher>> make_pmi2_launcher(int fd, int pe, const std::string& job,
                                                     const Deadline& deadline);
Result<std::unique_ptr<Launcher>> make_pmix_launcher(const Options& options);
// MPI_COMM_WORLD; initialises MPI if the program has not. `mpich`: the launcher is of that family.
Result<std::unique_ptr<Launcher>> make_mpi_launcher(const Options& options, bool mpich);

// Meets the others at a unique id that PE 0 makes and the launcher carries.
Result<std::unique_ptr<Bootstrap>> meet_through(std::shared_ptr<Launcher> launcher,
                                                const Options& options);
// The same through the launcher of this process, with which there is one handshake: later calls
// come to the same unique id. `make` makes the launcher at the first call.
Result<std::unique_ptr<Bootstrap>> meet_through_launcher(
    const std::function<Result<std::unique_ptr<Launcher>>()>& make, const Options& options);

}  // namespace weft
