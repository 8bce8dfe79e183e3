// PMIx, which libpmix speaks.
#include "bootstrap/launchers.hpp"
#include "src/base/status.hpp"

namespace weft {

Status check_pmix(const Surroundings& surroundings) {
  if (!surroundings.variable("PMIX_NAMESPACE").empty() && surroundings.number("PMIX_RANK") >= 0)
    return Status::ok();
  return Status::error(
      Code::kUnsupported,
      "WEFT_BOOTSTRAP is pmix but PMIX_NAMESPACE and PMIX_RANK are not set: no PMIx launcher "
      "started this process. Start it with Open MPI's mpirun or srun --mpi=pmix");
}

std::string found_pmix(const Surroundings& surroundings) {
  return check_pmix(surroundings).is_ok() ? "PMIX_NAMESPACE and PMIX_RANK are set" : "";
}

Result<std::unique_ptr<Launcher>> open_pmix(const Options& options, const Surroundings&) {
  return make_pmix_launcher(options);
}

}  // namespace weft
