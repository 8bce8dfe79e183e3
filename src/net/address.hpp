// host:port, as users write it: "127.0.0.1:4711", "node7:4711", "[::1]:4711",
// "[fe80::1%eth0]:4711".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <weft/result.hpp>

struct sockaddr_storage;

namespace weft::net {

struct Address {
  std::string host;
  std::uint16_t port = 0;
};

Result<Address> parse_address(std::string_view text);
Result<std::uint16_t> parse_port(std::string_view text);
std::string to_string(const Address& address);
Result<Address> from_sockaddr(const sockaddr_storage& storage);

// The name after % says by which interface of this host an IPv6 neighbour is reached; another
// host's name is replaced by that of our own address `ours`.
Address with_scope_of(Address address, const Address& ours);

// An address of this host at which others can reach it; 127.0.0.1 if it has no network.
std::string reachable_host();
std::string host_name();

}  // namespace weft::net
