#include "host/transport/ib/verbs.hpp"

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "src/base/dynlib.hpp"

namespace weft::ib {

namespace {

Result<Verbs> load(const std::string& file) {
  const std::vector<std::string> names = {file.empty() ? "libibverbs.so.1" : file};
  ASSIGN_OR_RETURN(const Dynlib library, Dynlib::open(names));
  Verbs verbs;
#define WEFT_ROW(name) RETURN_IF_ERROR(library.find("ibv_" #name, verbs.name));
  WEFT_IB_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
  RETURN_IF_ERROR(library.find("_ibv_query_gid_table", verbs.query_gid_table));
  constexpr const char* kRegisterFile = "ibv_reg_dmabuf_mr";
  if (library.has(kRegisterFile)) RETURN_IF_ERROR(library.find(kRegisterFile, verbs.reg_dmabuf_mr));
  return verbs;
}

std::string_view mend(int error) {
  switch (error) {
    case ENOMEM:
      return ". Locked memory may be limited: see ulimit -l, which RDMA wants unlimited "
             "(/etc/security/limits.conf, or LimitMEMLOCK= of the service that started this job)";
    case EACCES:
    case EPERM:
      return ". The files /dev/infiniband/* must be readable and writable; a container needs them "
             "passed in (--device=/dev/infiniband) and --cap-add=IPC_LOCK";
    default: return "";
  }
}

Code code_of(int error) {
  if (error == ENOMEM) return Code::kOutOfMemory;
  return error == EACCES || error == EPERM ? Code::kUnsupported : Code::kIo;
}

}  // namespace

Result<const Verbs*> Verbs::get(const std::string& file) {
  static std::mutex mutex;
  static auto* const loaded = new std::map<std::string, std::unique_ptr<const Verbs>>;
  const std::lock_guard lock(mutex);
  auto& verbs = (*loaded)[file];
  if (verbs == nullptr) {
    ASSIGN_OR_RETURN(Verbs fresh, load(file));
    verbs = std::make_unique<const Verbs>(fresh);
  }
  return verbs.get();
}

Status failure(std::string_view action, std::string_view device, int error) {
  return Status::error(code_of(error),
                       fmt::format("cannot {} on {}: {} (errno {}){}", action, device,
                                   std::strerror(error), error, mend(error)));
}

}  // namespace weft::ib
