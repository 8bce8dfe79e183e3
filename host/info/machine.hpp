// The parts of the machine, from hwloc when built with it, else from /proc and /sys.
#pragma once

#include <cstdint>
#include <string>

namespace weft::info {

struct Machine {
  int sockets = 0, numa_nodes = 0, cores = 0, threads = 0;  // 0: not known
  std::string caches;                                       // "L1d 48 KiB, L2 2 MiB, L3 ..."
};

Machine look_at_machine();

std::string show_size(std::uint64_t bytes);  // "1.5 GiB"

}  // namespace weft::info
