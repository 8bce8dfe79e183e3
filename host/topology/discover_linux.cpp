#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "host/topology/facts.hpp"
#include "src/base/files.hpp"
#include "src/base/unique_fd.hpp"
#include "src/platform/cpu/available_memory.hpp"

namespace weft {

namespace {

void read_boot_id(char (&boot_id)[40]) {
  UniqueFd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return;
  const ssize_t n = read(file.get(), boot_id, sizeof(boot_id) - 1);
  if (n <= 0) return;
  *std::find(boot_id, boot_id + n, '\n') = '\0';
}

// Under ulimit -v.
std::uint64_t address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::uint64_t>::max();
  // Its first number: pages of address space that are in use.
  const std::string text = file_text("/proc/self/statm");
  std::uint64_t pages = 0;
  std::from_chars(text.data(), text.data() + text.size(), pages);
  const std::uint64_t used = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<std::uint64_t>(used, limit.rlim_cur);
}

}  // namespace

Result<Facts> discover() {
  Facts facts;
  if (gethostname(facts.host, sizeof(facts.host) - 1) != 0) facts.host[0] = '?';
  read_boot_id(facts.boot_id);
  struct stat ns {};
  if (stat("/proc/self/ns/net", &ns) == 0) facts.netns = ns.st_ino;
  facts.process = process_uuid();
  facts.uid = geteuid();
  facts.pid = getpid();
  unsigned cpu = 0, node = 0;
  if (syscall(SYS_getcpu, &cpu, &node, nullptr) == 0) facts.numa_node = static_cast<int>(node);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) facts.cores = CPU_COUNT(&cores);
  facts.memory = cpu::available_memory().bytes;
  facts.address_space = address_space_left();
  return facts;
}

}  // namespace weft
