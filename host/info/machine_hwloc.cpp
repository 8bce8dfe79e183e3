#include <hwloc.h>

#include <fmt/format.h>

#include <memory>

#include "host/info/machine.hpp"

namespace weft::info {
namespace {

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int found = hwloc_get_nbobjs_by_type(topology, type);
  return found < 0 ? 0 : found;
}

std::string caches_of(hwloc_topology_t topology) {
  std::string out;
  for (const auto& [type, name] :
       {std::pair(HWLOC_OBJ_L1CACHE, "L1d"), std::pair(HWLOC_OBJ_L2CACHE, "L2"),
        std::pair(HWLOC_OBJ_L3CACHE, "L3")}) {
    const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
    if (cache == nullptr) continue;
    const int shared_by =
        hwloc_get_nbobjs_inside_cpuset_by_type(topology, cache->cpuset, HWLOC_OBJ_PU);
    out +=
        fmt::format("{}{}x {} {} of {} thread{}", out.empty() ? "" : ", ", count(topology, type),
                    name, show_size(cache->attr->cache.size), shared_by, shared_by == 1 ? "" : "s");
  }
  return out;
}

}  // namespace

// Everything that is there, not only what this process may use: that is told apart.
Machine look_at_machine() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {};
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(
      raw, hwloc_topology_destroy);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) return {};
  Machine machine;
  machine.sockets = count(raw, HWLOC_OBJ_PACKAGE);
  machine.numa_nodes = count(raw, HWLOC_OBJ_NUMANODE);
  machine.cores = count(raw, HWLOC_OBJ_CORE);
  machine.threads = count(raw, HWLOC_OBJ_PU);
  machine.caches = caches_of(raw);
  return machine;
}

}  // namespace weft::info
