#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "host/topology/facts.hpp"
#include "src/base/unique_fd.hpp"

namespace weft {

namespace {

void read_boot_id(char (&boot_id)[40]) {
  UniqueFd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return;
  const ssize_t n = read(file.get(), boot_id, sizeof(boot_id) - 1);
  if (n <= 0) return;
  *std::find(boot_id, boot_id + n, '\n') = '\0';
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
  return facts;
}

}  // namespace weft
