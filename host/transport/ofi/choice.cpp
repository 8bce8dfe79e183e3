#include "host/transport/ofi/choice.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft::ofi {

namespace {

const char* text(const char* name) { return name == nullptr ? "?" : name; }

const sockaddr* address_of(const fi_info& info) {
  const bool is_ip = info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
  return is_ip ? static_cast<const sockaddr*>(info.src_addr) : nullptr;
}

std::string show_address(const fi_info& info) {
  const sockaddr* const address = address_of(info);
  if (address == nullptr) return "";
  const void* const bytes =
      address->sa_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr)
          : &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  std::array<char, INET6_ADDRSTRLEN> out{};
  ::inet_ntop(address->sa_family, bytes, out.data(), out.size());
  return fmt::format(" ({})", out.data());
}

bool is_same_provider(const fi_info& a, const fi_info& b) {
  return std::strcmp(text(a.fabric_attr->prov_name), text(b.fabric_attr->prov_name)) == 0;
}
bool suits_better(const fi_info& a, const fi_info& b, const Wish& wish) {
  return is_loopback(a) == wish.one_host && is_loopback(b) != wish.one_host;
}

}  // namespace

Result<Info> needs(const Libfabric& library, const Wish& wish) {
  Info hints(library.dupinfo(nullptr), FreeInfo{&library});
  if (hints == nullptr) return Status::error(Code::kOutOfMemory, "no memory left for libfabric");
  hints->caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
                FI_REMOTE_WRITE | FI_REMOTE_COMM;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  // All calls are made under one lock, so the provider need have none.
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->tx_attr->inject_size = kInjectBytes;
  hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  if (wish.provider != "auto") hints->fabric_attr->prov_name = ::strdup(wish.provider.c_str());
  return hints;
}

Result<const fi_info*> choose(const fi_info* list, const Wish& wish) {
  const fi_info* best = nullptr;
  std::set<std::string> seen;
  for (const fi_info* info = list; info != nullptr; info = info->next) {
    seen.insert(show(*info));
    if (wish.domain != "auto" && wish.domain != text(info->domain_attr->name)) continue;
    if (best == nullptr || (is_same_provider(*best, *info) && suits_better(*info, *best, wish)))
      best = info;
  }
  if (best != nullptr) return best;
  std::string known;
  for (const std::string& each : seen) known += "\n  " + each;
  return Status::error(
      Code::kUnsupported,
      fmt::format("WEFT_OFI_DOMAIN={}: libfabric has no such domain that can be used; it has{}",
                  wish.domain, known));
}

bool is_loopback(const fi_info& info) {
  const sockaddr* const address = address_of(info);
  if (address == nullptr) return false;
  if (address->sa_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

std::string show(const fi_info& info) {
  return fmt::format("{} on {}{}", text(info.fabric_attr->prov_name), text(info.domain_attr->name),
                     show_address(info));
}

}  // namespace weft::ofi
