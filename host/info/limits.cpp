#include <fmt/format.h>
#include <sys/resource.h>

#include <limits>
#include <optional>

#include "host/info/machine.hpp"
#include "host/info/sections.hpp"
#include "src/base/files.hpp"
#include "src/base/text.hpp"
#include "src/platform/cpu/available_memory.hpp"

namespace weft::info {
namespace {

Line resource(const char* name, int which, bool is_size) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0) return fact(name, "not known");
  if (limit.rlim_cur == RLIM_INFINITY) return fact(name, "no limit");
  const std::uint64_t value = limit.rlim_cur;
  return fact(name, is_size ? show_size(value) : std::to_string(value), value);
}

// The path of this process in a version 1 controller ("cpu", "pids"), or, for "", in version 2.
std::optional<std::string> cgroup_path(const std::string& root, const std::string& controller) {
  const std::string text = file_text(root + "/proc/self/cgroup");
  for (const std::string_view line : lines_of(text)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string names(line.substr(first + 1, second - first - 1));
    const bool is_it = controller.empty()
                           ? names.empty()
                           : ("," + names + ",").find("," + controller + ",") != std::string::npos;
    if (is_it) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// The first of the group's own file and those above it, as containers hide what is outside.
std::string cgroup_file(const std::string& root, const std::string& mount,
                        const std::string& controller, const std::string& file) {
  std::optional<std::string> path = cgroup_path(root, controller);
  if (!path) return "";
  for (;; path->resize(path->rfind('/'))) {
    if (*path == "/") path->clear();
    const std::string text = file_text(root + mount + *path + "/" + file);
    if (!text.empty()) return text;
    if (path->find('/') == std::string::npos) return "";
  }
}

// "200000 100000" in version 2, two files in version 1: microseconds of processor time in a period.
Line processor_quota(const std::string& root) {
  std::string text = cgroup_file(root, "/sys/fs/cgroup", "", "cpu.max");
  if (text.empty()) {
    const std::string mount = "/sys/fs/cgroup/cpu";
    text = cgroup_file(root, mount, "cpu", "cpu.cfs_quota_us") + " " +
           cgroup_file(root, mount, "cpu", "cpu.cfs_period_us");
  }
  const auto words = words_of(text);
  const double quota = words.size() == 2 ? number_in<double>(words[0]).value_or(0) : 0;
  const double period = words.size() == 2 ? number_in<double>(words[1]).value_or(0) : 0;
  if (quota <= 0 || period <= 0) return fact("processors by cgroup", "no limit");
  return fact("processors by cgroup", fmt::format("{:.4g}", quota / period), quota / period);
}

Line thread_limit(const std::string& root) {
  std::string text = cgroup_file(root, "/sys/fs/cgroup", "", "pids.max");
  if (text.empty()) text = cgroup_file(root, "/sys/fs/cgroup/pids", "pids", "pids.max");
  const auto most = number_in<std::uint64_t>(text);
  if (!most) return fact("threads by cgroup", "no limit");
  return fact("threads by cgroup", std::to_string(*most), *most);
}

Line memory_left(const std::string& root) {
  const cpu::AvailableMemory room = cpu::available_memory(root);
  if (room.bytes == std::numeric_limits<std::uint64_t>::max())
    return fact("memory left", "not known");
  return fact("memory left", fmt::format("{}, by {}", show_size(room.bytes), room.limit),
              room.bytes);
}

Line overcommit(const std::string& root) {
  const std::string policy = file_text(root + "/proc/sys/vm/overcommit_memory");
  if (policy == "2")
    return fact("overcommit",
                "off: every chunk of a heap counts as taken (vm.overcommit_memory=2)");
  return fact("overcommit",
              policy.empty() ? "not known" : "on (vm.overcommit_memory=" + policy + ")");
}

}  // namespace

Section limits_section(const std::string& root) {
  return {
      "limits",
      {memory_left(root), processor_quota(root), thread_limit(root), overcommit(root),
       resource("address space", RLIMIT_AS, true), resource("locked memory", RLIMIT_MEMLOCK, true),
       resource("open files", RLIMIT_NOFILE, false),
       resource("threads of the user", RLIMIT_NPROC, false)}};
}

}  // namespace weft::info
