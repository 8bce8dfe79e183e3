// PMI-1 and PMI-2: a socket to the launcher, whose number is in PMI_FD.
#include <fmt/format.h>

#include "bootstrap/launchers.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

Status check_pmi(const char* kind, const Surroundings& surroundings) {
  const std::string fd = surroundings.variable("PMI_FD");
  if (fd.empty()) {
    return Status::error(
        Code::kUnsupported,
        fmt::format("WEFT_BOOTSTRAP is {} but PMI_FD is not set: no PMI launcher started this "
                    "process. Start it with MPICH's mpiexec, srun --mpi=pmi2 or weft-run",
                    kind));
  }
  if (surroundings.pmi_socket) return Status::ok();
  return Status::error(
      Code::kUnsupported,
      fmt::format("PMI_FD is {}, but that is no open socket here. Something between the launcher "
                  "and this process (a wrapper, or a parent that used it up) has closed it",
                  fd));
}

}  // namespace

// Only srun --mpi=pmi2 sets PMI_JOBID in a job of Slurm; others' sockets speak PMI-1, and some also
// PMI-2.
std::string found_pmi2(const Surroundings& surroundings) {
  const bool is_srun = surroundings.pmi_socket && !surroundings.variable("SLURM_JOB_ID").empty() &&
                       !surroundings.variable("PMI_JOBID").empty();
  return is_srun ? "PMI_FD is an open socket of srun --mpi=pmi2" : "";
}
std::string found_pmi1(const Surroundings& surroundings) {
  return surroundings.pmi_socket ? "PMI_FD is an open socket" : "";
}

Status check_pmi1(const Surroundings& surroundings) { return check_pmi("pmi1", surroundings); }
Status check_pmi2(const Surroundings& surroundings) { return check_pmi("pmi2", surroundings); }

Result<std::unique_ptr<Launcher>> open_pmi1(const Options& options,
                                            const Surroundings& surroundings) {
  return make_pmi1_launcher(surroundings.number("PMI_FD"), surroundings.number("PMI_RANK"),
                            surroundings.number("PMI_SIZE"), Deadline(options.start_timeout));
}
Result<std::unique_ptr<Launcher>> open_pmi2(const Options& options,
                                            const Surroundings& surroundings) {
  return make_pmi2_launcher(surroundings.number("PMI_FD"), surroundings.number("PMI_RANK"),
                            surroundings.variable("PMI_JOBID"), Deadline(options.start_timeout));
}

}  // namespace weft
