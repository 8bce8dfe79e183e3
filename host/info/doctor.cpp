#include "host/info/doctor.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "host/info/machine.hpp"
#include "host/info/sections.hpp"
#include "host/topology/machine.hpp"
#include "src/base/files.hpp"
#include "src/base/text.hpp"
#include "src/platform/cpu/available_memory.hpp"

namespace weft::info {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kEnoughFiles = 1024;  // of one PE: peers' heaps and sockets
constexpr std::uint64_t kEnoughMemory = std::uint64_t{1} << 30;

std::uint64_t limit_of(__rlimit_resource which) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  return limit.rlim_cur;
}

std::string show_limit(std::uint64_t bytes) {
  return bytes == kNoLimit ? "no limit" : show_size(bytes);
}

Line locked_memory(const Patient& patient, const MachineFacts& machine) {
  const std::string found = show_limit(patient.locked_memory);
  if (patient.locked_memory == kNoLimit) return there("locked memory", found);
  if (machine.ports.empty()) return there("locked memory", found + "; no RDMA port asks for more");
  return missing(
      "locked memory", found + ", while an RDMA device keeps whole heaps in RAM",
      "ulimit -l unlimited, where it is forbidden as root: echo '* - memlock unlimited' > "
      "/etc/security/limits.d/90-memlock.conf, and log in anew; in a container: --ulimit "
      "memlock=-1; under Slurm: LimitMEMLOCK=infinity in slurmd's unit");
}

Line open_files(const Patient& patient) {
  const std::string found =
      patient.open_files == kNoLimit ? "no limit" : fmt::format("{} allowed", patient.open_files);
  if (patient.open_files >= kEnoughFiles) return there("open files", found);
  return missing("open files", found + "; PEs of large jobs hold some for each peer of their host",
                 "ulimit -n 65536; in a container: --ulimit nofile=65536");
}

Line memory(const Patient& patient) {
  const cpu::AvailableMemory room = cpu::available_memory(patient.root);
  if (room.bytes == kNoLimit) return there("memory", "no limit is known");
  const std::string found = fmt::format("{} left, by {}", show_size(room.bytes), room.limit);
  if (room.bytes >= kEnoughMemory) return there("memory", found);
  return missing("memory", found,
                 "end other programs, or raise the container's limit (--memory); a heap takes what "
                 "is allocated in it, not WEFT_HEAP_SIZE");
}

Line overcommit(const Patient& patient) {
  if (file_text(patient.root + "/proc/sys/vm/overcommit_memory") != "2")
    return there("overcommit", "on: only memory that is used counts");
  return missing("overcommit", "off: every chunk of a heap counts as taken",
                 "as root: sysctl vm.overcommit_memory=0");
}

Line ports(const MachineFacts& machine) {
  if (machine.ports.empty())
    return fact("rdma ports", "none: PEs of other hosts are reached by other networks, see below");
  std::string active;
  std::string down;
  for (const NicPort& port : machine.ports) {
    std::string& names = port.active ? active : down;
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", port.name(), port.link_layer);
  }
  if (active.empty())
    return missing(
        "rdma ports", "none is active: " + down,
        "look at rdma link and ibstat; on Ethernet: ip link set DEVICE up; on InfiniBand a "
        "subnet manager must run");
  return there("rdma ports", active + (down.empty() ? "" : "; down: " + down));
}

Line device_files(const Patient& patient) {
  const std::string folder = patient.root + "/dev/infiniband";
  for (const std::string& name : names_in(folder)) {
    if (name.starts_with("uverbs") && ::access((folder + "/" + name).c_str(), R_OK | W_OK) == 0)
      return there("rdma device files", "/dev/infiniband may be opened");
  }
  return missing("rdma device files",
                 "no /dev/infiniband/uverbs* that this user may read and write",
                 "as root: modprobe ib_uverbs; in a container: --device=/dev/infiniband");
}

bool is_v2_by_ipv4(const std::string& type, const std::string& gid) {
  return type == "RoCE v2" && gid.starts_with("0000:0000:0000:0000:0000:ffff:");
}

// By /sys/class/infiniband/DEVICE/ports/N/gids and gid_attrs/types, which have a file per index.
bool has_roce_address(const std::string& port) {
  for (const std::string& index : names_in(port + "/gids")) {
    const std::string type = file_text(fmt::format("{}/gid_attrs/types/{}", port, index));
    if (is_v2_by_ipv4(type, file_text(fmt::format("{}/gids/{}", port, index)))) return true;
  }
  return false;
}

Line roce_addresses(const Patient& patient, const MachineFacts& machine) {
  std::string without;
  for (const NicPort& port : machine.ports) {
    const std::string folder =
        fmt::format("{}/sys/class/infiniband/{}/ports/{}", patient.root, port.device, port.port);
    if (port.active && port.link_layer == "Ethernet" && !has_roce_address(folder))
      without += fmt::format("{}{}", without.empty() ? "" : ", ", port.name());
  }
  if (without.empty())
    return there("roce addresses", "each active port on Ethernet has an IPv4 address for RoCE v2");
  return missing("roce addresses",
                 fmt::format("no IPv4 address for RoCE v2 in the GID table of {}", without),
                 "ip address add ADDRESS/PREFIX dev DEVICE, by the network device that rdma link "
                 "names");
}

