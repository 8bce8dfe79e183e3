#include "src/net/address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/base/unique_fd.hpp"
#include "src/net/interface.hpp"

namespace weft::net {

Result<std::uint16_t> parse_port(std::string_view text) {
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end || value == 0 || value > 65535) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("port \"{}\" is not a number in 1..65535", text));
  }
  return static_cast<std::uint16_t>(value);
}

Result<Address> parse_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("address \"{}\" has no \":port\" at its end", text));
  }
  std::string_view host = text.substr(0, colon);
  ASSIGN_OR_RETURN(const std::uint16_t port, parse_port(text.substr(colon + 1)));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("host \"{}\" of address \"{}\" is not a name or number; an IPv6 address goes "
                    "in brackets: [::1]:4711",
                    host, text));
  }
  if (host.empty()) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("address \"{}\" has no host before \":{}\"", text, port));
  }
  return Address{std::string(host), port};
}

std::string to_string(const Address& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", address.host, v6 ? "]" : "", address.port);
}

Result<Address> from_sockaddr(const sockaddr_storage& storage) {
  const bool v4 = storage.ss_family == AF_INET;
  if (!v4 && storage.ss_family != AF_INET6) {
    return Status::error(Code::kIo,
                         fmt::format("a socket address of family {}", storage.ss_family));
  }
  char host[NI_MAXHOST] = "";
  const socklen_t bytes = v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const int error = ::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), bytes, host,
                                  sizeof host, nullptr, 0, NI_NUMERICHOST);
  if (error != 0) {
    return Status::error(Code::kIo, fmt::format("a socket address: {}", ::gai_strerror(error)));
  }
  return Address{host, ntohs(v4 ? reinterpret_cast<const sockaddr_in&>(storage).sin_port
                                : reinterpret_cast<const sockaddr_in6&>(storage).sin6_port)};
}

Address with_scope_of(Address address, const Address& ours) {
  const auto scope = ours.host.find('%');
  const auto theirs = address.host.find('%');
  if (scope != std::string::npos && theirs != std::string::npos) {
    address.host = address.host.substr(0, theirs) + ours.host.substr(scope);
  }
  return address;
}

namespace {

// The side of this host from which the rest of the world is reached; "" if there is no way there.
// Connecting a UDP socket sends nothing: it only asks the routing table.
std::string routed_host() {
  const UniqueFd probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage storage{};
  auto& far = reinterpret_cast<sockaddr_in&>(storage);
  far.sin_family = AF_INET;
  far.sin_port = htons(9);
  ::inet_pton(AF_INET, "192.0.2.1", &far.sin_addr);
  socklen_t size = sizeof far;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  if (::connect(probe.get(), address, size) != 0 || ::getsockname(probe.get(), address, &size) != 0)
    return "";
  const auto found = from_sockaddr(storage);
  return found ? found->host : "";
}

// The address in a network that is up, as in a cluster without a gateway; "": none.
std::string network_host() {
  const auto found = choose_host("^", list_interfaces());
  return found ? *found : "";
}

}  // namespace

std::string reachable_host() {
  std::string host = routed_host();
  if (host.empty()) host = network_host();
  return host.empty() ? "127.0.0.1" : host;
}

std::string host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

}  // namespace weft::net
