#include "host/info/machine.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <array>

#include "host/info/sections.hpp"
#include "src/base/files.hpp"
#include "src/base/text.hpp"

namespace weft::info {
namespace {

std::string processor() {
  const std::string text = file_text("/proc/cpuinfo");
  for (const std::string_view line : lines_of(text)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos)
      return std::string(line.substr(colon + 2));
  }
  return "not known";
}

// CPU numbers of the mask as "0-3,8".
std::string list_of(const cpu_set_t& set) {
  std::string out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    out += out.empty() ? "" : ",";
    out += last == cpu ? std::to_string(cpu) : fmt::format("{}-{}", cpu, last);
    cpu = last;
  }
  return out;
}

Line number(const char* name, int count) {
  if (count == 0) return fact(name, "not known");
  return fact(name, std::to_string(count), count);
}

}  // namespace

std::string show_size(std::uint64_t bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

Section machine_section() {
  Section section{"machine", {}};
  utsname names{};
  if (::uname(&names) == 0) {
    section.lines.push_back(fact("host", names.nodename));
    section.lines.push_back(
        fact("kernel", fmt::format("{} {} {}", names.sysname, names.release, names.machine)));
  }
  const Machine machine = look_at_machine();
  section.lines.push_back(fact("processor", processor()));
  section.lines.push_back(number("sockets", machine.sockets));
  section.lines.push_back(number("numa nodes", machine.numa_nodes));
  section.lines.push_back(number("cores", machine.cores));
  section.lines.push_back(number("hardware threads", machine.threads));
  if (!machine.caches.empty()) section.lines.push_back(fact("caches", machine.caches));
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof(mine), &mine) == 0) {
    section.lines.push_back(fact("usable threads",
                                 fmt::format("{} (numbers {})", CPU_COUNT(&mine), list_of(mine)),
                                 CPU_COUNT(&mine)));
  }
  struct sysinfo memory {};
  if (::sysinfo(&memory) == 0) {
    const std::uint64_t bytes = std::uint64_t{memory.totalram} * memory.mem_unit;
    section.lines.push_back(fact("memory", show_size(bytes), bytes));
  }
  return section;
}

}  // namespace weft::info