Line peer_memory(const Patient& patient) {
  const bool loaded = std::filesystem::exists(patient.root + "/sys/module/nvidia_peermem");
  return fact("nvidia_peermem",
              fmt::format("{}; ib needs it only where the driver exports no dmabuf",
                          loaded ? "loaded" : "not loaded"));
}

Line seccomp(const Patient& patient) {
  const std::string text = file_text(patient.root + "/proc/self/status");
  for (const std::string_view line : lines_of(text)) {
    if (line.starts_with("Seccomp:") && line.back() != '0')
      return fact("system calls",
                  "some are forbidden here, as in containers (seccomp); those that "
                  "a job needs are tried below");
  }
  return fact("system calls", "none is forbidden");
}

bool has_gpu(const MachineFacts& machine, std::string_view vendor) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(),
                     [&](const MachineGpu& gpu) { return gpu.name.starts_with(vendor); });
}

}  // namespace

Patient this_host() { return {"", limit_of(RLIMIT_MEMLOCK), limit_of(RLIMIT_NOFILE)}; }

Section host_checks(const Patient& patient) {
  const MachineFacts machine = look_at_devices(patient.root);
  Section section{"host",
                  {memory(patient), overcommit(patient), open_files(patient),
                   locked_memory(patient, machine), seccomp(patient), ports(machine)}};
  if (!machine.ports.empty()) {
    section.lines.push_back(device_files(patient));
    section.lines.push_back(roce_addresses(patient, machine));
  }
  if (has_gpu(machine, "nvidia")) section.lines.push_back(peer_memory(patient));
  return section;
}

Section tried_checks(const Options& options) {
  const MachineFacts machine = look_at_devices();
  Section section = capabilities_section(options);
  section.title = "tried";
  const bool has_gpus = has_gpu(machine, "nvidia") || has_gpu(machine, "amd");
  std::erase_if(section.lines, [&](const Line& line) {
    return (line.name == "gpus by rdma" && (machine.ports.empty() || !has_gpus)) ||
           (line.name == "cuda gpus" && !has_gpu(machine, "nvidia")) ||
           (line.name == "hip gpus" && !has_gpu(machine, "amd")) ||
           (line.name == "rdma network" && machine.ports.empty());
  });
  for (Line& line : section.lines) {
    // A job runs without, but slower, or on one host.
    if (line.mark == Mark::kNo && (line.name == "huge pages" || line.name == "numa placement" ||
                                   line.name == "other networks"))
      line = fact(line.name, line.value, line.value);
  }
  return section;
}

namespace {

// The memory that allocate_device() gives, and why not a GPU's.
Line device_memory(Runtime& runtime) {
  const char* const name = "device memory";
  const Result<std::uint64_t*> word = runtime.allocate_device<std::uint64_t>(1);
  if (!word.is_ok()) return missing(name, std::string(word.status().text()));
  if (runtime.gpu() >= 0)
    return there(name, fmt::format("allocate_device gives memory of GPU {}", runtime.gpu()));
  const std::string text = runtime.describe();
  const std::size_t at = text.find("allocate_device gives ");
  return there(name, at == std::string::npos ? "allocate_device gives memory of the host"
                                             : text.substr(at, text.find('\n', at) - at));
}

}  // namespace

Section test_run(Runtime& runtime) {
  Section section{"test run", {}};
  const auto say = [&](const std::string& what, const Status& status) {
    section.lines.push_back(missing(what, std::string(status.text())));
  };
  const auto npes = static_cast<std::size_t>(runtime.npes());
  const Result<std::uint64_t*> words = runtime.callocate<std::uint64_t>(npes);
  if (!words.is_ok()) {
    say("symmetric memory", words.status());
    return section;
  }
  const std::uint64_t mine = static_cast<std::uint64_t>(runtime.pe()) + 1;
  for (int pe = 0; pe < runtime.npes(); ++pe) {
    const Status put = runtime.context().put(*words + runtime.pe(), &mine, 1, pe);
    if (!put.is_ok()) say(fmt::format("put to PE {}", pe), put);
  }
  if (const Status met = runtime.barrier(); !met.is_ok()) {
    say("barrier", met);
    return section;
  }
  for (std::size_t pe = 0; pe < npes; ++pe) {
    if ((*words)[pe] != pe + 1)
      section.lines.push_back(missing(fmt::format("put of PE {}", pe), "it did not arrive"));
  }
  if (section.lines.empty())
    section.lines.push_back(there(
        "puts", fmt::format("each of {} PEs wrote to this one and met it; {} of them on its host",
                            npes, runtime.node().size)));
  section.lines.push_back(device_memory(runtime));
  return section;
}

}  // namespace weft::info
