#include "src/platform/cpu/fd_of_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace weft::cpu {
namespace {

std::string name_of(const Uuid& name) {
  std::string text = "weft-heap-";
  for (const std::byte byte : name) {
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned>(byte));
  }
  return text;
}

bool shows(const std::string& link, const Uuid& name) {
  std::array<char, 128> target{};
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  if (length < 0) return false;
  return std::string_view(target.data(), static_cast<std::size_t>(length)) ==
         fmt::format("/memfd:{} (deleted)", name_of(name));
}

}  // namespace

UniqueFd make_named_memory(const Uuid& name) {
  return UniqueFd(::memfd_create(name_of(name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

// In another pid namespace the number means another process, so the name is read before anything is
// opened, and once more, since the descriptor may have changed hands in between.
UniqueFd open_fd_of(std::int64_t pid, std::int64_t fd, const Uuid& name) {
  if (pid <= 0) return {};
  const std::string link = fmt::format("/proc/{}/fd/{}", pid, fd);
  if (!shows(link, name)) return {};
  UniqueFd file(::open(link.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file || !shows(fmt::format("/proc/self/fd/{}", file.get()), name)) return {};
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0 || facts.st_uid != ::geteuid()) return {};
  return file;
}

}  // namespace weft::cpu
