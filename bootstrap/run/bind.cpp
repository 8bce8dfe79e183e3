#include "bootstrap/run/bind.hpp"

#include <fmt/format.h>

namespace weft::run {

std::string list_cpus(const cpu_set_t& cpus) {
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &cpus)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cpus)) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpu);
    if (last > cpu) text += fmt::format("-{}", last);
    cpu = last;
  }
  return text;
}

std::string allowed_cpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return "unknown";
  return list_cpus(cpus);
}

}  // namespace weft::run
