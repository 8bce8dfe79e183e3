#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "host/info/machine.hpp"
#include "src/base/files.hpp"

namespace weft::info {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu";

std::string caches_of_first_cpu() {
  std::string out;
  for (int i = 0;; ++i) {
    const std::string folder = fmt::format("{}/cpu0/cache/index{}/", kCpus, i);
    const std::string type = file_text(folder + "type");
    if (type.empty()) return out;
    if (type == "Instruction") continue;
    out += fmt::format("{}L{}{} {}, of threads {}", out.empty() ? "" : "; ",
                       file_text(folder + "level"), type == "Data" ? "d" : "",
                       file_text(folder + "size"), file_text(folder + "shared_cpu_list"));
  }
}

int count_numa_nodes() {
  int nodes = 0;
  while (std::filesystem::exists(fmt::format("/sys/devices/system/node/node{}", nodes))) ++nodes;
  return nodes;
}

}  // namespace

Machine look_at_machine() {
  Machine machine;
  std::set<std::string> sockets;
  std::set<std::string> cores;
  const long configured = ::sysconf(_SC_NPROCESSORS_CONF);
  for (long cpu = 0; cpu < configured; ++cpu) {
    const std::string folder = fmt::format("{}/cpu{}/topology/", kCpus, cpu);
    const std::string socket = file_text(folder + "physical_package_id");
    if (socket.empty()) continue;
    ++machine.threads;
    sockets.insert(socket);
    cores.insert(socket + ":" + file_text(folder + "core_id"));
  }
  if (machine.threads == 0) machine.threads = static_cast<int>(configured);
  machine.sockets = static_cast<int>(sockets.size());
  machine.cores = static_cast<int>(cores.size());
  machine.numa_nodes = count_numa_nodes();
  machine.caches = caches_of_first_cpu();
  return machine;
}

}  // namespace weft::info
