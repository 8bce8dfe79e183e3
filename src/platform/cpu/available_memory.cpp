#include "src/platform/cpu/available_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "src/base/files.hpp"
#include "src/base/text.hpp"

namespace weft::cpu {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// The number after `key` in a file of "key number" lines; `key` may end in a colon.
std::optional<std::uint64_t> field(const std::string& path, std::string_view key) {
  const std::string text = file_text(path);
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() >= 2 && words[0] == key) return number_in<std::uint64_t>(words[1]);
  }
  return std::nullopt;
}

// A file that holds one number; nothing for "max" or when there is no such file.
std::optional<std::uint64_t> number(const std::string& path) {
  return number_in<std::uint64_t>(file_text(path));
}

// How a version of cgroup spells the three numbers.
struct CgroupFiles {
  const char *mount, *limit, *usage, *reclaimable;
};
constexpr CgroupFiles kV1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                          "total_inactive_file"};
constexpr CgroupFiles kV2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

void narrow(AvailableMemory& room, std::uint64_t bytes, std::string limit) {
  if (bytes >= room.bytes) return;
  room.bytes = bytes;
  room.limit = std::move(limit);
}

// The limits of a cgroup and of those above it. A container that sees only its own part of the tree
// finds it at the mount point, whatever path the kernel names: hence the root, too.
void narrow_by_cgroup(AvailableMemory& room, const std::string& root, const CgroupFiles& files,
                      std::string path) {
  for (;;) {
    if (path == "/") path.clear();
    const std::string folder = root + files.mount + path + "/";
    const auto limit = number(folder + files.limit);
    const auto usage = number(folder + files.usage);
    if (limit && usage && *limit < kUnlimited / 4) {
      const std::uint64_t spare = field(folder + "memory.stat", files.reclaimable).value_or(0);
      const std::uint64_t used = *usage - std::min(*usage, spare);
      room.most = std::min(room.most, *limit - std::min(*limit, used));
      narrow(room, *limit - std::min(*limit, used),
             fmt::format("the memory limit of {} in cgroup {}", show_bytes(*limit),
                         path.empty() ? "/" : path));
    }
    if (path.empty()) return;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

}  // namespace

AvailableMemory available_memory(const std::string& root) {
  AvailableMemory room{kUnlimited, "nothing known", kUnlimited};
  const std::string meminfo = root + "/proc/meminfo";
  if (const auto available = field(meminfo, "MemAvailable:")) {
    const std::uint64_t swap = field(meminfo, "SwapFree:").value_or(0);
    narrow(room, (*available + swap) * 1024, "the memory of this machine");
    if (const auto total = field(meminfo, "MemTotal:")) {
      room.most = (*total + field(meminfo, "SwapTotal:").value_or(0)) * 1024;
    }
  }
  // Lines "number:controllers:path"; version 2 has number 0 and no controllers.
  const std::string cgroups = file_text(root + "/proc/self/cgroup");
  for (const std::string_view line : lines_of(cgroups)) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string path(line.substr(second + 1));
    if (controllers == ",,") narrow_by_cgroup(room, root, kV2, path);
    if (controllers.find(",memory,") != std::string::npos) {
      narrow_by_cgroup(room, root, kV1, path);
    }
  }
  return room;
}

std::string show_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {} ({} bytes)", value, kUnits[unit], bytes);
}

}  // namespace weft::cpu
