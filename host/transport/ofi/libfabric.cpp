#include "host/transport/ofi/libfabric.hpp"

#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "src/base/dynlib.hpp"
#include "src/base/signal_guard.hpp"
#include "src/base/status.hpp"

namespace weft::ofi {

namespace {

Result<Libfabric> load(const std::string& file) {
  const std::vector<std::string> names = {file.empty() ? "libfabric.so.1" : file};
  const SignalGuard keeps;  // psm2, which libfabric may bring along, takes SIGTERM
  const Result<Dynlib> library = Dynlib::open(names);
  if (!library.is_ok())
    return Status::error(library.status().code(),
                         fmt::format("{}; install libfabric (apt-get install libfabric1), or set "
                                     "WEFT_OFI_LIBRARY to its file",
                                     library.status().text()));
  Libfabric functions;
#define WEFT_ROW(name) RETURN_IF_ERROR(library->find("fi_" #name, functions.name));
  WEFT_OFI_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
  return functions;
}

std::string_view mend(long result) {
  switch (-result) {
    case FI_ENOMEM:
      return ". Locked memory may be limited: see ulimit -l, which RDMA wants unlimited "
             "(/etc/security/limits.conf, or LimitMEMLOCK= of the service that started this job)";
    case FI_EMFILE: return ". See ulimit -n, and raise it";
    default: return "";
  }
}

Code code_of(long result) { return result == -FI_ENOMEM ? Code::kOutOfMemory : Code::kIo; }

}  // namespace

Result<const Libfabric*> Libfabric::get(const std::string& file) {
  static std::mutex mutex;
  static auto* const loaded = new std::map<std::string, std::unique_ptr<const Libfabric>>;
  const std::lock_guard lock(mutex);
  auto& library = (*loaded)[file];
  if (library == nullptr) {
    ASSIGN_OR_RETURN(Libfabric fresh, load(file));
    library = std::make_unique<const Libfabric>(fresh);
  }
  return library.get();
}

Status failure(const Libfabric& library, std::string_view what, std::string_view where,
               long result) {
  return Status::error(
      code_of(result),
      fmt::format("cannot {} on {}: {} (libfabric error {}){}", what, where,
                  library.strerror(static_cast<int>(-result)), -result, mend(result)));
}

}  // namespace weft::ofi
