// The bootstrap of this process: the one that was chosen.
#include <fmt/format.h>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/choose.hpp"
#include "bootstrap/launchers.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

Result<std::unique_ptr<Launcher>> open_launcher(BootstrapKind kind, const Options& options,
                                                const Surroundings& surroundings) {
  for (const LauncherRow& row : launchers())
    if (row.kind == kind) return row.open(options, surroundings);
  return Status::error(Code::kInternal, fmt::format("{} has no launcher", to_string(kind)));
}

// A client library of another launcher makes each process a job of its own.
Status check_count(const Launcher& launcher, const Surroundings& surroundings) {
  const int told = launched_processes(surroundings);
  if (launcher.npes() > 1 || told <= 1) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{} says that this process is alone, but its launcher started {}: the {} library "
                  "found is not that of the launcher. Name the right one (WEFT_MPI_LIBRARY, "
                  "WEFT_PMIX_LIBRARY), or choose another way with WEFT_BOOTSTRAP",
                  launcher.name(), told, launcher.name()));
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> make_bootstrap(const Options& options) {
  const Surroundings surroundings = look_around();
  ASSIGN_OR_RETURN(const Choice choice, choose(options, surroundings));
  LOG(kInfo, "bootstrap", "bootstrap {}: {}", to_string(choice.kind), choice.why);
  if (choice.kind == BootstrapKind::kSingle) return make_single_bootstrap();
  if (choice.kind == BootstrapKind::kTcp) {
    return make_tcp_bootstrap(options.unique_id, static_cast<int>(options.pe),
                              static_cast<int>(options.npes), options);
  }
  return meet_through_launcher(
      [&]() -> Result<std::unique_ptr<Launcher>> {
        ASSIGN_OR_RETURN(auto launcher, open_launcher(choice.kind, options, surroundings));
        Status good = check_count(*launcher, surroundings);
        if (good.is_ok()) return launcher;
        launcher->finalize();
        return good;
      },
      options);
}

}  // namespace weft
