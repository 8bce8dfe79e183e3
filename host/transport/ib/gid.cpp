#include "host/transport/ib/gid.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace weft::ib {

namespace {

bool is_ipv4(const ibv_gid_entry& entry) {
  static constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0,    0,
                                                           0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(entry.gid.raw, kMapped.data(), kMapped.size()) == 0;
}
bool is_link_local(const ibv_gid_entry& entry) {
  return entry.gid.raw[0] == 0xfe && (entry.gid.raw[1] & 0xc0) == 0x80;
}

// The larger the better.
int rank(const ibv_gid_entry& entry) {
  const int scope = is_ipv4(entry) ? 2 : is_link_local(entry) ? 0 : 1;
  return (entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 10 : 0) + scope;
}

}  // namespace

Result<const ibv_gid_entry*> best_gid(std::span<const ibv_gid_entry> table, int wanted,
                                      std::string_view port) {
  const ibv_gid_entry* best = nullptr;
  std::string known;
  for (const ibv_gid_entry& entry : table) {
    known += fmt::format("\n  {} {}", entry.gid_index, show_gid(entry));
    if (wanted >= 0 && entry.gid_index != static_cast<std::uint32_t>(wanted)) continue;
    if (best == nullptr || rank(entry) > rank(*best)) best = &entry;
  }
  if (best != nullptr) return best;
  if (table.empty())
    return Status::error(Code::kUnsupported,
                         fmt::format("{} has no GID; give its network device an address", port));
  return Status::error(
      Code::kOutOfRange,
      fmt::format("WEFT_IB_GID_INDEX={}: {} has no such GID; it has{}", wanted, port, known));
}

std::string show_gid(const ibv_gid_entry& entry) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_ipv4(entry))
    ::inet_ntop(AF_INET, entry.gid.raw + 12, text.data(), text.size());
  else
    ::inet_ntop(AF_INET6, entry.gid.raw, text.data(), text.size());
  const char* const type = entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? "RoCE v2"
                           : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? "RoCE v1"
                                                                    : "InfiniBand";
  return fmt::format("{} ({})", type, text.data());
}

}  // namespace weft::ib
