#include "host/topology/facts.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

namespace weft {

bool same_machine(const Facts& a, const Facts& b) {
  return a.boot() == b.boot() && !a.boot().empty();
}
bool same_host(const Facts& a, const Facts& b) { return same_machine(a, b) && a.part == b.part; }

std::vector<int> hosts_of(const std::vector<Facts>& facts) {
  std::map<std::pair<std::string_view, std::int32_t>, int> firsts;
  std::vector<int> hosts;
  for (const Facts& each : facts)
    hosts.push_back(
        firsts.try_emplace({each.boot(), each.part}, static_cast<int>(hosts.size())).first->second);
  return hosts;
}

bool same_process(const Facts& a, const Facts& b) {
  return a.process == b.process;  // 128 random bits
}

std::string why_not_mapped(const Facts& mine, const Facts& theirs) {
  if (same_process(mine, theirs)) return "";
  if (!same_host(mine, theirs)) {
    if (mine.boot().empty() || theirs.boot().empty())
      return fmt::format(
          "cannot tell whether {} and {} are one host, since /proc/sys/kernel/random/boot_id is "
          "not readable; mount /proc",
          mine.host_name(), theirs.host_name());
    if (same_machine(mine, theirs))
      return fmt::format(
          "it plays a PE of another host, part {} of {}; mine is part {} (WEFT_PRETEND_HOSTS)",
          theirs.part, theirs.host_name(), mine.part);
    return fmt::format(
        "it runs on another host, {} (boot {}); mine is {} (boot {}); memory is mapped within one "
        "host only",
        theirs.host_name(), theirs.boot(), mine.host_name(), mine.boot());
  }
  if (mine.netns != theirs.netns)
    return fmt::format(
        "it runs in another network namespace (net:[{}], mine is net:[{}]), so its socket for "
        "handing out memory is out of reach; start the containers with one network (such as "
        "--network=host)",
        theirs.netns, mine.netns);
  if (mine.uid != theirs.uid)
    return fmt::format("it runs as user {}, I run as user {}; start all PEs as one user",
                       theirs.uid, mine.uid);
  return "";
}

}  // namespace weft
