// The program's own MPI, by whatever started it.
#include "bootstrap/launchers.hpp"

namespace weft {

std::string found_mpi(const Surroundings& surroundings) {
  return surroundings.mpi_running ? "the program initialised MPI" : "";
}

Status check_mpi(const Surroundings&) { return Status::ok(); }

Result<std::unique_ptr<Launcher>> open_mpi(const Options& options,
                                           const Surroundings& surroundings) {
  return make_mpi_launcher(options, !surroundings.variable("PMI_FD").empty());
}

}  // namespace weft
