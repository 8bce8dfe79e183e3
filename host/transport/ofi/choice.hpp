// Which of the networks that libfabric offers is used, by what it can do.
//
// Libfabric lists first what moves most. The first provider that can do all that is needed is
// taken, and of its devices the first with an address that other hosts reach; if none has, one of
// this host alone. A job on one host begins with the latter: nobody else shall reach its port.
#pragma once

#include <string>

#include "host/transport/ofi/libfabric.hpp"

namespace weft::ofi {

inline constexpr std::size_t kInjectBytes = 192;  // that travel without a buffer of mine

// WEFT_OFI_PROVIDER and WEFT_OFI_DOMAIN; "auto": any.
struct Wish {
  std::string provider = "auto";
  std::string domain = "auto";
  bool one_host = false;  // all PEs are on this one
};

// The transport's needs of a provider, as fi_getinfo() takes them.
Result<Info> needs(const Libfabric& library, const Wish& wish);

// Chooses from fi_getinfo()'s list. Pure.
Result<const fi_info*> choose(const fi_info* list, const Wish& wish);

// Its address is one of the host itself.
bool is_loopback(const fi_info& info);

// "tcp;ofi_rxm on eth0 (192.0.2.2)"
std::string show(const fi_info& info);

}  // namespace weft::ofi
