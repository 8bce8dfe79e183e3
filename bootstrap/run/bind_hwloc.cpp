// Binding through hwloc, which knows what a core, a socket and a NUMA node are here.
#include <hwloc.h>
#include <hwloc/glibc-sched.h>

#include <cerrno>
#include <memory>

#include <fmt/format.h>

#include "bootstrap/run/bind.hpp"
#include "src/base/status.hpp"
#include "src/net/socket.hpp"

namespace weft::run {
namespace {

struct Level {
  hwloc_obj_type_t type;
  const char* name;
};

Level level_of(BindTo to) {
  switch (to) {
    case BindTo::kSocket: return {HWLOC_OBJ_PACKAGE, "socket"};
    case BindTo::kNuma: return {HWLOC_OBJ_NUMANODE, "NUMA node"};
    default: return {HWLOC_OBJ_CORE, "core"};
  }
}

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

Result<Topology> load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return Status::error(Code::kIo, fmt::format("hwloc: {}", net::errno_text(errno)));
  }
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0) {
    return Status::error(Code::kIo, fmt::format("hwloc cannot read the topology of this host: {}",
                                                net::errno_text(errno)));
  }
  return topology;
}

}  // namespace

Result<std::vector<Binding>> plan_bindings(BindTo to, int npes) {
  const Level level = level_of(to);
  ASSIGN_OR_RETURN(const Topology topology, load_topology());
  const int count = hwloc_get_nbobjs_by_type(topology.get(), level.type);
  if (count < 1) {
    return Status::error(
        Code::kUnsupported,
        fmt::format("hwloc sees no {} on this host, so PEs cannot be bound to one; "
                    "use --bind none or another unit",
                    level.name));
  }
  std::vector<Binding> bindings;
  for (int pe = 0; pe < npes; ++pe) {
    const auto index = npes <= count ? pe : static_cast<int>(std::int64_t{pe} * count / npes);
    const hwloc_obj_t object =
        hwloc_get_obj_by_type(topology.get(), level.type, static_cast<unsigned>(index));
    Binding binding;
    CPU_ZERO(&binding.cpus);
    if (hwloc_cpuset_to_glibc_sched_affinity(topology.get(), object->cpuset, &binding.cpus,
                                             sizeof binding.cpus) != 0 ||
        CPU_COUNT(&binding.cpus) == 0) {
      return Status::error(
          Code::kUnsupported,
          fmt::format("{} {} has no CPU that this process may use", level.name, index));
    }
    binding.text = fmt::format("{} {} (CPUs {})", level.name, index, list_cpus(binding.cpus));
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

}  // namespace weft::run
