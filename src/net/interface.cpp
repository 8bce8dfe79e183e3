#include "src/net/interface.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/net/address.hpp"

namespace weft::net {
namespace {

// The bytes of an address: 4 or 16 of them, in the order of the network.
struct Number {
  std::array<unsigned char, 16> bytes{};
  int bits = 0;
};

std::optional<Number> parse_number(std::string_view host) {
  const std::string text(host.substr(0, host.find('%')));
  Number number;
  if (::inet_pton(AF_INET, text.c_str(), number.bytes.data()) == 1) {
    number.bits = 32;
  } else if (::inet_pton(AF_INET6, text.c_str(), number.bytes.data()) == 1) {
    number.bits = 128;
  } else {
    return std::nullopt;
  }
  return number;
}

struct Subnet {
  Number number;
  int bits = 0;

  bool holds(const std::string& host) const {
    const auto other = parse_number(host);
    if (!other || other->bits != number.bits) return false;
    for (int bit = 0; bit < bits; ++bit) {
      const auto byte = static_cast<std::size_t>(bit / 8);
      if (((number.bytes[byte] ^ other->bytes[byte]) >> (7 - bit % 8) & 1) != 0) return false;
    }
    return true;
  }
};

Result<Subnet> parse_subnet(std::string_view text) {
  const auto slash = text.find('/');
  const auto number = parse_number(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  int bits = -1;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (number && error == std::errc() && rest == digits.data() + digits.size() && bits >= 0 &&
      bits <= number->bits) {
    return Subnet{*number, bits};
  }
  return Status::error(Code::kInvalidArgument,
                       fmt::format("\"{}\" is not a subnet such as 10.1.0.0/16 or fd00::/8", text));
}

std::vector<std::string_view> cut_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto comma = text.find(',');
    if (comma != 0 && !text.empty()) parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text = text.substr(comma + 1);
  }
}

// Less is better.
int rank(const Interface& each) {
  if (each.host.find(':') == std::string::npos) return 0;
  return each.host.find('%') == std::string::npos ? 1 : 2;
}

std::string list(const std::vector<Interface>& there) {
  std::string text;
  for (const Interface& each : there) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", each.name, each.host);
  }
  return text.empty() ? "none" : text;
}

template <class Fits>
const Interface* best(const std::vector<Interface>& there, const Fits& fits) {
  const Interface* found = nullptr;
  for (const Interface& each : there) {
    if (fits(each) && (found == nullptr || rank(each) < rank(*found))) found = &each;
  }
  return found;
}

Result<const Interface*> find(std::string_view wanted, const std::vector<Interface>& there) {
  if (wanted.starts_with('^')) {
    const auto names = cut_at_commas(wanted.substr(1));
    return best(there, [&](const Interface& each) {
      return !each.loopback && std::ranges::find(names, each.name) == names.end();
    });
  }
  const Interface* found = nullptr;
  for (const std::string_view part : cut_at_commas(wanted)) {
    if (part.find('/') == std::string_view::npos) {
      found = best(there, [&](const Interface& each) { return each.name == part; });
    } else {
      ASSIGN_OR_RETURN(const Subnet subnet, parse_subnet(part));
      found = best(there, [&](const Interface& each) { return subnet.holds(each.host); });
    }
    if (found != nullptr) break;
  }
  return found;
}

}  // namespace

std::vector<Interface> list_interfaces() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(all, ::freeifaddrs);
  std::vector<Interface> there;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    sockaddr_storage storage{};
    std::memcpy(&storage, each->ifa_addr,
                family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const auto address = from_sockaddr(storage);
    if (!address) continue;
    there.push_back({each->ifa_name, address->host, (each->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return there;
}

Result<std::string> choose_host(std::string_view wanted, const std::vector<Interface>& there) {
  ASSIGN_OR_RETURN(const Interface* const found, find(wanted, there));
  if (found != nullptr) return found->host;
  return Status::error(Code::kInvalidArgument,
                       fmt::format("no network of {} that is up fits \"{}\". There are: {}",
                                   host_name(), wanted, list(there)));
}

}  // namespace weft::net
