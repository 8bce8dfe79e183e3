#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "host/info/gpu.hpp"
#include "host/info/machine.hpp"
#include "host/info/sections.hpp"
#include "host/transport/ib/ib.hpp"
#include "host/transport/ofi/ofi.hpp"
#include "src/base/files.hpp"
#include "src/base/status.hpp"
#include "src/base/unique_fd.hpp"
#include "src/platform/cpu/fd_server.hpp"
#include "src/platform/platform.hpp"

namespace weft::info {
namespace {

Line from_status(const char* name, const char* when_ok, const Status& status) {
  // The text of the failure says what to do.
  return status.is_ok() ? there(name, when_ok) : missing(name, std::string(status.text()));
}

Status commit_one(std::size_t bytes, const MemoryHints& hints) {
  ASSIGN_OR_RETURN(const Memory range, cpu_platform().reserve(bytes));
  return cpu_platform().commit({range.base(), bytes}, hints).status();
}

Line heap(const Options& options) {
  const Result<Memory> range = cpu_platform().reserve(options.heap_size);
  if (!range.is_ok()) return missing("heap", std::string(range.status().text()));
  MemoryHints hints;
  hints.huge_pages_wanted = false;
  return from_status(
      "heap",
      "address space for WEFT_HEAP_SIZE, and memory in it by memfd_create (leaves no "
      "name in any file system)",
      commit_one(cpu_platform().granularity(), hints));
}

// The real way: a descriptor through this process's own server.
Status pass_descriptor() {
  ASSIGN_OR_RETURN(const auto server, cpu::FdServer::get());
  const UniqueFd memory(::memfd_create("weft-info", MFD_CLOEXEC));
  if (!memory)
    return Status::error(Code::kIo, fmt::format("memfd_create: {}", std::strerror(errno)));
  const Uuid ticket = random_uuid();
  server->offer(ticket, memory.get());
  const Status fetched = cpu::fetch_fd(server->name(), ticket, 5).status();
  server->withdraw(ticket);
  return fetched;
}

Line huge_pages() {
  MemoryHints hints;
  hints.huge_pages_needed = true;
  return from_status("huge pages", "the heap is backed by 2 MiB pages",
                     commit_one(kReserveAlign, hints));
}

Line numa() {
  const std::string nodes = file_text("/sys/devices/system/node/online");
  if (nodes.empty()) {
    return missing("numa placement", "/sys/devices/system/node is not there", "mount /sys");
  }
  if (nodes.find_first_of("-,") == std::string::npos) {
    return there("numa placement", "one node: nothing to choose");
  }
  return there("numa placement", "nodes " + nodes + "; heap memory prefers its PE's node");
}

Line binding() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof(mine), &mine) != 0 ||
      ::sched_setaffinity(0, sizeof(mine), &mine) != 0) {
    return missing("core binding", fmt::format("sched_setaffinity: {}", std::strerror(errno)),
                   "let the container's seccomp profile allow sched_setaffinity");
  }
#if WEFT_HAVE_HWLOC
  return there("core binding", "weft-run --bind places PEs through hwloc");
#else
  return missing("core binding", "weft-run --bind needs hwloc",
                 "install libhwloc-dev and configure again");
#endif
}

Line network(const Options& options) {
  const Result<std::string> port = ib_port(options);
  return port.is_ok() ? there("rdma network", *port)
                      : missing("rdma network", std::string(port.status().text()));
}

Line other_networks(const Options& options) {
  const Result<std::string> found = ofi_network(options);
  return found.is_ok() ? there("other networks", *found)
                       : missing("other networks", std::string(found.status().text()));
}

}  // namespace

Section capabilities_section(const Options& options) {
  return {"capabilities",
          {heap(options),
           from_status("memory across processes",
                       "handed over an abstract unix socket, checked by ticket and user",
                       pass_descriptor()),
           huge_pages(), numa(), binding(), cuda(options), hip(options), network(options),
           gpu_rdma(options), other_networks(options)}};
}

}  // namespace weft::info
